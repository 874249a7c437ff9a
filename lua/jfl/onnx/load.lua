-- flow.onnx: models of other programs as functions of bodies.
---@box onnx.load
local args = require "jfl.base.args"
local body_of = require "jfl.onnx.body"
local check = require "jfl.onnx.check"
local core = require "jfl.core"
local fold = require "jfl.onnx.fold"
local match = require "jfl.onnx.match"
local model = require "jfl.onnx.model"
local networks = require "jfl.net.model"
local patterns = require "jfl.onnx.patterns"

local onnx = {}

-- ---- loading ----

-- The results that are asked for in place of the file's, by their names.
local function choose_outputs(m, names)
  if names == nil then return end
  args.expect("onnx.load", "outputs", names, "table")
  local list = {}
  for i, name in ipairs(names) do
    args.expect("onnx.load", "outputs", name, "string")
    list[i] = { name = name }
    for _, output in ipairs(m.graph.outputs) do
      if output.name == name then list[i] = output end
    end
  end
  model.set_outputs(m, list)
end

local function check_constants(m, given)
  m.constants, m.parameters = {}, {}
  for name, value in pairs(given) do
    args.must(core.type(value) == "array", value, "onnx.load: constants: '%s' must be an NdArray",
      tostring(name))
  end
  for _, input in ipairs(m.graph.inputs) do
    m.constants[input.name] = given[input.name]
    if not given[input.name] then table.insert(m.parameters, input.name) end
  end
  for name in pairs(given) do
    args.check(m.constants[name], "onnx.load: constants: %s has no input '%s'", m.path,
      tostring(name))
  end
end

local function stem(path) return path:match "([^/\\]+)%.%w+$" or path:match "([^/\\]+)$" or path end

--- Reads a model that another program wrote, as a function of blobs to be called in bodies.
onnx.load = args.define("onnx.load", "A model in an ONNX file, as a flow.model: called in a body "
  .. "with blobs in the order of its inputs, or with one table of them by name, it gives its "
  .. "results in order, or a table of them by name. Its weights are variables under their names.", {
    { "path", "the file", type = "string" },
    { "name", "the namespace of its variables and jobs; the file's name", args.none,
      type = "string" },
    { "outputs", "names of results, or of any tensors within, to give in place of the file's",
      args.none, type = "string[]" },
    { "constants", "arrays by the names of inputs that are the same in all calls", {},
      keyed = true, type = "table<string, NdArray>" },
    { "update_statistics", "whether train jobs normalize batches by their own mean and variance, "
      .. "and follow these, as when the model was trained", false, type = "boolean" },
    { "loop_steps", "how many steps a loop does at most whose count is an input, or computed of "
      .. "one; it is described with so many, and each call does as many of them as its count says",
      args.none, type = "integer", least = 1 },
    returns = "Model",
  }, function(o, who)
    args.expect(who, "constants", o.constants, "table")
    local name = args.name(who, "name", o.name or stem(o.path))
    local m = model.open(o.path)
    choose_outputs(m, o.outputs)
    check_constants(m, o.constants)
    check.refuse(m)
    fold.copies(m)
    match.apply(m, patterns)
    fold.prepare(m)
    return networks.new(name, body_of(m, o), m.parameters)
  end)

return onnx
