local core = require "jfl.core"
local flow = require "jfl"
local support = require "spec.op.support"
local tp = flow.typing

local SHAPE = { 6, 3, 4, 4 }

local function numbers(dtype, shape, step)
  local n = 1
  for _, extent in ipairs(shape) do n = n * extent end
  local flat = core.array(dtype, { n })
  for i = 1, n do flat[i] = math.sin(0.37 * i + step) end
  return core.reshape(flat, shape)
end

--- What three steps on a device give: losses, then all variables; and the plan's text.
local function train(device, layer)
  flow.clear_default_session()
  core.set("seed", 3)
  core.set("device", device)
  local job = flow.global_function {
    name = "train",
    type = "train",
    inputs = {
      { "x", tp.Numpy.Placeholder(SHAPE, { dtype = flow.float64 }) },
      { "labels", tp.Numpy.Placeholder({ SHAPE[1] }, { dtype = flow.int32 }) },
    },
    returns = tp.Numpy,
    body = function(x, labels)
      x = layer(x)
      x = flow.layers.dense(flow.reshape(x, { SHAPE[1], -1 }), 4, { name = "out" })
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, x)
      flow.optimizer.SGD(0.1):minimize(loss)
      return loss
    end,
  }
  local given, labels = {}, core.from_table({ 0, 1, 2, 3, 1, 2 }, "int32")
  for step = 1, 3 do
    given[step] = support.flat(job(numbers("float64", SHAPE, step), labels))
  end
  for name, v in pairs(flow.get_all_variables()) do given[name] = support.flat(v:numpy()) end
  return given, tostring(job:plan())
end

describe("a layer on several devices", function()
  teardown(function() flow.clear_default_session() end)

  local layers = {
    ["batch normalization"] = function(x)
      return flow.layers.batch_normalization(x, { axis = 1, name = "layer" })
    end,
    ["batch normalization of channels that come last"] = function(x)
      return flow.layers.batch_normalization(x, { axis = 3, name = "layer" })
    end,
    ["batch normalization with an addend and relu"] = function(x)
      return flow.layers.batch_normalization_add_relu(x, flow.math.negative(x),
        { axis = 1, name = "layer" })
    end,
    ["LSTM"] = function(x)
      return (flow.layers.lstm(flow.reshape(x, { SHAPE[1], 12, 4 }), 3,
        { num_layers = 2, name = "layer" }))
    end,
    ["GRU"] = function(x)
      return (flow.layers.gru(flow.reshape(x, { SHAPE[1], 12, 4 }), 3,
        { bidirectional = true, name = "layer" }))
    end,
    ["dropout"] = function(x) return flow.nn.dropout(x, 0.4, { name = "layer" }) end,
    ["layer normalization"] = function(x)
      return flow.layers.layer_norm(x, { begin_norm_axis = 1, name = "layer" })
    end,
  }
  for what, layer in pairs(layers) do
    it("gives with " .. what .. " what it gives on one", function()
      local want = train("cpu:0", layer)
      for _, device in ipairs { "sim:0-1", "sim:0-3" } do
        local got, plan = train(device, layer)
        assert.truthy(plan:find "@1", plan)
        local cut_anew = plan:match "[^\n]*split%(%d%) %-> split%(%d%), %d+ bytes"
        assert.truthy(device == "sim:0-3" or not cut_anew, cut_anew)
        for name, list in pairs(want) do
          local ok, message = support.close(got[name] or {}, list, 1e-12)
          assert.truthy(ok, ("%s, %s, %s"):format(device, name, message or ""))
        end
      end
    end)
  end

  it("keeps its own statistics in batch normalization on one device", function()
    local _, plan = train("sim:0", layers["batch normalization"])
    assert.truthy(plan:find "batch_norm ", plan)
  end)
end)
