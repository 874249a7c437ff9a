-- The options of flow.function_config(): a check for each, which gives the value to keep.
local args = require "jfl.base.args"
local core = require "jfl.core"
local initializers = require "jfl.net.initializers"

local options = {}

local function scope_object(name, kind, example)
  return function(value)
    local meta = getmetatable(value)
    if type(meta) == "table" and meta.scope_kind == kind then return value end
    core.fail("%s: value must be what %s gives, got %s", name, example, args.describe(value))
  end
end

options.default_placement_scope = scope_object("default_placement_scope", "placement",
  "flow.scope.placement(...)")
options.default_logical_view = scope_object("default_logical_view", "view",
  "flow.scope.consistent_view() or mirrored_view()")

function options.default_data_type(dtype) return args.dtype("default_data_type", "value", dtype) end

function options.default_initializer_conf(value)
  if initializers.is(value) then return value end
  core.fail("default_initializer_conf: value must be an initializer such as "
    .. "flow.truncated_normal(0.1), got %s", args.describe(value))
end

function options.concurrency_width(n) return args.integer("concurrency_width", "value", n, 1) end

-- Without a value it is turned on.
function options.enable_auto_mixed_precision(on)
  if on == nil then return true end
  return args.expect("enable_auto_mixed_precision", "value", on, "boolean")
end

return options
