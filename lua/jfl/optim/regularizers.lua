-- flow.regularizers: what training adds to the gradients of single variables.
---@space regularizers
---@box regularizers.l1 regularizers.l1_l2 regularizers.l2
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local core = require "jfl.core"

local regularizers = {}

local Regularizer = { __tostring = function(self)
  return ("regularizers.l1_l2(%g, %g)"):format(self.l1, self.l2)
end }

local function define(name, doc, params, read)
  local path = "regularizers." .. name
  params.returns = "Regularizer"
  regularizers[name] = args.define(path, doc, params, function(o)
    local l1, l2 = read(o)
    return setmetatable({ l1 = l1, l2 = l2 }, Regularizer)
  end)
end

local RANGE = "a number of at least 0"
local FACTOR = { "l", "the factor", 0.01, range = RANGE }

define("l1", "Adds l sign(w) to the gradient of a variable w.", { FACTOR },
  function(o) return o.l, 0 end)
define("l2", "Adds l w to the gradient of a variable w.", { FACTOR },
  function(o) return 0, o.l end)
define("l1_l2", "Adds l1 sign(w) + l2 w to the gradient of a variable w.", {
  { "l1", "the factor of its sign", 0.01, range = RANGE },
  { "l2", "the factor of itself", 0.01, range = RANGE },
}, function(o) return o.l1, o.l2 end)

--- The factors l1 and l2 of what a user gave as a regularizer, or nothing.
function regularizers.factors(who, name, value)
  if value == nil then return 0, 0 end
  if metatable(value) == Regularizer then return value.l1, value.l2 end
  core.fail("%s: %s must be what flow.regularizers.l2(0.01) gives, got %s", who, name,
    args.describe(value))
end

return regularizers
