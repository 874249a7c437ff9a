-- Weights in blocks of few bits: their numbers as the package gguf has them, products and rows of
-- them, what is refused, checkpoints, and training beside them.
local flow = require "jfl"
local cases = dofile "spec/op/cases/blocks.lua"
local helper = require "spec.lua.helper"

local nd, tp = flow.ndarray, flow.typing
local FORMS = { "q8_0", "q4_0", "q4_k", "q6_k" }

after_each(flow.clear_default_session)

local function bytes_of(hex)
  return (hex:gsub("..", function(two) return string.char(tonumber(two, 16)) end))
end

local function distance(a, b) return (a - b):abs():max() end

-- The largest difference that rounding x to int8 allows, as kernels/cpu/quantized.c states it.
local function bound(x, w)
  local most = 0
  for i = 1, x.shape[1] do
    local scale = {}
    for j = 1, x.shape[2] do
      local group = math.ceil(j / 32)
      scale[group] = math.max(scale[group] or 0, math.abs(x[i][j]) / 127)
    end
    for r = 1, w.shape[1] do
      local sum = 0
      for j = 1, w.shape[2] do sum = sum + math.abs(w[r][j]) * scale[math.ceil(j / 32)] / 2 end
      most = math.max(most, sum)
    end
  end
  return most * 1.001 + 1e-5
end

