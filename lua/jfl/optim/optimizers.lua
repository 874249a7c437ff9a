-- flow.optimizer: what makes a job train.
---@space optimizer
---@box optimizer.CombinedOptimizer
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local apart = require "jfl.job.apart"
local averages = require "jfl.optim.averages"
local core = require "jfl.core"
local decay = require "jfl.optim.decay"
local given = require "jfl.job.given"
local names = require "jfl.base.names"
local policies = require "jfl.optim.policies"
local records = require "jfl.optim.records"
local schedule = require "jfl.optim.schedules"
local trace = require "jfl.job.trace"

local optimizer = { warmup = schedule.warmup, grad_clipping = policies.grad_clipping,
  loss_scale = policies.loss_scale, CustomScheduler = schedule.CustomScheduler }
for name, make in pairs(schedule.kinds) do optimizer[name] = make end

local methods = {}
local Optimizer = { names = methods, class = "Optimizer",
  __tostring = function(self) return self.text end }

--- The losses as a list: from one blob or a list of blobs.
function optimizer.need_losses(who, loss)
  local list = core.type(loss) == "blob" and { loss } or loss
  args.must(type(list) == "table" and #list > 0, loss, "%s: loss must be a blob or a list of blobs",
    who)
  for i, each in ipairs(list) do
    args.blob(who, ("loss: item %d"):format(i), each)
  end
  return list
end

local SEVERAL = "; in place of names a model stands for its variables, and a function is asked "
  .. "for each name"

