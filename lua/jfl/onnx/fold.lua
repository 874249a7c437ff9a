-- Which tensors of a file are variables, and which constants.
local ops = require "jfl.onnx.ops"

local fold = {}

local FLOATS = { float32 = true, float64 = true, float16 = true, bfloat16 = true }

-- Ops that tell of their input what does not depend on its numbers.
local TELLS_SHAPE = { Shape = true, Size = true }

-- Calls fn(node, graph) for each node, those of subgraphs too.
local function each_node(graph, fn)
  for i = #graph.nodes, 1, -1 do
    local node = graph.nodes[i]
    fn(node, graph)
    for _, value in pairs(node.attrs) do
      if type(value) == "table" and value.nodes then each_node(value, fn) end
    end
  end
end
fold.each_node = each_node

-- The names whose numbers must be known when a job is described: what ops ask for, and what that is
-- made of. Nodes come after those that they read, so going backwards finds all.
local function needed(graph)
  local names = {}
  each_node(graph, function(node)
    local entry = ops.find(node)
    local gives = false
    for _, name in ipairs(node.outputs) do gives = gives or names[name] end
    for i, name in ipairs(node.inputs) do
      local asks = entry and entry.static[i]
      if (asks or gives) and not TELLS_SHAPE[node.op] then names[name] = true end
    end
  end)
  return names
end

--- Makes tensors of their own of those that are copies of one, as PyTorch writes two weights that
-- happen to be equal.
function fold.copies(m)
  local all, left = m.graph.initializers, {}
  for _, node in ipairs(m.graph.nodes) do
    local from = node.op == "Identity" and node.domain == "" and all[node.inputs[1]]
    local name = node.outputs[1]
    if from then
      local own = {}
      for key, value in pairs(from) do own[key] = value end
      all[name], own.name = own, name
    else
      left[#left + 1] = node
    end
  end
  m.graph.nodes = left
end

-- Where the statistics of batches are among the inputs of a node.
local STATISTICS = { BatchNormalization = { [4] = true, [5] = true } }

--- Settles which tensors of the model are variables (m.variables), which of them optimizers change
-- (m.trainable), and which nodes have statistics that are variables (m.has_statistics).
function fold.prepare(m)
  local known, used, learned = needed(m.graph), {}, {}
  m.variables, m.trainable, m.has_statistics = {}, {}, {}
  each_node(m.graph, function(node)
    for i, name in ipairs(node.inputs) do
      used[name] = true
      local fixed = STATISTICS[node.op]
      if not (fixed and fixed[i]) then learned[name] = true end
    end
  end)
  local function settle(graph)
    for name, t in pairs(graph.initializers) do
      if FLOATS[t.dtype] and #t.shape > 0 and t.count > 0 and used[name] and not known[name] then
        if not m.fixed[name] then m.variables[t], m.trainable[t] = true, learned[name] or nil end
      end
    end
  end
  settle(m.graph)
  each_node(m.graph, function(node)
    if node.op ~= "BatchNormalization" then return end
    local mean, variance = node.inputs[4], node.inputs[5]
    local all = m.graph.initializers
    m.has_statistics[node] = m.variables[all[mean] or 0] and m.variables[all[variance] or 0]
  end)
end

return fold
