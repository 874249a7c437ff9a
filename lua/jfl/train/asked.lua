-- What is asked of flow.fit, read and checked; and the jobs of a model that is to be trained.
local args = require "jfl.base.args"
local columns = require "jfl.data.columns"
local core = require "jfl.core"
local counter = require "jfl.train.counter"
local feed = require "jfl.train.feed"
local job = require "jfl.job.job"
local model = require "jfl.net.model"

local asked = {}

local FIT, VALIDATION = "fit", "fit-validation"      -- the names of a model's jobs

-- ---- jobs ----

-- Which columns go to the inputs of a model's jobs: those with the names of its parameters and then
-- the others, or all in their order.
local function order_of(net, titles, n)
  local place, order, taken = {}, {}, {}
  for i, title in ipairs(titles or {}) do place[title] = i end
  local own = model.parameters(net)
  for _, name in ipairs(own) do order[#order + 1] = place[name] end
  if #order < #own then order = {} end
  for _, i in ipairs(order) do taken[i] = true end
  for i = 1, n do order[#order + 1] = not taken[i] and i or nil end
  return order
end

-- The types of a batch's values in the order of the inputs, and that order; both from the data.
local function types_of(who, net, o)
  local types, titles = feed.types(who, o.data, o)
  local list, order = {}, order_of(net, titles, #types)
  for i, at in ipairs(order) do list[i] = types[at] end
  return list, order
end

-- The columns of data by names: the model's parameters, then the one that is left; nil where that
-- does not tell them all.
local function columns_of(net, data)
  if not columns.are_named(data) then return nil end
  local list, known = {}, {}
  for i, name in ipairs(model.parameters(net)) do
    if data[name] == nil then return nil end
    list[i], known[name] = name, true
  end
  local own = #list
  for name in pairs(data) do list[#list + 1] = not known[name] and name or nil end
  return own > 0 and #list == own + 1 and list or nil
end

--- Puts the jobs of a model into the options in its place.
function asked.jobs(who, o)
  local net = o.job
  if not model.is(net) then return end
  if o.columns == nil then o.columns = columns_of(net, o.data) end
  local types = o.inputs
  if types == nil then types, o.positions = types_of(who, net, o) end
  for _, name in ipairs { FIT, VALIDATION } do job.is_mine(("%s-%s"):format(net.name, name)) end
  o.job = net:train { name = FIT, inputs = types, loss = o.loss, optimizer = o.optimizer }
  if o.validation ~= nil then
    o.predict = net:evaluate { name = VALIDATION, inputs = types, loss = o.loss }
  end
end

local function check_model(o)
  args.check(o.predict == nil, "fit: predict belongs to a job; a model makes its own")
  for _, name in ipairs { "loss", "optimizer" } do
    args.check(o[name] ~= nil, "fit: %s is missing, which a model needs: { loss = "
      .. "flow.nn.cross_entropy, optimizer = flow.optimizer.Adam(0.001) }", name)
  end
end

local function check_job(o)
  args.must(job.is(o.job) and o.job.type == "train", o.job,
    "fit: job must be a model or a job of type \"train\"")
  for _, name in ipairs { "loss", "inputs" } do
    args.check(o[name] == nil, "fit: %s belongs to a model; the body of job '%s' has its own", name,
      o.job.name)
  end
  if o.validation == nil then return end
  args.check(o.predict ~= nil, "fit: validation needs predict, the job that takes its batches "
    .. "without their labels and gives predictions, or takes all and gives the loss first")
  args.must(job.is(o.predict) and o.predict.type ~= "train", o.predict,
    "fit: predict must be a job of type \"predict\"")
end

--- Fails where the options of a call do not fit.
function asked.check(o)
  if o.resume and not o.directory then
    core.fail("fit: resume: directory must say where the state is")
  end
  if model.is(o.job) then check_model(o) else check_job(o) end
end

-- ---- what is counted, called and judged by ----

--- What `metrics` asks for, as a list of { name, metric, better } by name.
function asked.metrics(who, list)
  local found = {}
  for key, metric in pairs(args.expect(who, "metrics", list, "table")) do
    local name = type(key) == "string" and key or metric
    args.check(type(name) == "string", "%s: metrics: a function must have a name, { mine = ... }, "
      .. "got none", who)
    local made = counter.new(who, name, metric)      -- fails for an unknown one
    found[#found + 1] = { name = name, metric = metric, better = made.better }
  end
  table.sort(found, function(a, b) return a.name < b.name end)
  return found
end

--- What `callbacks` asks for, as a list of tables of functions by event.
function asked.callbacks(who, given)
  local list = (type(given) == "function" or given[1] == nil) and { given } or given
  for i, callback in ipairs(list) do
    if type(callback) == "function" then callback = { epoch = callback } end
    args.expect(who, "callbacks", callback, "table")
    for event, fn in pairs(callback) do
      if event ~= "start" and event ~= "step" and event ~= "epoch" and event ~= "finish" then
        core.fail("%s: callbacks: there is no '%s'; there are start, step, epoch and finish", who,
          tostring(event))
      end
      args.expect(who, "callbacks." .. event, fn, "function")
    end
    list[i] = callback
  end
  return list
end

--- Settles what decides which epoch is the best: the validation's loss, its first metric, or the
-- loss.
function asked.monitor(run, o)
  local first = run.metrics[1]
  run.monitor = o.monitor or run.predict_gives_loss and "val_loss" or first and first.name or "loss"
  run.higher = false
  for _, m in ipairs(run.metrics) do
    if m.name == run.monitor then run.higher = m.better == "higher" end
  end
  if o.better ~= nil then
    run.higher = args.one_of("fit", "better", o.better, { "higher", "lower" }) == "higher"
  end
end

return asked