-- The variables whose names a predicate takes; what it gives may also be the list itself.
local function take_variables(who, context, predicate)
  local list = {}
  for _, v in ipairs(context.trainable) do
    local taken = predicate(v.name)
    if type(taken) == "table" then return taken end
    if taken then list[#list + 1] = v.blob end
  end
  args.check(#list > 0, "%s: variables must take one or more of job '%s', got none", who,
    context.job.name)
  return list
end

local function find_variables(who, context, list)
  if not list then return nil end
  local meta = metatable(list)
  if meta and meta.trainable_in then list = meta.trainable_in(list, context) end   -- of a model
  if type(list) == "function" then list = take_variables(who, context, list) end
  local blobs = {}
  for i, name in ipairs(args.expect(who, "variables", list, "table or function")) do
    blobs[i] = core.type(name) == "blob" and name or core.find_variable(context.graph, name)
    if not blobs[i] then
      local hint = names.suggest(tostring(name), context.variables)
      core.fail("%s: variables: there is no variable '%s' in job '%s'%s", who, tostring(name),
        context.job.name, hint ~= "" and hint or SEVERAL)
    end
  end
  args.check(#blobs > 0, "%s: variables must not be empty; { variables = net } trains those of a "
    .. "model, also in the body that makes them", who)
  return blobs
end

local check_self = args.colon(Optimizer, "optimizer")

-- The variables of a job that weight decay spares.
local function find_spared(self, context, variables)
  if not self.spares then return nil end
  local spared = {}
  for _, v in ipairs(variables or context.trainable) do
    local blob = variables and v or v.blob
    if self.spares(blob.name) then spared[#spared + 1] = blob end
  end
  return spared
end

-- What moves averages of the variables, told which these are.
local function tell_average(average, context, variables, request)
  if not average then return end
  request.average, request.average_warms_up = average.decay, average.warms_up
  for _, blob in ipairs(variables or context.trainable) do average:cover(blob.name) end
end

-- Has the core minimize losses of a body.
local function minimize(self, who, context, losses)
  local variables = find_variables(who, context, self.variables)
  local request = { losses = losses, optimizer = self.name,
    options = self.options, variables = variables,
    undecayed = find_spared(self, context, variables) }
  for name, value in pairs(self.request) do request[name] = value end
  schedule.request(who, context, self.schedule, request)
  tell_average(self.average, context, variables, request)
  core.minimize(context.graph, request)
  -- Counts an optimizer that the body has used. The number is that of the core.
  context.n_optimizers = context.n_optimizers + 1
  self.trained[context.job] = context.n_optimizers
  self.latest = context.job
end

--- Makes the job change variables so that the loss gets smaller: a blob, or a list of blobs whose
-- gradients add up. Gradients are divided by the number of elements of the loss. A body may call it
-- for several optimizers, each with variables of its own: each takes the gradients of its own loss,
-- and all are taken before any variable changes.
function methods:minimize(loss)
  check_self(self, "minimize")
  local who = self.name .. ".minimize"
  local training = trace.need_train(who)
  apart.together(training, who, optimizer.need_losses(who, loss), function(lists, context)
    minimize(self, who, context, apart.losses(who, context, lists))
  end)
end

-- The plan of a job that the optimizer trains. Any does: those of a job share its variables.
local function plan_of(who, job)
  if trace.current then
    core.fail("%s: the body of '%s' only describes its job; rates are read and set between calls",
      who, trace.current.job.name)
  end
  return job:compile()._latest.plan
end

--- Sets the learning rate of the calls to come, in every job that the optimizer trains, whatever
-- its schedule says; nil: the schedule rules again. Nothing is compiled anew, and checkpoints keep
-- the rate.
function methods:set_lr(rate)
  check_self(self, "set_lr")
  local who = self.name .. ".set_lr"
  if rate ~= nil then args.expect(who, "rate", rate, "number") end
  if not self.latest then
    if rate then self.schedule = schedule.of(who, rate) end
    return
  end
  for job, i in pairs(self.trained) do
    if job._closed then self.trained[job] = nil
    else core.plan_set_rate(plan_of(who, job), i, rate) end
  end
end

-- The learning rate of the next call, of the job traced last.
local function present_rate(self)
  local job = self.latest
  if not job then return schedule.rate(self.schedule, 0) end
  local plan = plan_of(self.name .. ".lr", job)
  local set = core.plan_rate_set(plan, self.trained[job])
  if set or self.schedule.op then return set or core.plan_rate(plan, self.trained[job]) end
  return schedule.rate(self.schedule, given.step(job, job._latest))
end

-- The names of what an optimizer has, for messages.
local function contents(self)
  local list = { lr = true }
  for _, of in ipairs { methods, self.options } do
    for name in pairs(of) do list[name] = true end
  end
  return args.names_of(list)
end

function Optimizer:__index(key)
  if methods[key] then return methods[key] end
  if key == "lr" then return present_rate(self) end
  if self.options[key] ~= nil then return self.options[key] end
  if type(key) ~= "string" or key:sub(1, 1) == "_" then return nil end
  if key == "step" or key == "zero_grad" then                       -- what PyTorch's have
    core.fail("an optimizer has no '%s': optimizer:minimize(loss) in the job's body makes every "
      .. "call of the job a step", key)
  end
  core.fail("%s has no '%s'; it has %s", self.name, key, contents(self))
end

function Optimizer:__newindex(key, value)
  if key == "lr" then return methods.set_lr(self, value) end
  if self.options[key] == nil then
    core.fail("%s has no '%s'; it has %s, and lr alone can be set", self.name, tostring(key),
      contents(self))
  end
  core.fail("%s: '%s' cannot be set later; give it where the optimizer is made: "
    .. "flow.optimizer.%s(rate, {%s = %s})", self.name, key, self.name, key, tostring(value))
end

-- What optimizers take beside their own parameters, in the original's order: SCALE stands before or
-- behind these, DECAY follows weight_decay.
local RATE = { "lr_scheduler", "a number, a scheduler, or a function of the step to a number",
  type = "number|Scheduler|fun(step: integer): number" }
local SCALE = { "loss_scale_factor", "the same as loss_scale.static_loss_scale(it)", args.none,
  type = "number" }
local DECAY = {
  { "weight_decay_includes", "regular expressions; what weights decay has a name that one of them "
    .. "finds", args.none, type = "string[]" },
  { "weight_decay_excludes", "the same for what does not decay", args.none, type = "string[]" },
}
local COMMON = {
  { "grad_clipping", "such as grad_clipping.by_global_norm(1)", args.none, type = "Clipping" },
  { "train_step_lbn", "a blob, int64 of one element, that counts steps in place of the job",
    args.none, type = "Blob" },
  { "loss_scale_policy", "such as loss_scale.dynamic_loss_scale()", args.none, type = "LossScale" },
  { "variables", "what is trained: a model, names or blobs, or a function that says of a name "
    .. "whether it is; all trainable variables", args.none,
    type = "Model|(string|Blob)[]|fun(name: string): boolean|(string|Blob)[]" },
}
local NEWER = {
  { "gradient_accumulation_steps", "how many calls' gradients a step takes the mean of", 1,
    type = "integer" },
  { "moving_average", "what flow.train.ExponentialMovingAverage(decay) gives", args.none,
    type = "MovingAverage" },
}

-- Parameters of records that the original does not have, which follow its own.
local IS_NEWER = { nesterov = true, amsgrad = true }
-- Optimizers of which loss_scale_factor comes first.
local SCALE_FIRST = { SGD = true, SGDW = true }

local function append(list, more)
  for _, each in ipairs(more) do list[#list + 1] = each end
end

local function params_of(info)
  local params, own, newer, decays = { RATE, returns = "Optimizer" }, {}, {}, {}
  for _, param in ipairs(info.params) do
    local list = IS_NEWER[param.name] and newer or param.name == "weight_decay" and decays or own
    list[#list + 1] = records.param(param)
  end
  if SCALE_FIRST[info.name] then params[2] = SCALE end
  append(params, own)
  if not SCALE_FIRST[info.name] then params[#params + 1] = SCALE end
  append(params, decays)
  if decays[1] then append(params, DECAY) end
  append(params, COMMON)
  append(params, newer)
  append(params, NEWER)
  return params
end

-- What the options ask of the core at each minimize.
local function request_of(who, o)
  local request, steps = {}, o.gradient_accumulation_steps
  policies.clip(who, o.grad_clipping, request)
  policies.scale(who, o.loss_scale_factor, o.loss_scale_policy, request)
  request.accumulate = args.integer(who, "gradient_accumulation_steps", steps, 1)
  request.step = o.train_step_lbn
  if request.step then args.blob(who, "train_step_lbn", request.step) end
  if request.step and request.scale_period then
    core.fail("%s: train_step_lbn and dynamic_loss_scale exclude each other, as steps that are "
      .. "skipped do not count", who)
  end
  return request
end

-- The function that makes an optimizer which the core has a record of.
local function define(info)
  local path = "optimizer." .. info.name
  return args.define(path, info.doc, params_of(info), function(o)
    local options, rate = records.read(path, info.params, o), schedule.of(path, o.lr_scheduler)
    core.optimizer_check(info.name, options)
    return setmetatable({ name = info.name, options = options, schedule = rate,
      text = ("%s(%s, %s)"):format(info.name, tostring(rate), records.text(info.params, options)),
      variables = o.variables or false, trained = {}, latest = false,
      request = request_of(path, o), spares = decay.spares(path, o) or false,
      average = averages.of(path, o.moving_average) or false }, Optimizer)
  end)
end

for _, info in ipairs(core.optimizers()) do optimizer[info.name] = define(info) end

-- The variables that no member of a combination names itself.
local function rest_for(who, context, optimizers)
  local taken, rest = {}, {}
  for _, each in ipairs(optimizers) do
    for _, blob in ipairs(find_variables(who, context, each.variables) or {}) do
      taken[blob.name] = true
    end
  end
  for _, v in ipairs(context.trainable) do
    if not taken[v.name] then rest[#rest + 1] = v.name end
  end
  return rest
end

local Combined = { __tostring = function(self)
  local parts = {}
  for i, each in ipairs(self.optimizers) do parts[i] = tostring(each) end
  return "CombinedOptimizer({" .. table.concat(parts, ", ") .. "})"
end }
Combined.__index = Combined

local check_combined = args.colon(Combined, "optimizer")

--- Lets each member train its variables along the gradients of the loss.
function Combined:minimize(loss)
  check_combined(self, "minimize")
  local who = "CombinedOptimizer.minimize"
  local context = trace.need_train(who)
  for _, each in ipairs(self.optimizers) do
    local all = not each.variables
    if all then each.variables = rest_for(who, context, self.optimizers) end
    for name, value in pairs(self.request) do each.request[name] = value end
    each:minimize(loss)
    if all then each.variables = false end
  end
end

local function check_members(who, list)
  local free
  for i, each in ipairs(args.expect(who, "optimizers", list, "table")) do
    args.must(metatable(each) == Optimizer, each,
      "%s: optimizers: item %d must be an optimizer such as flow.optimizer.SGD(0.1)", who, i)
    if each.request.loss_scale or each.request.step then
      core.fail("%s: optimizers: item %d must leave loss scale and train_step_lbn to the "
        .. "combination", who, i)
    end
    if not each.variables and free then
      core.fail("%s: optimizers: items %d and %d both lack variables; one alone gets what the "
        .. "others leave", who, free, i)
    end
    if not each.variables then free = i end
  end
  if #list == 0 then core.fail("%s: optimizers must not be empty", who) end
  return list
end

optimizer.CombinedOptimizer = args.define("optimizer.CombinedOptimizer",
  "Several optimizers of one loss, each with variables of its own.", {
    { "optimizers", "a list; one without variables gets those that the others leave",
      type = "Optimizer[]" },
    SCALE, COMMON[2], COMMON[3],
    returns = "Optimizer",
  }, function(o, who)
    o.gradient_accumulation_steps = 1
    local request = request_of(who, o)
    request.accumulate = nil
    return setmetatable({ optimizers = check_members(who, o.optimizers), request = request },
      Combined)
  end)

--- Ends the body of a train job, which must have an optimizer, or assign to variables itself.
function optimizer.close(context)
  if context.n_optimizers > 0 or context.assigns then return end
  core.fail("%s: a train job needs an optimizer: call flow.optimizer.SGD(0.1):minimize(loss) in "
    .. "its body", context.job.name)
end

return optimizer
