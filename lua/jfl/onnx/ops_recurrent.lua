-- ONNX's LSTM, GRU and RNN: jfl's recurrent op where that computes the same, else step by step.
local call = require "jfl.op.call"
local values = require "jfl.onnx.values"

local op, reshape = call.op, values.reshape

local ops = {}

local MOST_STEPS = 10000

-- Activations by name, given alpha and beta.
local FUNCTIONS = {
  Sigmoid = function(x) return op.sigmoid(x) end,
  Tanh = function(x) return op.tanh(x) end,
  Relu = function(x) return op.relu(x) end,
  Affine = function(x, a, b) return op.add(op.multiply(x, a or 1), b or 0) end,
  LeakyRelu = function(x, a) return op.leaky_relu(x, { alpha = a or 0.01 }) end,
  ThresholdedRelu = function(x, a)
    return op.where(op.greater(x, a or 1), x, op.multiply(x, 0))
  end,
  HardSigmoid = function(x, a, b)
    return op.clip_by_value(op.add(op.multiply(x, a or 0.2), b or 0.5),
      { min_value = 0, max_value = 1 })
  end,
  Elu = function(x, a) return op.elu(x, { alpha = a or 1 }) end,
  Softsign = function(x) return op.softsign(x) end,
  Softplus = function(x) return op.softplus(x) end,
}

-- ONNX's names of activations without regard to letters' case.
local function function_named(n, name)
  for known, f in pairs(FUNCTIONS) do
    if known:lower() == name:lower() then return f, known end
  end
  n:fail("it has no activation '%s'", name)
end

local KINDS = {
  LSTM = { gates = 4, acts = { "Sigmoid", "Tanh", "Tanh" }, order = { 1, 3, 4, 2 } },
  GRU = { gates = 3, acts = { "Sigmoid", "Tanh" }, order = { 2, 1, 3 } },
  RNN = { gates = 1, acts = { "Tanh" }, order = { 1 } },
}

-- ---- what a direction is made of ----

-- Part number d of a tensor that has a direction along its first axis, without that axis.
local function part_of(x, d)
  if x == nil then return nil end
  local shape = { unpack(x.shape, 2) }
  return reshape(values.slice(x, 0, d, 1), shape)
end

-- The rows of a gate's weights, or its biases.
local function gate(x, i, units) return values.slice(x, 0, (i - 1) * units, units) end

-- The gates in the order that jfl's op has them.
local function in_order(x, order, units)
  if #order == 1 then return x end
  local list = {}
  for i, from in ipairs(order) do list[i] = gate(x, from, units) end
  return values.concat(list, 0)
end

-- x (length, batch, size) times the weights, plus the bias, for all steps at once.
local function weighted(l, x, weights, bias)
  local rows = reshape(x, { l.length * l.batch, x.shape[3] })
  local s = op.matmul(rows, weights, { transpose_b = true })
  if bias then s = op.bias_add(s, bias) end
  return reshape(s, { l.length, l.batch, weights.shape[1] })
end

local function zeros(l)
  return (op.constant(0, { dtype = l.dtype, shape = { l.batch, l.units } }))
end

-- ---- jfl's op ----

local CELLS = { LSTM = "lstm", GRU = "gru" }

-- The cell of jfl's op that computes a direction, or nil.
local function cell_of(l, d)
  if l.lengths or l.clip or d.peepholes or l.couples then return nil end
  for i, name in ipairs(KINDS[l.kind].acts) do
    local known = d.acts[i].name
    if known ~= name and not (l.kind == "RNN" and known == "Relu") then return nil end
  end
  if l.kind == "GRU" and not l.linear_first then return nil end
  return CELLS[l.kind] or "rnn_" .. d.acts[1].name:lower()
end

