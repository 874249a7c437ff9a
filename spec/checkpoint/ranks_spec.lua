--- Checkpoints of scripts that several processes run: written and read by rank 0 alone, the same
-- whatever the number of processes, and errors of one are errors of all.
local helper = require "spec.cmd.helper"
local temporary = require "spec.lua.helper"

-- Trains steps first to last from the newest checkpoint, saving one after each, and prints all
-- variables. Each rank has a directory of its own, and no other rank's.
local TRAIN = [[
local ffi = require "ffi"
local flow = require "jfl"
local core = require "jfl.core"
local nd, tp = flow.ndarray, flow.typing
ffi.cdef "int chdir(const char *);"
local first, last, lies, directory = tonumber(arg[1]), tonumber(arg[2]), arg[3], arg[4]
local rank = core.world()
assert(ffi.C.chdir(directory .. (rank > 0 and "/elsewhere" or "")) == 0)
flow.random.seed(5)
local job = flow.global_function { name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 12, 6 }) } },
  body = function(x)
    local h = flow.layers.dense(x, 16, { activation = flow.math.tanh, name = "one" })
    local w = flow.get_variable("two", { 16, 4 },
      { initializer = flow.random_normal_initializer(0, 0.3) })
    if lies == "split" then core.distribute(w, lies, 0) end
    local loss = flow.math.square(flow.matmul(flow.nn.dropout(h, 0.3), w))
    flow.optimizer.SGD(0.05, { momentum = 0.9 }):minimize(loss)
    return loss
  end }
local few = {}
for i = 1, 20 do few["none" .. i] = { i } end
for _, name in ipairs { "two", "one-bias", "one-weight" } do
  few[name] = flow.get_all_variables()[name] * 1
end
flow.load_variables(few)
local manager = flow.train.SimpleCheckPointManager("root", { keep = 2 })
manager:initialize_or_restore()
for i = first, last do
  job(nd.arange(72):reshape({ 12, 6 }) * (0.01 * i))
  manager:save()
end
local text = {}
for name, value in pairs(flow.get_all_variables()) do
  for i, v in ipairs(value:reshape({ -1 }):totable()) do
    text[#text + 1] = ("%s[%d] %.9g"):format(name, i, v)
  end
end
table.sort(text)
assert(#manager:list_checkpoints() == math.min(2, last - first + 2))
print(table.concat(text, "\n"))
]]

-- Saves on rank 0 while rank 1 does something else, to which it was not asked.
local ALONE = [[
local flow = require "jfl"
local rank = flow.env.rank()
local job = flow.global_function { name = "net", returns = flow.typing.Numpy,
  inputs = { { "x", flow.typing.Numpy.Placeholder({ 2, 2 }) } },
  body = function(x) return flow.layers.dense(x, 2, { name = "fc" }) end }
job({ { 1, 2 }, { 3, 4 } })
if rank == 0 then flow.train.CheckPoint():save(arg[1]) else job({ { 1, 2 }, { 3, 4 } }) end
]]

-- Chooses another seed on each rank, before a job is compiled and after.
local SEEDS = [[
local flow = require "jfl"
local rank = flow.env.rank()
flow.random.seed(10 + rank)
local job = flow.global_function { name = "train", type = "train", returns = flow.typing.Numpy,
  inputs = { { "x", flow.typing.Numpy.Placeholder({ 4, 6 }) } },
  body = function(x)
    local y = flow.nn.dropout(flow.layers.dense(x, 4, { name = "d" }), 0.5)
    flow.optimizer.SGD(0.05):minimize(y)
    return y
  end }
job(flow.ndarray.ones { 4, 6 })
local w = flow.get_all_variables()["d-weight"]:sum()
assert(w == tonumber(require("jfl.core").hand_out("compare", ("%.17g"):format(w))))
flow.random.seed(3 + rank)
local ok, message = pcall(job, flow.ndarray.ones { 4, 6 })
assert(not ok and message:find("the same options, settings and random seed", 1, true), message)
]]

local function numbers(text)
  local all = {}
  for name, v in text:gmatch("(%S+) (%S+)\n") do all[name] = tonumber(v) end
  return all
end

describe("checkpoints of several ranks", function()
  local directory, script

  before_each(function()
    directory, script = temporary.directory(), helper.file(TRAIN)
    os.execute("mkdir " .. directory .. "/elsewhere")
  end)

  after_each(function()
    temporary.remove(directory)
    helper.clean()
  end)

  local function train(ranks, first, last, lies)
    local out, err, status = helper.run("--ranks", tostring(ranks), script, tostring(first),
      tostring(last), lies, directory)
    local others = err:gsub("[^\n]*load_variables: no job here has these[^\n]*\n", "")
    assert.equal("", others)
    assert.equal(0, status, out .. err)
    return out
  end

  local function fresh() os.execute(("rm -r '%s/root'"):format(directory)) end

  for _, lies in ipairs { "broadcast", "split" } do
    it("go on bit for bit, and on another number of ranks, with variables " .. lies, function()
      train(2, 1, 2, lies)
      local resumed = train(2, 3, 4, lies)
      fresh()
      assert.equal(train(2, 1, 4, lies), resumed)
      fresh()
      train(1, 1, 2, lies)
      local want, got = numbers(resumed), numbers(train(3, 3, 4, lies))
      for name, v in pairs(want) do
        if math.abs(got[name] - v) > 1e-5 then
          error(("%s is %.9g, not %.9g"):format(name, got[name], v), 0)
        end
      end
      assert.truthy(want["two-momentum[64]"])
    end)
  end

  it("hold what came of rank 0's seed", function()
    assert.same({ "", "", 0 }, { helper.run("--ranks", "2", helper.file(SEEDS)) })
  end)

  it("are not saved by one rank alone, which is told so at once", function()
    local _, err, status = helper.run("--ranks", "2", helper.file(ALONE), directory .. "/model")
    assert.not_equal(0, status)
    assert.truthy(err:find("is to make run 2 of job 'net', rank 0 (", 1, true))
    assert.truthy(err:find("save checkpoint '" .. directory .. "/model'", 1, true))
  end)
end)
