--- Floats of 16 bits in every op: at once and in jobs the result is that of float32, rounded.
local cases = require "spec.op.cases"
local core = require "jfl.core"
local ffi = require "ffi"
local flow = require "jfl"
local helper = require "spec.lua.helper"
local support = require "spec.op.support"

teardown(core.reset)

local ops = core.ops()
local names = {}
for name, op in pairs(ops) do
  for _, dtype in ipairs(op.dtypes) do
    if dtype == "bfloat16" and #cases[name] > 0 then names[#names + 1] = name end
  end
end
table.sort(names)

local HALVES = { "float16", "bfloat16" }
-- The distance of neighbours, relative and near 0.
local STEP = { float16 = { 2 ^ -10, 2 ^ -24 }, bfloat16 = { 2 ^ -7, 2 ^ -133 } }
-- How far kernels of 16 and of 32 bits may differ: gelu in 1 + erf(x) where that is small, sigmoid
-- in what is too small for a normal number.
local LOST = { gelu = 2 ^ -20, sigmoid = 2 ^ -126 }

local function cast(a, dtype) return core.op("cast")(a, { dtype = dtype }) end

local function is_half(a) return a.dtype == "float16" or a.dtype == "bfloat16" end

local function widened(list)
  local wide = {}
  for i, a in ipairs(list) do wide[i] = is_half(a) and cast(a, "float32") or a end
  return wide
end

--- The results of a call with everything that is a float of 16 bits in that dtype.
local function results(op, case, dtype, list)
  local options = {}
  for k, v in pairs(case.options or {}) do options[k] = v end
  if options.dtype == "float32" then options.dtype = dtype end
  core.set("seed", 7)
  return { support.call(op, { options = options, dtype = dtype, name = case.name }, list) }
end

--- Whether each number of `got` is that of `want`, a neighbour of it or no further than `lost`.
local function check_near(got, want, dtype, lost, where)
  local step = STEP[dtype] or { 0, 0 }
  assert.equal(want.dtype, got.dtype, where)
  assert.same(want.shape, got.shape, where)
  local x, y = support.flat(got), support.flat(want)
  for i = 1, #y do
    local most = math.max(math.abs(y[i]) * step[1], step[2], lost)
    local same = x[i] == y[i] or (x[i] ~= x[i] and y[i] ~= y[i])
    if not same and not (math.abs(x[i] - y[i]) <= most) then
      error(("%s, %s, number %d: got %.9g, expected %.9g"):format(where, dtype, i, x[i], y[i]))
    end
  end
end

--- What a call in float32 gives, rounded.
local function expected(op, case, dtype, x)
  local wide = results(op, case, "float32", widened(x))
  for i, a in ipairs(wide) do
    if a.dtype == "float32" then wide[i] = cast(a, dtype) end
  end
  return wide
end

