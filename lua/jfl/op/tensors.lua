-- Checks of tensors, axes and shapes for functions that are made of ops.
local args = require "jfl.base.args"
local core = require "jfl.core"

local tensors = {}

--- A parameter `name` as functions of flow have it.
tensors.NAME = { "name", "of the op", args.none }

--- Makes a function of flow that gives one tensor. Its last parameter is `name`, that of the op
-- which makes the result.
function tensors.define(path, doc, params, body)
  params[#params + 1], params.returns = tensors.NAME, "Tensor"
  return args.define(path, doc, params, function(o, who) return (body(o, who)) end)
end

--- A list of one or more of them, or an error.
function tensors.need_list(who, name, list)
  args.must(type(list) == "table" and #list > 0 and not args.is_options(list), list,
    "%s: %s must be a list of blobs or NdArrays such as {x, y}", who, name)
  for i, value in ipairs(list) do args.tensor(who, ("%s[%d]"):format(name, i), value) end
  return list
end

--- The number of an axis among `rank`, from 1.
function tensors.axis(who, name, axis, rank)
  if type(axis) ~= "number" or axis % 1 ~= 0 or axis < -rank or axis >= rank then
    core.fail("%s: %s must be from %d to %d, got %s; axes count from 0", who, name, -rank, rank - 1,
      type(axis) == "number" and ("%.14g"):format(axis) or args.describe(axis))
  end
  return axis % rank + 1
end

--- The numbers of axes, from 1, which are given as a number or a list; nil: of all.
function tensors.axes(who, name, axes, rank)
  local list, seen = {}, {}
  if axes == nil then
    for i = 1, rank do list[i] = i end
    return list
  end
  if type(axes) ~= "table" then axes = { axes } end
  for i, axis in ipairs(axes) do
    local a = tensors.axis(who, name, axis, rank)
    if seen[a] then core.fail("%s: %s must name each axis once, got %d twice", who, name, a - 1) end
    list[i], seen[a] = a, true
  end
  return list
end

--- A list of whole numbers of at least `least`, given as one number or a list of them.
function tensors.integers(who, name, value, least)
  local list = type(value) == "table" and value or { value }
  for i = 1, table.maxn(list) do args.integer(who, name, list[i], least) end
  return list
end

--- The shape that these shapes broadcast to.
function tensors.broadcast(who, shapes)
  local y, rank = {}, 0
  for _, s in ipairs(shapes) do rank = math.max(rank, #s) end
  for i = 1, rank do
    y[i] = 1
    for _, s in ipairs(shapes) do
      local d = s[i - rank + #s] or 1
      if d ~= 1 and y[i] ~= 1 and d ~= y[i] then
        local texts = {}
        for j, shape in ipairs(shapes) do texts[j] = args.shape_text(shape) end
        core.fail("%s: shapes %s do not broadcast: extents from the right must be equal or 1", who,
          table.concat(texts, " and "))
      end
      if d ~= 1 then y[i] = d end
    end
  end
  return y
end

--- Whether two shapes are the same.
function tensors.same(a, b)
  if #a ~= #b then return false end
  for i = 1, #a do
    if a[i] ~= b[i] then return false end
  end
  return true
end

return tensors
