-- Reads the arguments of a call where their shapes may vary, and finds the plan that they need.
local args = require "jfl.base.args"
local core = require "jfl.core"
local extents = require "jfl.job.extents"

local arguments = {}

local function rows_of(self, input, value)
  if args.is_options(value) then
    core.fail("%s: %s must be an NdArray or a list of rows, got a table with names; a job takes "
      .. "its arguments by position", self.name, input.name)
  end
  args.must(type(value) == "table" or core.type(value) == "array", value,
    "%s: %s must be an NdArray or a table", self.name, input.name)
  if type(value) == "table" and #value == 0 then
    core.fail("%s: %s must not be empty", self.name, input.name)
  end
  if type(value) == "table" and type(value[1]) == "number" and #input.type.shape > 1 then
    core.fail("%s: %s must be of shape %s, got a list of %d numbers; a batch of one is a list in a "
      .. "list", self.name, input.name, extents.text(input.type), #value)
  end
  return #value
end

local function check_bound(self, input, path, shape)
  local bound = input.type.shape
  local fits = #shape == #bound
  for i = 1, #shape do fits = fits and shape[i] <= bound[i] end
  if fits then return shape end
  core.fail("%s: %s must be of at most shape %s, got %s", self.name, path,
    args.shape_text(bound), args.shape_text(shape))
end

-- Item `path` of a list with an array for each device, as an array: the item itself, or the one in
-- it where each device has a list.
local function item_of(self, input, path, value)
  local deep = input.type.kind == "ListListNumpy"
  if deep and (type(value) ~= "table" or #value ~= 1) then
    core.fail("%s: %s must be a list of one NdArray, got %s", self.name, path,
      type(value) == "table" and ("%d items"):format(#value) or args.describe(value))
  end
  if deep then value, path = value[1], path .. "[1]" end
  if type(value) == "table" then
    value = core.from_table(value, input.type.dtype, nil, ("%s: %s"):format(self.name, path))
  end
  if core.type(value) == "array" then return value end
  core.fail("%s: %s must be an NdArray or a table, got %s", self.name, path, args.describe(value))
end

-- The list of arrays that an argument with an array for each device is; their shape, or where they
-- differ { each = shapes }; and these as text.
local function unwrap(self, input, value)
  if type(value) ~= "table" or #value == 0 then
    core.fail("%s: %s must be a list of one NdArray for each device, got %s", self.name,
      input.name, type(value) == "table" and "an empty table" or args.describe(value))
  end
  local list, shapes, texts, differ = {}, {}, {}, false
  for i = 1, #value do
    local path = #value == 1 and input.name or ("%s[%d]"):format(input.name, i)
    list[i] = item_of(self, input, path, value[i])
    shapes[i] = check_bound(self, input, path, list[i].shape)
    texts[i] = args.shape_text(shapes[i])
    differ = differ or texts[i] ~= texts[1]
  end
  if not differ then return list, shapes[1], texts[1] end
  return list, { each = shapes }, table.concat(texts)
end

--- Fails unless a list has an item for each of this process's devices.
function arguments.check_members(self, input, list, members)
  if #list == members then return end
  core.fail("%s: %s must be a list of %s, got %d item%s", self.name, input.name,
    members == 1 and "one NdArray, as there is one device"
      or ("%d NdArrays, one for each device"):format(members), #list, #list == 1 and "" or "s")
end

--- The arguments of a call one after another, and how many: the arrays of each of the lists that
-- arguments.shapes has made, for so many devices of this process.
function arguments.flatten(self, values, members)
  local flat, n = {}, 0
  for i, input in ipairs(self._inputs) do
    if input.type.kind == "Numpy" then
      n = n + 1
      flat[n] = values[i]
    else
      arguments.check_members(self, input, values[i], members)
      for k = 1, members do flat[n + k] = values[i][k] end
      n = n + members
    end
  end
  return flat, n
end

-- The shapes of all inputs, and the key that their plan is kept under. shape_of returns an input's
-- shape, and which extents of it may differ between calls, as a key.
local function collect(self, shape_of, given)
  local shapes, keys, seen = {}, {}, {}
  for i, input in ipairs(self._inputs) do
    if input.type.kind == "Numpy" and not input.type.varies then
      shapes[i] = input.type.shape
    else
      shapes[i], keys[#keys + 1] = shape_of(self, input, given, i, seen)
    end
  end
  return shapes, #keys == 1 and keys[1] or table.concat(keys, ",")
end

-- Fails where each of several ranks gives some of the rows, so that none knows how many there are.
local function check_whole(self, input)
  local d = input.type.distribute
  if not d or d.kind ~= "split" or d.axis > 0 then return end
  local _, ranks = core.world()
  if ranks == 1 then return end
  core.fail("%s: %s must have a placeholder with the whole batch size, not -1, where each of %d "
    .. "ranks gives its part along axis 0", self.name, input.name, ranks)
end

local function shape_in_call(self, input, values, i, seen)
  if input.type.kind ~= "Numpy" then
    local shape, text
    values[i], shape, text = unwrap(self, input, values[i])
    return shape, text
  end
  check_whole(self, input)
  return extents.of_call(self, input, values[i], rows_of(self, input, values[i]), seen)
end

--- The shapes of a call's inputs and the key of its plan. Arguments that are lists per device are
-- replaced in `values` by lists of arrays.
function arguments.shapes(self, values) return collect(self, shape_in_call, values) end

local function shape_of_list(input) return input.type.shape, args.shape_text(input.type.shape) end

local function shape_given(self, input, given, i, seen)
  if input.type.kind ~= "Numpy" then return shape_of_list(input) end
  return extents.settle(self, input, given[i], seen)
end

--- The shapes of all arrays of a call whose arguments have these shapes.
function arguments.shapes_given(self, given) return collect(self, shape_given, given) end

local function shape_for_rows(self, input, rows, _, seen)
  if input.type.kind ~= "Numpy" then return shape_of_list(input) end
  return extents.largest(self, input, rows, seen)
end

--- The shapes of a call for a batch of so many rows, with other extents at their bounds.
function arguments.shapes_for(self, rows) return collect(self, shape_for_rows, rows) end

local function shape_like(self, input, others, i, seen)
  if input.type.kind ~= "Numpy" then return shape_of_list(input) end
  return extents.like(self, input, others[i], seen)
end

--- The shapes of a call like one that had these shapes.
function arguments.shapes_like(self, others) return collect(self, shape_like, others) end

--- Fails unless a call has n arguments.
function arguments.check_count(self, n)
  if n == #self._inputs then return end
  local names = {}
  for i, input in ipairs(self._inputs) do names[i] = input.name end
  local hint = self._async and "; a callback is given to the call's result: %s(...)(callback)" or ""
  core.fail("%s: takes %d argument%s (%s), got %d%s", self.name, #names, #names == 1 and "" or "s",
    table.concat(names, ", "), n, hint:format(self.name))
end

return arguments
