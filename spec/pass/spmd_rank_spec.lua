--- A job over several processes trains as in one: batches that do not divide evenly, and layers
-- whose variables are split in every way, so that all kinds of conversions go between processes.
local helper = require "spec.lua.helper"

-- It prints the sums of the losses and of each variable, weighted so that order counts.
local TRAIN = [[
local flow = require "jfl"
local tp = flow.typing
local split = flow.distribute.split
flow.random.seed(3)
local config = flow.function_config()
config.default_data_type("float64")
config.micro_batches(tonumber(os.getenv "MICRO_BATCHES" or 1))
local function variable(name, axis)
  return flow.get_variable(name, { shape = { 8, 6 }, dtype = flow.float64,
    initializer = flow.random_normal_initializer(), distribute = split(axis) })
end
local job = flow.global_function {
  name = "job", type = "train", returns = tp.Numpy, function_config = config,
  inputs = { { "x", tp.Numpy.Placeholder({ 7, 12 }, { dtype = flow.float64 }) } },
  body = function(x)
    local y = flow.layers.dense(x, 8, { name = "a", model_distribute = split(0),
      activation = flow.math.tanh })
    y = flow.layers.dense(y, 8, { name = "b" })
    local z = flow.parallel_cast(y, { distribute = split(1) })
    y = flow.matmul(y, variable("c", 1)) + flow.matmul(z, variable("d", 0))
    y = flow.nn.dropout(flow.layers.dense(y, 4, { name = "e" }), 0.3)
    local loss = flow.math.square(y)
    flow.optimizer.Adam(0.1, {
      grad_clipping = flow.optimizer.grad_clipping.by_global_norm(0.5) }):minimize(loss)
    return loss
  end }
local function weighted(a)
  local sum, p = 0, a:pointer()
  for i = 0, a.size - 1 do sum = sum + p[i] * (i % 7 + 1) end
  return sum
end
local x = flow.ndarray.zeros({ 7, 12 }, flow.float64)
local p, lines = x:pointer(), {}
for i = 0, x.size - 1 do p[i] = math.sin(i) end
for step = 1, 3 do lines[step] = ("%.17g"):format(weighted(job(x))) end
local all = flow.get_all_variables()
for _, name in ipairs { "a-weight", "a-bias", "b-weight", "c", "d", "d-m", "e-weight" } do
  lines[#lines + 1] = ("%.17g"):format(weighted(all[name]))
end
print(table.concat(lines, "\n"))
]]

local function numbers_of(environment, options)
  local out, status = helper.script(TRAIN, environment, options)
  assert(status == 0, out)
  local list = {}
  for number in out:gmatch "%S+" do list[#list + 1] = assert(tonumber(number), out) end
  return list
end

describe("a job over several processes", function()
  local want

  setup(function() want = numbers_of() end)

  local function check(environment, options)
    local got = numbers_of(environment, options)
    assert.equal(10, #want)
    assert.equal(#want, #got)
    for i, number in ipairs(want) do assert.near(number, got[i], 1e-11) end
  end

  it("trains as in one: two processes", function() check(nil, "--ranks 2") end)
  it("gives back an input, however it lies", function()
    local out, status = helper.script([[
      local flow = require "jfl"
      local tp, rank = flow.typing, flow.env.rank()
      local function show(name, distribute, x)
        local job = flow.global_function { name = name, returns = tp.Tuple(tp.Numpy, tp.Numpy),
          inputs = { { "x", tp.Numpy.Placeholder({ 4 }, { distribute = distribute }) } },
          body = function(v) return v, v * 2 end }
        print(name, job(x))
      end
      show("auto", nil, { 1, 2, 3, 4 })
      show("broadcast", flow.distribute.broadcast(), { 1, 2, 3, 4 })
      show("split", flow.distribute.split(0), { 2 * rank + 1, 2 * rank + 2 })
      ]], nil, "--ranks 2")
    assert.equal(0, status, out)
    for _, name in ipairs { "auto", "broadcast", "split" } do
      assert.truthy(out:find(name .. "\t[1. 2. 3. 4.]\t[2. 4. 6. 8.]\n", 1, true), out)
    end
  end)

  -- The two parts that the second process gets are alike but for where they begin.
  it("gives each device of a process its own part of what another has", function()
    local out, status = helper.script([[
      local flow = require "jfl"
      local tp, place = flow.typing, flow.scope.placement
      local job = flow.global_function { name = "job", returns = tp.Numpy,
        inputs = { { "x", tp.Numpy.Placeholder({ 4, 2 }) } },
        body = function(x)
          local whole = place("cpu", "0:0", function() return x * 2 end)
          return place("cpu", "1:0-1", function()
            return flow.parallel_cast(whole, { distribute = flow.distribute.split(0) }) * 3
          end)
        end }
      local y = job { { 1, 2 }, { 3, 4 }, { 5, 6 }, { 7, 8 } }
      print(y:reshape { 8 })
      ]], "JFL_CPU_DEVICES=2", "--ranks 2")
    assert.equal(0, status, out)
    assert.truthy(out:find("[ 6. 12. 18. 24. 30. 36. 42. 48.]", 1, true), out)
  end)

  it("must have inputs that lie alike on all of them", function()
    local out = helper.script([[
      local flow = require "jfl"
      local d = flow.env.rank() == 0 and flow.distribute.broadcast() or flow.distribute.split(0)
      local job = flow.global_function { name = "job", returns = flow.typing.Numpy,
        inputs = { { "x", flow.typing.Numpy.Placeholder({ 4 }, { distribute = d }) } },
        body = function(x) return flow.math.reduce_sum(x) end }
      job(flow.ndarray.ones({ flow.env.rank() == 0 and 4 or 2 }))
      ]], "timeout 1800", "--ranks 2")
    assert.truthy(out:find("both compile job 'job' on", 1, true), out)
  end)

  it("trains as in one: three processes", function() check(nil, "--ranks 3") end)
  for placement, what in pairs { ["gpu 0-1:0"] = "a GPU", ["gpu 0-1:0-1"] = "two GPUs" } do
    it(("trains as in one: two processes of %s each"):format(what), function()
      check(("LD_LIBRARY_PATH=build/emulated XDG_CACHE_HOME=\"$PWD/build/cache\" "
        .. "JFL_TF32=0 JFL_DEVICE='%s'"):format(placement), "--ranks 2")
    end)
  end
  it("trains as in one: two processes of two devices each", function()
    check("JFL_CPU_DEVICES=2", "--ranks 2")
  end)
  it("trains as with whole batches where one device takes the batch in parts", function()
    check("MICRO_BATCHES=2")
  end)
  it("trains as in one where each device takes the batch in parts: two processes", function()
    check("MICRO_BATCHES=2", "--ranks 2")
  end)
  it("trains as in one where each device takes the batch in parts: three processes", function()
    check("MICRO_BATCHES=2", "--ranks 3")
  end)
end)
