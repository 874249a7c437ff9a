-- flow.losses: the original's way to train. A body adds losses, and the job's configuration says
-- how they are minimized.
local args = require "jfl.base.args"
local apart = require "jfl.job.apart"
local core = require "jfl.core"
local names = require "jfl.base.names"
local optimizers = require "jfl.optim.optimizers"
local trace = require "jfl.job.trace"
local update_conf = require "jfl.legacy.update_conf"

local losses = {}

local added = setmetatable({}, { __mode = "k" })     -- a list of losses for each context

--- Adds a loss that the job's configuration minimizes.
function losses.add_loss(loss)
  local who = "losses.add_loss"
  local context = trace.need(who)
  args.check(context.mode == "train", "%s: job '%s' is a predict job, as nothing says how it "
    .. "trains: set the learning rate in its function_config, by config.train.primary_lr(0.1)", who,
    context.job.name)
  apart.together(context, who, optimizers.need_losses(who, loss), function(lists, all)
    added[all] = added[all] or {}
    table.insert(added[all], apart.losses(who, all, lists)[1])
  end)
end

-- The optimizer that the options of function_config().train say: SGD unless they name another.
local function optimizer_of(name, config)
  local rate = config.primary_lr
  local parsed = config.model_update_conf or { optimizer = "SGD", options = { momentum = 0 } }
  args.check(rate, "%s: losses were added, but there is no learning rate: set it in the "
    .. "function_config by config.train.primary_lr(0.1)", name)
  if config.secondary_lr and config.secondary_lr ~= rate then
    core.fail("%s: train.secondary_lr is %g and primary_lr %g: one rate serves all variables", name,
      config.secondary_lr, rate)
  end
  local options = {}
  for option, value in pairs(parsed.options) do options[option] = value end
  options.grad_clipping = parsed.clip_norm
    and optimizers.grad_clipping.by_global_norm(parsed.clip_norm)
  return optimizers[parsed.optimizer](update_conf.schedule(parsed, rate), options)
end

--- Minimizes the losses that a train job's body has added, if it has.
function losses.minimize(context)
  local list, name, config = added[context], context.job.name, context.config.train or {}
  if not list then
    if context.n_optimizers > 0 or not config.primary_lr then return end
    core.fail("%s: no loss was added: call flow.losses.add_loss(loss) in the body", name)
  end
  args.check(context.n_optimizers == 0, "%s: an optimizer minimizes a loss, and losses.add_loss "
    .. "adds others, which the job's configuration minimizes; use one of them", name)
  trace.within(context, function() optimizer_of(name, config):minimize(list) end)
end

--- What scripts see of it.
losses.api = names.guard("flow.losses", { add_loss = losses.add_loss })

return losses
