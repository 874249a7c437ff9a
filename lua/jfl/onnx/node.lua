-- A node while its op is described: its attributes, what it must know, and its errors.
local args = require "jfl.base.args"
local core = require "jfl.core"
local model = require "jfl.onnx.model"
local values = require "jfl.onnx.values"

local Node = {}
Node.__index = Node

--- Fails with the file and the node.
function Node:fail(form, ...)
  core.fail("%s: %s: " .. form, self.path, model.text_of(self.of), ...)
end

--- Fails so unless ok.
function Node:check(ok, form, ...)
  if not ok then self:fail(form, ...) end
end

--- An attribute, or what stands for it where it is missing.
function Node:attr(name, default)
  local value = self.of.attrs[name]
  if value == nil then return default end
  if type(value) == "table" and value.unknown then
    self:fail("attribute '%s' must be a number, a text or a list of them, got %s", name,
      value.unknown)
  end
  return value
end

--- An attribute that must be there.
function Node:need(name)
  local value = self:attr(name)
  if value == nil then self:fail("attribute '%s' is missing", name) end
  return value
end

--- An attribute that is 0 or 1.
function Node:flag(name, default) return self:attr(name, default and 1 or 0) ~= 0 end

--- The numbers of an input that must be known while the job is described.
function Node:list(x, what)
  if x == nil then return nil end
  if not values.is_known(x) then
    core.fail("%s: %s: %s must be known when the job is described, got %s; what does not change "
      .. "from call to call is given as { constants = { name = array } } to onnx.load", self.path,
      model.text_of(self.of), what, args.describe(x))
  end
  return values.list(x)
end

--- The number of an input of one that must be known while the job is described.
function Node:number(x, what)
  local list = self:list(x, what)
  return list and (list[1] or self:fail("%s must have one element, got none", what))
end

--- How often something is done for a node, which a stranger's file chooses: at most 2^24 times, or
-- as the caller says.
function Node:times(count, what, most)
  most = most or 2 ^ 24
  if count <= most then return count end
  self:fail("%s must be at most %d, got %g", what, most, count)
end

--- An input that must be there, and a tensor.
function Node:tensor(x, what)
  local kind = core.type(x)
  if kind == "array" or kind == "blob" then return x end
  self:fail("%s must be a tensor, got %s", what, x == nil and "none" or args.describe(x))
end

--- The place, from 0, of an axis that may be counted from the end.
function Node:axis(axis, rank)
  local place = axis < 0 and axis + rank or axis
  self:check(place >= 0 and place < rank, "axis must be from %d to %d, got %d", -rank, rank - 1,
    axis)
  return place
end

--- The places of several axes, of which no two may be one.
function Node:axes(list, rank)
  local out, seen = {}, {}
  for i, axis in ipairs(list) do
    out[i] = self:axis(axis, rank)
    if seen[out[i]] then self:fail("axis %d occurs twice", axis) end
    seen[out[i]] = true
  end
  table.sort(out)
  return out
end

--- The outputs that are asked for: output number i is.
function Node:wants(i) return (self.of.outputs[i] or "") ~= "" end

--- A node of a graph that is being described.
function Node.new(of, path, run)
  return setmetatable({ of = of, opset = of.opset, path = path, run = run }, Node)
end

return Node
