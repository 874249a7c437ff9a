-- Mixed precision: what products and convolutions read is rounded to bfloat16 or float16, and
-- training takes the same course.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd, tp = flow.ndarray, flow.typing

after_each(flow.clear_default_session)

local function has_bfloat16()
  local file = io.open("/proc/cpuinfo")
  local text = file and file:read("*a") or ""
  if file then file:close() end
  return text:find("avx512_bf16", 1, true) ~= nil
end

-- A job with the option set by its own config.
local function job_of(name, mixed, inputs, body, mode)
  local config = flow.function_config()
  config.enable_auto_mixed_precision(mixed)
  return flow.global_function { name = name, type = mode, function_config = config,
    inputs = inputs, returns = tp.Numpy, body = body }
end

local function input(name, shape, dtype)
  return { name, tp.Numpy.Placeholder(shape, { dtype = dtype or "float32" }) }
end

-- The largest difference of two arrays, as a part of the largest element.
local function distance(a, b)
  return flow.math.abs(a - b):max() / flow.math.abs(b):max()
end

local function filled(shape, seed)
  flow.random.seed(seed)
  return nd.randn(shape)
end

describe("mixed precision", function()
  it("multiplies and convolves what was rounded, and adds up in float32", function()
    local a, b = filled({ 128, 256 }, 1), filled({ 256, 128 }, 2)
    local x, f = filled({ 2, 32, 12, 12 }, 3), filled({ 64, 32, 3, 3 }, 4)
    local function round(v) return v:astype("bfloat16"):astype("float32") end
    local product = job_of("product", true, { input("a", a.shape), input("b", b.shape) },
      function(p, q) return flow.matmul(p, q) end)
    local slid = job_of("slid", true, { input("x", x.shape), input("f", f.shape) },
      function(p, q) return flow.nn.conv2d(p, q, { padding = "SAME" }) end)
    local y, z = product(a, b), slid(x, f)
    assert.equal("float32", y.dtype)
    local rounded = has_bfloat16()
    local want = flow.matmul(rounded and round(a) or a, rounded and round(b) or b)
    assert.is_true(distance(y, want) < 1e-5)
    want = flow.nn.conv2d(rounded and round(x) or x, rounded and round(f) or f,
      { padding = "SAME" })
    assert.is_true(distance(z, want) < 1e-5)
    assert.equal(rounded, product:plan():find("a-bfloat16", 1, true) ~= nil)
    assert.equal(rounded, slid:plan():find("-bfloat16", 1, true) ~= nil)
  end)

  it("rounds for a convolution that no transform serves, as what serves it is known", function()
    local core = require "jfl.core"
    local plans = {}
    for _, kernels in ipairs { "fast", "direct" } do
      core.set("kernels", kernels)
      plans[kernels] = job_of("slid_" .. kernels, true, { input("x", { 4, 64, 28, 28 }),
        input("f", { 64, 64, 3, 3 }) },
        function(x, f) return flow.nn.conv2d(x, f, { padding = "SAME" }) end, "predict"):plan()
    end
    core.set("kernels", "fast")
    assert.equal(has_bfloat16(), plans.direct:find("-bfloat16", 1, true) ~= nil, plans.direct)
    local transforms = plans.fast:find("winograd", 1, true) ~= nil
    assert.equal(has_bfloat16() and not transforms,
      plans.fast:find("-bfloat16", 1, true) ~= nil, plans.fast)
  end)

  it("leaves activations to products and convolutions of bfloat16", function()
    local inputs = { input("x", { 4, 64, 28, 28 }, "bfloat16"),
      input("f", { 64, 64, 1, 1 }, "bfloat16"), input("a", { 400, 300 }, "bfloat16"),
      input("b", { 300, 320 }, "bfloat16") }
    local job = flow.global_function { name = "activated", inputs = inputs,
      returns = tp.Tuple(tp.Numpy, tp.Numpy), body = function(x, f, a, b)
        return flow.nn.relu6(flow.nn.conv2d(x, f)), flow.nn.relu(flow.matmul(a, b))
      end }
    local x, f = filled({ 4, 64, 28, 28 }, 7), filled({ 64, 64, 1, 1 }, 8)
    local a, b = filled({ 400, 300 }, 9), filled({ 300, 320 }, 10)
    local y, z = job(x:astype "bfloat16", f:astype "bfloat16", a:astype "bfloat16",
      b:astype "bfloat16")
    assert.is_true(distance(y:astype "float32", flow.nn.relu6(flow.nn.conv2d(x, f))) < 0.02)
    assert.is_true(distance(z:astype "float32", flow.nn.relu(flow.matmul(a, b))) < 0.02)
    assert.equal(0, y:astype("float32"):min())
    assert.equal(6, y:astype("float32"):max())
  end)

  it("counts conversions of weights less where they are made once", function()
    local shape, kernel = { 1, 256, 4, 4 }, { 256, 256, 1, 1 }
    local kept = job_of("kept", true, { input("x", shape) }, function(x)
      return flow.layers.conv2d(x, 256, 1, { use_bias = false })
    end)
    local given = job_of("given", true, { input("x", shape), input("w", kernel) },
      function(x, w) return flow.nn.conv2d(x, w) end)
    assert.equal(has_bfloat16(), kept:plan():find("-bfloat16", 1, true) ~= nil)
    assert.is_nil(given:plan():find("-bfloat16", 1, true))
  end)

  it("lets batch normalizations write bfloat16, with the same results", function()
    local shape, labels = { 4, 128, 11, 11 }, nd.array({ 1, 0, 3, 2 }):astype "int32"
    local function block(x, name)
      local y = flow.layers.conv2d(x, 128, 1, { name = name, use_bias = false })
      return flow.layers.batch_normalization_relu(y, { axis = 1, name = name .. "-norm" }), y
    end
    -- What is watched is read as float32 too.
    local function run(watches)
      flow.clear_default_session()
      flow.random.seed(5)
      local train = job_of("train", true, { input("x", shape), input("labels", { 4 }, "int32") },
        function(x, l)
          local a, before = block(x, "first")
          local b = block(a, "second")
          if watches then
            flow.watch(a, function() end)
            flow.watch_diff(before, function() end)
          end
          local logits = flow.math.reduce_mean(block(b, "third"), { axis = { 2, 3 } })
          local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(l, logits)
          flow.optimizer.SGD(0.5):minimize(loss)
          return loss
        end, "train")
      local x = filled(shape, 6)
      for _ = 1, 3 do train(x, labels) end
      local _, casts = train:graph("optimized"):gsub("= cast%(", "")
      return train(x, labels), casts
    end
    local want, more = run(true)
    local got, casts = run(false)
    for i = 1, 4 do assert.equal(want[i], got[i]) end
    if has_bfloat16() then assert.equal(2, more - casts) end
  end)

  it("leaves products that are too small to gain, and jobs without the option", function()
    local function body(p, q) return flow.matmul(p, q) end
    local few = job_of("few", true, { input("a", { 8, 256 }), input("b", { 256, 256 }) }, body)
    local off = job_of("off", false, { input("a", { 256, 256 }), input("b", { 256, 256 }) }, body)
    few:compile()
    off:compile()
    assert.is_nil(few:plan():find("bfloat16", 1, true))
    assert.is_nil(off:plan():find("bfloat16", 1, true))
  end)

  it("is the session's setting for jobs that do not say", function()
    local function ask()
      local job = flow.global_function { name = "job",
        inputs = { input("a", { 256, 256 }), input("b", { 256, 256 }) }, returns = tp.Numpy,
        body = function(p, q) return flow.matmul(p, q) end }
      job:compile()
      return job:plan():find("a-bfloat16", 1, true) ~= nil
    end
    assert.is_false(flow.config.enable_auto_mixed_precision())
    flow.config.enable_auto_mixed_precision(true)
    assert.equal(has_bfloat16(), ask())
    flow.clear_default_session()
    assert.is_false(ask())
    helper.fails(function() flow.config.enable_auto_mixed_precision(1) end,
      "config.enable_auto_mixed_precision: value must be true, false, 'bfloat16' (as true) or "
      .. "'float16', got number 1")
    helper.fails(function() flow.function_config().enable_auto_mixed_precision("on") end,
      "enable_auto_mixed_precision: value must be true, false, 'bfloat16' (as true) or 'float16', "
      .. "got string 'on'")
  end)

  it("rounds a variable once in a step, however often it is read", function()
    if not has_bfloat16() then return pending("the processor has no AVX512-BF16") end
    local job = job_of("once", true, { input("x", { 128, 256 }) }, function(x)
      local y = flow.layers.dense(flow.nn.relu(flow.layers.dense(x, 256)), 256)
      local loss = flow.math.square(y)
      flow.optimizer.Adam(1e-3):minimize(loss)
      return loss
    end, "train")
    job:compile()
    local _, reads = job:plan():gsub("dense_2%-weight%-bfloat16", "")
    local _, makes = job:plan():gsub("%-> dense_2%-weight%-bfloat16", "")
    assert.equal(1, makes)
    assert.equal(3, reads)         -- made, and read by the product and by the gradient
    assert.equal("float32", flow.get_all_variables()["dense_2-weight"].dtype)
  end)
end)

