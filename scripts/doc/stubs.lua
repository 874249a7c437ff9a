-- Type stubs for editors: what there is to complete, in the annotations of LuaLS.
local api = require "scripts.doc.api"
local core = require "jfl.core"

local MORE = 1                   -- arguments before the options table, beyond the needed ones

local function one_line(text) return (text:gsub("%s*\n%s*", " ")) end

local function sorted(set)
  local keys = {}
  for key in pairs(set) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

local function emit(out, ...) out[#out + 1] = (...):format(select(2, ...)) end

-- A parameter's name, which must not be a word of Lua.
local function safe(name) return (name == "end" or name == "repeat") and name .. "_" or name end

local function tensor(text, class) return class and api.with_tensor(text, class) or text end

local function returned(f, class)
  if #f.returns == 0 then return "" end
  local list = {}
  for i, text in ipairs(f.returns) do list[i] = tensor(text, class) end
  return ": " .. table.concat(list, ", ")
end

-- "x: Blob, axis?: integer": the first n parameters, then `more`.
local function list_of(f, n, class, more)
  local parts = {}
  for i = 1, n do
    local p = f.params[i]
    local optional = p.optional and p.name ~= "..." and "?" or ""
    parts[i] = ("%s%s: %s"):format(safe(p.name), optional, tensor(p.type, class))
  end
  parts[n + 1] = more
  return table.concat(parts, ", ")
end

-- A function as a method has the options of the function.
local function options_name(f)
  return (f.of or f.path):gsub("^flow%.", ""):gsub(":", ".") .. ".Options"
end

local function needed(f)
  local n = 0
  for i, p in ipairs(f.params) do
    if not p.optional then n = i end
  end
  return n
end

local function emit_options(out, f)
  emit(out, "---@class %s", options_name(f))
  for _, p in ipairs(f.params) do
    if p.name:match("^[%a_][%w_]*$") then
      emit(out, "---@field %s%s %s %s", p.name, (p.optional or not f.table_only) and "?" or "",
        p.type, one_line(p.doc))
    end
  end
  out[#out + 1] = ""
end

-- The function's other forms: with blobs and with NdArrays, and with options after some arguments.
local function emit_overloads(out, f, classes)
  local self = f.separator == ":" and ("self: %s, "):format(f.owner) or ""
  for i, class in ipairs(classes) do
    if i > 1 then
      emit(out, "---@overload fun(%s%s)%s", self, list_of(f, f.positional, class),
        returned(f, class))
    end
    local first = f.inputs or math.min(1, needed(f))
    local last = f.options and math.min(f.positional, #f.params - 1, needed(f) + MORE) or -1
    for n = first, last do
      local more = "options: " .. options_name(f)
      emit(out, "---@overload fun(%s%s)%s", self, list_of(f, n, class, more), returned(f, class))
    end
  end
end

-- What an editor shows of a name: its text, and its example as Markdown.
local function emit_doc(out, f)
  emit(out, "--- %s", one_line(f.doc))
  if not f.example then return end
  out[#out + 1] = "---\n---```lua"
  for line in (f.example .. "\n"):gmatch("(.-)\n") do out[#out + 1] = "---" .. line end
  out[#out + 1] = "---```"
end

local function emit_table_function(out, f, at)
  emit_options(out, f)
  emit_doc(out, f)
  emit(out, "---@param definition %s", options_name(f))
  emit(out, "---@return %s", f.returns[1])
  emit(out, "---@overload fun(config: FunctionConfig, definition: %s): %s", options_name(f),
    f.returns[1])
  emit(out, "function %s(definition) end\n", at)
end

local function emit_function(out, f, at)
  if f.table_only then return emit_table_function(out, f, at) end
  if f.options and not f.of then emit_options(out, f) end
  local classes = f.of and { f.owner } or api.is_generic(f) and { "Blob", "NdArray" } or { false }
  local names = {}
  emit_doc(out, f)
  for i = 1, f.positional do
    local p = f.params[i]
    names[i] = safe(p.name)
    emit(out, "---@param %s%s %s %s", names[i], p.optional and p.name ~= "..." and "?" or "",
      tensor(p.type, classes[1]), one_line(p.doc))
  end
  for _, text in ipairs(f.returns) do emit(out, "---@return %s", tensor(text, classes[1])) end
  emit_overloads(out, f, classes)
  emit(out, "function %s(%s) end\n", at, table.concat(names, ", "))
end

-- Declares a class with its fields. A name with a dot in it is a field of a table in the class.
local function emit_class(out, name, names)
  local class = api.classes[name] or {}
  emit(out, "--- %s", class.doc or name .. ".")
  emit(out, "---@class %s%s", name, class.parent and ": " .. class.parent or "")
  for _, f in ipairs(names) do
    if f.owner == name and f.type then
      emit(out, "---@field %s %s %s", f.name, f.type, one_line(f.doc))
    end
  end
  for _, line in ipairs(class) do out[#out + 1] = line end
  for _, operator in ipairs(class.operators or {}) do
    emit(out, "---@operator %s(%s): %s", operator, class.operand, name)
  end
  emit(out, "local %s = {}\n", name)
end

local function emit_aliases(out)
  local dtypes = sorted(core.dtypes)
  for i, name in ipairs(dtypes) do dtypes[i] = "\"" .. name .. "\"" end
  emit(out, "---@alias Dtype %s|\"float\"|\"double\"", table.concat(dtypes, "|"))
  out[#out + 1] = "---@alias Tensor Blob|NdArray\n"
end

-- Every table that holds a name, the outer ones first: "optimizer", "optimizer.warmup".
local function spaces_of(names)
  local spaces = {}
  for _, f in ipairs(names) do
    local object = f.written == f.path or f.separator == ":"
    local at = object and "" or f.owner
    while at ~= "" do
      spaces[at] = true
      at = at:match("^(.*)%.") or ""
    end
    local part = f.owner:match("^%u%w*%.[%w.]+$")
    if part and object then spaces[part] = true end
  end
  return sorted(spaces)
end

local function place(f)
  local object = f.written == f.path or f.separator == ":"
  local owner = object and f.owner or f.owner == "" and "flow" or "flow." .. f.owner
  return owner .. f.separator .. f.name
end

local function emit_names(out, names)
  local is_value = {}
  for _, f in ipairs(names) do is_value[f.path] = f.type ~= nil end
  for _, space in ipairs(spaces_of(names)) do
    if not is_value[space] then
      emit(out, "---@class jfl.%s", space)
      emit(out, "%s%s = {}\n", space:find("^%u") and "" or "flow.", space)
    end
  end
  for _, f in ipairs(names) do
    if not f.type and not is_value[f.owner] then
      emit_function(out, f, place(f))
    elseif f.type and f.written ~= f.path then
      emit(out, "--- %s", one_line(f.doc))
      emit(out, "---@type %s", f.type)
      emit(out, "%s = nil\n", place(f))
    end
  end
end

--- The text of the stub file.
return function()
  local names = api.names()
  local out = { "---@meta jfl", "-- Made by `make doc` from the front end and the op table.\n" }
  emit_aliases(out)
  for _, class in ipairs(sorted(api.classes_in(names))) do emit_class(out, class, names) end
  emit(out, "--- Deep learning from Lua: job functions, compiled to static plans.")
  emit(out, "---@class jfl")
  emit(out, "local flow = {}\n")
  emit_names(out, names)
  for _, f in ipairs(api.methods(names)) do emit_function(out, f, place(f)) end
  out[#out + 1] = "return flow"
  return table.concat(out, "\n") .. "\n"
end