local function dtypes_of(op, case)
  if case.only or (op.key == -1 and #op.inputs == 0 and op.params[#op.params].name == "value") then
    return {}
  end
  return HALVES
end

local function in_job(op, case, dtype, x)
  local specs = {}
  for i, a in ipairs(x) do specs[i] = { dtype = a.dtype, shape = a.shape } end
  local plan = support.plan(specs, function(_, blobs) return results(op, case, dtype, blobs) end)
  return { core.run(plan, unpack(x)) }
end

--- The gradients of sum(y dy) with respect to the inputs that are floats, or nil.
local function gradients(op, case, dtype, x, dy)
  local specs, none = {}, false
  for i, a in ipairs(x) do specs[i] = { dtype = a.dtype, shape = a.shape } end
  specs[#specs + 1] = { dtype = dy.dtype, shape = dy.shape }
  local plan = support.plan(specs, function(g, blobs)
    local seed, of, grads = table.remove(blobs), {}, {}
    for i, a in ipairs(x) do
      if a.dtype:find "float" then of[#of + 1] = blobs[i] end
    end
    local y = results(op, case, dtype, blobs)[1]
    for _, v in ipairs(core.gradients(g, y, seed, of)) do
      if v then grads[#grads + 1] = v end
    end
    none = #grads == 0
    return none and { y } or grads
  end)
  x[#x + 1] = dy
  local list = { core.run(plan, unpack(x)) }
  x[#x] = nil
  return not none and list or nil
end

local function check_gradients(op, case, dtype, x, where)
  local y = results(op, case, dtype, x)[1]
  if not y or not is_half(y) then return end
  local dy = support.filled(dtype, y.shape, -1, 1.2)
  local got = gradients(op, case, dtype, x, dy)
  local want = got and gradients(op, case, "float32", widened(x), cast(dy, "float32"))
  for i, a in ipairs(got or {}) do
    local flat, most = support.flat(want[i]), 1
    for _, v in ipairs(flat) do most = math.max(most, math.abs(v)) end
    assert.equal(dtype, a.dtype)
    local ok, message = support.close(support.flat(a), flat, STEP[dtype][1] * 8 * most)
    assert.truthy(ok, ("%s, %s, gradient %d, %s"):format(where, dtype, i, message or ""))
  end
end

describe("floats of 16 bits", function()
  for _, name in ipairs(names) do
    local op = ops[name]
    it("give what float32 gives, rounded: " .. name, function()
      for number, case in ipairs(cases[name]) do
        for _, dtype in ipairs(dtypes_of(op, case)) do
          local where = ("case %d"):format(number)
          local lost = LOST[case.options and case.options.act] or 0
          local x = support.inputs(case, dtype)
          local want = expected(op, case, dtype, x)
          for i, a in ipairs(results(op, case, dtype, x)) do
            check_near(a, want[i], dtype, lost, where .. " at once")
          end
          local job = (op.random or op.effect) and {} or in_job(op, case, dtype, x)
          for i, a in ipairs(job) do check_near(a, want[i], dtype, lost, where .. " in a job") end
          if op.differentiable and case.grad ~= false and not op.random then
            check_gradients(op, case, dtype, x, where)
          end
        end
      end
    end)
  end

  it("pass through a chain of ops without being rounded between two that are fused", function()
    local x = core.from_table({ 1, 2, 3 }, "bfloat16")
    local third = core.from_table({ 3 }, "bfloat16")
    local plan = support.plan({ x, third }, function(_, b)
      return { core.op("multiply")(core.op("divide")(b[1], b[2]), b[2]) }
    end)
    assert.same({ 1, 2, 3 }, core.to_table((core.run(plan, x, third))))
  end)

  it("are converted where another tensor chooses the kernel", function()
    local a, b = core.from_table({ 3 }, "float32"), core.from_table({ 4, 0 }, "bfloat16")
    local by = core.from_table({ 1 }, "float64")
    for _, kernels in ipairs { "fast", "reference" } do
      core.set("kernels", kernels)
      assert.same({ 0.2 }, core.to_table(core.op("clip_scale")(by, { a, b }, { clip = 1 })))
    end
    core.set("kernels", "fast")
  end)

  it("need no float32 in memory where a chain is fused #cpu", function()
    local big = core.array("bfloat16", { 1000, 100 })
    local plan = support.plan({ big, big }, function(_, b)
      local y = core.op("exp")(core.op("add")(b[1], b[2]))
      return { core.op("multiply")(y, core.op("tanh")(y)) }
    end)
    local text = core.plan_text(plan)
    assert.truthy(text:find("temporaries of 0 B", 1, true), text)
  end)
end)

describe("variables of 16 bits", function()
  local tp = flow.typing
  local function net(name, mode)
    return flow.global_function { name = name, type = mode, returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }, { dtype = "bfloat16" }) } },
      body = function(x)
        local w = flow.get_variable("w", { shape = { 2, 2 }, dtype = "bfloat16",
          initializer = flow.constant_initializer(0.3) })
        local y = flow.matmul(x, w)
        if mode == "train" then flow.optimizer.SGD(0.1):minimize(flow.math.reduce_mean(y)) end
        return y
      end }
  end

  it("are read, loaded and saved", function()
    local job = net("halves", "predict")
    assert.same({ { 0.90234375, 0.90234375 } }, job({ { 1, 2 } }):totable())
    flow.load_variables { w = flow.ndarray.array({ { 1, 2 }, { 3, 4 } }, "bfloat16") }
    assert.same({ { 7, 10 } }, job({ { 1, 2 } }):totable())
    local path = os.tmpname()
    os.remove(path)
    flow.train.CheckPoint():save(path)
    flow.load_variables { w = flow.ndarray.zeros({ 2, 2 }, "bfloat16") }
    flow.train.CheckPoint():load(path)
    os.execute("rm -r " .. path)
    assert.equal("bfloat16", flow.get_all_variables().w.dtype)
    assert.same({ { 7, 10 } }, job({ { 1, 2 } }):totable())
    flow.clear_default_session()
  end)

  it("are not trained, and the message says what to do", function()
    helper.fails(function() net("half_train", "train"):compile() end,
      "minimize: variable 'w' must be float32 or float64, got bfloat16; its steps would be lost "
      .. "in rounding. Keep it in float32 and compute in 16 bits by mixed precision, or make it "
      .. "not trainable")
    flow.clear_default_session()
  end)
end)

local function pointer(a, ctype) return ffi.cast(ctype .. " *", core.pointer(a)) end

--- Whether element i is a nan; LuaJIT must not load one, whose bits may be those of a reference.
local function is_nan(a, i)
  if a.dtype == "float32" then
    return bit.band(pointer(a, "int32_t")[i], 0x7fffffff) > 0x7f800000
  end
  return bit.band(pointer(a, "int32_t")[2 * i + 1], 0x7fffffff) > 0x7ff00000
end

local function all_halves(dtype)
  local a = core.array(dtype, { 65536 })
  local p = pointer(a, "uint16_t")
  for i = 0, 65535 do p[i] = i end
  return a, p
end

--- The number that those 16 bits stand for.
local function number_of(bits, exponents, digits)
  local scale = 2 ^ digits
  local sign = bits >= 0x8000 and -1 or 1
  local rest = bits % 0x8000
  local e, m = math.floor(rest / scale), rest % scale
  local bias = 2 ^ (exponents - 1) - 1
  if e == 2 ^ exponents - 1 then return m == 0 and sign / 0 or 0 / 0 end
  if e == 0 then return sign * m / scale * 2 ^ (1 - bias) end
  return sign * (1 + m / scale) * 2 ^ (e - bias)
end

describe("conversions", function()
  for dtype, form in pairs { float16 = { 5, 10 }, bfloat16 = { 8, 7 } } do
    it("read all 65536 values and give them back: " .. dtype, function()
      local a, p = all_halves(dtype)
      for to, ctype in pairs { float32 = "float", float64 = "double" } do
        local wide = cast(a, to)
        local back = cast(wide, dtype)
        local q, r = pointer(wide, ctype), pointer(back, "uint16_t")
        for i = 0, 65535 do
          local want = number_of(i, form[1], form[2])
          if want ~= want then
            assert(is_nan(wide, i), ("the nan %04x became a number"):format(i))
            local again = number_of(r[i], form[1], form[2])
            assert(again ~= again, "a nan was lost")
          else
            assert(q[i] == want and 1 / q[i] == 1 / want, ("%04x gave %g"):format(i, q[i]))
            assert(r[i] == p[i], ("%04x came back as %04x"):format(i, r[i]))
          end
        end
      end
    end)

    it("round to the nearest, halfway cases to even: " .. dtype, function()
      local last = 2 ^ form[1] * 2 ^ form[2] - 2 ^ form[2] - 1      -- the largest finite number
      local middle, want = core.array("float64", { 4 * last }), {}
      local m = pointer(middle, "double")
      for i = 0, last - 1 do
        local low, high = number_of(i, form[1], form[2]), number_of(i + 1, form[1], form[2])
        local half = low + (high - low) / 2
        local each = { half, half - (high - low) / 8, half + (high - low) / 8, -half }
        local even = i % 2 == 0 and i or i + 1
        local bits = { even, i, i + 1, even + 0x8000 }
        for k = 1, 4 do m[4 * i + k - 1], want[4 * i + k] = each[k], bits[k] end
      end
      local narrow = cast(middle, "float32")
      for _, from in ipairs { middle, narrow } do
        local got = cast(from, dtype)
        local p = pointer(got, "uint16_t")
        for i = 1, 4 * last do
          assert(p[i - 1] == want[i], ("from %s %.17g: got %04x, expected %04x"):format(from.dtype,
            m[i - 1], p[i - 1], want[i]))
        end
      end
    end)
  end

  it("make infinities of what is too large, and keep the sign of a zero", function()
    local x = core.from_table({ 65519, 65520, -1e30, 3.4e38, 1 / 0, -1e-30 }, "float32")
    assert.same({ 65504, 1 / 0, -1 / 0, 1 / 0, 1 / 0, 0 }, core.to_table(cast(x, "float16")))
    assert.equal(-1 / 0, 1 / core.to_table(cast(x, "float16"))[6])
    assert.same({ 1 / 0, -1 / 0 },
      core.to_table(cast(core.from_table({ 3.4e38, -3.4e38 }, "float32"), "bfloat16")))
  end)
end)
