-- flow.layers: rnn, lstm and gru, by PyTorch's formulas and with its names of variables.
---@box layers.gru layers.lstm layers.rnn
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local common = require "jfl.layers.common"
local core = require "jfl.core"
local dropout = require "jfl.op.dropout"
local initializers = require "jfl.net.initializers"

local op = call.op

local recurrent = {}

-- How many rows of the weights a unit has.
local GATES = { rnn_tanh = 1, rnn_relu = 1, lstm = 4, gru = 3 }

-- A matrix of weights.
local function weight(l, part, of, shape)
  return l:variable(part, of, l.initializer,
    { shape = shape, regularizer_name = "kernel_regularizer" })
end

-- The first and the second bias, or nil without.
local function biases(l, rows, suffix)
  if not l.options.use_bias then return nil end
  return l:variable("bias_ih" .. suffix, "bias", l.initializer, { shape = { rows } }),
    l:variable("bias_hh" .. suffix, "bias", l.initializer, { shape = { rows } })
end

-- State number i of those given as (layers * directions, batch, units); zeros where none are given.
local function first_state(l, given, i)
  if given == nil then
    return (op.constant(0, { dtype = l.x.dtype, shape = { l.batch, l.units } }))
  end
  local one = op.slice(given, { begin = { i - 1, 0, 0 }, size = { 1, l.batch, l.units } })
  return op.reshape(one, { l.batch, l.units })
end

-- The last state that a direction makes, of all its states, as (1, batch, units).
local function last_state(l, states, reverse)
  return (op.slice(states, { begin = { reverse and 0 or l.length - 1, 0, 0 },
    size = { 1, l.batch, l.units } }))
end

-- x (length, batch, size) times the weights, plus the bias, if there is one. On several devices,
-- each of which has some of the batch, samples come first meanwhile: then each has whole rows.
local function weighted(l, x, weights, bias)
  local rows, swap = weights.shape[1], { perm = { 1, 0, 2 } }
  if l.devices > 1 then x = op.transpose(x, swap) end
  local s = op.matmul(op.reshape(x, { -1, x.shape[3] }), weights, { transpose_b = true })
  if bias then s = op.bias_add(s, bias) end
  if l.devices == 1 then return (op.reshape(s, { l.length, l.batch, rows })) end
  return (op.transpose(op.reshape(s, { l.batch, l.length, rows }), swap))
end

-- One direction of one layer: x (length, batch, size) -> y, the last h, the last c.
local function direction(l, x, layer, number, reverse)
  local suffix = ("_l%d%s"):format(layer, reverse and "_reverse" or "")
  local size, rows = x.shape[3], GATES[l.cell] * l.units
  local w_ih = weight(l, "weight_ih" .. suffix, "kernel", { rows, size })
  local w_hh = weight(l, "weight_hh" .. suffix, "recurrent", { rows, l.units })
  local b_ih, b_hh = biases(l, rows, suffix)
  local h0, extra = first_state(l, l.options.h0, number), nil
  if l.cell == "lstm" then
    extra = { first_state(l, l.options.c0, number) }
  elseif l.cell == "gru" then
    extra = { b_hh or op.constant(0, { dtype = l.x.dtype, shape = { rows } }) }
  end
  local s = weighted(l, x, w_ih, b_ih and (l.cell == "gru" and b_ih or b_ih + b_hh))
  local options = { cell = l.cell, reverse = reverse }
  local y, _, cells = op.recurrent(s, w_hh, h0, extra, options)
  return y, last_state(l, y, reverse), cells and last_state(l, cells, reverse)
end

local function join(list, axis)
  return #list == 1 and list[1] or (op.concat(list, { axis = axis }))
end

-- All layers: x (length, batch, size) -> y, and the last states of each layer and direction.
local function all_layers(l, x)
  local h, c = {}, {}
  for layer = 0, l.layers - 1 do
    local both = {}
    for d = 1, l.directions do
      local n = #h + 1
      both[d], h[n], c[n] = direction(l, x, layer, n, d == 2)
    end
    x = join(both, 2)
    if l.options.dropout > 0 and layer < l.layers - 1 then
      x = dropout(x, l.options.dropout)
    end
  end
  return x, join(h, 0), c[1] and join(c, 0)
end

