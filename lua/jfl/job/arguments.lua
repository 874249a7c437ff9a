-- Reads the arguments of a call where their shapes may vary, and finds the plan that they need.
local args = require "jfl.base.args"
local core = require "jfl.core"

local arguments = {}

local function with_rows(shape, rows)
  local copy = { rows }
  for i = 2, #shape do copy[i] = shape[i] end
  return copy
end

local function rows_of(self, input, value)
  if args.is_options(value) then
    core.fail("%s: %s must be an NdArray or a list of rows, got a table with names; a job takes "
      .. "its arguments by position", self.name, input.name)
  end
  if type(value) ~= "table" and core.type(value) ~= "array" then
    core.fail("%s: %s must be an NdArray or a table, got %s", self.name, input.name,
      args.describe(value))
  end
  if type(value) == "table" and #value == 0 then
    core.fail("%s: %s must not be empty", self.name, input.name)
  end
  return #value
end

local function check_bound(self, input, shape)
  local bound = input.type.shape
  local fits = #shape == #bound
  for i = 1, #shape do fits = fits and shape[i] <= bound[i] end
  if fits then return shape end
  core.fail("%s: %s must be of at most shape %s, got %s", self.name, input.name,
    args.shape_text(bound), args.shape_text(shape))
end

-- The one array in a list with an array for each device, as there is one device.
local function unwrap(self, input, value)
  local text = input.type.kind == "ListNumpy" and "a list of one NdArray, as there is one device"
    or "a list of one list of one NdArray"
  local depth = input.type.kind == "ListNumpy" and 1 or 2
  for _ = 1, depth do
    if type(value) ~= "table" or #value ~= 1 then
      core.fail("%s: %s must be %s, got %s", self.name, input.name, text,
        type(value) == "table" and ("%d items"):format(#value) or args.describe(value))
    end
    value = value[1]
  end
  if type(value) == "table" then
    value = core.from_table(value, input.type.dtype, nil, ("%s: %s"):format(self.name, input.name))
  end
  if core.type(value) == "array" then return value, check_bound(self, input, value.shape) end
  core.fail("%s: %s must be %s, got a list of %s", self.name, input.name, text,
    args.describe(value))
end

-- The key that the plans of a job are kept under.
local function key_of(extents)
  return #extents == 1 and extents[1] or table.concat(extents, ",")
end

-- The shapes of all inputs and the key of their plan. shape_of returns an input's shape, and which
-- extents of it may differ between calls.
local function collect(self, shape_of, given)
  local shapes, extents = {}, {}
  for i, input in ipairs(self._inputs) do
    shapes[i], extents[#extents + 1] = shape_of(self, input, given, i)
  end
  return shapes, key_of(extents)
end

local function shape_in_call(self, input, values, i)
  local declared = input.type
  if declared.kind ~= "Numpy" then
    local shape
    values[i], shape = unwrap(self, input, values[i])
    return shape, args.shape_text(shape)
  end
  if not declared.any then return declared.shape end
  local rows = rows_of(self, input, values[i])
  return with_rows(declared.shape, rows), rows
end

local function shape_for_rows(_, input, rows)
  local shape = input.type.shape
  if input.type.kind ~= "Numpy" then return shape, args.shape_text(shape) end
  if not input.type.any then return shape end
  return with_rows(shape, rows), rows
end

--- The shapes of a call's inputs and the key of its plan. Arguments that are lists per device are
-- replaced in `values` by their arrays.
function arguments.shapes(self, values) return collect(self, shape_in_call, values) end

--- The same for a batch of the given number of rows.
function arguments.shapes_for(self, rows) return collect(self, shape_for_rows, rows) end

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
