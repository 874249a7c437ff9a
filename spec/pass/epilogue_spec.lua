--- What follows a product becomes part of it where nothing else can tell, and changes no result.
local core = require "jfl.core"
local flow = require "jfl"
local golden = require "spec.golden"
local passes = require "spec.passes"
local support = require "spec.op.support"
local tp = flow.typing

local op = setmetatable({}, { __index = function(_, name) return core.op(name) end })

--- The pass fuse would join what these specs count, and add up in another order.
local function settings(off, kernels)
  core.set("passes", off .. " -fuse")
  core.set("kernels", kernels or "fast")
end

before_each(function()
  core.reset()
  settings ""
end)
after_each(function()
  core.set("passes", "")
  core.set("kernels", "fast")
end)
teardown(core.reset)

local function specs_of(inputs)
  local list = {}
  for i, x in ipairs(inputs) do list[i] = { dtype = x.dtype, shape = x.shape } end
  return list
end

--- A plan of body, which is given blobs like the inputs and gives a list of results.
local function plan_of(inputs, body)
  return support.plan(specs_of(inputs), function(g, blobs) return body(blobs, g) end)
end

--- The text of such a plan.
local function text_of(inputs, body)
  local plan = plan_of(inputs, body)
  local text = core.plan_text(plan)
  core.plan_free(plan)
  return text
end

local function results(off, kernels, inputs, body)
  settings(off, kernels)
  local plan = plan_of(inputs, body)
  local lists = {}
  for i, y in ipairs { core.run(plan, unpack(inputs)) } do lists[i] = support.flat(y) end
  core.plan_free(plan)
  settings ""
  return lists
end