describe("blocks", function()
  for _, form in ipairs(FORMS) do
    it("of " .. form .. " are the numbers that gguf makes of them", function()
      local case = cases[form]
      local q = nd.from_blocks(bytes_of(case.bytes), { #case.values }, form)
      assert.equal(0, distance(q:astype("float32"), nd.array(case.values)))
      assert.same({ #case.values }, { unpack(flow.quantization.dequantize(q).shape) })
    end)

    it("of " .. form .. " share the memory of an array of bytes", function()
      local size = #cases[form].bytes / 2
      local raw = nd.zeros({ size }, "uint8")
      local q = nd.from_blocks(raw, { #cases[form].values }, form)
      for i = 1, size do raw[i] = cases[form].bytes:sub(2 * i - 1, 2 * i):byte() end
      assert.is_true(q:astype("float32"):abs():max() > 0)
    end)
  end

  for _, form in ipairs { "q8_0", "q4_0" } do
    it("of " .. form .. " are made as gguf makes them", function()
      local case = cases["made_" .. form]
      local want = nd.from_blocks(bytes_of(case.bytes), { 64 }, form):astype("float32")
      assert.equal(0, distance(want, nd.array(case.values):astype(form):astype("float32")))
    end)
  end

  it("are near the numbers, nearer with more bits", function()
    local x, last = nd.rand({ 4, 256 }) * 2 - 1, 0
    for _, form in ipairs { "q8_0", "q6_k", "q4_k", "q4_0" } do
      local rest = x - x:astype(form):astype("float32")
      local square = (rest * rest):mean()
      assert.is_true(square > last and square < 3e-3, form .. " " .. square)
      last = square
    end
  end)

  it("of zeros, of extremes and of what is no number are finite", function()
    for _, form in ipairs(FORMS) do
      assert.equal(0, nd.zeros({ 256 }):astype(form):astype("float32"):abs():max())
      local x = nd.zeros({ 256 })
      x[1], x[2] = 1000, -1e-30
      assert.is_true(math.abs(x:astype(form):astype("float32")[1] - 1000) < 10, form)
    end
  end)
end)

describe("products", function()
  -- The weights are 19 rows.
  local function is_near(form, rows, width)
    local x, w = nd.rand({ rows, width }) - 0.3, (nd.rand({ 19, width }) - 0.5):astype(form)
    local wide = w:astype("float32")
    local y = flow.matmul(x, w, { transpose_b = true })
    local exact = flow.matmul(x:astype("float64"), wide:astype("float64"), { transpose_b = true })
    assert.is_true(distance(y:astype("float64"), exact) <= bound(x, wide))
  end

  for _, form in ipairs(FORMS) do
    for _, rows in ipairs { 1, 3, 9 } do
      it(("of %d rows with %s are within the stated error"):format(rows, form), function()
        is_near(form, rows, 512)
      end)
    end
  end

  for _, form in ipairs { "q8_0", "q4_0" } do
    it("with rows of " .. form .. " that are no multiple of 256 are, too", function()
      for _, width in ipairs { 32, 288 } do
        for _, rows in ipairs { 1, 2, 11 } do is_near(form, rows, width) end
      end
    end)
  end

  -- A job's variables stay as they are, so that their kernels may lay them out anew.
  it("in a job follow its variables, for all numbers of rows and threads", function()
    local before = flow.config.threads()
    finally(function() flow.config.threads(before) end)
    for _, form in ipairs(FORMS) do
      local width = form:find "_k" and 256 or 96
      local job = flow.global_function { name = "of_" .. form, returns = tp.Numpy,
        inputs = { { "x", tp.Numpy.Placeholder({ -1, width }) } },
        body = function(x)
          return flow.matmul(x, flow.get_variable("w", { 19, width }, { dtype = form,
            trainable = false, initializer = flow.zeros_initializer() }), { transpose_b = true })
        end }
      for round = 1, 2 do
        local w = (nd.rand({ 19, width }) - 0.5):astype(form)
        local wide = w:astype("float32")
        for _, rows in ipairs { 1, 2, 11 } do
          local x = nd.rand({ rows, width }) - 0.3
          job(x)
          flow.load_variables { w = w }
          local exact = flow.matmul(x:astype("float64"), wide:astype("float64"),
            { transpose_b = true })
          for threads = 1, 2 do
            flow.config.threads(threads)
            local off = distance(job(x):astype("float64"), exact)
            assert.is_true(off <= bound(x, wide), table.concat({ form, round, rows, threads }, " "))
          end
        end
      end
      flow.clear_default_session()
    end
  end)

  for _, form in ipairs { "float16", "bfloat16" } do
    it("with " .. form .. " round nothing", function()
      for _, rows in ipairs { 5, 21 } do
        local x, w = nd.rand({ rows, 295 }), nd.rand({ 19, 295 }):astype(form)
        local y = flow.matmul(x, w, { transpose_b = true })
        local want = flow.matmul(x, w:astype("float32"), { transpose_b = true })
        assert.is_true(distance(y, want) < 1e-4)
      end
    end)
  end

  -- Around the rows and lines that kernels take at once, and the lines of a part: for rows of 256
  -- numbers 72, for those of 16 to 31 as many as 1032 to 536.
  for _, form in ipairs(FORMS) do
    it("with " .. form .. " reach the last row, line and block", function()
      for _, e in ipairs { { 1, 1, 1 }, { 4, 8, 1 }, { 5, 9, 2 }, { 3, 71, 1 }, { 1, 72, 1 },
        { 8, 73, 1 }, { 2, 145, 3 } } do
        local m, n, k = e[1], e[2], 256 * e[3]
        local x, w = nd.rand({ m, k }) - 0.5, (nd.rand({ n, k }) - 0.5):astype(form)
        local wide = w:astype("float32")
        local y = flow.matmul(x, w, { transpose_b = true })
        local off = distance(y, flow.matmul(x, wide, { transpose_b = true }))
        local most = wide:abs():sum(1):max() * 0.5 / 127 / 2 + 1e-4
        assert(off <= most, ("%d rows, %d lines of %d: %g"):format(m, n, k, off))
      end
    end)
  end

  for _, form in ipairs { "float16", "bfloat16" } do
    it("with " .. form .. " reach the last row, line and number", function()
      for _, k in ipairs { 1, 7, 8, 15, 16, 17, 31, 33, 257, 300 } do
        for _, e in ipairs { { 1, 1 }, { 3, 9 }, { 4, 8 }, { 5, 7 }, { 1, 537 }, { 9, 1033 },
          { 16, 1 }, { 17, 16 }, { 29, 33 }, { 15, 64 }, { 43, 79 } } do
          local x, w = nd.rand({ e[1], k }), nd.rand({ e[2], k }):astype(form)
          local y = flow.matmul(x, w, { transpose_b = true })
          local off = distance(y, flow.matmul(x, w:astype("float32"), { transpose_b = true }))
          assert(off < 1e-6 * (k + 100), ("%d rows, %d lines of %d: %g"):format(e[1], e[2], k, off))
        end
      end
    end)
  end

  it("pass what is no number on", function()
    local x = nd.zeros({ 1, 32 })
    x[1][3] = 0 / 0
    local y = flow.matmul(x, nd.rand({ 2, 32 }):astype("q8_0"), { transpose_b = true })
    assert.is_true(y[1][1] ~= y[1][1])
  end)

  it("have the gradient of their input", function()
    local w = nd.rand({ 4, 32 }):astype("q4_0")
    local job = flow.global_function { name = "slope", type = "train", returns = tp.Numpy,
      inputs = {}, body = function()
        local x = flow.get_variable("x", { 1, 32 }, { initializer = flow.zeros_initializer() })
        local y = flow.matmul(x, w, { transpose_b = true })
        flow.optimizer.SGD(1):minimize(flow.math.reduce_sum(y))
        return y
      end }
    job()
    local want = -w:astype("float32"):sum(0, true)
    assert.is_true(distance(flow.get_all_variables().x, want) < 1e-5)
  end)
end)

it("gather gives rows of blocks as float32", function()
  local w = nd.rand({ 6, 2, 32 }):astype("q8_0")
  local y = flow.gather(w, nd.array({ { 5, 0 } }, "int32"))
  assert.same({ 1, 2, 2, 32 }, { unpack(y.shape) })
  assert.equal(0, distance(y[1][1], w:astype("float32")[6]))
end)

describe("what is refused", function()
  local w = nd.rand({ 4, 64 }):astype("q4_0")
  local function fails(text, f, ...)
    local ok, err = pcall(f, ...)
    assert.is_false(ok)
    assert.is_truthy(tostring(err):find(text, 1, true), tostring(err))
  end

  it("are rows that do not divide, other bytes, other ops", function()
    fails("multiple of 32", function() return nd.rand({ 3, 33 }):astype("q8_0") end)
    fails("multiple of 256", nd.from_blocks, "", { 2, 64 }, "q6_k")
    fails("data must be 72 bytes", nd.from_blocks, "abc", { 2, 64 }, "q4_0")
    fails("matmul with transpose_b and gather", function() return flow.nn.relu(w) end)
    fails("transpose_b must be true", function() return flow.matmul(nd.rand({ 1, 4 }), w) end)
    fails("numbers in blocks", function() return w + 1 end)
    fails("numbers lie in blocks", function() return w:get(1, 1) end)
  end)

  it("are training of such a variable, and others that do not begin with zeros", function()
    local function define(options)
      local job = flow.global_function { name = "j", returns = tp.Numpy, inputs = {},
        body = function() return flow.get_variable("w", { 2, 32 }, options) end }
      return job()
    end
    fails("adapter", define, { dtype = flow.q8_0 })
    fails("begin with zeros", define, { dtype = flow.q8_0, trainable = false,
      initializer = flow.ones_initializer() })
    assert.equal("q8_0", define({ dtype = flow.q8_0, trainable = false }).dtype)
  end)
end)

describe("quantization.quantize", function()
  local function net(x, adapter)
    x = flow.layers.dense(x, 64, { name = "a", activation = flow.nn.relu, adapter = adapter })
    return flow.layers.dense(x, 3, { name = "b", adapter = adapter })
  end
  local function predict(adapter)
    return flow.global_function { name = "predict" .. (adapter and "_more" or ""),
      returns = tp.Numpy, inputs = { { "x", tp.Numpy.Placeholder({ 4, 64 }) } },
      body = function(x) return net(x, adapter) end }
  end

  it("leaves weights that no optimizer trains, which says so", function()
    local job, x = predict(), nd.rand({ 4, 64 })
    job(x)
    flow.quantization.quantize("*")
    local function trained(name, variables, of)
      local train = flow.global_function { name = name, type = "train", returns = tp.Numpy,
        inputs = { { "x", tp.Numpy.Placeholder({ 4, 64 }) } },
        body = function(a)
          local y = of(a)
          flow.optimizer.SGD(0.1, { variables = variables }):minimize(y)
          return y
        end }
      return function() train(x) end
    end
    local text = "minimize: variable 'a-weight' is of q8_0 and not trained; an adapter beside it "
      .. "is, as layers.dense { adapter = { rank = 8 } } makes one"
    helper.fails(trained("some", { "b-bias", "a-weight" }, net), text)
    helper.fails(trained("all", nil, function(a)
      return flow.layers.dense(a, 64, { name = "a", use_bias = false })
    end), text)
    trained("rest", nil, net)()
    assert.same({ 4, 3 }, job(x).shape)
  end)

  it("stores the matrices of a session, also in checkpoints", function()
    local path = os.tmpname()
    os.remove(path)
    local job, x = predict(), nd.rand({ 4, 64 })
    local before = job(x)
    assert.same({ "a-weight", "b-weight" }, flow.quantization.quantize("*"))
    local after = job(x)
    assert.is_true(distance(before, after) > 0 and distance(before, after) < 0.1)
    flow.checkpoint.save(path)
    assert.equal("q8_0", flow.checkpoint.get(path)["a-weight"].dtype)
    flow.load_variables { ["a-weight"] = nd.zeros({ 64, 64 }):astype("q8_0") }
    assert.is_true(distance(job(x), after) > 0)
    flow.train.CheckPoint():load(path)
    assert.equal(0, distance(job(x), after))
    os.execute("rm -r " .. path)
  end)

  it("leaves adapters to be trained, which merge adds to the weights", function()
    local job, x = predict(), nd.rand({ 4, 64 })
    job(x)
    flow.quantization.quantize("*", { form = "q8_0" })
    local frozen = job(x)
    local step = flow.global_function { name = "step", type = "train", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder({ 4, 64 }) } }, body = function(from)
        local loss = flow.math.reduce_mean(flow.math.square(net(from, { rank = 4 }) - 1))
        flow.optimizer.Adam(0.01):minimize(loss)
        return loss
      end }
    local first = step(x):item()
    for _ = 1, 60 do step(x) end
    assert.is_true(step(x):item() < first / 4)
    assert.equal(0, distance(job(x), frozen))
    local more = predict { rank = 4 }
    local with = more(x)
    flow.quantization.merge()
    assert.is_true(distance(more(x), with) < 0.1)
    assert.equal(0, distance(job(x), more(x)))
  end)

  it("stores what names, patterns and models stand for, and no adapters", function()
    predict { rank = 32 }(nd.rand({ 4, 64 }))
    local function stored()
      local list = {}
      for name, v in pairs(flow.get_all_variables()) do
        if v.dtype ~= "float32" then list[#list + 1] = name .. " " .. v.dtype end
      end
      table.sort(list)
      return list
    end
    assert.same({ "b-weight" }, flow.quantization.quantize({ "b-weight" }, { form = "q4_0" }))
    assert.same({ "b-weight q4_0" }, stored())
    assert.same({ "a-weight" }, flow.quantization.quantize { "a-bias*", "a-*" })
    assert.same({ "a-weight q8_0", "b-weight q4_0" }, stored())
    assert.same({}, flow.quantization.quantize "*")
    local own = flow.model("own", function(x) return flow.layers.dense(x, 32, { name = "c" }) end)
    own:predict { inputs = { flow.float32 { 1, 32 } } }(nd.rand { 1, 32 })
    assert.same({ "own-c-weight" }, flow.quantization.quantize(own))
    for _, call in ipairs { flow.quantization.quantize, flow.quantization.merge } do
      local ok, err = pcall(call, { "a*", "d" })
      assert.is_false(ok)
      assert.is_truthy(err:find("there is no variable 'd", 1, true), err)
    end
  end)

  it("merges the adapters of the layers that are named, times the scale", function()
    predict { rank = 4 }(nd.rand({ 4, 64 }))
    local values = {}
    for name, v in pairs(flow.get_all_variables()) do values[name] = nd.rand(v.shape) end
    flow.load_variables(values)
    local function sum_of(layer, scale)
      return values[layer .. "-weight"]
        + values[layer .. "-adapter_b"]:matmul(values[layer .. "-adapter_a"]) * scale
    end
    assert.same({ "a-weight" }, flow.quantization.merge("a", { scale = 0.5 }))
    local all = flow.get_all_variables()
    assert.is_true(distance(sum_of("a", 0.5), all["a-weight"]) < 1e-6)
    assert.equal(0, distance(values["a-adapter_b"] * 0, all["a-adapter_b"]))
    for _, name in ipairs { "a-adapter_a", "b-weight", "b-adapter_b" } do
      assert.equal(0, distance(values[name], all[name]))
    end
    local merged = flow.quantization.merge { "b" }
    assert.same({ "b-weight" }, merged)
    assert.is_true(distance(sum_of("b", 1), flow.get_all_variables()["b-weight"]) < 1e-6)
  end)

  it("names a variable that cannot be stored so", function()
    predict()(nd.rand({ 4, 64 }))
    local ok, err = pcall(flow.quantization.quantize, "a-bias")
    assert.is_false(ok)
    assert.is_truthy(err:find("'a-bias' (64) has 1 axes", 1, true), err)
    ok, err = pcall(flow.quantization.quantize, "a-weight", { form = "q4_k" })
    assert.is_false(ok)
    assert.is_truthy(err:find("rows of 64, no multiple of the 256", 1, true), err)
  end)
end)
