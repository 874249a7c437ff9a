local core = require "jfl.core"
local flow = require "jfl"
local helper = require "spec.lua.helper"
local passes = require "spec.passes"
local tp = flow.typing

--- A job with products, biases, an embedding and clipping by the norm of all gradients.
local function network(set)
  local config = flow.function_config()
  config.default_data_type(flow.double)
  set(config)
  return flow.global_function {
    name = "net", type = "train", returns = tp.Numpy, function_config = config,
    inputs = { { "x", tp.Numpy.Placeholder({ 8, 6 }, flow.double) },
      { "ids", tp.Numpy.Placeholder({ 8 }, flow.int32) } },
    body = function(x, ids)
      local normal = { kernel_initializer = flow.random_normal_initializer(0, 0.3), name = "a" }
      local h = flow.math.tanh(flow.layers.dense(x, 10, normal))
      h = h + flow.layers.embedding(ids, 9, 10,
        { embeddings_initializer = flow.random_normal_initializer(), name = "e" })
      normal.name = "b"
      h = flow.layers.dense(h, 5, normal)
      local loss = flow.math.reduce_mean(flow.math.square(h))
      flow.optimizer.AdamW(0.05, { weight_decay = 0.1,
        grad_clipping = flow.optimizer.grad_clipping.by_global_norm(0.5) }):minimize(loss)
      return loss
    end,
  }
end

--- The losses of some steps, the variables after them, and the plan.
local function trained(device, set)
  flow.clear_default_session()
  flow.random.seed(2)
  core.set("device", device)
  local job, out = network(set), {}
  for _ = 1, 4 do
    local x = flow.random.normal({ 8, 6 }, { dtype = flow.double })
    out[#out + 1] = job(x, { 0, 1, 2, 3, 4, 5, 6, 8 })[1]
  end
  for _, name in ipairs { "a-weight", "a-weight-m", "b-weight-v", "b-bias", "e-weight" } do
    for _, value in ipairs(helper.list(assert(flow.get_all_variables()[name], name))) do
      out[#out + 1] = value
    end
  end
  return out, job:plan()
end

local function split(least)
  return function(config)
    config.optimizer_placement_optimization_mode("distributed_split")
    config.optimizer_placement_optimization_threshold(least)
  end
end

local function bytes(plan)
  local n, unit = plan:match("variables of ([%d.]+) (%a+)")
  return tonumber(n) * ({ B = 1, KB = 1e3 })[unit]
end

describe("variables that are split over devices", function()
  teardown(function()
    flow.clear_default_session()
    core.set("device", "cpu:0")
  end)

  it("train as whole ones do, in less memory", function()
    local want = trained("cpu:0", function() end)
    local whole, plan = trained("sim 0:0-1", function() end)
    passes.same_numbers(want, whole)
    local parts, less = trained("sim 0:0-1", split(1))
    passes.same_numbers(want, parts)
    assert.is_true(bytes(less) < 0.6 * bytes(plan), less:match("^[^\n]*"))
  end)

  it("are those with enough elements", function()
    local _, plan = trained("sim 0:0-1", split(70))
    assert.truthy(plan:find("e-weight@1[variable]", 1, true), plan)
    local _, all, some = nil, trained("sim 0:0-1", split(1)), trained("sim 0:0-1", split(70))
    passes.same_numbers(all, some)
  end)

  it("are none on one device", function()
    passes.same_numbers((trained("cpu:0", function() end)), (trained("cpu:0", split(1))))
  end)

  it("have a part in each process, also where batches are cut", function()
    local function losses(setting, options, environment)
      local out, status = helper.script([[
        local flow = require "jfl"
        local tp = flow.typing
        local config = flow.function_config()
        config.default_data_type(flow.double)
        ]] .. setting .. [[
        flow.random.seed(1)
        local job = flow.global_function { name = "net", type = "train", returns = tp.Numpy,
          function_config = config,
          inputs = { { "x", tp.Numpy.Placeholder({ 8, 4 }, flow.double) } },
          body = function(x)
            local h = flow.math.tanh(flow.layers.dense(x, 6, { name = "a",
              kernel_initializer = flow.random_normal_initializer(0, 0.5) }))
            local loss = flow.math.reduce_mean(flow.math.square(h - 1))
            flow.optimizer.Adam(0.1):minimize(loss)
            return loss
          end }
        local x = flow.random.normal({ 8, 4 }, { dtype = flow.double })
        for _ = 1, 3 do print(("%.11f"):format(job(x)[1])) end
        local plan = job:plan()
        local _, scattered = plan:gsub("%f[%w_]reduce_scatter ", "")
        print(plan:match("variables of ([%d]+) B"), scattered)
      ]], environment, options)
      assert.equal(0, status, out)
      local numbers, size, scattered = out:match("^(.-)(%d+)\t(%d+)\n$")
      return numbers, tonumber(size), tonumber(scattered)
    end
    local zero = "config.optimizer_placement_optimization_mode(\"distributed_split\")\n"
      .. "config.optimizer_placement_optimization_threshold(1)\n"
    local want, all = losses("", "")
    local got, part, scattered = losses(zero, "--ranks 2")
    assert.equal(want, got)
    assert.is_true(part < 0.6 * all, part .. " of " .. all .. " bytes")
    assert.equal(2, scattered)
    assert.equal(want, (losses(zero, "--ranks 2", "JFL_CPU_DEVICES=2")))
    assert.equal(want, (losses(zero .. "config.micro_batches(2)\n", "--ranks 2")))
  end)
end)
