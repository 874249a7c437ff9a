-- flow.optimizer: what makes a job train.
local args = require "jfl.base.args"
local core = require "jfl.core"
local names = require "jfl.base.names"
local older = require "jfl.legacy.arguments"
local records = require "jfl.net.records"
local schedule = require "jfl.net.schedules"
local trace = require "jfl.job.trace"

local optimizer = { warmup = schedule.warmup }
for name, make in pairs(schedule.kinds) do optimizer[name] = make end

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

local methods = {}
local Optimizer = { names = methods, __tostring = function(self) return self.text end }

--- The losses as a list: from one blob or a list of blobs.
function optimizer.need_losses(who, loss)
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

-- The variables whose names a predicate takes; what it gives may also be the list itself.
local function take_variables(who, context, predicate)
  local list = {}
  for _, v in ipairs(context.trainable) do
    local taken = predicate(v.name)
    if type(taken) == "table" then return taken end
    if taken then list[#list + 1] = v.blob end
  end
  if #list == 0 then
    core.fail("%s: variables must take one or more of job '%s', got none", who, context.job.name)
  end
  return list
end

local function find_variables(who, context, list)
  if not list then return nil end
  if type(list) == "function" then list = take_variables(who, context, list) end
  local blobs = {}
  for i, name in ipairs(args.expect(who, "variables", list, "table or function")) do
    blobs[i] = core.type(name) == "blob" and name or core.find_variable(context.graph, name)
    if not blobs[i] then
      core.fail("%s: variables: there is no variable '%s' in job '%s'%s", who, tostring(name),
        context.job.name, names.suggest(tostring(name), context.variables))
    end
  end
  if #blobs == 0 then core.fail("%s: variables must not be empty", who) end
  return blobs
end

local function check_self(self, method)
  if getmetatable(self) == Optimizer then return end
  core.fail("%s: call it with a colon: optimizer:%s(...)", method, method)
end

--- Makes the job change variables so that the loss gets smaller: a blob, or a list of blobs whose
-- gradients add up. Gradients are divided by the number of elements of the loss. A body may call it
-- for several optimizers, each with variables of its own: each takes the gradients of its own loss,
-- and all are taken before any variable changes.
function methods:minimize(loss)
  if getmetatable(self) ~= Optimizer then
    core.fail("minimize: call it with a colon: optimizer:minimize(loss)")
  end
  local who = self.name .. ".minimize"
  local context = trace.need_train(who)
  core.minimize(context.graph, {
    losses = optimizer.need_losses(who, loss), optimizer = self.name, options = self.options,
    schedule = self.schedule.op, schedule_options = self.schedule.options,
    variables = find_variables(who, context, self.variables), clip_norm = self.clip_norm or nil,
  })
  context.n_optimizers = context.n_optimizers + 1
  self.trained[context.job] = context.n_optimizers
  self.latest = context.job
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
  return core.plan_rate(plan_of(self.name .. ".lr", job), self.trained[job])
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

-- What all optimizers take: before their own parameters, and behind them.
local RATE = { "lr_scheduler", "a number or a scheduler", type = "number|Scheduler" }
local COMMON = {
  { "grad_clipping", "such as grad_clipping.by_global_norm(1)", args.none, type = "Clipping" },
  { "variables", "what is trained: names or blobs, or a function that says of a name whether it "
    .. "is; all trainable variables", args.none,
    type = "(string|Blob)[]|fun(name: string): boolean|(string|Blob)[]" },
}

-- The function that makes an optimizer which the core has a record of.
local function define(info)
  local path, params = "optimizer." .. info.name, { RATE, returns = "Optimizer" }
  for _, param in ipairs(info.params) do params[#params + 1] = records.param(param) end
  for _, common in ipairs(COMMON) do params[#params + 1] = common end
  older[path] = older.of_optimizer(info.name, #info.params)
  return args.define(path, info.doc, params, function(o)
    local options, rate = records.read(path, info.params, o), schedule.of(path, o.lr_scheduler)
    core.optimizer_check(info.name, options)
    return setmetatable({ name = info.name, options = options, schedule = rate,
      text = ("%s(%s, %s)"):format(info.name, tostring(rate), records.text(info.params, options)),
      variables = o.variables or false, trained = {}, latest = false,
      clip_norm = clip_norm(path, o.grad_clipping) or false }, Optimizer)
  end)
end

for _, info in ipairs(core.optimizers()) do optimizer[info.name] = define(info) end

--- Ends a body: a train job must have an optimizer.
function optimizer.close(context)
  if context.mode ~= "train" or context.n_optimizers > 0 then return end
  core.fail("%s: a train job needs an optimizer: call flow.optimizer.SGD(0.1):minimize(loss) in "
    .. "its body", context.job.name)
end

return optimizer