local function at_once(l, d, cell)
  local order, units = KINDS[l.kind].order, l.units
  local w, r = in_order(d.w, order, units), in_order(d.r, order, units)
  local bias, own
  if d.wb then
    bias, own = in_order(d.wb, order, units), in_order(d.rb, order, units)
    if l.kind ~= "GRU" then bias = op.add(bias, own) end
  end
  local extra
  if l.kind == "LSTM" then
    extra = { d.c or zeros(l) }
  elseif l.kind == "GRU" then
    extra = { own or op.constant(0, { dtype = l.dtype, shape = { 3 * units } }) }
  end
  local y, _, cells = op.recurrent(weighted(l, l.x, w, bias), r, d.h or zeros(l), extra,
    { cell = cell, reverse = d.reverse })
  local last = d.reverse and 0 or l.length - 1
  local function at_end(v) return reshape(values.slice(v, 0, last, 1), { l.batch, units }) end
  return y, at_end(y), cells and at_end(cells)
end

-- ---- step by step ----

local function activate(l, d, i, x)
  if l.clip then x = op.clip_by_value(x, { min_value = -l.clip, max_value = l.clip }) end
  local act = d.acts[i]
  return act.f(x, act.alpha, act.beta)
end

-- The columns of gate number i.
local function column(l, x, i) return values.slice(x, 1, (i - 1) * l.units, l.units) end

local STEPS = {}

function STEPS.RNN(l, d, x, h) return activate(l, d, 1, op.add(x, d.of_state(h))) end

function STEPS.GRU(l, d, x, h)
  local s = d.of_state(h)
  local z = activate(l, d, 1, op.add(column(l, x, 1), column(l, s, 1)))
  local r = activate(l, d, 1, op.add(column(l, x, 2), column(l, s, 2)))
  local new
  if l.linear_first then
    new = op.multiply(r, column(l, s, 3))
  else
    new = op.matmul(op.multiply(r, h), gate(d.r, 3, l.units), { transpose_b = true })
    if d.rb then new = op.bias_add(new, gate(d.rb, 3, l.units)) end
  end
  new = activate(l, d, 2, op.add(column(l, x, 3), new))
  return op.add(op.multiply(op.subtract(1, z), new), op.multiply(z, h))
end

function STEPS.LSTM(l, d, x, h, c)
  local s, p = op.add(x, d.of_state(h)), d.peepholes
  local function peep(i, state)
    local own = p and op.multiply(state, gate(p, i, l.units))
    return function(v) return own and op.add(v, own) or v end
  end
  local i = activate(l, d, 1, peep(1, c)(column(l, s, 1)))
  local f = l.couples and op.subtract(1, i) or activate(l, d, 1, peep(3, c)(column(l, s, 3)))
  local new = op.add(op.multiply(f, c), op.multiply(i, activate(l, d, 2, column(l, s, 4))))
  local o = activate(l, d, 1, peep(2, new)(column(l, s, 2)))
  local act = d.acts[3]
  return op.multiply(o, act.f(new, act.alpha, act.beta)), new
end

-- What a sample has after a step that is behind its end stays as it was.
local function kept(l, t, new, old)
  if not l.lengths or not new then return new end
  return op.where(op.greater(l.lengths, t), new, old)
end

local function by_steps(l, d)
  local bias = d.wb
  if d.rb then d.of_state = function(h)
    return op.bias_add(op.matmul(h, d.r, { transpose_b = true }), d.rb)
  end else d.of_state = function(h) return (op.matmul(h, d.r, { transpose_b = true })) end end
  local s, rows = weighted(l, l.x, d.w, bias), {}
  local h, c = d.h or zeros(l), l.kind == "LSTM" and (d.c or zeros(l)) or nil
  local none = l.lengths and zeros(l)
  for i = 1, l.length do
    local t = d.reverse and l.length - i or i - 1
    local x = reshape(values.slice(s, 0, t, 1), { l.batch, s.shape[3] })
    local new_h, new_c = STEPS[l.kind](l, d, x, h, c)
    rows[t + 1] = reshape(kept(l, t, new_h, none), { 1, l.batch, l.units })
    h, c = kept(l, t, new_h, h), kept(l, t, new_c, c)
  end
  return values.concat(rows, 0), h, c
