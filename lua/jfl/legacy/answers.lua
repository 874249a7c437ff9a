-- What the front end asks of this room (jfl.base.original). Each part is loaded at its first use.
local paths = require "jfl.base.names"
local registry = require "jfl.base.registry"

-- What is at a path of today.
local function read(path)
  local at = paths.root()
  for name in path:gsub("^flow%.", ""):gmatch("[^.]+") do at = at[name] end
  return at
end

-- A table for a namespace that only the original has; nil where it has none.
local spaces = {}

local function space_of(path)
  for alias in pairs(require "jfl.legacy.aliases") do
    if alias:sub(1, #path + 1) == path .. "." then
      spaces[path] = spaces[path] or paths.guard(path, {})
      return spaces[path]
    end
  end
end

return {
  --- What a name stands for in the namespace at a path.
  name = function(path, name)
    local alias = require("jfl.legacy.aliases")[path .. "." .. name]
    if alias then return read(alias) end
    local names = require "jfl.legacy.names"
    local where, space = names[path .. "." .. name], names[path .. ".*"]
    if where then return registry.source(where) end
    if space then return registry.source(space)[name] end
    return path == "flow" and space_of(path .. "." .. name) or nil
  end,

  --- The further arguments that the function at a path takes: a list of { place, name }.
  arguments = function(path) return require("jfl.legacy.arguments")[path] end,

  --- The table that defines a job, from what global_function was given.
  definition = function(...) return require "jfl.legacy.definition"(...) end,

  --- The class of what calls give of a job that declares no `returns`.
  future = function() return require "jfl.legacy.future" end,

  --- Minimizes the losses that a train job's body has added.
  minimize = function(context) require("jfl.legacy.losses").minimize(context) end,

  --- What help says of a name.
  about = function(name) return require("jfl.legacy.about").text(name) end,
}
