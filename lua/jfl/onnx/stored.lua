-- What a checkpoint says of a model whose function a script gave: the graph of what it predicts, as
-- an ONNX model whose variables are inputs, since the checkpoint has their numbers. It is data, so
-- that loading it runs nothing that a file brings along.
local args = require "jfl.base.args"
local body_of = require "jfl.onnx.body"
local check = require "jfl.onnx.check"
local core = require "jfl.core"
local definition = require "jfl.job.definition"
local export_parts = require "jfl.onnx.export_parts"
local file = require "jfl.onnx.export_file"
local fold = require "jfl.onnx.fold"
local graph = require "jfl.onnx.export_graph"
local match = require "jfl.onnx.match"
local model = require "jfl.onnx.model"
local networks = require "jfl.net.model"
local patterns = require "jfl.onnx.patterns"
local plain = require "jfl.base.plain"
local typing = require "jfl.job.typing"
local variable = require "jfl.net.variable"

local stored = {}

local MOST = 2 ^ 24              -- bytes of a graph: more is arrays that the script gave it

-- ---- writing ----

-- The fields of a predict job of a model, which no session has. free: whether the first extent of
-- its first input, and of others that have the same, may vary.
local function job_of(net, free)
  local inputs, names, batch = {}, networks.parameters(net), net._called[1].shape[1]
  for i, each in ipairs(net._called) do
    local shape = { unpack(each.shape) }
    if free and shape[1] == batch then shape[1] = -1 end
    inputs[i] = { names[i] or "input_" .. i, typing.Numpy.Placeholder(shape, each.dtype) }
  end
  return definition { name = net._path .. "-network", inputs = inputs, returns = typing.any,
    body = function(...) return net(...) end }
end

-- The graph of what the model predicts, with its batch free where it can be.
local function parts_of(net)
  if net._called[1].shape[1] then
    local job = job_of(net, true)
    local ok, parts = pcall(export_parts.of, "save", job)
    if ok then return job, parts end
  end
  local job = job_of(net, false)
  local shapes = {}
  for i, each in ipairs(net._called) do shapes[i] = each.shape end
  return job, export_parts.fixed(job, shapes)
end

