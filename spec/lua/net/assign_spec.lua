-- flow.assign, by which a body changes variables, and flow.stop_gradient.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local tp = flow.typing

local X = { { "x", tp.Numpy.Placeholder({ 2 }) } }

local function var(name, value, dtype)
  return flow.get_variable(name, { shape = { 2 }, dtype = dtype,
    initializer = flow.constant_initializer(value), trainable = name == "w" })
end

local function job(type, body)
  return flow.global_function { name = "job", type = type, inputs = X, returns = tp.List(tp.Numpy),
    body = function(x) return { body(x) } end }
end

local function values(list)
  local out = {}
  for i, a in ipairs(list) do out[i] = a:totable() end
  return out
end

describe("assign", function()
  before_each(flow.clear_default_session)

  it("counts the calls of a predict job, whose reads are from before", function()
    local count = job("predict", function()
      local n = var("n", 0, flow.int64)
      return n, flow.assign(n, n + 1)
    end)
    assert.same({ { 0, 0 }, { 1, 1 } }, values(count { 0, 0 }))
    assert.same({ { 1, 1 }, { 2, 2 } }, values(count { 0, 0 }))
  end)

  it("swaps variables", function()
    local swap = job("predict", function()
      local a, b = var("a", 1), var("b", 2)
      flow.assign(a, b)
      flow.assign(b, a)
      return a, b
    end)
    assert.same({ { 1, 1 }, { 2, 2 } }, values(swap { 0, 0 }))
    assert.same({ { 2, 2 }, { 1, 1 } }, values(swap { 0, 0 }))
  end)

  it("keeps averages and copies of weights that a step trains", function()
    local train = job("train", function(x)
      local w, average, target = var("w", 1), var("average", 0), var("target", 0)
      flow.assign(average, average * 0.5 + w * 0.5)
      flow.assign(target, w)
      flow.optimizer.SGD(1, { momentum = 0 }):minimize(flow.math.reduce_sum(w * x))
      return w, average, target
    end)
    assert.same({ { 1, 1 }, { 0, 0 }, { 0, 0 } }, values(train { 1, 2 }))
    assert.same({ { 0, -1 }, { 0.5, 0.5 }, { 1, 1 } }, values(train { 1, 2 }))
    assert.same({ { -1, -3 }, { 0.25, -0.25 }, { 0, -1 } }, values(train { 1, 2 }))
  end)

  it("takes numbers, NdArrays and tensors of one element; the last call counts", function()
    local set = job("predict", function(x)
      local a, b = var("a", 0), var("b", 0)
      flow.assign(a, x)
      flow.assign(a, 7)
      flow.assign(b, flow.math.reduce_sum(x))
      local c = flow.assign(var("c", 0), flow.ndarray.array { 5, 6 })
      return a, b, c
    end)
    set { 1, 2 }
    assert.same({ { 7, 7 }, { 3, 3 }, { 5, 6 } }, values(set { 1, 2 }))
  end)

  it("is seen by other jobs, and by what is saved", function()
    local set = job("predict", function(x) return flow.assign(var("a", 0), x) end)
    set { 3, 4 }
    assert.same({ 3, 4 }, flow.get_all_variables().a:totable())
  end)

  it("may be all that a job does, whether it trains or not", function()
    for _, kind in ipairs { "predict", "train" } do
      flow.clear_default_session()
      local count = flow.global_function { name = "count", type = kind,
        inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
        body = function(x) flow.assign(var("a", 0), var("a", 0) + x) end }
      for _ = 1, 3 do count({ 1, 2 }) end
      flow.sync()
      assert.same({ 3, 6 }, flow.get_all_variables().a:totable())
    end
    flow.clear_default_session()
    local seen = {}
    local look = flow.global_function { name = "look",
      inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
      body = function(x) flow.watch(x, function(value) seen[#seen + 1] = value[2] end) end }
    look({ 1, 2 })
    look({ 3, 4 })
    flow.sync()
    assert.same({ 2, 4 }, seen)
    helper.fails(function()
      flow.global_function { name = "idle", inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
        body = function() end }:compile()
    end, "must return a blob, or a table of blobs, got nothing")
  end)

  it("names what cannot be assigned", function()
    local function fails(message, body)
      helper.fails(function() job("predict", body):compile() end, message)
    end
    fails("assign: ref must be what flow.get_variable gave in this job, got blob 'x'",
      function(x) return flow.assign(x, 1) end)
    fails("assign: value must be float32 like variable 'a', got int32; flow.cast converts",
      function(x) return flow.assign(var("a", 0), flow.cast(x, flow.int32)) end)
    fails("assign: value must be float32 (2) like variable, got float32 (1, 2)",
      function(x) return flow.assign(var("a", 0), flow.reshape(x, { 1, 2 })) end)
    fails("assign: value must be a blob, an NdArray or a number, got string 'x'",
      function() return flow.assign(var("a", 0), "x") end)
  end)
end)

describe("stop_gradient", function()
  it("gives what it is given, and trains nothing behind it", function()
    flow.clear_default_session()
    local train = job("train", function(x)
      local w = var("w", 3)
      flow.optimizer.SGD(1, { momentum = 0 }):minimize(
        flow.math.reduce_sum(w * flow.stop_gradient(w * x)))
      return w
    end)
    train { 1, 0 }
    assert.same({ { 0, 3 } }, values(train { 1, 0 }))
  end)
end)