local function check_state(l, name, given)
  if given == nil then return end
  args.blob(l.who, name, given)
  local want = { l.layers * l.directions, l.batch, l.units }
  if args.shape_text(given.shape) ~= args.shape_text(want) then
    core.fail("%s: %s must have shape %s (layers * directions, batch, units), got %s", l.who, name,
      args.shape_text(want), args.shape_text(given.shape))
  end
end

local function read(who, kind, o)
  local l = common.layer(who, kind, o)
  local x = l.x
  args.fits(#x.shape == 3, x.shape,
    "%s: inputs must have three axes (batch, length, size), got shape", who)
  l.units, l.layers, l.directions = o.units, o.num_layers, o.bidirectional and 2 or 1
  l.devices = select(2, core.members(l.context.graph))
  local first = o.batch_first and 2 or 1
  l.length, l.batch = x.shape[first], x.shape[3 - first]
  local bound = 1 / math.sqrt(l.units)
  l.initializer = initializers.random_uniform_initializer(-bound, bound)
  check_state(l, "h0", o.h0)
  check_state(l, "c0", o.c0)
  return l, x
end

local function layer(kind, doc, more, cell_of)
  local who = "layers." .. kind
  local params = {
    { "inputs", "a blob (batch, length, size)", type = "Blob" },
    { "units", "extent of the state, and of the result's last axis", type = "integer", least = 1 },
    { "num_layers", "how many layers, each of which reads the results of the one before", 1,
      type = "integer", range = "a whole number from 1 to 1000" },
    { "bidirectional", "whether each layer has another one beside it that goes from the last step "
      .. "to the first; results of both are joined", false },
    { "batch_first", "false: inputs and results are (length, batch, size)", true },
    { "h0", "the first states (layers * directions, batch, units); zeros", args.none,
      type = "Blob" },
    { "dropout", "in train jobs, between layers: the probability of being dropped", 0,
      range = "a number from 0 to below 1" },
    common.params.use_bias,
    { "kernel_initializer", "of the weights of inputs; uniform within 1 / sqrt(units)", args.none,
      type = "Initializer" },
    { "recurrent_initializer", "of the weights of states; likewise", args.none,
      type = "Initializer" },
    { "bias_initializer", "of the biases; likewise", args.none, type = "Initializer" },
    common.params.kernel_regularizer, common.params.trainable,
    { "name", ("of the layer; %s_1, %s_2, ... in call order"):format(kind, kind), args.none },
    common.params.reuse,
    returns = kind == "lstm" and "Blob, Blob, Blob" or "Blob, Blob",
  }
  if more then table.insert(params, 7, more) end
  recurrent[kind] = args.define(who, doc, params, function(o)
    local l, x = read(who, kind, o)
    l.cell = cell_of(o)
    if o.batch_first then x = op.transpose(x, { perm = { 1, 0, 2 } }) end
    local y, h, c = all_layers(l, x)
    if o.batch_first then y = op.transpose(y, { perm = { 1, 0, 2 } }) end
    if c then return y, h, c end
    return y, h
  end)
end

--- h = activation(W_ih x + b_ih + W_hh h + b_hh), as torch.nn.RNN.
layer("rnn", "A plain recurrent layer: the states of all steps, and the last one of each layer. "
  .. "Variables are those of PyTorch: NAME-weight_ih_l0 (units, size), -weight_hh_l0, -bias_ih_l0, "
  .. "-bias_hh_l0, and the same with _reverse.",
  { "nonlinearity", "tanh or relu", "tanh", words = { "tanh", "relu" } },
  function(o) return "rnn_" .. o.nonlinearity end)

--- As torch.nn.LSTM; the rows of weights are those of the gates i, f, g and o.
layer("lstm", "Long short-term memory: the states of all steps, and the last state and the last "
  .. "cell of each layer. Variables are those of PyTorch: NAME-weight_ih_l0 (4 * units, size) with "
  .. "the gates i, f, g, o, -weight_hh_l0, -bias_ih_l0, -bias_hh_l0, and the same with _reverse.",
  { "c0", "the first cells, as h0; zeros", args.none, type = "Blob" },
  function() return "lstm" end)

--- As torch.nn.GRU; the rows of weights are those of the gates r, z and n.
layer("gru", "Gated recurrent units: the states of all steps, and the last one of each layer. "
  .. "Variables are those of PyTorch: NAME-weight_ih_l0 (3 * units, size) with the gates r, z, n, "
  .. "-weight_hh_l0, -bias_ih_l0, -bias_hh_l0, and the same with _reverse.", nil,
  function() return "gru" end)

return recurrent