describe("mixed precision with float16", function()
  it("rounds what products and convolutions read, however small, on every processor", function()
    local a, b = filled({ 5, 7 }, 1), filled({ 7, 3 }, 2)
    local x, f = filled({ 1, 3, 6, 6 }, 3), filled({ 4, 3, 3, 3 }, 4)
    local function round(v) return v:astype("float16"):astype("float32") end
    local product = job_of("product", "float16", { input("a", a.shape), input("b", b.shape) },
      function(p, q) return flow.matmul(p, q) end)
    local slid = job_of("slid", "float16", { input("x", x.shape), input("f", f.shape) },
      function(p, q) return flow.nn.conv2d(p, q, { padding = "SAME" }) end)
    assert.equal("float32", product(a, b).dtype)
    assert.is_true(distance(product(a, b), flow.matmul(round(a), round(b))) < 1e-6)
    assert.is_true(distance(slid(x, f), flow.nn.conv2d(round(x), round(f),
      { padding = "SAME" })) < 1e-6)
    assert.is_true(distance(product(a, b), flow.matmul(a, b)) > 1e-5)
  end)

  it("leaves float64 as it is", function()
    local a = filled({ 4, 4 }, 1):astype("float64")
    local job = job_of("doubles", "float16", { input("a", a.shape, "float64") },
      function(p) return flow.matmul(p, p) end)
    assert.same(flow.matmul(a, a):totable(), job(a):totable())
  end)

  -- y = w x with loss y: the gradient of w is x times what the loss is scaled by.
  local function step_of(policy, x)
    flow.clear_default_session()
    local job = job_of("step", "float16", { input("x", { 1, 1 }) }, function(v)
      local w = flow.get_variable("w", { shape = { 1, 1 }, initializer = flow.ones_initializer() })
      local y = flow.matmul(v, w)
      flow.optimizer.SGD(1, { momentum = 0, loss_scale_policy = policy }):minimize(y)
      return y
    end, "train")
    return function()
      job(nd.array { { x } })
      return flow.get_all_variables().w:totable()[1][1]
    end
  end

  it("skips steps whose scaled gradients overflow, and halves the scale", function()
    local step = step_of(flow.optimizer.loss_scale.dynamic_loss_scale(2 ^ 18), 0.5)
    assert.equal(1, step())          -- the scale is 2^18, then 2^17, then 2^16: all above 65504
    assert.equal(1, step())
    assert.equal(1, step())
    assert.equal(0.5, step())
    assert.equal(0, step())
  end)

  it("loses no small gradient that a loss scale lifts", function()
    local function smaller(policy)
      flow.clear_default_session()
      local job = job_of("small", "float16", { input("x", { 1, 1 }) }, function(v)
        local w = flow.get_variable("w", { shape = { 1, 1 },
          initializer = flow.ones_initializer() })
        local y = flow.matmul(v, w) * 1e-9
        flow.optimizer.SGD(1, { momentum = 0, loss_scale_policy = policy }):minimize(y)
        return y
      end, "train")
      for _ = 1, 2 do job(nd.array { { 1000 } }) end
      return flow.get_all_variables().w:totable()[1][1]
    end
    assert.equal(1, smaller())
    assert.is_true(smaller(flow.optimizer.loss_scale.static_loss_scale(2 ^ 20)) < 1)
  end)
end)

