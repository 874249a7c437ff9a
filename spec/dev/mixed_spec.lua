--- Mixed precision on the emulated GPU: what is rounded and what is not is as on the CPU.
local emulated = require "spec.dev.emulated"

-- Trains a network of three layers; prints each loss, then what the plan reads as 16 bits, the
-- dtypes of the variables, and the loss scale.
local TRAINS = [[
  local flow = require "jfl"
  local tp = flow.typing
  flow.random.seed(5)
  local config = flow.function_config()
  config.enable_auto_mixed_precision("%s")
  local train = flow.global_function {
    name = "train", type = "train", returns = tp.Numpy, function_config = config,
    inputs = { { "x", tp.Numpy.Placeholder({ 128, 128 }) },
               { "y", tp.Numpy.Placeholder({ 128 }, { dtype = flow.int32 }) } },
    body = function(x, y)
      local h = flow.layers.dense(x, 128, { activation = flow.nn.relu, name = "first" })
      h = flow.layers.dense(flow.nn.dropout(h, 0.25), 128, { activation = flow.math.gelu,
        name = "second" })
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(y, flow.layers.dense(h, 128))
      flow.optimizer.Adam(0.01, { loss_scale_policy = %s }):minimize(loss)
      return loss
    end,
  }
  local x, y = flow.random.normal({ 128, 128 }), {}
  for i = 1, 128 do y[i] = i %% 64 end
  for _ = 1, 6 do io.write(("%%.6f "):format(train(x, y):mean())) end
  if os.getenv "SPEC_PLAN" then print(train:plan()) end
  local _, brief = train:plan():gsub("%%-b?float16%%[", "")
  local dtype, scale = "float32", 0
  for name, value in pairs(flow.get_all_variables()) do
    if name:find "weight" and value.dtype ~= "float32" then dtype = value.dtype end
    if name:find "LossScale$" then scale = value:mean() end
  end
  print("; " .. brief .. " " .. dtype .. " " .. scale)
]]

--- The losses, how often something is read as 16 bits, the weights' dtype, and the loss scale.
local function trained(variables, dtype, scale)
  local out, status = emulated.run(variables, TRAINS:format(dtype, scale))
  assert.equal(0, status, out)
  local losses = {}
  for word in out:match("^[^;]*"):gmatch "%S+" do losses[#losses + 1] = tonumber(word) end
  local brief, weights, last = out:match "; (%d+) (%w+) (%S+)"
  return losses, tonumber(brief), weights, tonumber(last)
end

local function both(dtype, scale)
  local want, _, _, last = trained({ JFL_DEVICE = "cpu", JFL_KERNELS = "reference" }, dtype, scale)
  local got, brief, weights, got_last = trained({ JFL_DEVICE = "gpu" }, dtype, scale)
  assert.equal(6, #want)
  for i = 1, 6 do assert.near(want[i], got[i], 0.01) end
  assert.truthy(brief > 0)
  assert.equal("float32", weights)
  assert.equal(last, got_last)
  return got, last
end

--- The names of all temporaries of a plan, as a set.
local function stored(device)
  local out = emulated.run({ JFL_DEVICE = device, SPEC_PLAN = 1 }, TRAINS:format("bfloat16", "nil"))
  local names = {}
  for name in out:gmatch "([%w_%-]+)%[arena" do names[name] = true end
  return names
end

local DYNAMIC = "flow.optimizer.loss_scale.dynamic_loss_scale { initial_loss_scale = %s, "
  .. "increment_period = 2 }"

describe("mixed precision on a GPU", function()
  it("trains as on the CPU, in bfloat16, with weights in float32", function()
    local losses = both("bfloat16", "nil")
    assert.truthy(losses[6] < losses[1] / 2)
  end)

  it("stores in bfloat16 alone what products and elementwise ops read, on a GPU", function()
    local there, here = stored "gpu", stored "cpu"
    for _, name in ipairs { "second-matmul", "matmul_3" } do
      assert.truthy(there[name .. "-bfloat16"], name)
      assert.falsy(there[name], name)
      assert.falsy(here[name .. "-bfloat16"], name)
    end
    assert.truthy(there["second-activation-bfloat16"])
    assert.falsy(there["second-activation"])
  end)

  it("trains as on the CPU, in float16 with a static and a dynamic loss scale", function()
    local losses = both("float16", "flow.optimizer.loss_scale.static_loss_scale(64)")
    assert.truthy(losses[6] < losses[1] / 2)
    local scaled, last = both("float16", DYNAMIC:format "256")
    assert.truthy(scaled[6] < scaled[1] / 2)
    assert.equal(256 * 2 ^ 3, last)
  end)

  it("skips steps whose gradients overflow, and halves the scale", function()
    local losses, last = both("float16", DYNAMIC:format "2 ^ 30")
    assert.truthy(losses[6] > losses[1] / 2)
    assert.equal(2 ^ 24, last)
  end)
end)
