-- The API as data for stubs and pages: the entries of jfl.doc.index, with types.
require "jfl"
local args = require "jfl.base.args"
local examples = require "jfl.doc.examples"
local index = require "jfl.doc.index"
local methods = require "jfl.doc.methods"

local api = { classes = require "scripts.doc.classes" }

-- Types of parameters whose names mean the same in every function.
local BY_NAME = {
  axis = "integer|integer[]", data_format = "string", dtype = "Dtype",
  fn = "fun(...): any?, any?, any?, any?",
  name = "string", path = "string", shape = "integer|integer[]",
}

-- Types of ops' parameters.
local OP_TYPES = {
  dtype = "Dtype", integer = "integer", integers = "integer|integer[]",
  padding = "string|integer|integer[]|integer[][]", number = "number", boolean = "boolean",
  string = "string", numbers = "number[]",
}

local function read_param(param)
  local default = param[3]
  local given = default ~= nil and default ~= args.none
  return {
    name = param[1], doc = param[2], optional = default ~= nil,
    type = param.words and '"' .. table.concat(param.words, '"|"') .. '"' or param.type
      or BY_NAME[param[1]] or given and type(default) or "any",
    default = given and index.lua_text(default) or nil,
  }
end

local function is_arithmetic(info)
  return #info.inputs == 2 and info.path:match("^math%.") and not info.variadic
end

local function op_params(info)
  local params = {}
  for i, name in ipairs(info.inputs) do
    params[i] = { name = name, type = is_arithmetic(info) and "Tensor|number" or "Tensor",
      doc = "a blob or NdArray" }
  end
  if info.variadic then
    params[#info.inputs].type, params[#info.inputs].doc = "Tensor[]", "a list of blobs or NdArrays"
  end
  for _, p in ipairs(info.params) do
    local shown = p.default ~= "none" and p.default or nil
    params[#params + 1] = { name = p.name, doc = p.doc, default = shown,
      optional = p.default ~= nil, type = OP_TYPES[p.type] or "any" }
  end
  params[#params + 1] = { name = "name", type = "string", doc = "of the op", optional = true }
  return params
end

local function op_returns(info)
  local list = {}
  for i in ipairs(info.outputs) do list[i] = #info.inputs > 0 and "Tensor" or "Blob" end
  return list
end

local function list_of(returns)
  if type(returns) == "table" then return returns end
  return { returns }
end

local function read_function(f, e)
  f.params, f.returns = {}, list_of(e.params.returns)
  for i, param in ipairs(e.params) do f.params[i] = read_param(param) end
  f.positional = e.fn and args.positional(e) or #f.params
  if f.params[1] and f.params[1].name == "self" then
    table.remove(f.params, 1)
    f.positional = f.positional - 1
  end
  f.options = e.fn ~= nil and #f.params > 0
  f.table_only = e.params.table_only
end

local function read_op(f, info)
  f.params, f.returns, f.options = op_params(info), op_returns(info), true
  f.positional = #f.params
  f.inputs, f.dtypes, f.differentiable = #info.inputs, info.dtypes, info.differentiable
end

local function read(path, e)
  local owner, separator, name = path:match("^(.*)([.:])([^.:]+)$")
  local f = { path = path, owner = owner or "", separator = separator or ".", name = name or path,
    doc = e.doc, type = e.type, written = index.written(path),
    same_as = e.same_as and index.written(e.same_as), example = examples.of(path, e) }
  -- Methods of the objects that a function under flow makes belong to a class with the function's
  -- name.
  if f.separator == ":" then f.owner = f.owner:match("[^.]+$") end
  if e.op then read_op(f, e.op) elseif not e.type then read_function(f, e) end
  return f
end

--- A list of all names in their order: { path, owner, separator, name, written, doc, same_as,
-- example, params, returns, options } of functions, with `type` instead of the last three of
-- values.
function api.names()
  local list = {}
  for path, e in pairs(index.entries()) do
    if e then list[#list + 1] = read(path, e) end
  end
  table.sort(list, function(a, b) return a.path < b.path end)
  return list
end

-- A function as a method of a class: the object is its first argument.
local function as_method(f, class, name)
  local m = { path = class .. ":" .. name, owner = class, separator = ":", name = name,
    written = class .. ":" .. name, of = f.written, doc = f.doc, params = { unpack(f.params, 2) },
    returns = f.returns, options = f.options and #f.params > 1, positional = f.positional - 1 }
  m.inputs = f.inputs and f.inputs - 1
  return m
end

--- The functions of names that arrays and blobs have as methods, as entries like those of names,
-- with `of`: what the function is written as.
function api.methods(names)
  local by_path, list = {}, {}
  for _, f in ipairs(names) do by_path[f.path] = f end
  for i, m in ipairs(methods.all()) do
    list[i] = as_method(by_path[m.of], m.class, m.name)
  end
  return list
end

--- A type in which Tensor, the type of ops' operands, is replaced by one of its classes.
function api.with_tensor(text, class) return (text:gsub("Tensor", class)) end

--- Whether a function takes blobs and gives blobs, and does the same with NdArrays.
function api.is_generic(f)
  for _, param in ipairs(f.params) do
    if param.type:find("Tensor", 1, true) then return true end
  end
  return false
end

--- The names of the classes that occur in the types of a list of names.
function api.classes_in(names)
  local found = {}
  local function note(text)
    for word in text:gsub("\"[^\"]*\"", ""):gmatch("%f[%w_.]%u%w+") do found[word] = true end
  end
  for _, f in ipairs(names) do
    if f.type then note(f.type) end
    for _, param in ipairs(f.params or {}) do note(param.type) end
    for _, text in ipairs(f.returns or {}) do note(text) end
    if f.owner:find("^%u") then found[f.owner:match("^[^.]+")] = true end
  end
  found.Tensor, found.Dtype = nil, nil
  found.Blob, found.NdArray = true, true
  return found
end

return api
