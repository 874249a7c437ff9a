-- Convolutions and pools of integers of 8 bits: the fast kernels beside the plain ones, calls on
-- several devices, and what is refused. Scale, bias and number are such that no sum is rounded.
local core = require "jfl.core"
local flow = require "jfl"

local nd, tp = flow.ndarray, flow.typing

after_each(flow.clear_default_session)

local RANGES = { uint8 = { 0, 255 }, int8 = { -128, 127 }, float32 = { -9, 9 } }

local function drawn(shape, dtype)
  local least, most = unpack(RANGES[dtype])
  return flow.math.round(nd.rand(shape) * (most - least) + least):astype(dtype)
end

local function filled(shape, number) return nd.zeros(shape) + number end

-- Shapes of x and of the filters, options, and the shape and the dtype of a residual.
local CASES = {
  { { 2, 9, 8, 16 }, { 32, 3, 3, 16 }, { padding = "SAME", relu = true } },
  { { 1, 56, 56, 64 }, { 32, 3, 3, 64 }, { padding = "SAME", dtype = "uint8" },
    { 1, 56, 56, 32 }, "uint8" },
  { { 1, 28, 28, 256 }, { 64, 1, 1, 256 }, { dtype = "int8", relu = true }, { 1, 28, 28, 64 },
    "float32" },
  { { 3, 7, 7, 3 }, { 20, 7, 7, 3 }, { padding = { 3, 3, 3, 3 }, strides = 2 }, { 3, 4, 4, 20 },
    "int8" },
  { { 1, 1, 1, 200 }, { 10, 1, 1, 200 } },
  { { 2, 9, 8, 16 }, { 32, 3, 3, 16 }, { dtype = "uint8", zero = 117, relu = true },
    { 2, 7, 6, 32 }, "uint8" },
  { { 2, 9, 8, 16 }, { 32, 3, 3, 16 }, { dtype = "int8", zero = -40 } },
  { { 1, 300, 1, 100 }, { 33, 1, 1, 100 }, { dtype = "uint8" } },
  { { 2, 6, 6, 4 }, { 8, 3, 3, 2 }, { groups = 2, dilations = 2 } },
  { { 1, 9, 9, 40 }, { 40, 3, 3, 1 }, { groups = 40, padding = "SAME", dtype = "uint8", zero = 3,
    relu = true } },
  { { 2, 9, 8, 16 }, { 32, 3, 3, 16 }, { dtype = "int8", residual_zero = 100, zero = -5 },
    { 2, 7, 6, 32 }, "uint8" },
  { { 2, 9, 8, 16 }, { 32, 1, 1, 16 }, { dtype = "uint8", zero = 9, first = "int8",
    first_zero = -30, residual_zero = 120 }, { 2, 9, 8, 32 }, "uint8" },
  { { 1, 12, 12, 16 }, { 24, 1, 1, 16 }, { dtype = "int8", first = "uint8", relu = true },
    { 1, 12, 12, 24 }, "int8" },
  { { 1, 9, 9, 16 }, { 16, 3, 3, 1 }, { groups = 16, padding = "SAME", first = "uint8",
    first_zero = 255 }, { 1, 9, 9, 16 }, "float32" },
}

local function inputs_of(case, dtype)
  local o = case[2][1]
  local list = { drawn(case[1], dtype), drawn(case[2], "int8"), filled({ o }, 1 / 256),
    filled({ o }, -384) }
  if case[4] then list[5], list[6] = drawn(case[4], case[5]), filled({ 1 }, 0.25) end
  if case[3] and case[3].first then list[7] = filled({ 1 }, 2) end
  return list
end

local function called(case, x)
  return core.op "quantized_conv2d"(x[1], x[2], x[3], x[4], x[5] and { x[5], x[6], x[7] } or nil,
    case[3] or {})
end

local function check_same(a, b)
  assert.same(a.shape, b.shape)
  assert.equal(a.dtype, b.dtype)
  assert.equal(0, (a:astype("float32") - b:astype("float32")):abs():max())
end

