local core = require "jfl.core"
local flow = require "jfl"
local golden = require "spec.golden"
local passes = require "spec.passes"
local support = require "spec.op.support"

local o = setmetatable({}, { __index = function(_, name) return core.op(name) end })

local FLOATS = { "float32", "float64" }
local INF, NAN = 1 / 0, 0 / 0
local ODD = {
  float32 = { 0, -0.0, 1, -1, 3.25, -1e-40, 1e-40, 1e38, -1.1754e-38, 3e38, INF, -INF, NAN,
    1.5e-45 },
  float64 = { 0, -0.0, 1, -1, 3.25, -1e-310, 1e-40, 1e38, -1e300, 1e308, INF, -INF, NAN, 5e-324 },
}

--- Every bit of a number but the payload and sign of nan.
local function bits(v) return v ~= v and "nan" or ("%a"):format(v) end

local function run(plan, ...)
  local lists = {}
  for i, y in ipairs { core.run(plan, ...) } do
    lists[i] = y.dtype
    for _, v in ipairs(support.flat(y)) do lists[i] = lists[i] .. " " .. bits(v) end
  end
  return lists
end

--- The text of what body describes after folding, once its results were found to be the same as
--- without, bit for bit, on odd numbers in inputs ({dtype, shape} each).
local function folded(specs, body)
  local arrays = {}
  for i, s in ipairs(specs) do
    local flat = core.reshape(core.array(s[1], s[2]), { -1 })
    for j = 1, #flat do
      local odd = ODD[s[1]]
      flat[j] = odd and odd[(j * (2 * i - 1) + i) % #odd + 1] or (j * 37 + i) % 100 - 50
    end
    arrays[i] = core.reshape(flat, s[2])
  end
  local function results() return run((passes.compile(specs, body)), unpack(arrays)) end
  assert.same(passes.with(passes.all_but(), results), passes.with(passes.all_but("fold"), results))
  return passes.graph_after("fold", specs, body)
end

local function ops_of(text)
  local list = {}
  for name in text:gmatch("= ([%w_]+)%(") do list[#list + 1] = name end
  return table.concat(list, " ")
end

--- The ops that are left of f(x), where x may be odd numbers of this dtype and shape.
local function left(dtype, shape, f)
  local text = ops_of(folded({ { dtype, shape } }, function(x)
    local y = f(x[1])
    return { o.concat { y, y } }
  end))
  return (text:gsub(" ?concat$", ""))
end

local function in_floats(want, f)
  for _, dtype in ipairs(FLOATS) do assert.equal(want, left(dtype, { 14 }, f)) end
end

describe("folding", function()
  teardown(core.reset)

  it("makes clipping relu or relu6 where it has their bounds", function()
    local function clip(options)
      return function(x) return o.clip_by_value(x, options) end
    end
    in_floats("relu", clip { min_value = 0 })
    in_floats("relu6", clip { min_value = 0, max_value = 6 })
    in_floats("clip_by_value", clip { min_value = 0, max_value = 1 })
    in_floats("clip_by_value", clip { min_value = -1, max_value = 6 })
    in_floats("clip_by_value", clip { max_value = 6 })
  end)

  it("turns a graph into a smaller one", function()
    local shapes = { { "float32", { 2, 14 } }, { "float32", { 14, 2 } } }
    golden.check("fold_graph", folded(shapes, function(x)
      local two = o.add(o.ones { 14 }, o.ones { 14 })
      local y = o.divide(o.transpose(x[2], { 1, 0 }), o.square(two))
      local half = o.broadcast_to(o.constant(0.5), { 2, 14 })
      local z = o.multiply(o.subtract(x[1], 0), o.exp(o.negative(half)))
      local flat = o.reshape(o.flatten(o.expand_dims(z, 0)), { 14, 2 })
      return { o.add(y, o.negative(x[1])), o.concat { o.identity(flat) },
        o.reshape(flat, { 4, 7 }) }
    end))
  end)

  it("computes what is one number throughout, in every dtype", function()
    for _, dtype in ipairs { "float32", "float64", "int32", "int64", "int8", "uint8" } do
      local text = folded({}, function()
        local a, b = o.constant(7, dtype, { 2, 3 }), o.constant(3, dtype, 1)
        local less = o.less(b, a)
        if dtype:find "8$" then return { less, o.cast(a, "float32") } end
        local list = { o.divide(a, b), o.mod(a, b), o.relu(o.negative(a)), o.cast(a, "int8"), less,
          o.where(less, a, b) }
        if dtype:find "float" then list[7] = o.exp(o.sqrt(a)) end
        return list
      end)
      assert.falsy(ops_of(text):find "[^constant ]", text)
    end
  end)

  it("keeps int64 numbers that a double cannot hold to the run", function()
    local text = folded({}, function()
      return { o.add(o.constant(2 ^ 53, "int64", 1), o.constant(1, "int64", 1)) }
    end)
    assert.equal("constant constant add", ops_of(text))
  end)

  it("drops what changes no bit of a float", function()
    in_floats("", function(x) return o.multiply(x, 1) end)
    in_floats("", function(x) return o.multiply(o.ones({ 14 }, x.dtype), x) end)
    in_floats("", function(x) return o.divide(x, 1) end)
    in_floats("", function(x) return o.subtract(x, 0) end)
    in_floats("", function(x) return o.add(x, -0.0) end)
    in_floats("", function(x) return o.add(o.constant(-0.0, x.dtype, 1), x) end)
    in_floats("", function(x) return o.negative(o.negative(x)) end)
    in_floats("subtract", function(x) return o.add(x, o.negative(o.reshape(x, { 14 }))) end)
  end)

  it("keeps what changes zeros or nan", function()
    in_floats("constant add", function(x) return o.add(x, 0) end)
    in_floats("constant subtract", function(x) return o.subtract(x, -0.0) end)
    in_floats("constant multiply", function(x) return o.multiply(x, 0) end)
    in_floats("constant subtract", function(x) return o.subtract(o.constant(0, x.dtype, 1), x) end)
    in_floats("subtract", function(x) return o.subtract(x, x) end)
    in_floats("reshape reduce_sum", function(x)
      return o.reduce_sum(o.reshape(x, { 1, 14 }), { axis = 0 })
    end)
    in_floats("constant multiply", function(x) return o.multiply(o.reshape(x, { 14 }),
      o.ones({ 3, 1 }, x.dtype)) end)
  end)

  it("drops what changes no integer", function()
    for _, dtype in ipairs { "int32", "int64" } do
      assert.equal("", left(dtype, { 14 }, function(x) return o.add(x, 0) end))
      assert.equal("", left(dtype, { 14 }, function(x) return o.divide(x, 1) end))
      assert.equal("constant divide", left(dtype, { 14 }, function(x) return o.divide(x, 4) end))
      assert.equal("reshape", left(dtype, { 1, 14 }, function(x)
        return o.reduce_sum(x, { axis = 0 })
      end))
    end
  end)

  it("divides by powers of two without dividing", function()
    in_floats("constant multiply", function(x) return o.divide(x, -64) end)
    in_floats("constant multiply", function(x) return o.divide(x, 2 ^ -20) end)
    in_floats("constant divide", function(x) return o.divide(x, 3) end)
    in_floats("constant divide", function(x) return o.divide(x, 2 ^ 126) end)
  end)

  it("goes through no dtype that holds every number", function()
    local function through(from, middle, to)
      return left(from, { 14 }, function(x) return o.cast(o.cast(x, middle), to) end)
    end
    assert.equal("", through("float32", "float64", "float32"))
    assert.equal("", through("int32", "float64", "int32"))
    assert.equal("cast", through("float32", "float64", "int32"))
    assert.equal("cast", through("int32", "int64", "float32"))
    assert.equal("cast cast", through("int32", "float32", "int32"))
    assert.equal("cast cast", through("int64", "float64", "int64"))
    assert.equal("cast cast", through("int32", "int8", "int32"))
    assert.equal("cast cast", through("float64", "float32", "float64"))
    assert.equal("", left("float32", { 14 }, function(x) return o.cast(x, "float32") end))
  end)

  it("sees through moves that move nothing", function()
    local shape = { 2, 1, 7 }
    local function is(want, f) assert.equal(want, left("float32", shape, f)) end
    is("reshape", function(x) return o.reshape(o.flatten(x), { 7, 2 }) end)
    is("", function(x) return o.reshape(o.flatten(x), shape) end)
    is("", function(x) return o.transpose(o.transpose(x, { 1, 2, 0 }), { 2, 0, 1 }) end)
    is("reshape", function(x) return o.transpose(o.transpose(x, { 1, 2, 0 }), { 2, 1, 0 }) end)
    assert.equal("transpose", left("float32", { 2, 3, 7 }, function(x)
      return o.transpose(o.transpose(x, { 1, 2, 0 }), { 1, 0, 2 })
    end))
    is("reshape", function(x) return o.transpose(x, { 1, 0, 2 }) end)
    is("", function(x) return o.slice(x, { 0, 0, 0 }, { 2, 1, 7 }) end)
    is("slice", function(x) return o.slice(x, { 0, 0, 0 }, { 2, 1, 6 }) end)
    is("reshape", function(x) return o.stack({ x }, { axis = 1 }) end)
    is("reshape", function(x) return o.broadcast_to(x, { 1, 2, 1, 7 }) end)
    is("broadcast_to", function(x) return o.broadcast_to(o.broadcast_to(x, { 2, 3, 7 }),
      { 4, 2, 3, 7 }) end)
    is("reshape", function(x) return o.reduce_max(x, { axis = 1 }) end)
    is("", function(x) return o.reduce_prod(x, { axis = 1, keepdims = true }) end)
    is("reduce_max", function(x) return o.reduce_max(x, { axis = { 0, 1 } }) end)
  end)

  it("reads what is broadcast, not its copies", function()
    local text = folded({ { "float32", { 14 } }, { "float32", { 3, 14 } } }, function(x)
      return { o.multiply(o.broadcast_to(x[1], { 3, 14 }), x[2]),
        o.add(x[2], o.constant(2, "float32", { 3, 14 })) }
    end)
    assert.truthy(text:find("multiply(x1, x2)", 1, true), text)
    assert.truthy(text:find("float32 (1) = constant() {value=2", 1, true), text)
  end)

  it("reads transposed operands of a product as flags", function()
    local function is(want, f)
      local text = passes.graph_after("fold", { { "float64", { 2, 3, 4 } },
        { "float64", { 2, 3, 5 } } }, function(x) return { f(x[1], x[2]) } end)
      assert.truthy(text:find(want, 1, true), text)
    end
    local last = { 0, 2, 1 }
    is("matmul(x1, x2) {transpose_a=true transpose_b=false}",
      function(a, b) return o.matmul(o.transpose(a, last), b) end)
    is("matmul(x1, x2) {transpose_a=true transpose_b=false}", function(a, b)
      return o.matmul(o.transpose(a, last), o.transpose(b, last), { transpose_b = true }) end)
    is("matmul(x2, x1) {transpose_a=true transpose_b=false}", function(a, b)
      return o.transpose(o.matmul(a, b, { transpose_a = true }), last) end)
    is("transpose", function(a, b)
      local y = o.matmul(a, b, { transpose_a = true })
      return o.concat({ o.transpose(y, last), o.reshape(y, { 2, 5, 4 }) }) end)
  end)

  it("joins parts of tensors without cutting them out first", function()
    local function is(want, axis, f)
      for _, kernels in ipairs { "fast", "reference" } do
        for _, dtype in ipairs { "float32", "float64", "int8", "int32" } do
          core.set("kernels", kernels)
          local ok, text = pcall(folded, { { dtype, { 6, 14 } }, { dtype, { 6, 14 } } },
            function(x) return { o.concat(f(x[1], x[2]), { axis = axis }) } end)
          core.set("kernels", "fast")
          assert.is_true(ok, text)
          assert.truthy(text:find(want, 1, true), text)
        end
      end
    end
    is("join(x1, x1) {axis=1 begin={9, 0} size={5, 9}}", 1, function(x)
      local a, b, c = o.split(x, { 4, 5, 5 }, 1)
      return { c, a, b }
    end)
    is("concat(x1, x2)", 1, function(x, y) return { o.concat({ o.split(x, 2, 0) }), y } end)
    is("join(x1, x2, x1) {axis=0 begin={2, 0, 1} size={4, 6, 1}}", 0, function(x, y)
      return { o.slice(x, { 2, 0 }, { 1, 14 }), o.slice(x, { -3, 0 }, { 3, 14 }), y,
        o.slice(x, { 1, 0 }, { 1, 14 }) }
    end)
    is("join(x1) {axis=1 begin={1} size={13}}", 1, function(x)
      return { o.slice(x, { 0, 1 }, { 6, 5 }), o.slice(x, { 0, 6 }, { 6, 8 }) }
    end)
    -- One part or two of one or four elements, which kernels copy as numbers.
    is("join(x1, x2) {axis=1 begin={13, 0} size={1, 1}}", 1, function(x, y)
      return { o.slice(x, { 0, 13 }, { 6, 1 }), o.slice(y, { 0, 0 }, { 6, 1 }) }
    end)
    is("join(x1, x2) {axis=1 begin={10, 3} size={4, 8}}", 1, function(x, y)
      return { o.slice(x, { 0, 10 }, { 6, 4 }), o.slice(y, { 0, 3 }, { 6, 8 }) }
    end)
    -- A part that is cut along another axis, or that something else reads.
    is("concat(slice_1, slice_2)", 1, function(x, y) return {
      o.slice(x, { 1, 0 }, { 5, 3 }), o.slice(y, { 1, 0 }, { 5, 14 }) } end)
    is("concat(split_1, split_1/1, split_1, split_1/1)", 1, function(x)
      local a, b = o.split(x, 7, 1)
      return { a, b, a, b }
    end)
  end)
end)

describe("folding a train job", function()
  after_each(flow.clear_default_session)
  local tp = flow.typing

  local function train(body)
    return flow.global_function {
      name = "train", type = "train", returns = tp.Numpy,
        inputs = { { "x", tp.Numpy.Placeholder { 1 } } },
      body = function(x)
        local function variable(name, value)
          return flow.get_variable(name, { shape = { 1 },
            initializer = flow.constant_initializer(value) })
        end
        local loss, result = body(x, variable("v", 3), variable("w", 5))
        flow.optimizer.SGD(1, { momentum = 0 }):minimize(loss)
        return result or loss
      end,
    }
  end

  it("reads no variable after its update", function()
    -- The gradient of each is the other, times 1.
    local job = train(function(_, v, w) return v * w end)
    assert.equal(15, job { 0 }[1])
    local all = flow.get_all_variables()
    assert.equal(3 - 5, all.v[1])
    assert.equal(5 - 3, all.w[1])
  end)

  it("gives results memory of their own", function()
    local job = train(function(x, v, w) return x * v * w, flow.identity(v) * 1 end)
    assert.equal(3, job { 2 }[1])
    assert.equal(3 - 10, job { 2 }[1])
  end)
end)
