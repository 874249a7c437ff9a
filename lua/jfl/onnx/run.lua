-- Describes a graph of an ONNX file in the body of a job: each node becomes ops of jfl. What is
-- known meanwhile, such as shapes, is computed at once and leaves no op behind.
local args = require "jfl.base.args"
local core = require "jfl.core"
local counted = require "jfl.onnx.counted"
local counted_rules = require "jfl.onnx.counted_rules"
local model = require "jfl.onnx.model"
local Node = require "jfl.onnx.node"
local ops = require "jfl.onnx.ops"
local trace = require "jfl.job.trace"
local values = require "jfl.onnx.values"

local run = {}

local MOST_NODES = 1000000       -- described in one body, those of all steps of loops
local MOST_KNOWN = 2 ^ 28        -- numbers computed there, and for each of the file's own so many
local FOR_EACH = 16

-- ---- values by name ----

-- The value of a name in a graph or one around it. known: it is wanted as an array.
local function lookup(state, scope, name, known)
  while scope do
    local value = scope.values[name]
    local t = value == nil and scope.graph.initializers[name]
    if t and not known and state.variables[t] then value = state.variable(name, t) end
    if t and value == nil then value = t.read() end
    if value ~= nil then
      if not known then scope.values[name] = value end
      return value
    end
    scope = scope.outer
  end
end

local function is_list(x) return type(x) == "table" and x.is_list end

-- Whether nothing among a node's inputs has to wait for the job to run.
local function all_known(inputs, n)
  for i = 1, n do
    local x = inputs[i]
    if is_list(x) then
      if not all_known(x, #x) then return false end
    elseif x ~= nil and not values.is_known(x) then
      return false
    end
  end
  return true
end

-- ---- nodes ----

-- Errors of ops begin with a place of the script and the job, which the one that names the node has
-- too.
local function without_place(text)
  for _, place in ipairs { core.where(), trace.current and trace.current.job.name .. ": " or "" } do
    if place ~= "" and text:sub(1, #place) == place then text = text:sub(#place + 1) end
  end
  return text
end

-- What functions of ops fail with where a stranger's node lacks an input or attribute, or has one
-- of another kind: Lua's own errors, of which the place is told.
local function without_lua(text)
  local place = text:match("^jfl/([%w_/]+%.lua:%d+): ") or text:match("^bad (argument #%d+)")
  if not place then return text end
  return ("its inputs and attributes must be those of the op; one is missing or of another kind "
    .. "(%s)"):format(place)
end

local function told(state, node, err)
  if type(err) ~= "string" or err == "not enough memory" or core.is_interruption(err) then
    error(err, 0)
  end
  err = without_lua(without_place(err))
  if err:find(state.path .. ": ", 1, true) == 1 then core.fail("%s", err) end
  core.fail("%s: %s: %s", state.path, model.text_of(node), err)
end

local describe

local function has_graph(node)
  for _, value in pairs(node.attrs) do
    if type(value) == "table" and value.nodes then return true end
  end
end

-- What a model computes while it is described must go with its tensors, as a small file could fill
-- the memory.
local function add_known(state, n)
  state.known = state.known + n
  if state.known <= MOST_KNOWN then return end
  local most = MOST_KNOWN
  for _, t in pairs(state.tensors) do most = most + (t.is_there() and FOR_EACH * t.count or 0) end
  args.check(state.known <= most, "%s: what is known of it before it runs must have at most %.0f "
    .. "numbers and parts of sequences in all", state.path, most)
end

local function count_known(state, results)
  for _, x in pairs(results) do
    if is_list(x) then count_known(state, x)
    elseif values.is_known(x) then add_known(state, values.count(x.shape)) end
  end
end

-- A sequence is gone through by each node that takes it, and copied by those that make another.
local function count_lists(state, n, list)
  for i = 1, n do
    if is_list(list[i]) then add_known(state, #list[i]) end
  end
end

-- What a node gives, as a list with as many places as the node has results.
local function results_of(state, scope, node, entry)
  local n, inputs = #node.inputs, {}
  for i = 1, n do
    local name = node.inputs[i]
    if name ~= "" then inputs[i] = lookup(state, scope, name, entry.static[i]) end
  end
  count_lists(state, n, inputs)
  local facade = Node.new(node, state.path, function(graph, given)
    return describe(state, graph, given, scope)
  end)
  state.prepare(facade, node)
  local at_once = trace.current and not entry.is_random and not has_graph(node)
    and all_known(inputs, n) and not counted_rules.any(inputs, n)
  local function go() return counted_rules.run(facade, entry.run, inputs, n) end
  local ok, results = pcall(at_once and trace.without_graph or go, go)
  if not ok then told(state, node, results) end
  if at_once then count_known(state, results) end
  return results
end

--- The values that a graph gives for these, in the order of its inputs. outer: the values around a
-- subgraph.
function describe(state, graph, given, outer)
  local scope = { graph = graph, outer = outer, values = {} }
  for i, input in ipairs(graph.inputs) do scope.values[input.name] = given[i] end
  for _, node in ipairs(graph.nodes) do
    local entry, why = ops.find(node)
    if not entry then core.fail("%s: %s: %s", state.path, model.text_of(node), why) end
    state.count = (state.count or 0) + 1
    args.check(state.count <= MOST_NODES, "%s: its loops must have at most %d nodes in all steps",
      state.path, MOST_NODES)
    local results = results_of(state, scope, node, entry)
    for i, name in ipairs(node.outputs) do
      if name ~= "" then
        if results[i] == nil then
          core.fail("%s: %s: jfl does not give its result %d", state.path, model.text_of(node), i)
        end
        scope.values[name] = results[i]
      end
    end
  end
  local list = {}
  for i, output in ipairs(graph.outputs) do
    list[i] = lookup(state, scope, output.name)
    args.check(list[i] ~= nil, "%s: the graph '%s' does not give '%s'", state.path, graph.name,
      output.name)
  end
  return list
end
run.describe = describe

--- A value as a blob that a job can give.
function run.as_blob(x)
  if type(x) == "table" then
    core.fail("onnx: a result is a sequence of tensors, which a job does not give; got %s",
      args.describe(x))
  end
  if core.type(x) == "array" then return (core.op("array")({ value = x })) end
  return counted.result(x, (core.op("identity")(x)))
end

return run