--- Whether body gives the same with the pass on and off: to the last bit with plain kernels, and
--- closely with fast ones.
local function check(inputs, body, what)
  local want = results("-epilogue", "reference", inputs, body)
  local single = inputs[1].dtype == "float32"
  for _, run in ipairs { { "reference", 0 }, { "fast", single and 2e-5 or 1e-12 } } do
    local got = results("", run[1], inputs, body)
    assert.equal(#want, #got)
    for i = 1, #want do
      local ok, message = support.close(got[i], want[i], run[2])
      assert.truthy(ok, ("%s, %s, result %d: %s"):format(what or "body", run[1], i, message or ""))
    end
  end
end

local function filled(dtype, shapes)
  local list = {}
  for i, s in ipairs(shapes) do list[i] = support.filled(dtype, s, -1.1 + i / 10, 1 + i / 20) end
  return list
end

local ACTIVATIONS = { "none", "relu", "relu6", "tanh", "sigmoid", "gelu" }

--- Calls body(bias, residual, act) with every choice of them.
local function each_epilogue(body)
  for _, bias in ipairs { "none", "bias_add", "add" } do
    for _, residual in ipairs { false, true } do
      for _, act in ipairs(ACTIVATIONS) do body(bias, residual, act) end
    end
  end
end

--- What follows y, of a bias b, a residual r and an activation.
local function follow(y, b, r, bias, residual, act)
  if bias == "bias_add" then y = op.bias_add(y, b) end
  if bias == "add" then
    local s = y.shape
    y = op.add(op.reshape(b, #s == 4 and { 1, s[2], 1, 1 } or { 1, s[#s] }), y)
  end
  if residual then y = op.add(y, r) end
  if act ~= "none" then y = op[act](y) end
  return y
end

local function what(...)
  local list = {}
  for i, v in ipairs { ... } do list[i] = tostring(v) end
  return table.concat(list, " ")
end

describe("the epilogue pass agrees with itself left out", function()
  for _, dtype in ipairs { "float32", "float64" } do
    it("for products of " .. dtype, function()
      for _, m in ipairs { 1, 7 } do
        for i = 0, 3 do
          local ta, tb = i % 2 == 1, i >= 2
          local a, b = ta and { 33, m } or { m, 33 }, tb and { 21, 33 } or { 33, 21 }
          local inputs = filled(dtype, { a, b, { 21 }, { m, 21 } })
          each_epilogue(function(bias, residual, act)
            check(inputs, function(v)
              local y = op.matmul(v[1], v[2], { transpose_a = ta, transpose_b = tb })
              return { follow(y, v[3], v[4], bias, residual, act) }
            end, what(m, ta, tb, bias, residual, act))
          end)
        end
      end
    end)

    it("for batches of products of " .. dtype, function()
      local inputs = filled(dtype, { { 3, 5, 8 }, { 3, 8, 6 }, { 6 }, { 3, 5, 6 } })
      each_epilogue(function(bias, residual, act)
        check(inputs, function(v)
          local y = op.matmul(v[1], v[2])
          if bias == "bias_add" then y = op.bias_add(y, v[3], { data_format = "NWC" }) end
          return { follow(y, v[3], v[4], bias == "add" and bias or "none", residual, act) }
        end, what(bias, residual, act))
      end)
    end)

    it("for products with a vector on either side, of " .. dtype, function()
      for _, s in ipairs { { 9, 40, 1 }, { 9, 1, 8 }, { 1, 1, 1 } } do
        local m, k, n = unpack(s)
        local inputs = filled(dtype, { { m, k }, { k, n }, { n }, { m, n } })
        each_epilogue(function(bias, residual, act)
          check(inputs, function(v)
            return { follow(op.matmul(v[1], v[2]), v[3], v[4], bias, residual, act) }
          end, what(m, k, n, bias, residual, act))
        end)
      end
    end)

    it("for convolutions of " .. dtype, function()
      for _, c in ipairs {
        { x = { 2, 3, 7, 6 }, f = { 5, 3, 3, 3 }, y = { 2, 5, 5, 4 } },
        { x = { 1, 16, 6, 6 }, f = { 32, 16, 3, 3 }, y = { 1, 32, 6, 6 }, padding = "SAME" },
        { x = { 2, 4, 7, 7 }, f = { 6, 2, 3, 3 }, y = { 2, 6, 4, 4 }, padding = "SAME", strides = 2,
          groups = 2 },
        { x = { 2, 4, 5, 5 }, f = { 4, 1, 3, 3 }, y = { 2, 4, 5, 5 }, padding = "SAME",
          groups = 4 },
        { x = { 3, 2, 3, 3 }, f = { 4, 2, 3, 3 }, y = { 3, 4, 1, 1 } },
      } do
        local inputs = filled(dtype, { c.x, c.f, { c.y[2] }, c.y })
        each_epilogue(function(bias, residual, act)
          check(inputs, function(v)
            local y = op.conv2d(v[1], v[2],
              { padding = c.padding, strides = c.strides, groups = c.groups })
            return { follow(y, v[3], v[4], bias, residual, act) }
          end, what(table.concat(c.x, "x"), bias, residual, act))
        end)
      end
    end)
  end
end)

-- Products and convolutions of some million operations are cut: into images, channels, rows or
-- columns, of which the last may be fewer.
describe("bounds hold in each piece of a cut", function()
  local function check_bounds(shapes, body, ...)
    local inputs = filled("float32", shapes)
    for _, act in ipairs { "relu", "relu6" } do
      check(inputs, function(v) return { op[act](body(v)) } end, what(act, ...))
    end
  end

  for _, c in ipairs {
    { "halves of channels", { 1, 64, 14, 14 }, { 384, 64, 1, 1 } },
    { "a block and half a block of channels", { 1, 144, 28, 28 }, { 24, 144, 1, 1 } },
    { "few channels of a picture", { 1, 3, 64, 64 }, { 32, 3, 3, 3 }, "SAME" },
    { "channels each by itself", { 1, 144, 28, 28 }, { 144, 1, 3, 3 }, "SAME", 144 },
    { "channels in groups", { 1, 128, 28, 28 }, { 128, 4, 3, 3 }, "SAME", 32 },
    { "images", { 5, 16, 20, 20 }, { 16, 16, 3, 3 }, "SAME" },
    { "tiles of Winograd's", { 1, 32, 40, 40 }, { 32, 32, 3, 3 }, "SAME" },
  } do
    it("of a convolution, " .. c[1], function()
      check_bounds({ c[2], c[3], { c[3][1] } }, function(v)
        return op.bias_add(op.conv2d(v[1], v[2], { padding = c[4], groups = c[5] }), v[3])
      end, c[1])
    end)
  end

  it("of a product, by rows and columns", function()
    for _, s in ipairs { { 96, 200, 256 }, { 520, 200, 64 }, { 300, 100, 300 } } do
      for i = 0, 3 do
        local ta, tb = i % 2 == 1, i >= 2
        local m, k, n = unpack(s)
        check_bounds({ ta and { k, m } or { m, k }, tb and { n, k } or { k, n } }, function(v)
          return op.matmul(v[1], v[2], { transpose_a = ta, transpose_b = tb })
        end, m, k, n, ta, tb)
      end
    end
  end)

  -- Winograd's filters, of 3 x 3, spread it over a tile.
  it("and what is no number stays so", function()
    for side = 1, 3, 2 do
      local inputs = filled("float32", { { 1, 32, 40, 40 }, { 64, 32, side, side }, { 64 } })
      inputs[1][{ 1, 5, 7, 7 }] = 0 / 0
      for _, act in ipairs { "relu", "relu6" } do
        local function body(v)
          return { op[act](op.bias_add(op.conv2d(v[1], v[2], { padding = "SAME" }), v[3])) }
        end
        local want = results("", "reference", inputs, body)[1]
        local got = results("", "fast", inputs, body)[1]
        local none = 0
        for i = 1, #want do
          if want[i] ~= want[i] then
            none = none + 1
            assert.truthy(got[i] ~= got[i], what(act, side, i))
          end
        end
        assert.equal(64 * side * side, none)
      end
    end
  end)
end)

it("ops of one input give the same behind a product as apart from it", function()
  local names = {}
  for name, o in pairs(core.ops()) do
    if #o.inputs == 1 and #o.params == 0 then names[#names + 1] = name end
  end
  table.sort(names)
  local inputs, tried = filled("float32", { { 4, 30 }, { 30, 5 } }), 0
  for _, name in ipairs(names) do
    local function body(v) return { op[name](op.matmul(v[1], v[2])) } end
    if pcall(text_of, inputs, body) and not name:find "random" then
      local want = results("-epilogue", "fast", inputs, body)[1]
      local ok, message = support.close(results("", "fast", inputs, body)[1], want, 1e-6)
      assert.truthy(ok, name .. ": " .. tostring(message))
      tried = tried + 1
    end
  end
  assert.is_true(tried > 50)
end)

--- Blobs x (2, 3, 5, 5), filters (4, 3, 3, 3), bias (4), y (2, 4, 3, 3).
local function conv_inputs(dtype)
  return filled(dtype or "float32", { { 2, 3, 5, 5 }, { 4, 3, 3, 3 }, { 4 }, { 2, 4, 3, 3 } })
end

local function count(text, word)
  local _, n = text:gsub(" " .. word .. " ", "")
  return n
end

describe("a value that is seen elsewhere stays:", function()
  local function conv_bias(v) return op.bias_add(op.conv2d(v[1], v[2]), v[3]) end

  it("one that is also a result", function()
    local function body(v)
      local y = op.conv2d(v[1], v[2])
      return { op.bias_add(y, v[3]), y }
    end
    local text = text_of(conv_inputs(), body)
    assert.equal(1, count(text, "bias_add"))
    assert.equal(0, count(text, "conv2d_fused"))
    check(conv_inputs(), body)
  end)

  it("one with two readers", function()
    local function body(v)
      local y = conv_bias(v)
      return { op.multiply(op.tanh(y), y) }
    end
    local text = text_of(conv_inputs(), body)
    assert.equal(1, count(text, "conv2d_fused"))
    assert.equal(1, count(text, "tanh"))
    check(conv_inputs(), body)
  end)

  it("one that is added to itself", function()
    local function body(v)
      local y = conv_bias(v)
      return { op.add(y, y) }
    end
    assert.equal(1, count(text_of(conv_inputs(), body), "add"))
    check(conv_inputs(), body)
  end)

  it("the first of two products of which one is the other's residual", function()
    local function body(v)
      return { op.tanh(op.add(conv_bias(v), op.bias_add(op.conv2d(op.relu(v[1]), v[2]), v[3]))) }
    end
    local text = text_of(conv_inputs(), body)
    assert.equal(2, count(text, "conv2d_fused"))
    assert.equal(0, count(text, "add"))
    assert.equal(0, count(text, "tanh"))
    check(conv_inputs(), body)
  end)

  it("and a residual that is made after the product does not stand in the way", function()
    local function body(v)
      local y = conv_bias(v)
      return { op.sigmoid(op.add(op.exp(v[4]), y)) }
    end
    assert.equal(0, count(text_of(conv_inputs(), body), "add"))
    check(conv_inputs(), body)
  end)
end)

describe("a sum is a part of", function()
  local function like(shape) return support.filled("float32", shape, -1.2, 1.1) end

  --- Two terms of dy, x, four lines, y, and something else to read them.
  local function inputs_of(shape, axis, dtype)
    local c = { shape[axis] }
    local list = filled(dtype, { shape, shape, shape, c, c, c, shape })
    list[5] = support.filled(dtype, c, 0.3, 1.2)       -- a variance
    return list
  end

  local function body_of(axis, also)
    return function(v)
      local dy = op.add(v[1], v[2])
      local dx, dgamma, dbeta, daddend = op.batch_norm_grad(dy, v[3], v[4], v[5], v[6], { v[7] },
        { axis = axis - 1, add = true, relu = true })
      return { dx, dgamma, dbeta, daddend, also and op.tanh(dy) }
    end
  end

  it("a batch norm's gradient that alone reads it, around tiles", function()
    for _, dtype in ipairs { "float32", "float64" } do
      for _, case in ipairs { { { 3, 5, 7, 9 }, 2 }, { { 4, 3, 64 }, 2 }, { { 2, 2, 4, 40 }, 2 },
        { { 9, 37 }, 2 }, { { 5, 3, 130 }, 3 } } do
        local inputs = inputs_of(case[1], case[2], dtype)
        assert.equal(0, count(text_of(inputs, body_of(case[2])), "add"))
        check(inputs, body_of(case[2]), table.concat(case[1], " "))
      end
    end
  end)

  it("nothing that is not alone, or broadcasts it", function()
    local inputs = inputs_of({ 3, 5, 7, 9 }, 2, "float32")
    assert.equal(1, count(text_of(inputs, body_of(2, true)), "add"))
    check(inputs, body_of(2, true))
    inputs[2] = like { 5, 1, 1 }
    assert.equal(1, count(text_of(inputs, body_of(2)), "add"))
    check(inputs, body_of(2))
  end)
end)

describe("what looks like a bias and is none stays:", function()
  it("numbers that run along another axis", function()
    for _, s in ipairs { { 4 }, { 1, 1, 1, 4 }, { 4, 1 } } do
      local inputs = filled("float32", { { 2, 3, 6, 6 }, { 4, 3, 3, 3 }, s })
      local function body(v) return { op.add(op.conv2d(v[1], v[2]), v[3]) } end
      assert.equal(1, count(text_of(inputs, body), "add"))
      check(inputs, body)
    end
  end)

  it("one number for all channels, and a sum that is wider than the product", function()
    for _, s in ipairs { { 1 }, { 2, 1, 1, 1 }, { 3, 1, 4, 1, 1 } } do
      local inputs = filled("float32", { { 2, 3, 5, 5 }, { 4, 3, 3, 3 }, s })
      local function body(v) return { op.add(op.conv2d(v[1], v[2]), v[3]) } end
      assert.equal(1, count(text_of(inputs, body), "add"))
      check(inputs, body)
    end
  end)

  it("a bias that comes after the residual, whose sum would be rounded elsewhere", function()
    local function body(v) return { op.bias_add(op.add(op.conv2d(v[1], v[2]), v[4]), v[3]) } end
    assert.equal(1, count(text_of(conv_inputs(), body), "bias_add"))
    check(conv_inputs(), body)
  end)

  it("a bias of rows, and whole numbers", function()
    local inputs = filled("float32", { { 2, 3, 4 }, { 2, 4, 3 }, { 3 } })
    local function body(v) return { op.bias_add(op.matmul(v[1], v[2]), v[3]) } end
    assert.equal(1, count(text_of(inputs, body), "bias_add"))
    check(inputs, body)
    inputs = filled("int32", { { 2, 3 }, { 3, 2 }, { 2 } })
    assert.equal(1, count(text_of(inputs, body), "bias_add"))
    check(inputs, body)
  end)
end)

describe("not-a-number, infinities and signed zeros come out as they do unfused:", function()
  local function same(inputs, body)
    local want = results("-epilogue", "reference", inputs, body)[1]
    local got = results("", "fast", inputs, body)[1]
    for i, v in ipairs(want) do
      local u = got[i]
      local alike = (u ~= u and v ~= v) or (u == v and 1 / u == 1 / v)
      assert.truthy(alike, ("number %d: got %g, expected %g"):format(i, u, v))
    end
  end

  for _, act in ipairs(ACTIVATIONS) do
    it("a bias, then " .. act, function()
      local bias = core.from_table({ 0 / 0, 1 / 0, -1 / 0, 0, -0.0, 0 / 0 }, "float32")
      local function zeros(...) return core.array("float32", { ... }) end
      local function after(product)
        return function(v)
          return { follow(op[product](v[1], v[2]), v[3], nil, "bias_add", false, act) }
        end
      end
      same({ zeros(1, 3), zeros(3, 6), bias }, after "matmul")
      same({ zeros(4, 3), zeros(3, 6), bias }, after "matmul")
      same({ zeros(2, 3, 5, 5), zeros(6, 3, 3, 3), bias }, after "conv2d")
    end)
  end
end)

describe("gradients through fused products are those that differences give:", function()
  --- d sum(y dy) / d inputs by a plan with the pass on, and by differences of one.
  local function gradcheck(inputs, body)
    local n = #inputs
    local function weighed(v) return op.reduce_sum(op.square(body(v))) end
    local plan = plan_of(inputs, function(v, g)
      return core.gradients(g, weighed(v), nil, v)
    end)
    local forward = plan_of(inputs, function(v) return { weighed(v) } end)
    assert.truthy(core.plan_text(plan):find "_fused")
    local grads = { core.run(plan, unpack(inputs)) }
    for i = 1, n do
      local flat, got = core.reshape(inputs[i], { -1 }), support.flat(grads[i])
      for j = 1, #flat do
        local keep, h = flat[j], 1e-5
        flat[j] = keep + h
        local up = support.flat((core.run(forward, unpack(inputs))))[1]
        flat[j] = keep - h
        local down = support.flat((core.run(forward, unpack(inputs))))[1]
        flat[j] = keep
        local want = (up - down) / (2 * h)
        assert.truthy(math.abs(got[j] - want) <= 1e-5 * math.max(1, math.abs(want)),
          ("input %d, number %d: %.9g, differences say %.9g"):format(i, j, got[j], want))
      end
    end
    core.plan_free(plan)
    core.plan_free(forward)
  end

  for _, act in ipairs(ACTIVATIONS) do
    it("a convolution with a bias, a residual and " .. act, function()
      gradcheck(conv_inputs "float64", function(v)
        return follow(op.conv2d(v[1], v[2]), v[3], v[4], "bias_add", true, act)
      end)
    end)

    it("two products with biases and " .. act, function()
      gradcheck(filled("float64", { { 3, 4 }, { 5, 4 }, { 5 }, { 5, 2 }, { 2 } }), function(v)
        local y = op.matmul(v[1], v[2], { transpose_b = true })
        y = follow(y, v[3], nil, "bias_add", false, act)
        return follow(op.matmul(y, v[4]), v[5], nil, "add", false, act)
      end)
    end)
  end
end)

describe("the gradient of a bias", function()
  local function grads(bias)
    return function(v, g)
      local y = op.conv2d(v[1], v[2], { padding = "SAME" })
      y = follow(y, v[3], nil, bias, false, "tanh")
      return core.gradients(g, y, nil, { v[1], v[2], v[3] })
    end
  end

  for _, dtype in ipairs { "float32", "float64" } do
    for _, bias in ipairs { "bias_add", "add" } do
      it(("comes with that of the filters, %s, %s"):format(bias, dtype), function()
        for _, s in ipairs { { 3, 5 }, { 16, 32 } } do
          local inputs = filled(dtype, { { 2, s[1], 7, 7 }, { s[2], s[1], 3, 3 }, { s[2] } })
          local text = text_of(inputs, grads(bias))
          assert.equal(0, count(text, "reduce_sum"))
          assert.truthy(text:find "/dbias")
          check(inputs, grads(bias))
        end
      end)
    end
  end

  it("is found before and after that of the filters, unless these are not to be had yet", function()
    local inputs = filled("float32", { { 2, 3, 5, 5 }, { 2, 4, 3, 3 } })
    local function filters(x, dy) return op.conv2d_filter_grad(x, dy, { size = 3 }) end
    local function sum(dy) return op.reduce_sum(dy, { axis = { 0, 2, 3 } }) end
    local sums = 0
    for _, body in ipairs {
      function(v)
        local f = filters(v[1], v[2])
        return { f, sum(v[2]) }
      end,
      function(v)
        local s = sum(v[2])
        return { s, filters(v[1], v[2]) }
      end,
      function(v)
        local s = sum(v[2])
        return { s, filters(op.exp(v[1]), v[2]) }
      end,
    } do
      sums = sums + count(text_of(inputs, body), "reduce_sum")
      check(inputs, body)
    end
    assert.equal(1, sums)
  end)

  it("is summed as ever where the filters have none", function()
    local inputs = filled("float32", { { 2, 3, 5, 5 }, { 4, 3, 3, 3 }, { 4 } })
    local function body(v, g)
      local y = op.tanh(op.bias_add(op.conv2d(v[1], v[2]), v[3]))
      return core.gradients(g, y, nil, { v[3] })
    end
    assert.equal(1, count(text_of(inputs, body), "reduce_sum"))
    check(inputs, body)
  end)
end)

describe("rows for products with an epilogue", function()
  local function kernel(inputs, body)
    return text_of(inputs, body):match "_fused +(%S+)"
  end

  it("are oneDNN's, our own for vectors, and OpenBLAS for float64", function()
    local function body(v) return { op.tanh(op.bias_add(op.matmul(v[1], v[2]), v[3])) } end
    local function row(dtype, m)
      return kernel(filled(dtype, { { m, 8 }, { 8, 4 }, { 4 } }), body)
    end
    assert.equal("dnnl_matmul", row("float32", 5))
    assert.equal("vec_gemv_then", row("float32", 1))
    assert.equal("blas_matmul", row("float64", 5))
  end)

  it("for convolutions are oneDNN's too, also where it is slow at a sum", function()
    local function body(groups)
      return function(v)
        return { op.add(op.conv2d(v[1], v[2], { groups = groups, padding = "SAME" }), v[3]) }
      end
    end
    local one = filled("float32", { { 2, 6, 5, 5 }, { 10, 6, 3, 3 }, { 2, 10, 5, 5 } })
    local two = filled("float32", { { 2, 6, 5, 5 }, { 10, 3, 3, 3 }, { 2, 10, 5, 5 } })
    assert.equal("dnnl_conv", kernel(one, body(1)))
    assert.equal("dnnl_conv_then", kernel(two, body(2)))
    check(two, body(2))
  end)

  it("add biases of convolutions within them, and convert no pictures of channels last", function()
    for groups = 1, 2 do
      for format, shape in pairs { NHWC = { 2, 17, 17, 24 }, NCHW = { 2, 24, 17, 17 } } do
        local f = flow.global_function { name = "f", inputs = { flow.float32(shape) },
          body = function(x)
            return flow.layers.conv2d(x, 20, 1, { groups = groups, data_format = format })
          end }
        f:compile()
        local text = f:plan()
        assert.equal("dnnl_conv", text:match "conv2d_fused +(%S+) +x")
        local size, unit = text:match "temporaries of ([%d.]+) (%S+)"
        assert.is_true(format == "NCHW" or unit == "B" or tonumber(size) < 40, text)
        flow.clear_default_session()
      end
    end
  end)
end)

describe("an ending", function()
  it("is not disturbed by an update that the body makes before it", function()
    local function body(v, g)
      local w = core.variable(g, { name = "w", dtype = "float32", shape = { 3, 4 } })
      local y = op.matmul(v[1], w)
      op.update({ w, v[2], v[4] }, { optimizer = "SGD", options = { 0 } })
      return { op.bias_add(y, v[3]) }
    end
    local inputs = filled("float32", { { 2, 3 }, { 3, 4 }, { 4 } })
    inputs[4] = core.from_table({ 1, 0.5 }, "float64")
    local text = text_of(inputs, body)
    assert.equal(0, count(text, "bias_add"))
    assert.truthy(text:find(" matmul_fused .- update "), "updates of a body come last")
    local plan = plan_of(inputs, body)
    for _, w in ipairs { 0, -0.5 } do
      local product = op.matmul(inputs[1], op.multiply(inputs[2], w))
      local want, got = op.bias_add(product, inputs[3]), core.run(plan, unpack(inputs))
      assert.truthy(support.close(support.flat(got), support.flat(want), 1e-5))
    end
  end)
end)

describe("graphs after the epilogue pass:", function()
  local function job(kind, shape, body)
    return flow.global_function {
      name = kind .. "_job", type = kind, returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder(shape) } }, body = body,
    }
  end

  local function conv(x, filters, name, activation)
    return flow.layers.conv2d(x, filters, 3,
      { padding = "SAME", activation = activation, name = name })
  end

  before_each(function()
    flow.clear_default_session()
    settings(passes.all_but "epilogue", "reference")
  end)
  after_each(function() flow.clear_default_session() end)

  it("a convolution with its bias, and relu", function()
    golden.check("epilogue_conv", job("predict", { 2, 3, 6, 6 }, function(x)
      return conv(x, 4, "conv1", flow.nn.relu)
    end):graph("optimized"))
  end)

  it("a dense layer with its bias and gelu", function()
    golden.check("epilogue_dense", job("predict", { 4, 6 }, function(x)
      return flow.layers.dense(x, 5, { activation = flow.math.gelu, name = "dense1" })
    end):graph("optimized"))
  end)

  it("a residual block", function()
    golden.check("epilogue_residual", job("predict", { 2, 4, 6, 6 }, function(x)
      local y = conv(x, 4, "conv1", flow.math.tanh)
      return flow.math.tanh(conv(y, 4, "conv2") + conv(x, 4, "shortcut"))
    end):graph("optimized"))
  end)

  it("a small network in training", function()
    golden.check("epilogue_train", job("train", { 2, 3, 6, 6 }, function(x)
      local y = flow.nn.max_pool2d(conv(x, 4, "conv1", flow.nn.relu), { ksize = 2, strides = 2 })
      y = flow.reshape(conv(y, 4, "conv2", flow.math.tanh), { 2, -1 })
      y = flow.layers.dense(y, 3, { activation = flow.math.gelu, name = "dense1" })
      local loss = flow.math.square(y)
      flow.optimizer.SGD(0.1, { momentum = 0 }):minimize(loss)
      return loss
    end):graph("optimized"))
  end)
end)