describe("numbers of 8 bits", function()
  for i, case in ipairs(CASES) do
    for _, dtype in ipairs { "uint8", "int8" } do
      it(("of %s are convolved as by the plain kernel, case %d"):format(dtype, i), function()
        local x = inputs_of(case, dtype)
        local fast = called(case, x)
        core.set("kernels", "reference")
        local plain = called(case, x)
        check_same(plain, fast)
        assert.is_true(plain:astype("float32"):abs():max() > 0)
      end)
    end
  end

  it("are convolved by several devices together #cpu", function()
    core.set("cpu_devices", 2)
    local case = { { 4, 6, 6, 16 }, { 16, 3, 3, 16 }, { padding = "SAME" } }
    local x, list = inputs_of(case, "uint8"), {}
    for i, a in ipairs(x) do list[i] = { "v" .. i, tp.Numpy.Placeholder(a.shape, a.dtype) } end
    local function run(name, devices)
      return flow.global_function { name = name, returns = tp.Numpy, inputs = list,
        body = function(...)
          local given = { ... }
          return flow.scope.placement("cpu", devices, function()
            given[1] = given[1]:with_distribute(flow.distribute.split(0))
            return called(case, given)
          end)
        end }(unpack(x))
    end
    check_same(called(case, x), run("two", "0:0-1"))
  end)

  --- Half number `member` of an array along an axis; without an axis all of it.
  local function half(a, axis, member)
    if not axis then return a end
    local first, shape = {}, { unpack(a.shape) }
    for k = 1, #shape do first[k] = 0 end
    first[axis + 1] = member == 1 and 0 or math.ceil(a.shape[axis + 1] / 2)
    shape[axis + 1] = member == 1 and math.ceil(a.shape[axis + 1] / 2)
      or math.floor(a.shape[axis + 1] / 2)
    return core.op "slice"(a, { begin = first, size = shape })
  end

  it("are convolved in parts, of the batch or of the filters, as on the whole", function()
    for _, case in ipairs(CASES) do
      local o, x = case[3] or {}, inputs_of(case, "uint8")
      local ways = {}
      if x[1].shape[1] > 1 then ways[1] = { 0, nil, nil, nil, 0, out = 0 } end
      if not o.groups then ways[#ways + 1] = { nil, 0, 0, 0, 3, out = 3 } end
      local said = core.signatures("quantized_conv2d", x, o, 2)
      assert.equal(#ways, select(2, said:gsub("\n", "")), said)
      for number, axes in ipairs(ways) do
        for member = 1, 2 do
          local own = {}
          for i, a in ipairs(x) do own[i] = half(a, axes[i], member) end
          check_same(half(called(case, x), axes.out, member),
            core.part("quantized_conv2d", x, o, own, 2, number, member)[1])
        end
      end
    end
  end)

  it("are pooled in both orders of axes", function()
    for _, dtype in ipairs { "uint8", "int8" } do
      local x = drawn({ 2, 7, 9, 24 }, dtype)
      local o = { ksize = 3, strides = 2, padding = "SAME" }
      local plain = flow.nn.max_pool2d(x:astype("float32"):transpose(0, 3, 1, 2), o)
      check_same(plain:astype(dtype), flow.nn.max_pool2d(x:transpose(0, 3, 1, 2), o))
      o.data_format = "NHWC"
      check_same(plain:transpose(0, 2, 3, 1):astype(dtype), flow.nn.max_pool2d(x, o))
    end
  end)

  it("are refused with others", function()
    local x = inputs_of(CASES[1], "uint8")
    local function fails(text, i, value)
      local list = { unpack(x) }
      list[i] = value
      local ok, err = pcall(called, CASES[1], list)
      assert.is_false(ok)
      assert.truthy(tostring(err):find(text, 1, true), tostring(err))
    end
    fails("must be int8 or uint8 and filters int8", 1, x[1]:astype("float32"))
    fails("must be float32 (32), got float32 (31)", 3, filled({ 31 }, 1))
    fails("must be float32 (32), got int8 (32)", 4, drawn({ 32 }, "int8"))
    local many = { { 1, 1, 1, 70000 }, { 1, 1, 1, 70000 } }
    local ok, err = pcall(called, many, inputs_of(many, "uint8"))
    assert.is_false(ok)
    assert.truthy(err:find("must have at most 65793 numbers each, got 70000", 1, true), err)
    ok, err = pcall(called, { 0, 0, { dtype = "int32" } }, x)
    assert.is_false(ok)
    assert.truthy(err:find("dtype", 1, true), err)
  end)
end)
