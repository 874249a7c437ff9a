-- ONNX's ops that run graphs: branches, and loops whose count is known. Where a condition is not
-- known, all is computed, and the condition chooses among the results.
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local values = require "jfl.onnx.values"

local op = call.op

local ops = {}

local MOST_STEPS = 10000

-- What a condition that is not known chooses of two values, which must be alike.
local function chosen(n, condition, yes, no, what)
  for _, x in ipairs { yes, no } do n:tensor(x, what) end
  local a, b = yes.dtype .. " " .. args.shape_text(yes.shape), no.dtype .. " "
    .. args.shape_text(no.shape)
  n:check(a == b, "the condition must be known when the job is described, as %s is not alike: %s "
    .. "and %s; what does not change from call to call is given as { constants = { name = array } "
    .. "} to onnx.load", what, a, b)
  return values.cast(op.where(values.reshape(condition, {}), yes, no), yes.dtype)
end

ops.If = function(n, condition)
  if values.is_known(condition) then
    local branch = n:number(condition, "the condition") ~= 0 and "then_branch" or "else_branch"
    return unpack(n.run(n:need(branch), {}))
  end
  local yes, no = n.run(n:need "then_branch", {}), n.run(n:need "else_branch", {})
  for i in ipairs(yes) do yes[i] = chosen(n, condition, yes[i], no[i], "what branches give") end
  return unpack(yes)
end

-- The values of all steps, one above the other.
local function stacked(list, axis)
  local parts = {}
  for i, x in ipairs(list) do
    local shape = { unpack(x.shape) }
    table.insert(shape, (axis or 0) + 1, 1)
    parts[i] = values.reshape(x, shape)
  end
  return values.concat(parts, axis or 0)
end

local function both(a, b)
  return op.multiply(values.reshape(values.cast(a, "int8"), {}),
    values.reshape(values.cast(b, "int8"), {}))
end

-- How far a loop goes on: the condition as a number, or as a blob where it is not known, which only
-- a loop that is told a count and gives no rows may have.
local function goes_on_with(n, condition, has_bound)
  if not has_bound or values.is_known(condition) then
    return n:number(condition, "the condition") ~= 0
  end
  return condition
end

-- How many steps a loop is described with, and its count where that is known in each call alone.
local function steps_of(n, count, gives_rows)
  if count == nil then return math.huge end
  if values.is_known(count) or not n.loop_steps then
    return n:number(count, "the trip count"), nil
  end
  if gives_rows then
    n:fail("the trip count must be known when the job is described, as it gives a row a step")
  end
  return n.loop_steps, values.reshape(count, {})
end

-- Whether a loop goes on behind a step: as its condition says, and where its count is not known
-- while that is larger.
local function within(count, step, goes_on)
  if not count or not goes_on then return goes_on end
  local more = values.cast(op.greater(count, values.scalar(step, count.dtype)), "int8")
  return goes_on == true and more or both(goes_on, more)
end

