-- What the front end asks of this room (jfl.base.original). Each part is loaded at its first use.
local registry = require "jfl.base.registry"

return {
  --- What a name stands for in the namespace at a path.
  name = function(path, name)
    local names = require "jfl.legacy.names"
    local where, space = names[path .. "." .. name], names[path .. ".*"]
    if where then return registry.source(where) end
    return space and registry.source(space)[name]
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
