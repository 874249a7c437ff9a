--- Random calls of ops: a case of spec/op/cases.lua with something changed, or anything at all.
local cases = require "spec.op.cases"
local core = require "jfl.core"
local draws = require "spec.draws"

local fuzz = {}

local FLOATS = { "float32", "float64" }
local DTYPES = { "float32", "float64", "int32", "int64", "int8", "uint8", "float16", "bfloat16" }
local EXTENTS = { 1, 1, 1, 2, 2, 3, 3, 4, 5, 7, 17, 33, 0 }
-- The large ones that are tried as extents are more than any memory holds.
local WILD = { -1, 0, 1, 2, 3, -2, -2 ^ 31, 2 ^ 47, 2 ^ 48, 2 ^ 52, 2 ^ 53, -2 ^ 53, 2 ^ 63, 0.5,
  1e300,
  -1e300, 1 / 0, -1 / 0, 0 / 0 }
local HUGE = { 2 ^ 16, 2 ^ 20, 2 ^ 26, 2 ^ 30, 2 ^ 31 - 1, 2 ^ 31, 2 ^ 32, 2 ^ 40, 2 ^ 46, 2 ^ 47 }
local NO_EXTENTS = { 2 ^ 15, 2 ^ 31 - 1, 2 ^ 31, 2 ^ 32, 2 ^ 40 }
local EXTENT_OPTIONS = { shape = true, size = true, depth = true, num_segments = true,
  padding = true, paddings = true, n = true, crop_h = true, crop_w = true }
local WORDS = { "SAME", "SAME_LOWER", "SAME_UPPER", "VALID", "NCHW", "NHWC", "none", "linear",
  "constant", "", "float32", "int64", "x" }

fuzz.random, fuzz.pick = draws.from, draws.pick
local pick = fuzz.pick

local function number(random)
  return random(3) == 1 and pick(random, WILD) or random(5) - 2
end

local function numbers(random)
  local list = {}
  for i = 1, random(random(4) == 1 and 18 or 5) - 1 do list[i] = number(random) end
  return list
end

local by_type = {
  integer = number,
  number = number,
  boolean = function(random) return random(2) == 1 end,
  string = function(random) return pick(random, WORDS) end,
  dtype = function(random) return pick(random, DTYPES) end,
  integers = function(random) return random(3) == 1 and number(random) or numbers(random) end,
  numbers = numbers,
  array = function(random)
    return fuzz.array(random, pick(random, DTYPES), pick(random, { {}, { 3 }, { 2, 0 }, { 2, 3 } }))
  end,
  padding = function(random)
    return random(2) == 1 and pick(random, WORDS) or random(2) == 1 and number(random)
      or numbers(random)
  end,
}

--- A value for an option, seldom of another type.
local function option(random, param)
  local kinds = { "number", "boolean", "string", "numbers" }
  if not EXTENT_OPTIONS[param.name] and random(12) == 1 then return pick(random, NO_EXTENTS) end
  return by_type[random(20) == 1 and pick(random, kinds) or param.type](random)
end

local function shape(random)
  local s, size = {}, 1
  if random(12) == 1 then return s end
  for i = 1, random(random(4) == 1 and 8 or 4) do
    local d = pick(random, EXTENTS)
    s[i] = size * d <= 4000 and d or 1
    size = size * s[i]
  end
  return s
end

local ODD = { 1 / 0, -1 / 0, 0 / 0 }
local ODD_LOG = { -1 / 0, 0 / 0 }        -- the logarithm of a probability is never infinite upwards

--- An array of small numbers, seldom with some of those that are odd, unless this is nil.
function fuzz.array(random, dtype, s, odd)
  local halves = dtype == "float16" or dtype == "bfloat16"
  local flat = core.reshape(core.array(halves and "float32" or dtype, s), { -1 })
  local float = dtype:find "float"
  odd = odd and random(12) == 1 and odd
  for i = 1, #flat do
    local v = random(7) - 3
    if dtype == "uint8" then v = math.abs(v) end
    if float then v = odd and random(6) == 1 and pick(random, odd) or v + random(1000) / 1024 end
    flat[i] = v
  end
  local a = core.reshape(flat, s)
  return halves and core.cast(a, dtype) or a
end

