-- The two logical views of several devices. In the consistent one a blob is one tensor, of which
-- each device may have a part; in the mirrored one each device has a tensor of its own.
---@flow cast_to_current_logical_view scope.consistent_view scope.consistent_view_enabled
---@flow scope.mirrored_view scope.mirrored_view_enabled
local apart = require "jfl.job.apart"
local args = require "jfl.base.args"
local core = require "jfl.core"
local trace = require "jfl.job.trace"

local views = {}

local View = { scope_kind = "view" }
View.__index = View

function View:__tostring() return self.text end

-- Runs fn in a view; outside of a body it makes nothing that is in one.
local function within(mirrored, fn)
  local context = trace.current
  if not context then return fn() end
  local outer = context.mirrored
  local function turn(to)
    context.mirrored = to
    core.mirror(context.graph, to)
  end
  turn(mirrored)
  return trace.enter(fn, function() turn(outer) end)
end

local function define(name, mirrored, doc)
  local object = setmetatable({ mirrored = mirrored, text = name .. "()" }, View)
  local path = "scope." .. name
  views[name] = args.define(path, doc, {
    { "fn", "what is run in it; unless given, an object for config.default_logical_view",
      args.none, type = "function" },
    returns = "any",
  }, function(o)
    if o.fn == nil then return object end
    return within(mirrored, o.fn)
  end)
  views[name .. "_enabled"] = args.define(path .. "_enabled", ("Whether the body is in the %s "
    .. "view."):format(name:match("^%a+")), { returns = "boolean" }, function()
      return (trace.need(path .. "_enabled").mirrored or false) == mirrored
    end)
end

define("consistent_view", false, "Runs fn in the consistent view, which is the usual one: a blob "
  .. "is one tensor, whichever parts of it the devices have.")
define("mirrored_view", true, "Runs fn in the mirrored view: each device has a tensor of its own "
  .. "of each blob.")

-- Fails unless the devices of the place can share the blob's rows, where the cast cuts it.
local function check_cut(who, context, blob)
  local place, n = core.members(context.graph)
  if context.apart then n = context.total end
  local cut = context.mirrored and n > 1 and core.distribution(blob) ~= "mirrored"
  local rows = blob.shape[1] or 0
  if not cut or (rows > 0 and rows % n == 0) then return end
  core.fail("%s: blob '%s' must have a first extent that the %d devices of %s can share evenly, "
    .. "got shape %s", who, blob.name, n, place, args.shape_text(blob.shape))
end

views.cast_to_current_logical_view = args.define("cast_to_current_logical_view",
  "A blob in the view that the body is in: in the mirrored one each device gets its part along the "
  .. "first axis, in the consistent one their values become one tensor.", {
    { "blob", "of either view", type = "Blob" },
    returns = "Blob",
  }, function(o, who)
    local context = trace.need(who)
    args.blob(who, "blob", o.blob)
    check_cut(who, context, o.blob)
    if context.apart then return apart.change_view(who, context, o.blob) end
    return core.change_view(context.graph, o.blob, context.mirrored)
  end)

return views
