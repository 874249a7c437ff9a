--- Jobs that show whether something else, such as a pass, a device or a kind of kernels, changes
-- results: every op alone, with its gradient and among others, and small networks while they
-- train.
local core = require "jfl.core"
local flow = require "jfl"
local support = require "spec.op.support"

local M = {}

local o = setmetatable({}, { __index = function(_, name) return core.op(name) end })

local function is_float(dtype) return dtype == "float32" or dtype == "float64" end

--- ---- ops ----

--- Elementwise ops around a value, of which passes could make one.
local function before(x) return o.leaky_relu(x, 0.5) end

local function after(y)
  if not is_float(y.dtype) then y = o.cast(y, "float64") end
  if #y.shape > 1 then
    y = o.bias_add(y, o.add(o.ones({ y.shape[2] }, y.dtype), 0.0137))
  end
  y = o.add(o.relu(y), o.square(y))
  return o.multiply((o.dropout(y, 0.3)), 2)
end

--- y, and the gradients of what a chain makes of it, and of it, for dy, with respect to the floats
-- in x.
local function with_gradients(g, op, case, x, changed, y)
  local list, of = { y }, {}
  for i, blob in ipairs(x) do
    if is_float(blob.dtype) and case.grad ~= false then of[#of + 1] = x[i] end
  end
  local target = changed and after(y) or y
  list[2] = target
  if not op.differentiable or #of == 0 or not is_float(target.dtype) then return list end
  local weights = o.divide(o.add(o.sin(o.multiply(target, 3)), 2), 8)
  for _, dx in ipairs(core.gradients(g, target, weights, of)) do
    if dx then list[#list + 1] = dx end
  end
  return list
end

--- What a job consists of, by form: each gives the results, given graph, op, case and inputs.
local forms = {}
M.forms = forms

function forms.alone(_, op, case, x) return { support.call(op, case, x) } end

forms["with its gradient"] = function(g, op, case, x)
  return with_gradients(g, op, case, x, false, (support.call(op, case, x)))
end

forms["among others"] = function(g, op, case, x)
  local changed = {}
  for i, blob in ipairs(x) do
    local apart = not is_float(blob.dtype) or (op.effect and op.inputs[i] ~= "grad")
    changed[i] = apart and blob or before(blob)
  end
  local y = support.call(op, case, changed)
  return y and with_gradients(g, op, case, x, true, y) or {}
end

--- The plan of a job whose inputs are like arrays x, in a new session with some settings, and the
-- text of all that it does. Ops with effects get variables, named v1, v2, ...
function M.compile(op, case, form, x, settings)
  core.reset()
  core.set("seed", 7)
  for name, value in pairs(settings) do core.set(name, value) end
  local g, blobs = core.graph("job", "predict"), {}
  core.trace(g)
  local ok, message = pcall(function()
    for i, a in ipairs(x) do
      local spec = { name = "v" .. i, dtype = a.dtype, shape = a.shape }
      blobs[i] = op.effect and core.variable(g, spec) or core.input(g, spec.name, a.dtype, a.shape)
    end
    for _, y in ipairs(forms[form](g, op, case, blobs)) do core.output(g, y) end
  end)
  core.trace(nil)
  if not ok then error(message, 0) end
  local plan = core.compile(core.job("job", "predict"), g)
  return plan, core.graph_text(g) .. core.plan_text(plan)
end

--- The results of the job, then its variables.
function M.outcome(op, plan, x)
  for i, a in ipairs(op.effect and x or {}) do core.variable_set("v" .. i, a) end
  local results = { core.run(plan, unpack(op.effect and {} or x)) }
  for i in ipairs(op.effect and x or {}) do
    results[#results + 1] = core.variable_get("v" .. i)
  end
  return results
end

--- The dtypes in which a case is tried.
function M.dtypes_of(op, case)
  if case.only then return { case.only } end
  local list = {}
  for _, dtype in ipairs(op.dtypes) do
    if is_float(dtype) then list[#list + 1] = dtype end
  end
  return #list > 0 and list or { op.dtypes[1] }
end

--- ---- networks ----

local tp = flow.typing

--- Each takes a batch of images and how wide it shall be, and gives 10 numbers for each.
local networks = {}
M.networks = networks

function networks.mlp(x, width)
  x = flow.reshape(x, { x.shape[1], -1 })
  return flow.layers.dense(flow.layers.dense(x, 8 * width, { activation = flow.nn.relu }), 10)
end

function networks.lenet(x, width)
  for i = 1, 2 do
    x = flow.layers.conv2d(x, i * width, 5, { padding = "SAME", activation = flow.nn.relu })
    x = flow.nn.max_pool2d(x, { ksize = 2, strides = 2, padding = "SAME" })
  end
  x = flow.reshape(x, { x.shape[1], -1 })
  x = flow.layers.dense(x, 4 * width, { activation = flow.nn.relu })
  return flow.layers.dense(flow.nn.dropout(x, 0.5), 10)
end

function networks.residual(x, width)
  local function conv(y, options) return flow.layers.conv2d(y, width, 3, options) end
  local relu = { padding = "SAME", activation = flow.nn.relu }
  x = conv(x, relu)
  for _ = 1, 2 do x = flow.nn.relu(conv(conv(x, relu), { padding = "SAME" }) + x) end
  x = flow.nn.avg_pool2d(x, { ksize = 2, strides = 2, padding = "VALID" })
  x = conv(x, { strides = 2, padding = "SAME" })
  return flow.layers.dense(flow.math.reduce_mean(x, { axis = { 2, 3 } }), 10)
end

local function normalized(x, name)
  local d = x - flow.math.reduce_mean(x, { axis = -1, keepdims = true })
  local variance = flow.math.reduce_mean(flow.math.square(d), { axis = -1, keepdims = true })
  local scale = flow.get_variable(name, { shape = { x.shape[2] }, dtype = x.dtype,
    initializer = flow.ones_initializer() })
  return d * flow.math.rsqrt(variance + 1e-5) * scale
end

function networks.transformer(x, width)
  x = flow.layers.dense(flow.reshape(x, { x.shape[1], -1 }), width)
  local hidden = flow.layers.dense(normalized(x, "first"), 4 * width,
    { activation = flow.math.gelu })
  x = x + flow.nn.dropout(flow.layers.dense(hidden, width), 0.1)
  return flow.layers.dense(normalized(x, "second"), 10, { use_bias = false })
end

--- Each has a loss minimized in its way.
local optimizers = {}
M.optimizers = optimizers

optimizers["plain steps"] = function(loss)
  flow.optimizer.SGD(0.05, { momentum = 0 }):minimize(loss)
end

optimizers["momentum"] = function(loss)
  flow.optimizer.SGD(0.05, { momentum = 0.9 }):minimize(loss)
end

--- The large epsilon keeps steps continuous where gradients are all but 0.
optimizers["Adam for weights, clipped steps for the others"] = function(loss)
  local function of_weights(name) return name:find("weight$") ~= nil end
  flow.optimizer.Adam(0.05, { epsilon = 0.1, variables = of_weights }):minimize(loss)
  flow.optimizer.SGD(0.05, { momentum = 0.9,
    variables = function(name) return not of_weights(name) end,
    grad_clipping = flow.optimizer.grad_clipping.by_global_norm(0.1) }):minimize(loss)
end

--- Losses of a few steps, then all variables in the order of their names, from a new session with
-- some settings; and the text of the job's graph and plan.
function M.train(body, dtype, minimize, settings)
  flow.clear_default_session()
  for name, value in pairs(settings) do core.set(name, value) end
  flow.random.seed(5)
  local width = dtype == "float32" and 32 or 4
  local config = flow.function_config()
  config.default_data_type(dtype)
  local job = flow.global_function {
    name = "train", type = "train", returns = tp.Numpy, function_config = config,
    inputs = {
      { "x", tp.Numpy.Placeholder({ 4, 1, 12, 12 }, { dtype = dtype }) },
      { "labels", tp.Numpy.Placeholder({ 4 }, { dtype = flow.int32 }) },
    },
    body = function(x, labels)
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, body(x, width))
      minimize(loss)
      return loss
    end,
  }
  local results, x = {}, support.filled(dtype, { 4, 1, 12, 12 }, -1, 1)
  for i = 1, 3 do results[i] = job(x, { 3, 0, 9, 3 }) end
  local names = core.variables()
  table.sort(names)
  for _, name in ipairs(names) do results[#results + 1] = core.variable_get(name) end
  return results, job:graph("optimized") .. job:plan()
end

--- A train job of that name with dropout, labels that may be wrong, and Adam, on so many rows.
function M.trainer(name, rows, returns, columns)
  return flow.global_function {
    name = name, type = "train", returns = returns,
    inputs = { { "x", tp.Numpy.Placeholder({ rows, columns or 9 }) },
      { "label", tp.Numpy.Placeholder({ rows }, { dtype = flow.int32 }) } },
    body = function(x, label)
      local w = flow.get_variable("w", { shape = { 9, 3 },
        initializer = flow.random_normal_initializer(0, 0.1) })
      if columns then x = flow.math.reduce_max(flow.reshape(x, { rows, 9, columns / 9 }), 2) end
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(label,
        flow.matmul(flow.nn.dropout(x, 0.3), w))
      flow.optimizer.Adam(0.01):minimize(loss)
      return loss
    end,
  }
end

return M
