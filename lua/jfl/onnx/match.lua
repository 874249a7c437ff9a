-- Finds the patterns of jfl.onnx.patterns among the nodes of a model and puts a node in the
-- place of each.
local model = require "jfl.onnx.model"
local tensors = require "jfl.op.tensors"
local values = require "jfl.onnx.values"

local match = {}

local CLOSE = 1e-3               -- of a number, to that of a pattern
local COMMUTES = { Add = true, Mul = true }

-- ---- what the model has by name ----

local function index(m)
  local at = { made_by = {}, tensors = m.graph.initializers, numbers = {} }
  for _, node in ipairs(m.graph.nodes) do
    for i, name in ipairs(node.outputs) do
      if name ~= "" and i == 1 then at.made_by[name] = node end
    end
  end
  return at
end

-- The tensor of a name: of the file, or of a Constant.
local function tensor_of(at, name)
  local node = at.made_by[name]
  local constant = node and node.op == "Constant" and node.domain == "" and node.attrs.value
  if type(constant) == "table" and constant.read then return constant end
  return at.tensors[name]
end

-- The number that a name stands for, or nil.
local function number_of(at, name)
  if at.numbers[name] == nil then
    local t = tensor_of(at, name)
    at.numbers[name] = t and t.count == 1 and t.dtype and values.list(t.read())[1] or false
  end
  return at.numbers[name] or nil
end

-- ---- matching ----

local find

local function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b or type(a) == "number" and type(b) == "number"
      and math.abs(a - b) <= CLOSE * math.abs(b)
  end
  return tensors.same(a, b)
end

-- Calls go_on(bound) for each way in which inputs i, i + 1, ... match, until that gives something.
local function inputs_match(at, tree, names, bound, i, go_on)
  if tree[i + 1] == nil then return go_on(bound) end
  if not names[i] or names[i] == "" then return nil end
  return find(at, tree[i + 1], names[i], bound, function(more)
    return inputs_match(at, tree, names, more, i + 1, go_on)
  end)
end

local function with(bound, name, value)
  local more = {}
  for key, each in pairs(bound) do more[key] = each end
  more[name] = value
  return more
end

local function node_matches(at, tree, name, bound, go_on)
  local node = at.made_by[name]
  if not node or node.op ~= tree[1] or node.domain ~= "" then return nil end
  for attr, value in pairs(tree.attrs or {}) do
    if not same(node.attrs[attr], value) then return nil end
  end
  for attr, value in pairs(tree.set or {}) do bound = with(bound, attr, value) end
  if #node.inputs ~= #tree - 1 then return nil end
  local found = inputs_match(at, tree, node.inputs, bound, 1, go_on)
  if found or not COMMUTES[node.op] then return found end
  return inputs_match(at, tree, { node.inputs[2], node.inputs[1] }, bound, 1, go_on)
end

function find(at, tree, name, bound, go_on)
  if type(tree) == "string" then
    if bound[tree] ~= nil and bound[tree] ~= name then return nil end
    return go_on(bound[tree] and bound or with(bound, tree, name))
  elseif type(tree) == "number" then
    local number = number_of(at, name)
    return number and same(number, tree) and go_on(bound) or nil
  elseif tree.known then
    local number = number_of(at, name)
    return number and go_on(with(bound, tree.known, number)) or nil
  elseif tree.any then
    for _, each in ipairs(tree.any) do
      local found = find(at, each, name, bound, go_on)
      if found then return found end
    end
    return nil
  end
  return node_matches(at, tree, name, bound, go_on)
end

-- ---- replacing ----

local function ranks_fit(at, pattern, bound)
  for name, rank in pairs(pattern.ranks or {}) do
    local t = at.tensors[bound[name]]
    if not t or #t.shape ~= rank then return false end
  end
  return bound.last == nil or bound.last == -1
end

local function replacement(node, pattern, bound)
  local make, inputs, attrs = pattern.make, {}, {}
  for i, name in ipairs(make.inputs) do inputs[i] = bound[name] or "" end
  for key, name in pairs(make.attrs or {}) do
    attrs[type(key) == "number" and name or key] = bound[name]
  end
  return { op = make.op, domain = make.domain or "", name = node.name, opset = node.opset,
    inputs = inputs, outputs = node.outputs, attrs = attrs, pattern = pattern.name }
end

--- Puts nodes in the place of patterns in the model's graph; m.fixed: the names of tensors that are
-- no weights. Gives how often each was found.
function match.apply(m, patterns)
  local at, counts = index(m), {}
  m.fixed = m.fixed or {}
  for _, pattern in ipairs(patterns) do
    for i, node in ipairs(m.graph.nodes) do
      local bound = node.domain == "" and node.outputs[1]
        and find(at, pattern.find, node.outputs[1], {}, function(found)
          return ranks_fit(at, pattern, found) and found or nil
        end)
      if bound then
        local new = replacement(node, pattern, bound)
        m.graph.nodes[i], at.made_by[node.outputs[1]] = new, new
        for _, name in ipairs(pattern.fixed or {}) do m.fixed[bound[name]] = true end
        counts[pattern.name] = (counts[pattern.name] or 0) + 1
      end
    end
  end
  if next(counts) then model.sort(m) end
  return counts
end

return match
