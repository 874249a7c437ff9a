-- flow.optimizer and flow.losses: what makes a job train.
local args = require "jfl.base.args"
local core = require "jfl.core"
local names = require "jfl.base.names"
local schedule = require "jfl.net.schedules"
local trace = require "jfl.job.trace"
local update_conf = require "jfl.legacy.update_conf"
local variable = require "jfl.net.variable"

local optimizer = {
  warmup = schedule.warmup,
  PiecewiseConstantScheduler = schedule.PiecewiseConstantScheduler,
}

local Clipping = { __tostring = function(self)
  return ("optimizer.grad_clipping.by_global_norm(%g)"):format(self.norm)
end }

--- optimizer.grad_clipping.
optimizer.grad_clipping = {
  by_global_norm = args.define("optimizer.grad_clipping.by_global_norm",
    "Multiplies all gradients by clip_norm / max(norm, clip_norm); norm is that of all together.", {
    { "clip_norm", "the largest norm that is left as it is", type = "number" },
    returns = "Clipping",
  }, function(o)
    local who = "optimizer.grad_clipping.by_global_norm"
    local norm = args.expect(who, "clip_norm", o.clip_norm, "number")
    if not (norm > 0 and norm < math.huge) then
      core.fail("%s: clip_norm must be a positive number, got %s", who, args.describe(norm))
    end
    return setmetatable({ norm = norm }, Clipping)
  end),
}

local function clip_norm(who, clipping)
  if clipping == nil then return nil end
  if getmetatable(clipping) == Clipping then return clipping.norm end
  core.fail("%s: grad_clipping must be optimizer.grad_clipping.by_global_norm(clip_norm), got %s",
    who, args.describe(clipping))
end

local Optimizer = { __tostring = function(self) return self.name end }
Optimizer.__index = Optimizer

-- What PyTorch's optimizers have.
setmetatable(Optimizer, { __index = function(_, key)
  if key ~= "step" and key ~= "zero_grad" then return nil end
  core.fail("an optimizer has no '%s': optimizer:minimize(loss) in the job's body makes every call "
    .. "of the job a step", key)
end })

local function need_losses(who, loss)
  local list = core.type(loss) == "blob" and { loss } or loss
  if type(list) ~= "table" or #list == 0 then
    core.fail("%s: loss must be a blob or a list of blobs, got %s", who, args.describe(loss))
  end
  for i, each in ipairs(list) do
    if core.type(each) ~= "blob" then
      core.fail("%s: loss: item %d must be a blob, got %s", who, i, args.describe(each))
    end
  end
  return list
end

local function find_variables(who, context, list)
  if list == nil then return nil end
  if type(list) == "function" then list = list() end
  local blobs = {}
  for i, name in ipairs(args.expect(who, "variables", list, "table")) do
    blobs[i] = core.type(name) == "blob" and name or core.find_variable(context.graph, name)
    if not blobs[i] then
      core.fail("%s: variables: there is no variable '%s' in job '%s'%s", who, tostring(name),
        context.job.name, names.suggest(tostring(name), context.variables))
    end
  end
  if #blobs == 0 then core.fail("%s: variables: the list is empty", who) end
  return blobs
end

local function need_train_job(who, context)
  if context.mode == "train" then return end
  core.fail("%s: job '%s' is a predict job; only a job with type = \"train\" can be trained", who,
    context.job.name)
end

--- Makes the job change its variables so that the loss gets smaller: a blob, or a list of blobs
-- whose gradients add up. Gradients are divided by the number of elements of the loss.
function Optimizer:minimize(loss)
  if getmetatable(self) ~= Optimizer then
    core.fail("minimize: call it with a colon: optimizer:minimize(loss)")
  end
  local who = self.name .. ".minimize"
  local context = trace.need(who)
  need_train_job(who, context)
  if context.minimized then
    core.fail("%s: job '%s' has an optimizer already; give it all losses as a list", who,
      context.job.name)
  end
  core.minimize(context.graph, {
    losses = need_losses(who, loss), optimizer = self.name, options = self.options,
    schedule = self.schedule.op, schedule_options = self.schedule.options,
    variables = find_variables(who, context, self.variables), clip_norm = self.clip_norm,
  })
  context.minimized = true
end

optimizer.SGD = args.define("optimizer.SGD", "Stochastic gradient descent, with momentum.", {
  { "lr_scheduler", "a number or a scheduler", type = "number|Scheduler" },
  { "loss_scale_factor", "not supported", args.none },
  { "momentum", "decay of the velocity; 0 keeps none", 0.9 },
  { "grad_clipping", "such as grad_clipping.by_global_norm(1)", args.none, type = "Clipping" },
  { "train_step_lbn", "not supported", args.none },
  { "loss_scale_policy", "not supported", args.none },
  { "variables", "names of what is trained; all trainable variables", args.none,
    type = "(string|Blob)[]|fun(): (string|Blob)[]" },
  returns = "Optimizer",
}, function(o)
  local who = "optimizer.SGD"
  for _, name in ipairs { "loss_scale_factor", "train_step_lbn", "loss_scale_policy" } do
    variable.refuse(who, name, o[name])
  end
  args.expect(who, "momentum", o.momentum, "number")
  return setmetatable({ name = "SGD", options = { momentum = o.momentum },
    schedule = schedule.of(who, o.lr_scheduler), variables = o.variables,
    clip_norm = clip_norm(who, o.grad_clipping) }, Optimizer)
end)

-- The old spelling: losses are added, and the job's configuration says how they are minimized.

local function old_style(name, config)
  local rate, parsed = config.primary_lr, config.model_update_conf or { momentum = 0 }
  if config.secondary_lr and config.secondary_lr ~= rate then
    core.fail("%s: train.secondary_lr is %g and primary_lr %g: one rate serves all variables", name,
      config.secondary_lr, rate)
  end
  local clipping = parsed.clip_norm and optimizer.grad_clipping.by_global_norm(parsed.clip_norm)
  return optimizer.SGD(update_conf.schedule(parsed, rate),
    { momentum = parsed.momentum, grad_clipping = clipping })
end

--- Ends a body: minimizes added losses, and makes sure that a train job trains.
function optimizer.close(context)
  if context.mode ~= "train" then return end
  local name, config = context.job.name, context.config.train or {}
  if context.minimized then
    if #context.losses == 0 then return end
    core.fail("%s: an optimizer minimizes a loss, and losses.add_loss adds others, which the job's "
      .. "configuration minimizes; use one of them", name)
  end
  if #context.losses == 0 and config.primary_lr then
    core.fail("%s: no loss was added: call flow.losses.add_loss(loss) in the body", name)
  end
  if #context.losses == 0 then
    core.fail("%s: a train job needs an optimizer: call flow.optimizer.SGD(0.1):minimize(loss) in "
      .. "its body", name)
  end
  if not config.primary_lr then
    core.fail("%s: losses were added, but there is no learning rate: set it in the function_config "
      .. "by config.train.primary_lr(0.1)", name)
  end
  local outer = trace.current
  trace.current = context
  local ok, err = pcall(function() old_style(name, config):minimize(context.losses) end)
  trace.current = outer
  if not ok then error(err, 0) end
end

--- flow.losses.
optimizer.losses = {
  --- Adds a loss that the job's configuration minimizes (old spelling).
  add_loss = function(loss)
    local context = trace.need("losses.add_loss")
    need_train_job("losses.add_loss", context)
    context.losses[#context.losses + 1] = need_losses("losses.add_loss", loss)[1]
  end,
}

return optimizer