-- What is kept of a model whose variables are this list of { name, full }.
local function described(net, list)
  if not net._called then core.fail("it is called with more than blobs, or not at all") end
  local own, t = {}, { type = "graph", variables = {}, trainable = {} }
  for _, each in ipairs(list) do own[each.full] = each.name end
  local job, parts = parts_of(net)
  local names = { inputs = {}, outputs = {} }
  for i, value in ipairs(parts.inputs) do names.inputs[i] = value.name end
  for i in ipairs(parts.paths) do names.outputs[i] = "result " .. i end
  local g, tensors = graph.of("save", job, parts, names, function(full)
    local dtype, shape = core.variable_info(full)
    if not own[full] then core.fail("variable '%s' is another model's", full) end
    return { dtype = dtype, shape = shape, variable = full }
  end, file.tensor)
  local inside = {}
  for _, tensor in ipairs(tensors) do
    if tensor.variable then
      g.input[#g.input + 1] = graph.info_of(tensor.name, tensor)
      t.variables[tensor.name] = own[tensor.variable]
      t.trainable[tensor.name] = variable.trainable[tensor.variable]
    else
      inside[#inside + 1] = file.tensor(tensor)
    end
  end
  t.name, t.results, t.onnx = net._name, parts.paths, file.text(job, g, inside)
  if #t.onnx > MOST then core.fail("its graph has arrays of more than %d bytes", MOST) end
  return t
end

-- What the description of a model is made of besides its body: its variables.
local function state_of(list)
  local lines = {}
  for i, each in ipairs(list) do
    local dtype, shape = core.variable_info(each.full)
    lines[i] = table.concat({ each.full, each.name, dtype, args.shape_text(shape),
      tostring(variable.trainable[each.full]) }, " ")
  end
  return table.concat(lines, "\n")
end

-- By model: the text that it was saved with last, the call that it was traced for then, of which
-- each trace makes another, and its variables.
local texts = setmetatable({}, { __mode = "k" })

--- A text for a checkpoint that says what a model is: its graph, or why that cannot be told.
function stored.text(net, list)
  local called, last, state = net._called, texts[net], state_of(list)
  if last and last.called == called and last.state == state then return last.text end
  local ok, t = pcall(described, net, list)
  rawset(net, "_called", called)
  if not ok and (type(t) ~= "string" or t == "not enough memory" or core.is_interruption(t)) then
    error(t, 0)
  end
  local text = plain.write(ok and t or { type = "unknown", why = t }, "model")
  texts[net] = { called = called, state = state, text = text }
  return text
end

-- ---- reading ----

local function check_texts(path, name, t)
  if type(t) ~= "table" then core.fail("%s: the model: %s must be a table", path, name) end
  for key, value in pairs(t) do
    if type(value) ~= "string" and value ~= true or tostring(key) == "" then
      core.fail("%s: the model: %s must hold texts", path, name)
    end
  end
end

-- Makes variables of the inputs that the checkpoint has the numbers of.
local function take_variables(m, t)
  local inputs, all = {}, {}
  for _, input in ipairs(m.graph.inputs) do
    local own = t.variables[input.name]
    if own then
      local count = 1
      for _, extent in ipairs(input.shape or { "any" }) do
        args.check(type(extent) == "number" and input.dtype, "%s: the model: variable '%s' must "
          .. "have a dtype and a shape", m.path, own)
        count = count * extent
      end
      all[#all + 1] = { name = input.name, own = args.name(m.path, "variable", own),
        dtype = input.dtype, shape = input.shape, count = count }
      m.graph.initializers[input.name] = all[#all]
    else
      inputs[#inputs + 1] = input
    end
  end
  m.graph.inputs = inputs
  return all
end

-- A list of values as what the function returned: one, several, or tables with those keys.
local function returned(paths, values)
  local root, is_table = {}, false
  if #paths == 1 and paths[1] == "" then return values[1] end
  for i, path in ipairs(paths) do
    local at, keys = root, {}
    for key in path:gmatch("[^.]+") do keys[#keys + 1] = tonumber(key) or key end
    for k = 1, #keys - 1 do
      at[keys[k]] = type(at[keys[k]]) == "table" and at[keys[k]] or {}
      at = at[keys[k]]
    end
    at[keys[#keys]] = values[i]
    is_table = is_table or type(keys[1]) == "string"
  end
  if is_table then return root end
  return unpack(root)
end

--- The model that a checkpoint's text tells, as plain.read gives it, and the types of its inputs.
function stored.read(path, t, name)
  args.check(t.type ~= "unknown", "models.load: %s: the checkpoint does not say which network it "
    .. "is, as that could not be written when it was saved: %s; make the model as the program did "
    .. "that saved it, and net:load loads its variables", path, tostring(t.why))
  if type(t.onnx) ~= "string" then core.fail("%s: the model: it must have a graph", path) end
  for _, key in ipairs { "variables", "trainable", "results" } do check_texts(path, key, t[key]) end
  local m = model.of_text(path, t.onnx)
  local all = take_variables(m, t)
  m.parameters, m.constants = {}, {}
  for i, input in ipairs(m.graph.inputs) do m.parameters[i] = input.name end
  args.check(#t.results == #m.graph.outputs, "%s: the model: it must have %d results, got %d", path,
    #t.results, #m.graph.outputs)
  check.refuse(m)
  match.apply(m, patterns)
  fold.prepare(m)
  m.variables, m.trainable = {}, {}               -- other tensors are constants of the script
  for _, each in ipairs(all) do
    m.variables[each], m.trainable[each] = true, t.trainable[each.name]
  end
  local body = body_of(m, { update_statistics = true })
  local net = networks.new(name or args.name(path, "name", t.name), function(...)
    local n, first = #m.graph.outputs, ...
    local values = { body(...) }
    if args.is_options(first) then return values[1] end
    return returned(t.results, { unpack(values, 1, n) })
  end, m.parameters)
  return net, m.graph.inputs
end

return stored
