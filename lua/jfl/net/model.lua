-- flow.model: a function from blobs to blobs that owns its variables and makes jobs of itself.
---@box model
local args = require "jfl.base.args"
local core = require "jfl.core"
local debug = require "debug"
local inputs = require "jfl.job.inputs"
local is_model = require "jfl.base.is_model"
local job = require "jfl.job.job"
local names = require "jfl.base.names"
local registry = require "jfl.base.registry"
local trace = require "jfl.job.trace"
local typing = require "jfl.job.typing"
local variable = require "jfl.net.variable"
local weights = require "jfl.net.weights"

local model = {}

local Model, methods = { help = "model", class = "Model" }, {}

-- ---- the namespace ----

-- The models that are not made within a body, by their namespaces.
local owners = {}
job.on_clear(function() owners = {} end)

-- The model whose variables these are: the one itself, or the one that it shares those of.
local function root_of(self)
  while self._share do self = self._share end
  return self
end

local function place(by) return ("%s:%d"):format(by.short_src, by.currentline) end

-- Whether a second model of a name is another one and not the same anew. A file that is read again
-- makes it by another function, and so does the prompt.
local function is_another(first, second)
  local a, b = first._by, second._by
  if a.func ~= b.func then
    return a.source ~= b.source and a.source:find("^@") ~= nil and b.source:find("^@") ~= nil
  end
  return first._body == second._body
    or debug.getinfo(second._body, "S").source == b.source
end

local function check_owner(self, path)
  local other = owners[path]
  if other and other ~= self and is_another(other, self) then
    core.fail("model '%s' (%s): there is a model of that name (%s), and the name is that of the "
      .. "variables: give one another name or, where both are to have the same variables, "
      .. "{ share = the first }", path, place(self._by), place(other._by))
  end
  owners[path] = self
end

--- Leaves the name of a model to another one.
function model.leave(self)
  if owners[self.name] == self then owners[self.name] = nil end
end

-- Settles the namespace of a model, which begins with that of the body that calls it first.
local function bind(self, prefix)
  local root = root_of(self)
  root._path = root._path or prefix .. root._name
  if not root._within then check_owner(root, root._path) end
  return root, root._path
end

-- ---- calls in bodies ----

-- Fails where two models made in one body have one name.
local function check_body(context, root, path)
  local models = context.models or {}
  context.models = models
  local other = models[path]
  if other and other ~= root then
    core.fail("model '%s': the body calls two models of that name; give each a name of its own",
      path)
  end
  models[path] = root
  return other ~= nil
end

-- The dtypes and shapes of what a model is called with; false where that is not blobs alone.
local function called_with(...)
  local list = {}
  for i = 1, select("#", ...) do
    local x = select(i, ...)
    if core.type(x) ~= "blob" then return false end
    list[i] = { dtype = x.dtype, shape = x.shape }
  end
  return #list > 0 and list
end

-- Runs the model's function as a part of a body. Names within are the model's own: they begin anew
-- at each call, and a call after the first one has the variables of that.
function Model:__call(...)
  local context = trace.current
  args.check(context, "model '%s': called outside of a body, where there are no blobs; a job of it "
    .. "takes arrays: net:predict { inputs = { flow.float32 { -1, 28, 28 } } }", self.name)
  local root, path = bind(self, context.prefix)
  if self == root then rawset(self, "_called", called_with(...)) end
  local before = { context.prefix, context.counters, context.reuses, context.owner }
  local is_again = check_body(context, root, path)
  if context.owner then variable.note(context.owner, path, root) end
  context.prefix, context.counters = path .. "-", {}
  context.reuses, context.owner = is_again, root
  local values, n = { ... }, select("#", ...)
  return trace.enter(function() return self._body(unpack(values, 1, n)) end, function()
    context.prefix, context.counters, context.reuses, context.owner = unpack(before, 1, 4)
  end)
end

-- ---- jobs ----

local check_self = args.colon(Model, "net")

local FIELDS = {
  train = { name = true, inputs = true, loss = true, optimizer = true, returns = true,
    function_config = true },
  evaluate = { name = true, inputs = true, loss = true, returns = true, function_config = true },
  predict = { name = true, inputs = true, output = true, returns = true, function_config = true },
}

local function check_fields(who, kind, t)
  args.must(type(t) == "table", t, "%s: argument 1 must be a table with inputs%s", who,
    kind == "train" and ", loss and optimizer" or kind == "evaluate" and " and loss" or "")
  args.known(who, t, FIELDS[kind], "field")
  args.check(t.inputs ~= nil, "%s: inputs is missing: what a call takes, such as { flow.float32 { "
    .. "-1, 28, 28 } }", who)
end

local function check_function(who, name, value, example)
  if args.is_callable(value) then return end
  core.fail("%s: %s must be a function such as %s, got %s", who, name, example,
    args.describe(value))
