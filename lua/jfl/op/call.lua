-- Ops as functions that know the namespaces of the body.
local args = require "jfl.base.args"
local core = require "jfl.core"
local trace = require "jfl.job.trace"

local call = {}

-- Puts the prefix of the namespaces around an op before the name in its options. Where a model is
-- called once more its names are taken, and the core numbers the op.
local function prefixed(context, n, ...)
  local last = select(n, ...)
  if not args.is_options(last) or type(last.name) ~= "string" then return ... end
  local given, options = { ... }, {}
  for key, value in pairs(last) do options[key] = value end
  options.name = not context.reuses and context.prefix .. last.name or nil
  given[n] = options
  return unpack(given, 1, n)
end

--- The name given to an op, after the prefix of the namespaces around it; nil without one.
function call.full_name(who, name)
  if name == nil then return nil end
  args.name(who, "name", name)
  local context = trace.current
  if context and context.reuses then return nil end
  return (context and context.prefix or "") .. name
end

--- The rate at which a part of a body drops elements: that given in train jobs, else 0; training =
-- true or false overrides the job's type. `name` is the rate's argument.
function call.dropout_rate(who, name, rate, training)
  args.number(who, name, rate, "a number from 0 to below 1")
  if training ~= nil then args.expect(who, "training", training, "boolean") end
  if training == nil then training = trace.current and trace.current.mode == "train" end
  return training and rate or 0
end

--- An op as a function of flow, which puts the prefix of the namespaces around it before its name.
-- The core makes the op at its first call, since scripts never call most of them.
function call.of(name)
  local f
  return function(...)
    f = f or core.op(name)
    local context = trace.current
    if context and context.prefix ~= "" and select("#", ...) > 0 then
      return f(prefixed(context, select("#", ...), ...))
    end
    return f(...)
  end
end

--- Ops as such functions by name, for what is made of ops: call.op.relu(x).
call.op = setmetatable({}, { __index = function(t, name)
  t[name] = call.of(name)
  return t[name]
end })

local HALVES = { float16 = true, bfloat16 = true }

local function wide(x) return HALVES[x.dtype] and call.op.cast(x, { dtype = "float32" }) or x end

--- body(name, x, y) of one tensor or two, with sums of squares between: in float32 where both have
-- 16 bits, since float16 holds the square of no number above 255; the result has 16 bits again.
function call.with_squares(name, body, x, y)
  local both = HALVES[x.dtype] and (not y or HALVES[y.dtype])
  local got = body(not both and name or nil, wide(x), y and wide(y))
  return both and call.op.cast(got, { dtype = x.dtype, name = name }) or got
end

return call
