--- Test data, comparisons and gradient checks for ops.
local cases = require "spec.op.cases"
local core = require "jfl.core"

local support = {}

local function gcd(a, b) return b == 0 and a or gcd(b, a % b) end

--- An array of distinct numbers from lo to hi in a scrambled order; whole numbers for integer
--- dtypes.
function support.filled(dtype, shape, lo, hi)
  local flat = core.reshape(core.array(dtype, shape), { -1 })
  local n, step = #flat, 7
  while n > 0 and gcd(step, n) ~= 1 do step = step + 2 end
  for i = 1, n do
    local v = lo + (hi - lo) * ((i * step) % n + 0.5) / n
    flat[i] = dtype:find "int" and math.floor(v + 0.5) or v
  end
  return core.reshape(flat, shape)
end

--- The inputs of a case, with the key dtype wherever a case fixes no other.
function support.inputs(case, key)
  local list = {}
  for i, s in ipairs(case.inputs or {}) do
    local dtype = s.dtype or key
    local lo, hi = s.lo or -2, s.hi or 2.3
    if dtype == "uint8" and lo < 0 then lo = 0 end
    list[i] = s.data and core.from_table(s.data, dtype) or support.filled(dtype, s.shape, lo, hi)
  end
  if case.y_of then list[2] = core.op(case.y_of)(list[1], case.options) end
  return list
end

--- Whether arrays have more numbers than a case needs that is not there for fast kernels.
function support.is_large(list)
  local n = 0
  for _, a in ipairs(list) do n = n + #core.reshape(a, { -1 }) end
  return n > 16384
end