end

local function check_loss(who, t)
  args.check(t.loss ~= nil, "%s: loss is missing: a function of what the model gives, and of the "
    .. "inputs that the model does not take, such as flow.nn.cross_entropy", who)
  check_function(who, "loss", t.loss, "flow.nn.cross_entropy")
end

local function check_optimizer(who, t)
  args.check(t.optimizer ~= nil, "%s: optimizer is missing: it changes the variables so that the "
    .. "loss gets smaller, such as flow.optimizer.Adam(0.001)", who)
  local ok, minimize = pcall(function() return t.optimizer.minimize end)
  args.must(ok and type(minimize) == "function", t.optimizer,
    "%s: optimizer must be one such as flow.optimizer.Adam(0.001)", who)
end

-- The parameters behind the first of a loss that flow has: what the inputs left are called.
local function of_flow(loss, n)
  local path = registry.path_of(loss)
  local defined = path and registry.defined(path)
  local list = {}
  for i = 1, defined and n or 0 do
    local param = defined.params[i + 1]
    list[i] = param and param.type == "Tensor" and param[1] or nil
  end
  return list
end

-- Whether a table of inputs has all of the model's own.
local function has_all(given, own)
  for _, name in ipairs(own) do
    if given[name] == nil then return false end
  end
  return true
end

