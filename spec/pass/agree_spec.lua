--- Results do not depend on which of the optional passes run: every op alone, with its gradient and
--- among others, and small networks while they train. A pass that is in the core's table is covered.
local cases = require "spec.op.cases"
local core = require "jfl.core"
local flow = require "jfl"
local passes = require "spec.passes"
local support = require "spec.op.support"

local o = setmetatable({}, { __index = function(_, name) return core.op(name) end })

--- Lists of passes to leave out, each compared with leaving out none.
local LISTS = { passes.all_but() }
for _, pass in ipairs((core.passes())) do LISTS[#LISTS + 1] = "-" .. pass end

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

--- y, and the gradients of what a chain makes of it, and of it, for dy, with respect to the floats in x.
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

--- The plan of a job whose inputs are like arrays x, in a new session without some passes, and the text
--- of all that it does. Ops with effects get variables, named v1, v2, ...
local function compile(op, case, form, x, off)
  core.reset()
  core.set("passes", off)
  core.set("seed", 7)
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
local function outcome(op, plan, x)
  for i, a in ipairs(op.effect and x or {}) do core.variable_set("v" .. i, a) end
  local results = { core.run(plan, unpack(op.effect and {} or x)) }
  for i in ipairs(op.effect and x or {}) do
    results[#results + 1] = core.variable_get("v" .. i)
  end
  return results
end

local TOL = { float32 = 1e-5, float64 = 1e-12 }

local function largest(a) return o.reduce_max(o.abs(a))[1] end

--- Fails where a number differs by more than its dtype's tolerance, relative to the largest of its array
--- or 1. Infinities and nan must be in the same places.
local function check_close(got, want)
  assert(#got == #want, "another number of results")
  for i, a in ipairs(want) do
    local tol, b = TOL[a.dtype], got[i]
    local most = tol and largest(a)
    if not (most and most < math.huge) then most = 1 end
    if not (tol and largest(o.subtract(a, b)) <= tol * math.max(1, most)) then
      local ok, message = support.close(support.flat(b), support.flat(a), (tol or 0) * most)
      if not ok then error(("result %d, %s"):format(i, message), 0) end
    end
  end
end

local function check_job(op, case, form, dtype)
  core.set("kernels", "reference")
  local x = support.inputs(case, dtype)
  if case.y_of then x[2] = core.op(case.y_of)(x[1], case.options) end
  local plan, text = compile(op, case, form, x, "")
  local want = outcome(op, plan, x)
  for _, off in ipairs(LISTS) do
    local other, other_text = compile(op, case, form, x, off)
    if other_text ~= text then
      local ok, message = pcall(check_close, outcome(op, other, x), want)
      if not ok then
        error(("%s, %s, with %s: %s\n%s\n%s"):format(form, dtype, off, message, text, other_text), 0)
      end
    end
  end
end

local function dtypes_of(op, case)
  if case.only then return { case.only } end
  local list = {}
  for _, dtype in ipairs(op.dtypes) do
    if is_float(dtype) then list[#list + 1] = dtype end
  end
  return #list > 0 and list or { op.dtypes[1] }
end

describe("without some passes", function()
  teardown(core.reset)

  local ops, names = core.ops(), {}
  for name in pairs(ops) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local op = ops[name]
    it(name .. " gives the same", function()
      for number, case in ipairs(cases[name] or {}) do
        for _, dtype in ipairs(dtypes_of(op, case)) do
          case.dtype = op.key == -1 and dtype or nil
          for form in pairs(forms) do
            local ok, message = pcall(check_job, op, case, form, dtype)
            if not ok then error(("case %d: %s"):format(number, tostring(message)), 0) end
          end
        end
      end
    end)
  end
end)

--- ---- networks ----

local tp = flow.typing

--- Each takes a batch of images and how wide it shall be, and gives 10 numbers for each.
local networks = {}

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
  local hidden = flow.layers.dense(normalized(x, "first"), 4 * width, { activation = flow.math.gelu })
  x = x + flow.nn.dropout(flow.layers.dense(hidden, width), 0.1)
  return flow.layers.dense(normalized(x, "second"), 10, { use_bias = false })
end

--- Losses of a few steps, then all variables in the order of their names.
local function train(body, dtype, momentum, off)
  flow.clear_default_session()
  flow.config.passes(off)
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
      flow.optimizer.SGD(0.05, { momentum = momentum }):minimize(loss)
      return loss
    end,
  }
  local results, x = {}, support.filled(dtype, { 4, 1, 12, 12 }, -1, 1)
  for i = 1, 3 do results[i] = job(x, { 3, 0, 9, 3 }) end
  local names = core.variables()
  table.sort(names)
  for _, name in ipairs(names) do results[#results + 1] = core.variable_get(name) end
  return results, job:graph() .. job:plan()
end

describe("without some passes", function()
  after_each(flow.clear_default_session)

  for name, body in pairs(networks) do
    for _, momentum in ipairs { 0, 0.9 } do
      it(("%s learns the same with momentum %g"):format(name, momentum), function()
        for dtype in pairs(TOL) do
          local want, text = train(body, dtype, momentum, "")
          for _, off in ipairs(LISTS) do
            local got, other_text = train(body, dtype, momentum, off)
            local ok, message = pcall(check_close, got, want)
            if not ok then
              error(("%s with %s: %s\n%s\n%s"):format(dtype, off, message, text, other_text), 0)
            end
          end
        end
      end)
    end
  end
end)
