--- Random jobs on several devices, whose values lie as the cost rule chooses or as random casts
-- and placements say: they give what the jobs give on one, in one process and in several. JFL_FUZZ
-- says how many there are, JFL_FUZZ_SEED where they begin.
local draws = require "spec.draws"
local flow = require "jfl"
local helper = require "spec.cmd.helper"
local random_jobs = require "spec.pass.random_jobs"
local support = require "spec.op.support"

local COUNT, SEED = draws.trials(40), draws.seed()
local PARTS = { "0:0", "0:1", "0:0-1" }

local function alone(seed, devices)
  return random_jobs.train(seed, { device = "cpu:0", devices = devices, parts = PARTS })
end

local function check(got, want)
  for name, list in pairs(want) do
    local ok, message = support.close(got[name] or {}, list, 1e-9)
    assert.truthy(ok, ("%s, %s"):format(name, message or ""))
  end
end

--- What the jobs with those numbers give on several ranks, by number, where rank 0 tells it.
local SCRIPT = [[
local random_jobs = require "spec.pass.random_jobs"
local first, last, devices = tonumber(arg[1]), tonumber(arg[2]), tonumber(arg[3])
for seed = first, last do
  print(seed)
  local given = random_jobs.train(seed,
    { device = "cpu:0", kind = "cpu", devices = devices, parts = { "0:0", "1:0", "0-1:0" } })
  for name, list in pairs(given) do
    local text = {}
    for i, v in ipairs(list) do text[i] = ("%.17g"):format(v) end
    print(name .. " = " .. table.concat(text, " "))
  end
end]]

local function of_ranks(ranks)
  local out, err, status = helper.run("--ranks", tostring(ranks), helper.file(SCRIPT),
    tostring(SEED), tostring(SEED + COUNT - 1), tostring(ranks))
  local all, given = {}
  for line in out:gmatch "[^\n]+" do
    local name, numbers = line:match "^(.*) = (.*)$"
    if not name then
      given = {}
      all[tonumber(line)] = given
    else
      given[name] = {}
      for number in numbers:gmatch "%S+" do table.insert(given[name], tonumber(number)) end
    end
  end
  assert(status == 0, err)
  return all
end

describe("a random job", function()
  teardown(function()
    flow.clear_default_session()
    helper.clean()
  end)

  for seed = SEED, SEED + COUNT - 1 do
    local devices = 2 + seed % 3
    it(("gives on %d devices what it gives on one (%d)"):format(devices, seed), function()
      local device = ("sim:0-%d"):format(devices - 1)
      check(random_jobs.train(seed,
        { device = device, kind = "sim", devices = devices, parts = PARTS }), alone(seed, devices))
    end)
  end

  for ranks = 2, 3 do
    it(("gives on %d ranks what it gives on one"):format(ranks), function()
      local all = of_ranks(ranks)
      for seed = SEED, SEED + COUNT - 1 do check(all[seed] or {}, alone(seed, ranks)) end
    end)
  end
end)