-- The names that inputs may have: those of the model's parameters, and behind them the loss's own,
-- of which the first are what the model gives.
local function parameters_for(own, t)
  local list, known = { unpack(own) }, {}
  for _, name in ipairs(own) do known[name] = true end
  local more = type(t.loss) == "function" and inputs.parameters(t.loss) or {}
  if #more == 0 and t.loss and not args.is_options(t.inputs) then
    more = of_flow(t.loss, math.max(0, #t.inputs - #own))
  end
  local n_more = #more
  if not args.is_options(t.inputs) then n_more = math.max(0, #t.inputs - #own) end
  for i = math.max(1, #more - n_more + 1), #more do
    if not known[more[i]] then list[#list + 1], known[more[i]] = more[i], true end
  end
  if not args.is_options(t.inputs) then return list end
  local left = {}
  for name in pairs(t.inputs) do
    if not known[name] then left[#left + 1] = name end
  end
  if t.loss and #more == 0 and #left == 1 and has_all(t.inputs, own) then
    list[#list + 1] = left[1]
  end
  return list
end

-- The inputs of a job of the model as { name, type }, and how many of them the model takes.
local function read_inputs(self, who, kind, t)
  local own, takes_any = self._parameters, false
  if not own then own, takes_any = inputs.parameters(self._body) end
  local list = inputs.read(who, t.inputs, parameters_for(own, t))
  local n = self._parameters and #own
    or math.max(#own, debug.getinfo(self._body, "u").nparams)
  if takes_any and kind ~= "predict" and #list > n then
    core.fail("%s: the function of the model takes any number of inputs (...), so which are the "
      .. "loss's is not known: name its parameters", who)
  end
  if takes_any then n = math.max(n, #list) end
  if #list < n or kind == "predict" and #list > n then
    core.fail("%s: the model takes %d input%s%s, got %d%s", who, n, n == 1 and "" or "s",
      #own > 0 and " (" .. table.concat(own, ", ") .. ")" or "", #list,
      kind == "predict" and #list > n and "; those of a loss belong to net:train" or "")
  end
  for i, input in ipairs(list) do list[i] = { input.name, input.type } end
  return list, n
end

-- A body that gives the model its inputs, and what it gives to finish, with the inputs left.
local function body_of(self, n, finish)
  local function body(...)
    local rest = { select(n + 1, ...) }
    local n_rest, blobs = select("#", ...) - n, { ... }
    local function go(...)
      local values, count = { ... }, select("#", ...)
      for i = 1, n_rest do values[count + i] = rest[i] end
      return finish(unpack(values, 1, count + n_rest))
    end
    return go(self(unpack(blobs, 1, n)))
  end
  return trace.stand_for(body, self._body)
end

-- Defines a job of the model, named by `name` or its kind behind the namespace.
local function define(self, kind, t, finish)
  local _, path = bind(self, "")
  local who = ("model '%s': %s"):format(path, kind)
  local list, n = read_inputs(self, who, kind, t)
  local name = t.name == nil and kind or args.name(who, "name", t.name)
  return job.global_function { name = path .. "-" .. name, inputs = list,
    type = kind == "train" and "train" or "predict",
    returns = t.returns == nil and typing.any or t.returns, function_config = t.function_config,
    body = body_of(self, n, finish) }
end

--- A job whose calls train the model: { inputs, loss, optimizer }, and name, returns and
-- function_config if wanted. The model gets as many inputs as its function has parameters, and loss
-- what the model gives with the inputs that are left. A call gives what loss does; the first of
-- that is made smaller.
function methods:train(t)
  check_self(self, "train")
  local who = ("model '%s': train"):format(self.name)
  job.check_no_body(who)
  check_fields(who, "train", t)
  check_loss(who, t)
  check_optimizer(who, t)
  local loss_of, optimizer = t.loss, t.optimizer
  local function minimize(loss, ...)
    args.must(core.type(loss) == "blob", loss, "%s: loss must give a blob", who)
    optimizer:minimize(loss)
    return loss, ...
  end
  return define(self, "train", t, function(...) return minimize(loss_of(...)) end)
end

--- A job whose calls judge the model: { inputs, loss }, and name, returns and function_config if
-- wanted. It takes what a train job takes, and gives the loss and then what the model gives.
function methods:evaluate(t)
  check_self(self, "evaluate")
  local who = ("model '%s': evaluate"):format(self.name)
  job.check_no_body(who)
  check_fields(who, "evaluate", t)
  check_loss(who, t)
  return define(self, "evaluate", t, function(...)
    local said = ...
    return (t.loss(...)), said
  end)
end

--- A job whose calls run the model: { inputs }, and name, returns and function_config if wanted;
-- output: a function of what the model gives, such as flow.nn.softmax, to what a call gives.
function methods:predict(t)
  check_self(self, "predict")
  local who = ("model '%s': predict"):format(self.name)
  job.check_no_body(who)
  check_fields(who, "predict", t)
  if t.output ~= nil then check_function(who, "output", t.output, "flow.nn.softmax") end
  return define(self, "predict", t, t.output or function(...) return ... end)
end

-- ---- variables ----

--- What an optimizer trains that is told { variables = the model }, in the body that runs.
function Model.trainable_in(self, context) return weights.trainable_in(root_of(self), context) end

for name, f in pairs(weights.methods) do
  methods[name] = function(self, ...) return f(root_of(check_self(self, name)), ...) end
end

-- ---- the object ----

-- What models of other libraries have, and what does it here.
local ELSEWHERE = { parameters = "net:variables()", named_parameters = "net:variables()",
  weights = "net:variables()", state_dict = "net:variables()", get_weights = "net:variables()",
  load_state_dict = "net:load(arrays)", set_weights = "net:load(arrays)",
  load_variables = "net:load(arrays)", assign = "net:load(arrays)",
  load_weights = "net:load(path)", save_weights = "net:save(path)", compile = "net:train { ... }",
  forward = "net(x), in a body", call = "net(x), in a body", eval = "net:predict { ... }",
  fit = "flow.fit(net, data, { ... })", requires_grad_ = "net:freeze(pattern)",
  layers = "net:summary()" }

function Model:__index(key)
  if methods[key] then return methods[key] end
  if key == "name" then
    local root = root_of(self)
    return root._path or root._name
  end
  if type(key) ~= "string" or key:sub(1, 1) == "_" then return nil end
  local known = { name = true }
  for name in pairs(methods) do known[name] = true end
  local instead = ELSEWHERE[key]
  core.fail("model '%s' has no '%s'; it has %s%s", self.name, key, args.names_of(known),
    instead and "; did you mean " .. instead .. "?" or names.suggest(key, known))
end

function Model:__newindex(key)
  core.fail("model '%s' cannot be changed: '%s' is not set", self.name, tostring(key))
end

function Model:__tostring() return ("model '%s'"):format(self.name) end

model.is = is_model

--- The names of what a model takes.
function model.parameters(net)
  return net._parameters or (inputs.parameters(net._body))
end

--- A model whose body is described elsewhere. parameters: the names of its inputs, where the
-- function does not have them.
function model.new(name, body, parameters, share)
  return setmetatable({ _name = name, _body = body, _share = share or false, _path = false,
    _within = trace.current ~= false, _by = job.definer(), _parts = {}, _has = {},
    _parameters = parameters or false, _description = false, _called = false }, Model)
end

model.model = args.define("model", "A network that owns its variables and makes jobs of itself: "
  .. "called in a body it is a part of that.", {
    { "name", "the namespace of its variables and jobs", type = "string" },
    { "body", "a function from blobs to blobs, which describes it",
      type = "fun(...: Blob): any?, any?, any?" },
    { "share", "the model that lends its variables and its name", args.none, type = "Model" },
    returns = "Model",
  }, function(o)
    args.name("model", "name", o.name)
    args.expect("model", "body", o.body, "function")
    args.must(o.share == nil or model.is(o.share), o.share, "model: share must be a model")
    return model.new(o.name, o.body, nil, o.share)
  end)

--- Says in a text which network a model is; its checkpoints keep that.
function model.describe(self, text) rawset(self, "_description", text) end

return model
