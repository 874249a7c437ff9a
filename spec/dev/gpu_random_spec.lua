--- Random numbers on a GPU, on the emulated driver of spec/cuda: those of the CPU.
local emulated = require "spec.dev.emulated"

-- Prints for each op whether both devices give the same bits.
local DRAWS = [[
  local core = require "jfl.core"
  local flow = require "jfl"
  local function drawn(device, fn)
    flow.clear_default_session()
    core.set("device", device)
    core.set("seed", 11)
    local first, second = fn(), fn()
    return core.bytes(first) .. core.bytes(second)
  end
  local ways = {
    uniform = function()
      return core.op("random_uniform")({ shape = { 1001 }, minval = -3, maxval = 5 })
    end,
    double = function()
      return core.op("random_uniform")({ shape = { 7, 3 }, minval = 0.1, dtype = "float64" })
    end,
    randint = function() return core.op("random_randint")(-7, 1000, { shape = { 77 } }) end,
    permutation = function() return core.op("random_permutation")(5000) end,
    long = function() return core.op("random_permutation")(3, { dtype = "int64" }) end,
    dropout = function()
      return (core.op("dropout")(core.op("ones")({ 37, 5 }), { rate = 0.3 }))
    end,
  }
  local names = {}
  for name in pairs(ways) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local cpu, gpu = drawn("cpu", ways[name]), drawn("gpu", ways[name])
    print(name, #cpu > 0 and cpu == gpu)
  end
]]

-- Prints whether a job on two GPUs, each of which draws its part, gives what the CPU gives.
local PARTS = [[
  local core = require "jfl.core"
  local flow = require "jfl"
  local tp = flow.typing
  local function drawn(device, body)
    flow.clear_default_session()
    core.set("device", device)
    core.set("seed", 11)
    local job = flow.global_function { name = "draw", type = "predict", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder({ 5, 7 }) } }, body = body }
    local x = core.op("ones")({ 5, 7 })
    local first, second = job(x), job(x)
    return core.bytes(first) .. core.bytes(second), tostring(job:plan())
  end
  local ways = {
    { "uniform", function(x) return x * flow.random.uniform({ 5, 7 }) end },
    { "dropout", function(x) return (core.op("dropout")(x, { rate = 0.4 })) end },
    { "fused", function(x) return core.op("dropout")(x * 2, { rate = 0.4 }) + 1 end },
  }
  for _, way in ipairs(ways) do
    local cpu = drawn("cpu", way[2])
    local gpu, plan = drawn("gpu:0-1", way[2])
    print(way[1], cpu == gpu and plan:find "@1" ~= nil)
  end
]]

describe("random numbers of a GPU", function()
  it("are the CPU's, bit for bit", function()
    local out = emulated.run({ JFL_EMULATED_FMA = 1 }, DRAWS)
    assert.equal("double\ttrue\ndropout\ttrue\nlong\ttrue\npermutation\ttrue\nrandint\ttrue\n"
      .. "uniform\ttrue\n", out)
  end)

  it("are on two GPUs, a part each, those of the whole", function()
    assert.equal("uniform\ttrue\ndropout\ttrue\nfused\ttrue\n", (emulated.run({}, PARTS)))
  end)
end)
