-- What a GGUF file says before its tensors.
local args = require "jfl.base.args"
local checkpoint = require "jfl.checkpoint.checkpoint"
local core = require "jfl.core"
local plain = require "jfl.base.plain"

local header = {}

--- Whether a path is that of such a file.
function header.is(path) return path:find("%.gguf/*$") ~= nil end

--- Version, metadata by keys, and tensors { name, type, shape }.
function header.read(who, path)
  local text = checkpoint.texts_of(path).gguf
  local h = text and plain.read(text)
  if h then
    h.path, h.who = path, who                          -- for messages
    return h
  end
  core.fail("%s: %s: it must be a GGUF file, whose name ends with .gguf", who, path)
end

local function shown(value)
  return type(value) == "string" and ("\"%s\""):format(value) or args.describe(value)
end

--- Fails because the value of a key is not what it must be.
function header.wrong(h, key, what)
  core.fail("%s: %s: %s must be %s, got %s", h.who, h.path, key, what, shown(h.metadata[key]))
end

--- The value of a key, which is of that type of Lua or, where there is a default, not there.
function header.get(h, key, kind, default)
  local value = h.metadata[key]
  if value == nil and default ~= nil then return default end
  if type(value) ~= kind then header.wrong(h, key, "a " .. kind) end
  return value
end

--- A list of values of a type.
function header.list(h, key, kind)
  local list = header.get(h, key, "table")
  for i, value in ipairs(list) do
    if type(value) ~= kind then
          core.fail("%s: %s: %s[%d] must be a %s, got %s", h.who, h.path, key, i - 1, kind,
        shown(value))
    end
  end
  return list
end

return header