--- Whether an op has cases; those that take blocks alone have theirs elsewhere.
function fuzz.has_cases(name) return #cases[name] > 0 end

--- The inputs of a case as specs, and its options, where something else may be changed.
local function from_case(random, op)
  local case = pick(random, cases[op.name])
  local key = case.only or pick(random, random(4) == 1 and op.dtypes or FLOATS)
  local inputs, options = {}, {}
  for i, s in ipairs(case.inputs or {}) do
    local a = s.data and core.from_table(s.data, s.dtype or key)
    inputs[i] = { dtype = s.dtype or key, shape = s.shape or a.shape, data = a }
  end
  for k, v in pairs(case.options or {}) do options[k] = v end
  return inputs, options
end

local function spoil_input(random, inputs)
  local s = pick(random, inputs)
  if s.data and random(4) > 1 then return end
  s.data = nil
  if random(3) == 1 then s.dtype = pick(random, DTYPES) end
  if random(3) > 1 then
    local changed = { unpack(s.shape) }
    if #changed > 0 then changed[random(#changed)] = pick(random, { 1, 2, 3, 5, 0 }) end
    s.shape = changed
  elseif random(2) == 1 then
    s.shape = shape(random)
  end
end

local function anything(random, op)
  local inputs, dtype = {}, pick(random, random(3) == 1 and DTYPES or op.dtypes)
  local s = shape(random)
  for i = 1, op.variadic and random(4) or #op.inputs do
    inputs[i] = { dtype = random(5) == 1 and pick(random, DTYPES) or dtype,
      shape = random(3) == 1 and shape(random) or s }
  end
  return inputs, {}
end

--- A call of op: {inputs = arrays, options = table}.
function fuzz.call(random, op)
  local wild = random(3) == 1
  local specs, options = (wild and anything or from_case)(random, op)
  for _ = 1, random(3) - 1 do
    if #specs > 0 then spoil_input(random, specs) end
  end
  for _, p in ipairs(op.params) do
    if random(wild and 2 or 5) == 1 then options[p.name] = option(random, p) end
    if not wild and type(options[p.name]) == "number" and random(6) == 1 then
      options[p.name] = options[p.name] + random(3) - 2
    end
    if options[p.name] ~= nil and random(30) == 1 then options[p.name] = nil end
  end
  -- Sums of rotated numbers that large cancel to less than float32 can tell.
  local scale = op.name == "rotary_embedding" and tonumber(options.scale)
  if scale and math.abs(scale) > 1e6 and math.abs(scale) < math.huge then options.scale = 2 end
  local inputs = {}
  -- Whether padding times infinity is 0 is left to the kernels.
  local odd = op.name == "logsoftmax_grad" and ODD_LOG or not op.name:find "^conv%dd" and ODD or nil
  for i, s in ipairs(specs) do
    -- An infinite inverse of a deviation, of equal numbers where nothing is added, has no slope.
    local any = op.inputs[i] ~= "inverse" and odd or nil
    inputs[i] = s.data or fuzz.array(random, s.dtype, s.shape, any)
  end
  return { inputs = inputs, options = options }
end

--- The inputs of a call as specs whose extents may be huge, and its options.
function fuzz.symbols(random, op)
  local specs, options = (random(2) == 1 and anything or from_case)(random, op)
  local huge = pick(random, HUGE)
  for _, s in ipairs(specs) do
    s.shape = { unpack(s.shape) }
    if #s.shape > 0 and random(3) > 1 then s.shape[random(#s.shape)] = huge end
  end
  for _, p in ipairs(op.params) do
    if random(3) == 1 then options[p.name] = random(2) == 1 and huge or option(random, p) end
  end
  return specs, options
end

--- The call as text, for a report.
function fuzz.text(op, call)
  local function show(v)
    if type(v) ~= "table" then return tostring(v) end
    local list = {}
    for i, x in ipairs(v) do list[i] = show(x) end
    return "{" .. table.concat(list, ", ") .. "}"
  end
  local parts = {}
  for _, a in ipairs(call.inputs) do parts[#parts + 1] = a.dtype .. show(a.shape) end
  for k, v in pairs(call.options) do parts[#parts + 1] = k .. " = " .. show(v) end
  return op.name .. "(" .. table.concat(parts, ", ") .. ")"
end

return fuzz
