local core = require "jfl.core"
local flow = require "jfl"
local helper = require "spec.lua.helper"
local passes = require "spec.passes"
local tp = flow.typing

--- Two stages of dense layers on two devices, or all on one.
local function network(parts, device, fields)
  local config = flow.function_config()
  config.default_data_type(flow.double)
  if parts then config.micro_batches(parts) end
  local function stage(i, fn)
    if not device then return fn() end
    return flow.scope.placement(device, "0:" .. i, fn)
  end
  return flow.global_function {
    name = "net", type = "train", returns = tp.Numpy, function_config = config,
    inputs = { { "x", tp.Numpy.Placeholder({ 10, 6 }, flow.double) } },
    body = function(x)
      local h = x
      for i = 0, 1 do
        h = stage(i, function()
          h = flow.layers.dense(flow.math.tanh(h), 6, { name = "stage" .. i,
            kernel_initializer = flow.random_normal_initializer(0, 0.3) })
          h = flow.nn.dropout(h, { rate = 0.3, name = "drop" .. i })
          if fields and fields.norm then
            h = flow.layers.batch_normalization(h, { axis = 1, name = "norm" .. i })
          end
          return h
        end)
      end
      local loss = stage(1, function() return flow.math.reduce_mean(flow.math.square(h - 1)) end)
      flow.optimizer.Adam(0.05):minimize(loss)
      return loss
    end,
  }
end

local function trained(parts, device, fields)
  flow.clear_default_session()
  flow.random.seed(4)
  local job, out = network(parts, device, fields), {}
  for _ = 1, 4 do
    out[#out + 1] = job(flow.random.normal({ 10, 6 }, { dtype = flow.double }))[1]
  end
  for _, name in ipairs { "stage0-weight", "stage1-bias", "stage0-weight-v" } do
    for _, value in ipairs(helper.list(flow.get_all_variables()[name])) do
      out[#out + 1] = value
    end
  end
  return out, job
end

describe("parts of a batch that take turns", function()
  teardown(flow.clear_default_session)

  it("train as the whole batch does, with its dropout", function()
    local want = trained()
    for _, parts in ipairs { 1, 2, 3, 5, 10 } do
      passes.same_numbers(want, (trained(parts)))
      passes.same_numbers(want, (trained(parts, "sim")))
    end
  end)

  it("have the statistics of the whole batch", function()
    local norm = { norm = true }
    local want = trained(nil, nil, norm)
    passes.same_numbers(want, (trained(4, nil, norm)))
    passes.same_numbers(want, (trained(2, "sim", norm)))
  end)

  it("go forward on one device while another has the part before", function()
    local _, job = trained(5, "sim")
    local plan = job:plan()
    local first, seen = {}, {}
    for device, name in plan:gmatch("\n *%d+  (sim:%d) [^\n]-%-> ([^%[\n]+)") do
      local part = name:match("^tanh_%d@(%d)$") or name:match("^tanh_grad_%d@(%d)$")
      local key = part and device .. (name:find("grad") and " back " or " forward ") .. part
      if key and not seen[key] then first[#first + 1], seen[key] = key, true end
    end
    local by = { ["sim:0"] = {}, ["sim:1"] = {} }
    for _, key in ipairs(first) do
      local device, what = key:match("^(sim:%d) (.*)$")
      table.insert(by[device], what)
    end
    assert.same({ "forward 0", "forward 1", "forward 2", "forward 3", "forward 4" }, by["sim:0"])
    assert.same({ "forward 0", "back 0", "forward 1", "back 1", "forward 2", "back 2",
      "forward 3", "back 3", "forward 4", "back 4" }, by["sim:1"])
  end)

  it("need less memory, as few are there at a time", function()
    local function temporaries(parts)
      flow.clear_default_session()
      local config = flow.function_config()
      config.micro_batches(parts)
      local job = flow.global_function {
        name = "deep", type = "train", returns = tp.Numpy, function_config = config,
        inputs = { { "x", tp.Numpy.Placeholder({ 4096, 16 }) } },
        body = function(x)
          for _ = 1, 6 do x = flow.math.tanh(flow.layers.dense(x, 16)) end
          local loss = flow.math.reduce_mean(x)
          flow.optimizer.SGD(0.1):minimize(loss)
          return loss
        end,
      }
      local n, unit = job:plan():match("temporaries of ([%d.]+) (%a+)")
      return tonumber(n) * ({ B = 1, KB = 1e3, MB = 1e6 })[unit]
    end
    local whole, parts = temporaries(1), temporaries(8)
    assert.is_true(parts < 0.5 * whole, ("%g of %g bytes"):format(parts, whole))
  end)

  it("are computed in the steps of a whole batch, whatever passes add to them", function()
    local function plan(parts, mixed)
      flow.clear_default_session()
      local config = flow.function_config()
      config.micro_batches(parts)
      config.enable_auto_mixed_precision(mixed)
      return flow.global_function {
        name = "net", type = "train", returns = tp.Numpy, function_config = config,
        inputs = { { "x", tp.Numpy.Placeholder({ 12, 16 }) } },
        body = function(x)
          for i = 1, 2 do x = flow.math.tanh(flow.layers.dense(x, 16, { name = "d" .. i })) end
          local loss = flow.math.reduce_mean(flow.math.square(x))
          flow.optimizer.SGD(0.1):minimize(loss)
          return loss
        end,
      }:plan()
    end
    -- How often each program occurs that has a gradient of tanh among its ops.
    local function programs(text)
      local n = {}
      for title in text:gmatch("fused(%b())") do
        if title:find("tanh_grad") then n[title] = (n[title] or 0) + 1 end
      end
      return n
    end
    for _, mixed in ipairs { false, "float16" } do
      local want, got = programs(plan(1, mixed)), programs(plan(3, mixed))
      assert.truthy(next(want))
      for title, n in pairs(want) do assert.equal(3 * n, got[title], title) end
    end
  end)

  it("say what cannot be cut", function()
    local config = flow.function_config()
    helper.fails(function() config.micro_batches(0) end, "micro_batches: value must be")
    helper.fails(function() config.micro_batches(1.5) end, "micro_batches: value must be")
    local ok, err = pcall(core.micro_batches, core.graph("g", "train"), 5000)
    assert.is_false(ok)
    assert.truthy(tostring(err):find("n must be from 1 to 1024, got 5000", 1, true), err)
  end)
end)