ops.Loop = { function(n, count, condition, ...)
  local body, state = n:need "body", { ... }
  local n_state, rows = #body.inputs - 2, {}
  local most, later = steps_of(n, count, #body.outputs > n_state + 1)
  local has_bound = count ~= nil and #body.outputs == n_state + 1
  local goes_on = within(later, 0, condition == nil or goes_on_with(n, condition, has_bound))
  local step = 0
  while goes_on and step < most do
    if step >= MOST_STEPS then n:fail("it must have at most %d steps", MOST_STEPS) end
    local inputs = { values.scalar(step, "int64"), values.scalar(1, "int8") }
    for i = 1, n_state do inputs[i + 2] = state[i] end
    local results = n.run(body, inputs)
    local before = goes_on ~= true and goes_on
    goes_on = within(later, step + 1, goes_on_with(n, results[1], has_bound))
    for i = 1, n_state do
      state[i] = before and chosen(n, before, results[i + 1], state[i], "what steps carry")
        or results[i + 1]
    end
    if before and goes_on then goes_on = goes_on == true and before or both(before, goes_on) end
    for i = n_state + 2, #body.outputs do
      local k = i - n_state - 1
      rows[k] = rows[k] or {}
      table.insert(rows[k], results[i])
    end
    step = step + 1
  end
  local out = { unpack(state, 1, n_state) }
  for k = 1, #body.outputs - n_state - 1 do
    out[n_state + k] = rows[k] and stacked(rows[k])
      or n:fail("a loop of no steps has no rows to give")
  end
  return unpack(out)
end, static = { 1 } }

ops.Scan = function(n, ...)
  local body, given = n:need "body", { ... }
  local n_scan = n:need "num_scan_inputs"
  local n_state = #given - n_scan
  local in_axes, out_axes = n:attr("scan_input_axes", {}), n:attr("scan_output_axes", {})
  local back = n:attr("scan_input_directions", {})
  local out_back = n:attr("scan_output_directions", {})
  if n.opset < 9 then n:fail("opset must be at least 9 for it, got %d", n.opset) end
  local function axis_of(i) return n:axis(in_axes[i] or 0, #given[n_state + i].shape) end
  local length = n:times(given[n_state + 1].shape[axis_of(1) + 1], "steps", MOST_STEPS)
  local state, rows = { unpack(given, 1, n_state) }, {}
  for step = 0, length - 1 do
    local inputs = { unpack(state, 1, n_state) }
    for i = 1, n_scan do
      local x, axis = given[n_state + i], axis_of(i)
      local shape = { unpack(x.shape) }
      table.remove(shape, axis + 1)
      local at = back[i] == 1 and length - 1 - step or step
      inputs[n_state + i] = values.reshape(values.slice(x, axis, at, 1), shape)
    end
    local results = n.run(body, inputs)
    for i = 1, n_state do state[i] = results[i] end
    for k = 1, #body.outputs - n_state do
      rows[k] = rows[k] or {}
      table.insert(rows[k], out_back[k] == 1 and 1 or #rows[k] + 1, results[n_state + k])
    end
  end
  local out = { unpack(state, 1, n_state) }
  for k = 1, #body.outputs - n_state do
    local axis = out_axes[k] or 0
    if axis < 0 then axis = axis + #rows[k][1].shape + 1 end
    out[n_state + k] = stacked(rows[k], axis)
  end
  return unpack(out)
end

-- ---- lists of tensors ----

local function list_of(n, value)
  if type(value) == "table" and value.is_list then return value end
  n:fail("it takes a sequence, got a tensor")
end

function ops.SequenceEmpty() return { is_list = true } end
function ops.SequenceConstruct(_, ...) return { is_list = true, ... } end
function ops.SequenceLength(n, list) return values.scalar(#list_of(n, list), "int64") end

local function place_in(n, list, at, default, most)
  local i = at and n:number(at, "the position") or default
  if i < 0 then i = i + #list end
  if i < 0 or i > most then n:fail("the position must be below %d, got %d", #list, i) end
  return i + 1
end

ops.SequenceAt = { function(n, list, at)
  return list_of(n, list)[place_in(n, list, at, 0, #list - 1)]
end, static = { 2 } }

ops.SequenceInsert = { function(n, list, x, at)
  local out = args.copied(list_of(n, list))
  out.is_list = true
  table.insert(out, place_in(n, list, at, #list, #list), x)
  return out
end, static = { 3 } }

ops.SequenceErase = { function(n, list, at)
  local out = args.copied(list_of(n, list))
  out.is_list = true
  table.remove(out, place_in(n, list, at, #list - 1, #list - 1))
  return out
end, static = { 2 } }

function ops.ConcatFromSequence(n, list)
  list_of(n, list)
  if n:flag "new_axis" then
    local axis = n:need "axis"
    return stacked(list, axis < 0 and axis + #list[1].shape + 1 or axis)
  end
  return values.concat(args.copied(list), n:axis(n:need "axis", #list[1].shape))
end

ops.SplitToSequence = { function(n, x, sizes)
  local axis = n:axis(n:attr("axis", 0), #x.shape)
  local extent, out, first = x.shape[axis + 1], { is_list = true }, 0
  local list = n:list(sizes, "split")
  local keeps = list ~= nil or n:flag("keepdims", true)
  if not list or #sizes.shape == 0 then
    local each = list and list[1] or 1
    if each < 1 then n:fail("split must be at least 1, got %d", each) end
    n:times(extent / each, "parts", MOST_STEPS)
    list = {}
    for at = 0, extent - 1, each do list[#list + 1] = math.min(each, extent - at) end
  end
  for i, size in ipairs(list) do
    local part = values.slice(x, axis, first, size)
    local shape = { unpack(part.shape) }
    if not keeps then table.remove(shape, axis + 1) end
    out[i], first = values.reshape(part, shape), first + size
  end
  return out
end, static = { 2 } }

-- ---- random numbers ----

local function drawn(name, fields)
  return function(n, like)
    local shape = like and like.shape or n:need "shape"
    local number = n:attr "dtype"
    local dtype = number and require("jfl.onnx.ops_math").dtype_of(n, number)
      or like and like.dtype or "float32"
    local o = { shape = shape, dtype = dtype }
    for field, default in pairs(fields) do o[field[1]] = n:attr(field[2], default) end
    return op[name](o)
  end
end

local NORMAL = { [{ "mean", "mean" }] = 0, [{ "stddev", "scale" }] = 1 }
local UNIFORM = { [{ "minval", "low" }] = 0, [{ "maxval", "high" }] = 1 }
ops.RandomNormal = { drawn("random_normal", NORMAL), is_random = true }
ops.RandomUniform = { drawn("random_uniform", UNIFORM), is_random = true }
ops.RandomNormalLike, ops.RandomUniformLike = ops.RandomNormal, ops.RandomUniform

function ops.OptionalHasElement(_, x)
  return values.scalar(x ~= nil and 1 or 0, "int8")
end
function ops.OptionalGetElement(_, x) return x end
function ops.Optional(_, x) return x end

return ops
