-- optimizer.grad_clipping and optimizer.loss_scale: what an optimizer does to gradients.
---@box optimizer.grad_clipping.by_global_norm optimizer.grad_clipping.by_norm
---@box optimizer.grad_clipping.by_value optimizer.loss_scale.dynamic_loss_scale
---@box optimizer.loss_scale.static_loss_scale
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local core = require "jfl.core"

local policies = { grad_clipping = {}, loss_scale = {} }

local Clipping = { __tostring = function(self)
  return ("optimizer.grad_clipping.%s(%g)"):format(self.kind, self.limit)
end }
local LossScale = { __tostring = function(self)
  return ("optimizer.loss_scale.%s(%g)"):format(self.kind, self.scale)
end }

local POSITIVE = "a number above 0"

local function clipping(kind, field, doc, param, meaning)
  local path = "optimizer.grad_clipping." .. kind
  policies.grad_clipping[kind] = args.define(path, doc, {
    { param, meaning, type = "number", range = POSITIVE }, returns = "Clipping",
  }, function(o)
    return setmetatable({ kind = kind, field = field, limit = o[param] }, Clipping)
  end)
end

clipping("by_global_norm", "clip_norm",
  "Multiplies all gradients by clip_norm / max(norm, clip_norm); norm is that of all together.",
  "clip_norm", "the largest norm that is left as it is")
clipping("by_norm", "clip_each_norm",
  "Multiplies each variable's gradient by clip_norm / max(norm, clip_norm); norm is its own.",
  "clip_norm", "the largest norm that is left as it is")
clipping("by_value", "clip_value",
  "Bounds each element of the gradients to [-clip_value, clip_value].",
  "clip_value", "the largest magnitude of an element")

--- Puts what clips gradients into the request that core.minimize takes.
function policies.clip(who, clip, request)
  if clip == nil then return end
  args.must(metatable(clip) == Clipping, clip,
    "%s: grad_clipping must be optimizer.grad_clipping.by_global_norm(clip_norm), by_norm or "
      .. "by_value", who)
  request[clip.field] = clip.limit
end

local function scale_policy(kind, doc, params, read)
  local path = "optimizer.loss_scale." .. kind
  params.returns = "LossScale"
  policies.loss_scale[kind] = args.define(path, doc, params, function(o)
    local policy = read(o)
    policy.kind = kind
    return setmetatable(policy, LossScale)
  end)
end

scale_policy("static_loss_scale",
  "Multiplies the loss while gradients are computed, and divides these by it again.", {
    { "loss_scale_factor", "what the loss is multiplied by", type = "number", range = POSITIVE },
  }, function(o) return { scale = o.loss_scale_factor } end)

scale_policy("dynamic_loss_scale", "The same with a scale that shrinks when a gradient is not "
  .. "finite, whose step is skipped and not counted, and grows after many good steps.", {
    { "initial_loss_scale", "the first scale", 2 ^ 30, range = POSITIVE },
    { "increment_period", "after how many good steps the scale grows", 2000, type = "integer",
      least = 1 },
    { "multiplier", "what the scale grows by, and shrinks by", 2, range = "a number above 1" },
  }, function(o)
    return { scale = o.initial_loss_scale, period = o.increment_period, multiplier = o.multiplier }
  end)

--- Puts a loss scale into the request that core.minimize takes. factor: the older way to say a
-- static one.
function policies.scale(who, factor, policy, request)
  if factor ~= nil and policy ~= nil then
    core.fail("%s: loss_scale_factor and loss_scale_policy exclude each other; give one", who)
  end
  if factor ~= nil then
    request.loss_scale = args.number(who, "loss_scale_factor", factor, POSITIVE)
  elseif policy ~= nil then
    args.must(metatable(policy) == LossScale, policy,
      "%s: loss_scale_policy must be what optimizer.loss_scale.dynamic_loss_scale() gives", who)
    request.loss_scale, request.scale_period = policy.scale, policy.period
    request.scale_multiplier = policy.multiplier
  end
end

return policies
