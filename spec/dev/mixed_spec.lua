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

-- Trains some steps of a body; prints the losses, then the plan. PLACE says where, MIXED how.
local BODIES = [[
  local flow = require "jfl"
  local tp = flow.typing
  flow.random.seed(5)
  local config = flow.function_config()
  if os.getenv "SPEC_MIXED" then config.enable_auto_mixed_precision(true) end
  local function train(shape, labels, body, steps)
    flow.clear_default_session()
    flow.random.seed(5)
    local job = flow.global_function {
      name = "train", type = "train", returns = tp.Numpy, function_config = config,
      inputs = { { "x", tp.Numpy.Placeholder(shape) },
                 { "y", tp.Numpy.Placeholder({ labels }, { dtype = flow.int32 }) } },
      body = function(x, y)
        local loss = body(x, y)
        flow.optimizer.SGD(0.2):minimize(loss)
        return loss
      end }
    local x, y = flow.random.normal(shape), {}
    for i = 1, labels do y[i] = i * 7 %% 100 end
    for _ = 1, steps or 4 do print(("loss %%.6f"):format(job(x, y):mean())) end
    if os.getenv "SPEC_MIXED" then print(job:plan()) end
  end
  %s
]]

--- What the losses are on the CPU in float32, and on the GPU in bfloat16, within `tol`; the plan.
local function beside(body, tol)
  local losses, plan = {}, nil
  for _, run in ipairs { { JFL_DEVICE = "cpu" }, { JFL_DEVICE = "gpu", SPEC_MIXED = 1 } } do
    local out, status = emulated.run(run, BODIES:format(body))
    assert.equal(0, status, out)
    local list = {}
    for loss in out:gmatch "loss (%S+)" do list[#list + 1] = tonumber(loss) end
    losses[#losses + 1], plan = list, out
  end
  assert.truthy(#losses[1] > 0)
  for i, want in ipairs(losses[1]) do assert.near(want, losses[2][i], tol) end
  return plan
end

--- How many steps of an op there are, and how many operands they have in bfloat16.
local function narrow(plan, op)
  local steps, operands = 0, 0
  for rest in plan:gmatch("\n *%d+  " .. op .. " ([^\n]*)") do
    steps = steps + 1
    operands = operands + select(2, rest:gsub("%-bfloat16%[", ""))
  end
  return steps, operands
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

  it("computes cross entropies of logits in bfloat16, and their gradient in bfloat16", function()
    for _, classes in ipairs { 129, 515, 2051 } do
      local plan = beside(([[
        local CLASSES = %d
        for _, smoothing in ipairs { 0, 0.1 } do
          train({ 128, 96 }, 128, function(x, y)
            return flow.nn.sparse_softmax_cross_entropy_with_logits(y,
              flow.layers.dense(x, CLASSES), { label_smoothing = smoothing })
          end)
          train({ 128, 96 }, 128, function(x, y)
            return flow.nn.cross_entropy(flow.layers.dense(x, CLASSES), y,
              { ignore_index = 7, label_smoothing = smoothing })
          end)
        end
      ]]):format(classes), 0.02)
      local steps, operands = narrow(plan, "sparse_softmax_cross_entropy_with_logits")
      assert.same({ 4, 4 }, { steps, operands })
      steps, operands = narrow(plan, "sparse_softmax_cross_entropy_grad")
      assert.same({ 4, 8 }, { steps, operands })
      local _, pads = plan:gsub(" cuda_pad ", "")
      assert.equal(classes > 256 and 8 or 0, pads)
    end
  end)

  it("pads logits of weights that words share, and gives the padding no gradient", function()
    local plan = beside([[
      train({ 128, 96 }, 128, function(x, y)
        local words = flow.get_variable("words", { 1029, 96 },
          { initializer = flow.random_normal_initializer(0, 0.3) })
        local h = flow.gather(words, y) + x
        local logits = flow.matmul(flow.layers.dense(h, 96), words, { transpose_b = true })
        return flow.nn.sparse_softmax_cross_entropy_with_logits(flow.reshape(y, { 8, 16 }),
          flow.reshape(logits, { 8, 16, 1029 }))
      end)
    ]], 0.02)
    assert.truthy(plan:find("cuda_pad .*words%-bfloat16%[arena.* %-> pad_1%-bfloat16"), plan)
  end)

  it("leaves logits as they are that others read, or whose columns fit", function()
    local plan = beside([[
      for _, classes in ipairs { 1029, 1024 } do
        train({ 128, 96 }, 128, function(x, y)
          local logits = flow.layers.dense(x, classes)
          return flow.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
            + 1e-6 * flow.math.reduce_sum(logits, { axis = 1 }) * (classes % 2)
        end)
      end
    ]], 0.02)
    assert.falsy(plan:find("cuda_pad", 1, true), plan)
  end)

  it("normalizes batches that are stored in bfloat16, with addends and behind them", function()
    for _, size in ipairs { 7, 18 } do
      local plan = beside(([[
        train({ 8, 64, %d, %d }, 8, function(x, y)
          local function conv(v, name)
            return flow.layers.conv2d(v, 64, 3, { padding = "SAME", use_bias = false, name = name })
          end
          local a = flow.layers.batch_normalization_relu(conv(x, "one"), { axis = 1 })
          local b = flow.layers.batch_normalization_add_relu(conv(a, "two"), a, { axis = 1 })
          local c = flow.layers.batch_normalization(conv(b, "three"), { axis = 1 })
          local d = flow.layers.batch_normalization_add_relu(conv(b, "four"), c, { axis = 1 })
          d = flow.layers.batch_normalization_relu(conv(d, "five"), { axis = 1 })
          return flow.nn.sparse_softmax_cross_entropy_with_logits(y,
            flow.layers.dense(flow.math.reduce_mean(d, { axis = { 2, 3 } }), 100))
        end)
      ]]):format(size, size), 0.03)
      -- x and y of each, and two addends; then, but for dy of the last, all gradients like x too,
      -- and what one reads as a sum
      local steps, operands = narrow(plan, "batch_norm")
      assert.same({ 5, 12 }, { steps, operands })
      steps, operands = narrow(plan, "batch_norm_grad")
      assert.same({ 5, 19 }, { steps, operands })
    end
  end)

  it("takes a small ResNet the same way, with its pool in bfloat16, for eight steps", function()
    local plan = beside([[
      train({ 4, 3, 32, 32 }, 4, function(x, y)
        local function conv(v, filters, size, strides)
          v = flow.layers.conv2d(v, filters, size, { padding = "SAME", use_bias = false,
            strides = strides })
          return flow.layers.batch_normalization(v, { axis = 1 })
        end
        local function block(v, filters, strides)
          local short = conv(v, filters, 1, strides)
          v = flow.nn.relu(conv(v, filters, 3, strides))
          return flow.nn.relu(conv(v, filters, 3, 1) + short)
        end
        local v = flow.nn.relu(conv(x, 32, 3, 1))
        v = flow.nn.max_pool2d(v, 3, 2, "SAME")
        v = block(block(v, 32, 1), 64, 2)
        v = flow.math.reduce_mean(v, { axis = { 2, 3 } })
        return flow.nn.sparse_softmax_cross_entropy_with_logits(y, flow.layers.dense(v, 100))
      end, 8)
    ]], 0.02)
    local steps, operands = narrow(plan, "max_pool2d")
    assert.same({ 1, 2 }, { steps, operands })
    steps, operands = narrow(plan, "max_pool2d_grad")
    assert.same({ 1, 4 }, { steps, operands })
    assert.same({ 7, 18 }, { narrow(plan, "conv2d") })
  end)

  it("normalizes rows and attends in bfloat16, but keeps the sum in float32", function()
    local plan = beside([[
      for _, causal in ipairs { true, false } do
        train({ 1, 256, 128 }, 256, function(x, y)
          local h = x + flow.layers.dense(x, 128, { name = "first" })
          local function norm(v) return flow.layers.layer_norm(v, { begin_norm_axis = 2 }) end
          h = h + flow.layers.multi_head_attention(norm(h), 2, { causal = causal })
          h = h + flow.layers.dense(norm(h), 128, { name = "last" })
          return flow.nn.sparse_softmax_cross_entropy_with_logits(y,
            flow.layers.dense(h:reshape { 256, 128 }, 128, { name = "head" }))
        end)
      end
    ]], 0.02)
    assert.truthy(plan:find "scaled_dot_product_attention_grad +cudnn_attention ")
    for _, copies in ipairs { "transpose", "split", "concat" } do
      assert.falsy(plan:find("%d+  " .. copies .. " "))
    end
    assert.same({ 2, 8 }, { narrow(plan, "scaled_dot_product_attention") })
    assert.same({ 2, 12 }, { narrow(plan, "scaled_dot_product_attention_grad") })
    assert.falsy(plan:find "row_norm +cuda" or plan:find "row_norm_grad +cuda")
    for _, sum in ipairs { "add_1", "add_2" } do
      assert.truthy(plan:find("-> " .. sum .. "[arena", 1, true), sum)
      assert.falsy(plan:find(sum .. "-bfloat16", 1, true), sum)
    end
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
