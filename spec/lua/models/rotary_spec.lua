-- What becomes of the frequencies of rotary positions for each rope_type, by wavelengths where the
-- network goes by turns.
require "jfl"
local helper = require "spec.lua.helper"
local rotary = require "jfl.models.rotary"

local SIZE, BASE = 16, 10000

local function of(p, size)
  return rotary.of({ rope_parameters = p, rope_theta = BASE, max_position_embeddings = 64 },
    size or SIZE)
end

local function plain(i, size) return BASE ^ (-2 * i / (size or SIZE)) end

-- Compares with the frequency that `want` makes of that of each pair, and counts how many stay,
-- become as slow as `factor` says, and lie between.
local function compare(p, want, size)
  local counts, got = { 0, 0, 0 }, of(p, size).frequencies
  assert.equal((size or SIZE) / 2, #got)
  for i = 0, #got - 1 do
    local f = plain(i, size)
    assert.near(want(f, i), got[i + 1], 1e-12)
    local at = math.abs(got[i + 1] - f) < 1e-12 and 1
      or math.abs(got[i + 1] - f / p.factor) < 1e-12 and 2 or 3
    counts[at] = counts[at] + 1
  end
  return counts
end

describe("rotary positions", function()
  it("turn by the base alone where nothing is asked for", function()
    assert.same({ base = BASE }, of {})
    assert.same({ base = 7 }, of { rope_theta = 7, rope_type = "default" })
  end)

  it("turn as much slower as the factor says (linear)", function()
    compare({ rope_type = "linear", factor = 4 }, function(f) return f / 4 end)
  end)

  it("keep short waves, and stretch long ones (llama3)", function()
    local p = { rope_type = "llama3", factor = 8, low_freq_factor = 1, high_freq_factor = 4,
      original_max_position_embeddings = 512 }
    local counts = compare(p, function(f)
      local wave = 2 * math.pi / f
      if wave < 512 / 4 then return f end
      if wave > 512 then return f / 8 end
      local share = (512 / wave - 1) / (4 - 1)
      return f / 8 + share * (f - f / 8)
    end)
    for kind = 1, 3 do assert.is_true(counts[kind] > 0, kind) end
  end)

  it("go over from the first pair that does so to the last (yarn)", function()
    local function yarn(p, size)
      local most = p.original_max_position_embeddings or 64
      local function pair(turns)
        return (size or SIZE) * math.log(most / (turns * 2 * math.pi)) / (2 * math.log(BASE))
      end
      local first = math.max(0, math.floor(pair(p.beta_fast or 32)))
      local last = math.min((size or SIZE) - 1, math.ceil(pair(p.beta_slow or 1)))
      return compare(p, function(f, i)
        local share = first == last and (i > first and 1 or 0)
          or math.min(1, math.max(0, (i - first) / (last - first)))
        return f + share * (f / p.factor - f)
      end, size)
    end
    local p = { rope_type = "yarn", factor = 4, original_max_position_embeddings = 4096 }
    local counts = yarn(p)
    for kind = 1, 3 do assert.is_true(counts[kind] > 0, kind) end
    assert.near(0.1 * math.log(4) + 1, of(p).scale, 1e-12)
    yarn { rope_type = "yarn", factor = 2, beta_fast = 4, beta_slow = 0.5 }
    yarn { rope_type = "yarn", factor = 2, beta_fast = 1e9, beta_slow = 1e8 }  -- from pair 0 to 0
    assert.equal(1, of { rope_type = "yarn", factor = 0.5 }.scale)
    assert.equal(3, of { rope_type = "yarn", factor = 2, attention_factor = 3 }.scale)
  end)

  it("are divided by numbers of a file (factors)", function()
    local list = { 1, 2, 4, 0.5, 1, 1, 3, 8 }
    local got = of({ rope_type = "factors", factors = list }).frequencies
    for i, by in ipairs(list) do assert.near(plain(i - 1) / by, got[i], 1e-12) end
    helper.fails(function() of { rope_type = "factors", factors = { 1 } } end,
      "factors must be a list of 8 numbers")
  end)

  it("are refused where a number is missing", function()
    for _, kind in ipairs { "linear", "llama3", "yarn" } do
      for _, factor in ipairs { false, 0, -1, math.huge, "x" } do
        helper.fails(function() of { rope_type = kind, factor = factor or nil } end,
          "factor must be a number above 0, got")
      end
    end
  end)
end)