-- The losses of a training job with and without the option, from the same variables.
local function courses(name, inputs, body, steps, draw, to)
  local courses_of = {}
  for i, mixed in ipairs { false, to or true } do
    flow.clear_default_session()
    flow.random.seed(11)
    local job, losses = job_of(name, mixed, inputs, body, "train"), {}
    for step = 1, steps do losses[step] = job(draw(step)):mean() end
    courses_of[i] = losses
  end
  return courses_of[1], courses_of[2]
end

local function check_courses(exact, mixed)
  local n = #exact
  assert.is_true(exact[n] < exact[1] / 2, "the exact one does not learn")
  for i = 1, n do
    local far = math.abs(mixed[i] - exact[i]) / math.max(exact[i], exact[1] / 10)
    assert.is_true(far < 0.1, ("step %d: %g, in float32 %g"):format(i, mixed[i], exact[i]))
  end
  return mixed[n] ~= exact[n]
end

describe("training in mixed precision", function()
  -- Pictures of ten kinds, each a pattern with noise on it.
  local function pictures(step)
    local labels = {}
    for i = 1, 32 do labels[i] = (i * 7 + step) % 10 end
    flow.random.seed(step)
    local x = nd.randn { 32, 1, 28, 28 }
    flow.random.seed(999)
    local patterns = nd.randn { 10, 1, 28, 28 }
    local index = nd.array(labels, "int32")
    return flow.gather(patterns, index) + 0.3 * x, index
  end

  it("takes LeNet the same way", function()
    local function lenet(x, labels)
      local o = { padding = "SAME", activation = flow.nn.relu }
      x = flow.layers.conv2d(x, 32, 5, o)
      x = flow.nn.max_pool2d(x, 2, 2, "SAME")
      x = flow.layers.conv2d(x, 64, 5, o)
      x = flow.nn.max_pool2d(x, 2, 2, "SAME")
      x = flow.layers.dense(flow.reshape(x, { 32, -1 }), 128, { activation = flow.nn.relu })
      local logits = flow.layers.dense(x, 10)
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
      flow.optimizer.SGD(0.02, { momentum = 0.9 }):minimize(loss)
      return loss
    end
    local exact, mixed = courses("lenet",
      { input("x", { 32, 1, 28, 28 }), input("labels", { 32 }, "int32") }, lenet, 8, pictures)
    assert.equal(has_bfloat16(), check_courses(exact, mixed))
  end)

  it("takes a small transformer the same way", function()
    local B, T, D = 4, 32, 128
    local function attention(x)
      local h = flow.layers.dense(x, 3 * D)
      local function part(i)
        return flow.reshape(flow.slice(h, { 0, i * D }, { -1, D }), { B, T, D })
      end
      local scores = flow.matmul(part(0), part(1), { transpose_b = true }) * D ^ -0.5
      return flow.reshape(flow.matmul(flow.nn.softmax(scores), part(2)), { B * T, D })
    end
    local function transformer(x, labels)
      for _ = 1, 2 do
        x = x + flow.layers.dense(attention(x), D)
        x = x + flow.layers.dense(flow.layers.dense(x, 4 * D, { activation = flow.math.tanh }), D)
      end
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels,
        flow.layers.dense(x, 64))
      flow.optimizer.Adam(1e-3):minimize(loss)
      return loss
    end
    local x, labels = filled({ B * T, D }, 5), {}
    for i = 1, B * T do labels[i] = i * 5 % 64 end
    labels = nd.array(labels, "int32")
    local exact, mixed = courses("transformer",
      { input("x", { B * T, D }), input("labels", { B * T }, "int32") }, transformer, 12,
      function() return x, labels end)
    assert.equal(has_bfloat16(), check_courses(exact, mixed))
    exact, mixed = courses("transformer",
      { input("x", { B * T, D }), input("labels", { B * T }, "int32") }, transformer, 12,
      function() return x, labels end, "float16")
    assert.is_true(check_courses(exact, mixed))
  end)
end)
