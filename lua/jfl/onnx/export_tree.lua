-- Formulas of ONNX's ops as trees, as the importer's patterns are: { op, input, ..., attrs = }. An
-- input is a tree, "x", "y" or "z", which are the first, second and third input of jfl's node, a
-- number, which gets the dtype of "x", { ints = list }, a function of the node that gives one of
-- these, or "" where there is none. A tree that stands in several places is written once.
local tree = {}

local INPUTS = { x = 1, y = 2, z = 3 }

-- Ops that take truths: all of their inputs, or so many.
local TRUTHS = { And = 2, Or = 2, Xor = 2, Not = 1, Where = 1 }

local name_of

-- What the builder needs of a tree: its op, the names of its inputs, attributes.
local function parts(b, n, t, made)
  local inputs, attributes = {}, {}
  for i = 2, #t do inputs[i - 1] = name_of(b, n, t[i], made, i - 1 <= (TRUTHS[t[1]] or 0)) end
  for name, value in pairs(t.attrs or {}) do
    attributes[name] = type(value) == "function" and value(n) or value
  end
  return t[1], inputs, attributes
end

function name_of(b, n, t, made, is_truth)
  if t == "" then return "" end
  if type(t) == "function" then t = t(n) end
  if INPUTS[t] then return is_truth and b:truth(n.inputs[INPUTS[t]]) or n:x(INPUTS[t]) end
  if type(t) == "number" then return b:like(n:x(1), t) end
  if t.ints then return b:ints(t.ints) end
  made[t] = made[t] or b:op(parts(b, n, t, made))
  return made[t]
end

--- The name of what a tree computes, as a temporary.
function tree.name(b, n, t) return name_of(b, n, t, {}) end

--- Writes a tree whose result is what a node gives.
function tree.write(b, n, t)
  if b:gives_truth(t[1]) then return b:is_truth(n.out, tree.name(b, n, t)) end
  b:out(n.out, parts(b, n, t, {}))
end

--- The attribute of jfl's node of that name, as an input or an attribute of a tree.
function tree.attribute(name)
  return function(n) return n.attributes[name] end
end

return tree