--- The dtypes in which a case is tried, but halves, of which few ops have kernels.
function support.dtypes_of(op, case)
  if case.only then return { case.only } end
  local list = {}
  for _, dtype in ipairs(op.dtypes) do
    if dtype ~= "float16" and dtype ~= "bfloat16" then list[#list + 1] = dtype end
  end
  return list
end

--- Calls fn(case, dtype) for every case of an op, in the dtypes that dtypes_of(op, case) lists; an
-- error says which.
function support.each_case(op, dtypes_of, fn)
  for number, case in ipairs(cases[op.name] or {}) do
    for _, dtype in ipairs(dtypes_of(op, case)) do
      case.dtype = op.key == -1 and dtype or nil
      local ok, message = pcall(fn, case, dtype)
      if not ok then error(("case %d, %s: %s"):format(number, dtype, tostring(message)), 0) end
    end
  end
end

--- Calls op with a list of arrays or blobs and the case's options.
function support.call(op, case, list)
  local f, args, single = core.op(op.name), { unpack(list) }, #op.inputs - 1
  if op.variadic and #list > single then
    args = { unpack(list, 1, single) }
    args[#args + 1] = { unpack(list, single + 1) }
  end
  local options = { name = case.name }
  for k, v in pairs(case.options or {}) do options[k] = v end
  local is_typed = #op.params > 0 and op.params[#op.params].name ~= "value"
  if op.key == -1 and case.dtype and is_typed then options.dtype = case.dtype end
  if next(options) then args[#args + 1] = options end
  return f(unpack(args))
end

--- All numbers of an array, in order.
function support.flat(a)
  if core.type(a) ~= "array" then return { a } end
  return core.to_table(core.reshape(a, { -1 }))
end

--- Whether two numbers differ by no more than tol, relative above 1; not-a-number equals itself,
--- and what is infinite nothing else.
local function near(got, want, tol)
  if got == want or (got ~= got and want ~= want) then return true end
  local off = math.abs(got - want)
  return off < math.huge and off <= tol * math.max(1, math.abs(want))
end

--- A function says(op, message, ...): a spec, made by busted's `it`, that the op refuses what is
--- given to it with that message.
function support.says(it)
  return function(op, message, ...)
    local args = { ... }
    it(op .. " says: " .. message, function()
      local ok, got = pcall(core.op(op), unpack(args))
      local text = not ok and got:gsub("^[^ ]+:%d+: ", "")
      assert(text == op .. ": " .. message, text or "it was taken")
    end)
  end
end

--- True, or false and where two lists of numbers differ.
function support.close(got, want, tol)
  if #got ~= #want then return false, ("%d numbers, expected %d"):format(#got, #want) end
  for i = 1, #got do
    if not near(got[i], want[i], tol) then
      return false, ("number %d: got %.15g, expected %.15g"):format(i, got[i], want[i])
    end
  end
  return true
end

local jobs = 0

--- A plan of a job with the given float64 (or fixed dtype) inputs, whose results body returns.
function support.plan(specs, body)
  jobs = jobs + 1
  local name = "op_spec_" .. jobs
  local g, blobs = core.graph(name, "predict"), {}
  local before = core.trace(g)
  local ok, message = pcall(function()
    for i, s in ipairs(specs) do blobs[i] = core.input(g, "x" .. i, s.dtype, s.shape) end
    for _, y in ipairs(body(g, blobs)) do core.output(g, y) end
  end)
  core.trace(before)
  if not ok then error(message, 0) end
  return core.compile(core.job(name, "predict"), g)
end

local function dot(a, b)
  local s = 0
  for i = 1, #a do s = s + a[i] * b[i] end
  return s
end

--- Plans of the op and of its gradient for dy, the last input, with respect to inputs `wanted`; and
--- for each of these the number of its gradient among the second plan's results, or false.
local function plans(op, case, specs, dy, wanted)
  local forward = support.plan(specs, function(_, blobs) return { support.call(op, case,
    blobs) } end)
  local flows = {}
  specs[#specs + 1] = { dtype = "float64", shape = dy.shape }
  local backward = support.plan(specs, function(g, blobs)
    local seed, of, grads = table.remove(blobs), {}, {}
    for k, i in ipairs(wanted) do of[k] = blobs[i] end
    local y = support.call(op, case, blobs)
    for k, v in ipairs(core.gradients(g, y, seed, of)) do
      if v then grads[#grads + 1] = v end
      flows[k] = v and #grads
    end
    return #grads > 0 and grads or { y }
  end)
  return forward, backward, flows
end

--- d f/d x[j] by central differences.
local function difference(f, x, j)
  local keep, h = x[j], 1e-5
  x[j] = keep + h
  local up = f()
  x[j] = keep - h
  local down = f()
  x[j] = keep
  return (up - down) / (2 * h)
end

--- Compares d<dy, y>/dx with central differences, for every float64 input of a case whose result is
--- float64 too. Gives whether they agree, and where not; or how many inputs were compared.
function support.gradcheck(op, case, tol)
  local x, specs, wanted = support.inputs(case, "float64"), {}, {}
  for i, a in ipairs(x) do
    specs[i] = { dtype = a.dtype, shape = a.shape }
    if a.dtype == "float64" then wanted[#wanted + 1] = i end
  end
  local y = support.call(op, case, x)
  if y.dtype ~= "float64" then return true, 0 end
  local dy = support.filled("float64", y.shape, -1, 1.2)
  local forward, backward, flows = plans(op, case, specs, dy, wanted)
  local weights = support.flat(dy)
  local function f() return dot(support.flat((core.run(forward, unpack(x)))), weights) end
  x[#x + 1] = dy
  local grads = { core.run(backward, unpack(x)) }
  x[#x] = nil
  for k, i in ipairs(wanted) do
    local flat = core.reshape(x[i], { -1 })
    local got = flows[k] and support.flat(grads[flows[k]])
    for j = 1, #flat do
      local want, have = difference(f, flat, j), got and got[j] or 0
      if not near(have, want, tol) then
        return false, ("input %d, number %d: got %.9g, differences say %.9g"):format(i, j, have,
          want)
      end
    end
  end
  return true, #wanted
end

return support
