-- The extents of a job's inputs that may differ from call to call: -1, a first one of any size, and
-- { max = 512 }, one of up to that many. Inputs may give such an extent a name, { max = 512, name =
-- "length" }: those of one name are alike in each call.
local args = require "jfl.base.args"
local core = require "jfl.core"
local names = require "jfl.base.names"

local extents = {}

local FIELDS = { max = true, name = true }

-- ---- placeholders ----

-- Checks the bound that dimension i of a shape is.
local function read_bound(path, i, bound)
  for field in pairs(bound) do
    if not FIELDS[field] then
      core.fail("%s: shape: dimension %d: a bound such as { max = 512 } has max and name, got %s%s",
        path, i, args.describe(field), names.suggest(tostring(field), FIELDS))
    end
  end
  args.integer(path, ("shape: dimension %d: max"):format(i), bound.max, 1)
  if bound.name ~= nil then
    args.name(path, ("shape: dimension %d: name"):format(i), bound.name)
  end
  return { max = bound.max, name = bound.name }
end

--- Reads the shape of a placeholder. Gives it with -1 for extents that vary, and these: a list of
-- { axis =, max =, name = }, whose max is nil for a first extent of -1; false where none varies.
function extents.read(path, given, kind)
  local shape, varies = {}, {}
  local n = type(given) == "table" and table.maxn(given) or 0
  for i = 1, n do
    local extent = given[i]
    if args.is_plain(extent) and kind == "Numpy" then
      varies[#varies + 1] = read_bound(path, i, extent)
      varies[#varies].axis = i
      extent = extent.max
    elseif args.is_plain(extent) then
      core.fail("%s: shape: dimension %d must be a number, got a bound; the extents of %s are "
        .. "bounds themselves", path, i, kind)
    elseif i == 1 and extent == -1 and kind == "Numpy" then
      varies[1] = { axis = 1 }
    end
    shape[i] = extent
  end
  args.shape(path, "shape", n > 0 and shape or given, kind == "Numpy")
  for _, extent in ipairs(varies) do shape[extent.axis] = -1 end
  return shape, #varies > 0 and varies
end

--- A placeholder's shape as text: "(-1, up to 512)".
function extents.text(t)
  local parts = { unpack(t.shape) }
  for _, extent in ipairs(t.varies or {}) do
    if extent.max then parts[extent.axis] = "up to " .. extent.max end
  end
  return "(" .. table.concat(parts, ", ") .. ")"
end

--- A placeholder's shape with bounds in place of the extents that have one.
function extents.bounds(t)
  local shape = { unpack(t.shape) }
  for _, extent in ipairs(t.varies or {}) do shape[extent.axis] = extent.max or -1 end
  return shape
end

--- Fails where inputs of a job, { name, type }, give different bounds to extents of one name.
function extents.check_names(who, list)
  local first = {}
  for _, input in ipairs(list) do
    for _, extent in ipairs(input.type.varies or {}) do
      local other = extent.name and first[extent.name]
      if other and other.max ~= extent.max then
        core.fail("%s: inputs: '%s' must be of one bound in all inputs, got %d in '%s' and %d in "
          .. "'%s'", who, extent.name, other.max, other.input, extent.max, input.name)
      end
      if extent.name then first[extent.name] = { max = extent.max, input = input.name } end
    end
  end
end

-- ---- calls ----

-- The shape of an array, or of a table as its first items tell.
local function shape_of(value)
  if core.type(value) == "array" then return value.shape end
  local shape = {}
  while type(value) == "table" do
    shape[#shape + 1], value = #value, value[1]
  end
  return shape
end

-- Fails where inputs of one call differ in extents of one name; seen: those so far.
local function check_alike(job, input, extent, got, seen)
  local other = seen[extent.name]
  if other and other.got ~= got then
    core.fail("%s: '%s' must be the same in all inputs, got %d in %s and %d in %s", job.name,
      extent.name, other.got, other.input, got, input.name)
  end
  seen[extent.name] = { got = got, input = input.name }
end

--- The shape that an input has in a call with this shape of the argument, and the extents in it
-- that vary, as a key. Fixed extents are those of the placeholder: the core compares them.
function extents.settle(job, input, given, seen)
  local t = input.type
  if #given ~= #t.shape then
    core.fail("%s: %s must be of shape %s, got %s", job.name, input.name, extents.text(t),
      args.shape_text(given))
  end
  local shape, key = { unpack(t.shape) }, {}
  for i, extent in ipairs(t.varies) do
    local got = given[extent.axis]
    if extent.max and (got < 1 or got > extent.max) then
      core.fail("%s: %s: dimension %d must be 1 to %d long, got %d", job.name, input.name,
        extent.axis, extent.max, got)
    end
    if extent.name then check_alike(job, input, extent, got, seen) end
    shape[extent.axis], key[i] = got, got
  end
  return shape, #key == 1 and key[1] or table.concat(key, "x")
end

--- The shape for an argument, an array or a nested table, that has so many rows, and its key.
function extents.of_call(job, input, value, rows, seen)
  local t = input.type
  if #t.varies > 1 or t.varies[1].max then
    return extents.settle(job, input, shape_of(value), seen)
  end
  local shape = { unpack(t.shape) }
  shape[1] = rows
  return shape, rows
end

--- The shape of a call of so many rows, which is as large as may be otherwise; and its key.
function extents.largest(job, input, rows, seen)
  local shape = { unpack(input.type.shape) }
  for _, extent in ipairs(input.type.varies) do
    local first = extent.axis == 1 and rows
    shape[extent.axis] = first or extent.max or 1
  end
  return extents.settle(job, input, shape, seen)
end

--- The shape, and its key, most like the one that an input of another definition had.
function extents.like(job, input, other, seen)
  local shape = { unpack(input.type.shape) }
  for _, extent in ipairs(input.type.varies) do
    local was = other and #other == #shape and other[extent.axis] or 1
    shape[extent.axis] = math.max(1, math.min(was, extent.max or was))
  end
  return extents.settle(job, input, shape, seen)
end

return extents
