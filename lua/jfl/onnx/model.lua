-- An ONNX file as checked tables: nodes in order, what they read and give, tensors, subgraphs.
local args = require "jfl.base.args"
local core = require "jfl.core"
local protobuf = require "jfl.onnx.protobuf"
local schema = require "jfl.onnx.schema"
local tensor = require "jfl.onnx.tensor"

local model = {}

local MOST_NODES = 200000              -- after functions have taken the place of their calls
local MOST_DEPTH = 16                  -- functions and subgraphs within one another
local MOST_FIELDS = 4000000            -- of functions, as often as they are called
local MOST_ENDS = 4000                 -- inputs or results of a node
local FLOAT, INT, STRING, TENSOR, GRAPH, FLOATS, INTS, STRINGS = 1, 2, 3, 4, 5, 6, 7, 8

local function fail(m, form, ...) core.fail("%s: " .. form, m.path, ...) end

local function shown(name) return core.printable(name:sub(1, 200)) end

-- "Conv 'layer1/conv' (opset 17)"
function model.text_of(node)
  return ("%s%s%s (opset %d)"):format(node.domain ~= "" and node.domain .. "." or "",
    shown(node.op), node.name ~= "" and " '" .. shown(node.name) .. "'" or "", node.opset)
end

-- ---- files ----

-- Opens files of the model's folder, each once.
local function opener(m)
  local folder, open = m.path:match("^(.*[/\\])") or ".", {}
  return function(location, t)
    if not open[location] then
      local file, why = core.file_open_within(folder, location)
      args.check(file, "%s: tensor '%s': its file '%s': %s", m.path, t.name, location, why)
      args.check(core.file_size(file), "%s: tensor '%s': '%s' must be a file", m.path, t.name,
        location)
      open[location] = file
    end
    return open[location]
  end
end

-- ---- attributes ----

local prepare

-- Which field of an attribute has its value. Old files do not say its type.
local FIELDS = { [FLOAT] = "f", [INT] = "i", [STRING] = "s", [TENSOR] = "t", [GRAPH] = "g",
  [FLOATS] = "floats", [INTS] = "ints", [STRINGS] = "strings" }
local EMPTY = { [FLOAT] = 0, [INT] = 0, [STRING] = "" }
local OTHERS = { "tensors", "graphs", "sparse_tensor", "tp" }

local function value_of(m, scope, a)
  local kind = a.type or 0
  for number, field in pairs(FIELDS) do
    if kind == 0 and a[field] ~= nil then kind = number end
  end
  local field = FIELDS[kind]
  for _, other in ipairs(OTHERS) do
    if not field and a[other] then return { unknown = other } end
  end
  if not field then return { unknown = ("type %d"):format(kind) } end
  local value = a[field]
  if kind == TENSOR and value then
    return tensor.of(value, m.source, m.files, a.name)
  elseif kind == GRAPH and value then
    return prepare(m, value, scope)
  end
  if value == nil then return EMPTY[kind] or {} end
  return value
end

local function attributes_of(m, scope, list, given)
  local attrs = {}
  for _, a in ipairs(list or {}) do
    local name = a.name or ""
    if attrs[name] ~= nil then
      fail(m, "a node of '%s' has the attribute '%s' twice", shown(scope.name), shown(name))
    end
    if a.ref_attr_name and a.ref_attr_name ~= "" then attrs[name] = given[a.ref_attr_name]
    else attrs[name] = value_of(m, scope, a) end
  end
  return attrs
end

-- ---- nodes ----

local function count_node(m)
  m.n_nodes = m.n_nodes + 1
  if m.n_nodes > MOST_NODES then
    fail(m, "it must have at most %d nodes, with those of its functions", MOST_NODES)
  end
end

-- The fields of a message and of those within it.
local function fields_in(message)
  local n = 1
  for _, value in pairs(message) do n = n + (type(value) == "table" and fields_in(value) or 1) end
  return n
end

-- Functions that call others many times make a small file large, also where they have no nodes.
local function count_fields(m, f)
  m.fields[f] = m.fields[f] or fields_in(f)
  m.n_fields = m.n_fields + m.fields[f]
  if m.n_fields > MOST_FIELDS then
    fail(m, "its functions must have at most %d fields in all calls of them", MOST_FIELDS)
  end
end

local add_nodes

-- Puts the nodes of a function in the place of its call. Its names get a prefix of their own.
local function add_function(m, scope, call, f, attrs)
  if scope.depth > MOST_DEPTH then
    fail(m, "function '%s' must be at most %d calls within others; does it call itself?",
      shown(f.name or ""), MOST_DEPTH)
  end
  count_fields(m, f)
  m.n_calls = m.n_calls + 1
  local names, prefix = {}, ("%s/%d/"):format(call.op_type, m.n_calls)
  for i, name in ipairs(f.input or {}) do
    names[name] = scope.names((call.input or {})[i] or "")
  end
  for i, name in ipairs(f.output or {}) do
    local outer = (call.output or {})[i] or ""
    if outer ~= "" then names[name] = scope.names(outer) end
  end
  local given = {}
  for _, a in ipairs(f.attribute_proto or {}) do
    given[a.name or ""] = value_of(m, scope, a)
  end
  for name, value in pairs(attrs) do given[name] = value end
  local inner = { name = f.name or "", depth = scope.depth + 1, given = given, list = scope.list,
    opsets = model.opsets(m, f.opset_import), names = function(name)
      if name == "" then return "" end
      names[name] = names[name] or prefix .. name
      return names[name]
    end }
  add_nodes(m, inner, f.node or {})
