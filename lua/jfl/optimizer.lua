-- flow.optimizer and flow.losses: what makes a job train.
local args = require "jfl.args"
local core = require "jfl.core"
local schedule = require "jfl.schedule"
local trace = require "jfl.trace"
local variable = require "jfl.variable"

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
      core.fail("%s: clip_norm: expected a positive number, got %s", who, args.describe(norm))
    end
    return setmetatable({ norm = norm }, Clipping)
  end),
}

local function clip_norm(who, clipping)
  if clipping == nil then return nil end
  if getmetatable(clipping) == Clipping then return clipping.norm end
  core.fail("%s: grad_clipping: expected optimizer.grad_clipping.by_global_norm(clip_norm), got %s",
    who, args.describe(clipping))
end

local Optimizer = { __tostring = function(self) return self.name end }
Optimizer.__index = Optimizer

local function need_losses(who, loss)
  local list = core.type(loss) == "blob" and { loss } or loss
  if type(list) ~= "table" or #list == 0 then
    core.fail("%s: loss: expected a blob or a list of blobs, got %s", who, args.describe(loss))
  end
  for i, each in ipairs(list) do
    if core.type(each) ~= "blob" then
      core.fail("%s: loss: item %d: expected a blob, got %s", who, i, args.describe(each))
    end
  end
  return list
end

local function find_variables(who, context, names)
  if names == nil then return nil end
  local blobs = {}
  for i, name in ipairs(type(names) == "function" and names() or names) do
    blobs[i] = core.type(name) == "blob" and name or core.find_variable(context.graph, name)
    if not blobs[i] then
      core.fail("%s: variables: there is no variable '%s' in job '%s'", who, tostring(name),
        context.job.name)
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

local CONF = "train.model_update_conf"

-- Reads an entry of it: a table with some of these fields.
local function entry(path, fields, read)
  return function(conf)
    for field in pairs(args.expect(CONF, path, conf, "table")) do
      if not fields[field] then
        local names = args.names_of(fields)
        core.fail("%s: %s: unknown field '%s'; %s", CONF, path, tostring(field),
          names == "" and "it has none" or "fields are " .. names)
      end
    end
    return read(conf)
  end
end

local UPDATES = {
  naive_conf = entry("naive_conf", {}, function() return 0 end),
  momentum_conf = entry("momentum_conf", { beta = true }, function(conf)
    return conf.beta or 0.9
  end),
}

local WARMUPS = {
  constant_conf = entry("constant_conf", { warmup_batches = true, multiplier = true },
    function(conf) return schedule.warmup.constant(conf.warmup_batches, conf.multiplier) end),
  linear_conf = entry("linear_conf", { warmup_batches = true, start_multiplier = true },
    function(conf) return schedule.warmup.linear(conf.warmup_batches, conf.start_multiplier) end),
}

local DECAYS = {
  piecewise_constant_conf = entry("piecewise_constant_conf", { boundaries = true, values = true },
    function(conf) return conf end),
}

local function one_of(table_of, conf, what)
  local key, value = next(args.expect(CONF, what, conf, "table"))
  if table_of[key] then return table_of[key](value) end
  core.fail("%s: %s: expected one of %s with a table, got '%s'", CONF, what,
    args.names_of(table_of), tostring(key))
end

local function read_update_conf(conf)
  local momentum, decay, warmup = 0, nil, nil
  for key, value in pairs(conf) do
    if key == "learning_rate_decay" then
      decay = one_of(DECAYS, value, key)
    elseif key == "warmup_conf" then
      warmup = one_of(WARMUPS, value, key)
    elseif UPDATES[key] then
      momentum = UPDATES[key](value)
    else
      core.fail("%s: unknown entry '%s'; entries are naive_conf, momentum_conf, "
        .. "learning_rate_decay, warmup_conf", CONF, tostring(key))
    end
  end
  return momentum, decay, warmup
end

local function old_style(config)
  local momentum, decay, warmup = read_update_conf(config.model_update_conf or {})
  local boundaries, values = {}, { config.primary_lr }
  if decay then boundaries, values = decay.boundaries, decay.values end
  local rate = schedule.PiecewiseConstantScheduler(boundaries, values, warmup)
  return optimizer.SGD(rate, { momentum = momentum })
end

--- Ends a body: minimizes added losses, and makes sure that a train job trains.
function optimizer.close(context)
  if context.mode ~= "train" or context.minimized then return end
  local name, config = context.job.name, context.config.train
  if #context.losses == 0 then
    core.fail("%s: a train job needs an optimizer: call flow.optimizer.SGD(0.1):minimize(loss) in "
      .. "its body", name)
  end
  if not config.primary_lr then
    core.fail("%s: losses were added, but no learning rate: config.train.primary_lr(rate)", name)
  end
  local outer = trace.current
  trace.current = context
  local ok, err = pcall(function() old_style(config):minimize(context.losses) end)
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