end

-- ---- the ops ----

local function activations_of(n, l, d)
  local per, names = #KINDS[l.kind].acts, n:attr "activations"
  local alphas, betas = n:attr("activation_alpha", {}), n:attr("activation_beta", {})
  local acts = {}
  for i = 1, per do
    local k = d * per + i
    local f, name = function_named(n, names and names[k] or KINDS[l.kind].acts[i])
    acts[i] = { f = f, name = name, alpha = alphas[k], beta = betas[k] }
  end
  return acts
end

local function direction(n, l, given, d)
  local rows = KINDS[l.kind].gates * l.units
  local bias = part_of(given.b, d)
  return { w = part_of(given.w, d), r = part_of(given.r, d), acts = activations_of(n, l, d),
    wb = bias and values.slice(bias, 0, 0, rows), rb = bias and values.slice(bias, 0, rows, rows),
    h = part_of(given.h, d), c = part_of(given.c, d), peepholes = part_of(given.p, d),
    reverse = d == 1 or n:attr("direction", "forward") == "reverse" }
end

-- The lengths of the samples as (batch, 1), or nil where all have all steps.
local function lengths_of(n, l, lengths)
  if lengths == nil then return nil end
  if values.is_known(lengths) then
    local all = true
    for _, v in ipairs(n:list(lengths, "sequence_lens")) do all = all and v == l.length end
    if all then return nil end
  end
  return reshape(lengths, { l.batch, 1 })
end

local function run(n, kind, given)
  local last = n:attr("layout", 0) == 1
  local x = last and values.transpose(given.x, { 1, 0, 2 }) or given.x
  local l = { kind = kind, x = x, dtype = x.dtype, length = x.shape[1], batch = x.shape[2],
    units = given.r.shape[3], clip = n:attr "clip", couples = n:flag "input_forget",
    linear_first = n:flag "linear_before_reset" }
  n:check(l.length <= MOST_STEPS and l.length ~= 0, "the sequence must have 1 to %d steps, got %d",
    MOST_STEPS, l.length)
  l.lengths = lengths_of(n, l, given.lengths)
  if last and given.h then given.h = values.transpose(given.h, { 1, 0, 2 }) end
  if last and given.c then given.c = values.transpose(given.c, { 1, 0, 2 }) end
  local ys, hs, cs = {}, {}, {}
  for i = 1, given.w.shape[1] do
    local d = direction(n, l, given, i - 1)
    local cell = cell_of(l, d)
    local y, h, c
    if cell then y, h, c = at_once(l, d, cell) else y, h, c = by_steps(l, d) end
    ys[i] = reshape(y, { l.length, 1, l.batch, l.units })
    hs[i] = reshape(h, { 1, l.batch, l.units })
    cs[i] = c and reshape(c, { 1, l.batch, l.units })
  end
  local y, h, c = values.concat(ys, 1), values.concat(hs, 0), cs[1] and values.concat(cs, 0)
  if not last then return y, h, c end
  return values.transpose(y, { 2, 0, 1, 3 }), values.transpose(h, { 1, 0, 2 }),
    c and values.transpose(c, { 1, 0, 2 })
end

function ops.LSTM(n, x, w, r, b, lengths, h, c, p)
  return run(n, "LSTM", { x = x, w = w, r = r, b = b, lengths = lengths, h = h, c = c, p = p })
end

function ops.GRU(n, x, w, r, b, lengths, h)
  return run(n, "GRU", { x = x, w = w, r = r, b = b, lengths = lengths, h = h })
end

function ops.RNN(n, x, w, r, b, lengths, h)
  return run(n, "RNN", { x = x, w = w, r = r, b = b, lengths = lengths, h = h })
end

return ops