end

local function mapped(scope, list)
  local out = {}
  for i, name in ipairs(list or {}) do out[i] = scope.names(name) end
  return out
end

function add_nodes(m, scope, nodes)
  for _, n in ipairs(nodes) do
    local op, domain = n.op_type or "", n.domain or ""
    if domain == "ai.onnx" then domain = "" end
    if math.max(#(n.input or {}), #(n.output or {})) > MOST_ENDS then
      fail(m, "a node of '%s' must have at most %d inputs and as many results", shown(scope.name),
        MOST_ENDS)
    end
    local attrs = attributes_of(m, scope, n.attribute, scope.given)
    local f = m.functions[domain .. "/" .. op .. "/" .. (n.overload or "")]
    if f then
      add_function(m, scope, n, f, attrs)
    else
      count_node(m)
      scope.list[#scope.list + 1] = { op = op, domain = domain, name = n.name or "",
        opset = scope.opsets[domain] or 0, inputs = mapped(scope, n.input),
        outputs = mapped(scope, n.output), attrs = attrs }
    end
  end
end

-- ---- order ----

local function check_names(m, g)
  local maker = {}
  local function note(name, what)
    if maker[name] then
      fail(m, "two things have the name '%s': %s and %s", shown(name), maker[name], what)
    end
    maker[name] = what
  end
  for _, input in ipairs(g.inputs) do note(input.name, "an input") end
  for name in pairs(g.initializers) do maker[name] = maker[name] or "a tensor" end
  for _, node in ipairs(g.nodes) do
    for _, name in ipairs(node.outputs) do
      if name ~= "" then note(name, "a result of " .. model.text_of(node)) end
    end
  end
  return maker
end

-- The names that a node reads, those that its subgraphs take from around them among them.
local function reads(node)
  local list = args.copied(node.inputs)
  for _, value in pairs(node.attrs) do
    if type(value) == "table" and value.free then
      for _, name in ipairs(args.keys(value.free)) do list[#list + 1] = name end
    end
  end
  return list
end

-- The nodes that the outputs need, each behind those that it reads; g.free: names from around.
local function order(m, g)
  local maker, by_result, sorted, state = check_names(m, g), {}, {}, {}
  for _, node in ipairs(g.nodes) do
    for _, name in ipairs(node.outputs) do by_result[name] = node end
  end
  g.free = {}
  local function need(name, by)
    local node = by_result[name]
    if node then return node end
    if maker[name] then return nil end
    if g.is_outermost then
      fail(m, "%s reads '%s', which nothing gives", by, shown(name))
    end
    g.free[name] = true
  end
  -- Goes deep by a list of its own, as chains of nodes may be long.
  local function visit(first)
    local path = { { first, reads(first), 1 } }
    while #path > 0 do
      local node, names, i = unpack(path[#path])
      state[node] = "open"
      local before = names[i] and names[i] ~= "" and need(names[i], model.text_of(node))
      if i > #names then
        state[node], sorted[#sorted + 1], path[#path] = "done", node, nil
      else
        path[#path][3] = i + 1
        if before and state[before] == "open" then
          fail(m, "%s reads what it gives itself, by way of others: there is a cycle",
            model.text_of(before))
        elseif before and not state[before] then
          path[#path + 1] = { before, reads(before), 1 }
        end
      end
    end
  end
  for _, output in ipairs(g.outputs) do
    local node = need(output.name, ("the output of '%s'"):format(shown(g.name)))
    if node and not state[node] then visit(node) end
  end
  return sorted
end

-- ---- graphs ----

-- The type of an input or output: { name, onnx_type, dtype, shape }, where an extent that may vary
-- is its name or false. A shape of nil stands for any.
local function described(m, info)
  local of = info.type or {}
  local t = of.tensor_type
  local out = { name = info.name or "" }
  if not t then
    out.onnx_type = of.sequence_type and "sequence" or of.optional_type and "optional"
      or of.map_type and "map" or "unknown"
    return out
  end
  out.onnx_type, out.dtype = tensor.type_of(t.elem_type or 0)
  if not t.shape then return out end
  out.shape = {}
  for i, dim in ipairs(t.shape.dim or {}) do
    local extent = dim.dim_value
    if extent and (extent < 0 or extent >= 2 ^ 47) then
      fail(m, "'%s': an extent must be at least 0, got %.0f", shown(out.name), extent)
    end
    local name = dim.dim_param ~= "" and dim.dim_param
    out.shape[i] = extent or name or false
  end
  return out
end

local function described_all(m, list)
  local out = {}
  for i, info in ipairs(list or {}) do out[i] = described(m, info) end
  return out
end

local function initializers_of(m, g)
  local found = {}
  for _, message in ipairs(g.initializer or {}) do
    local t = tensor.of(message, m.source, m.files)
    local name = message.name or ""
    if name == "" then fail(m, "a tensor of '%s' has no name", shown(g.name or "")) end
    if found[name] then fail(m, "two tensors have the name '%s'", shown(name)) end
    found[name] = t
  end
  for _, sparse in ipairs(g.sparse_initializer or {}) do
    fail(m, "tensor '%s' is sparse: it must have all of its numbers",
      shown(sparse.values and sparse.values.name or ""))
  end
  return found
end

-- A graph: { name, inputs, outputs, initializers, nodes, free }. outer(name): whether the graph
-- around it has the name.
function prepare(m, message, scope)
  if scope.depth > MOST_DEPTH then
    fail(m, "subgraphs must be at most %d deep", MOST_DEPTH)
  end
  local g = { name = message.name or "", inputs = {}, outputs = described_all(m, message.output) }
  g.initializers = initializers_of(m, message)
  for _, input in ipairs(described_all(m, message.input)) do
    if not g.initializers[input.name] then g.inputs[#g.inputs + 1] = input end
  end
  local own = {}
  local inner = { name = g.name, depth = scope.depth + 1, given = scope.given, list = {},
    opsets = scope.opsets,
    names = function(name) return own[name] and name or scope.names(name) end }
  for _, n in ipairs(message.node or {}) do
    for _, name in ipairs(n.output or {}) do own[name] = true end
  end
  for name in pairs(g.initializers) do own[name] = true end
  for _, input in ipairs(g.inputs) do own[input.name] = true end
  add_nodes(m, inner, message.node or {})
  g.nodes, g.is_outermost = inner.list, scope.is_outermost
  g.nodes = order(m, g)
  return g
end

--- Has the model give other tensors than it did.
function model.set_outputs(m, outputs)
  m.graph.outputs = outputs
  model.sort(m)
end

--- Puts the nodes in order again, without those that no output needs any more.
function model.sort(m) m.graph.nodes = order(m, m.graph) end

--- The type of an input as text: "float32 (N, 3, 224, 224)".
function model.type_text(input)
  local extents = {}
  for i, extent in ipairs(input.shape or {}) do
    extents[i] = shown(tostring(extent or "?"))
  end
  return (input.dtype or input.onnx_type)
    .. (input.shape and " (" .. table.concat(extents, ", ") .. ")" or "")
end

--- The versions of op sets by domain that a model or function imports.
function model.opsets(m, imports)
  local found = {}
  for _, each in ipairs(imports or {}) do
    local domain = each.domain or ""
    if domain == "ai.onnx" then domain = "" end
    found[domain] = each.version or 1
  end
  if not next(found) and m.opsets then return m.opsets end
  return found
end

local function read(path, source, files)
  local m = { path = path, source = source, n_nodes = 0, n_calls = 0, n_fields = 0,
    fields = {}, functions = {} }
  m.files = files or opener(m)
  local ok, message = pcall(protobuf.decode, m.source, schema, "ModelProto")
  local is_model = m.source.size > 0 and m.source:text(0, 1) == "\8"      -- of its ir_version
  if not ok and is_model then error(message, 0) end
  if not ok or not message.graph or not message.ir_version then
    fail(m, "it must be an ONNX model, got a file of another kind")
  end
  m.ir_version, m.producer = message.ir_version, message.producer_name or ""
  m.producer_version = message.producer_version or ""
  m.opsets = model.opsets(m, message.opset_import)
  m.opset = m.opsets[""] or 0
  for _, f in ipairs(message.functions or {}) do
    local domain = f.domain == "ai.onnx" and "" or f.domain or ""
    m.functions[domain .. "/" .. (f.name or "") .. "/" .. (f.overload or "")] = f
  end
  local scope = { name = "", depth = 0, given = {}, opsets = m.opsets, is_outermost = true,
    names = function(name) return name end }
  m.graph = prepare(m, message.graph, scope)
  return m
end

--- The model in a file, checked: { path, opset, opsets, ir_version, producer, graph }. The file
-- stays open, as its tensors are read when they are needed.
function model.open(path)
  local file, why = core.file_open(path)
  if not file then core.fail("%s", why) end
  return read(path, protobuf.of_file(path, file))
end

--- The model of these bytes, which messages call by a path. No other file is read.
function model.of_text(path, text)
  return read(path, protobuf.of_text(path, text), function(location, t)
    core.fail("%s: tensor '%s': it must have its numbers inside, got the file '%s'", path, t.name,
      core.printable(location))
  end)
end

return model
