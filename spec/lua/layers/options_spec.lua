-- Every layer with every pair of its options, against plain ops with variables made by hand: the
-- same names, first values, results and steps of training.
local combine = require "spec.pairs"
local core = require "jfl.core"
local flow = require "jfl"
local helper = require "spec.lua.helper"

local math_, nn, tp = flow.math, flow.nn, flow.typing

local STEPS, TOLERANCE = 3, 1e-11

-- ---- variables by hand ----

local INITIALIZERS = {
  none = function() return nil end,
  given = function() return flow.random_uniform_initializer(-0.7, 0.6) end,
}
local REGULARIZERS = {
  none = function() return nil end,
  l2 = function() return flow.regularizers.l2(0.3) end,
  l1_l2 = function() return flow.regularizers.l1_l2(0.05, 0.1) end,
}
local ACTIVATIONS = { none = nil, tanh = math_.tanh }

-- A function from a name, a shape, an initializer, a regularizer and whether it is trained to a
-- variable, the same one for the same name.
local function maker()
  local made = {}
  return function(name, shape, initializer, regularizer, trainable)
    made[name] = made[name] or flow.get_variable(name, shape, { dtype = flow.double,
      initializer = initializer, regularizer = regularizer, trainable = trainable })
    return made[name]
  end
end

local function activated(row, y)
  local f = ACTIVATIONS[row.activation or "none"]
  return f and f(y) or y
end

-- ---- two ways of one network ----

local function wave(shape, phase)
  local n = 1
  for _, extent in ipairs(shape) do n = n * extent end
  local list = {}
  for i = 1, n do list[i] = math.sin(phase + 1.7 * i) end
  return core.reshape(core.from_table(list, "float64"), shape)
end

-- Names of a layer's first and second use, as the layer is told and as they come out.
local function names_of(row, kind)
  local first = row.name == "given" and "l" or nil
  local second = first and (row.reuse == "again" and "l" or "m")
  return { first, second }, { first or kind .. "_1", second or kind .. "_2" }
end

-- Runs a job whose network is f(x, which), used once or twice; gives its results and all variables.
local function run(case, row, f)
  flow.clear_default_session()
  flow.random.seed(3)
  local trains = row.mode ~= "predict"
  local job = flow.global_function { name = "t", type = trains and "train" or "predict",
    inputs = { { "x", tp.Numpy.Placeholder(case.shape(row), { dtype = case.dtype or
      flow.double }) } },
    returns = tp.Numpy,
    body = function(x)
      local scale = flow.get_variable("scale", { 1 }, { dtype = flow.double,
        initializer = flow.constant_initializer(0.8) })
      local function network()
        local y = case.dtype and f(x, 1) * scale or f(x * scale, 1)
        if row.uses ~= "twice" then return y end
        return y + (case.dtype and f(x, 2) or f(x * (scale * 0.5), 2)) * 0.3
      end
      local y = row.scope == "net" and flow.scope.namespace("net", network) or network()
      if trains then
        flow.optimizer.SGD(0.02, { momentum = 0 }):minimize(math_.reduce_sum(y * y))
      end
      return y
    end }
  local results = {}
  for step = 1, STEPS do
    local x = case.input and case.input(row, step) or wave(case.shape(row), step)
    local y = job(x)
    results[step] = { shape = y.shape, values = helper.list(y) }
  end
  return results, helper.variables()
end

local function same(want, got, what)
  assert.equal(#want, #got, what)
  for i, value in ipairs(want) do
    assert(math.abs(value - got[i]) <= TOLERANCE * math.max(1, math.abs(value)),
      ("%s %d: expected %.17g, got %.17g"):format(what, i, value, got[i]))
  end
end

local function compare(case, factors, row)
  local text = combine.text(factors, row)
  local told, named = names_of(row, case.name)
  local got, variables = run(case, row, function(x, which)
    local o = case.options(row)
    o.name = told[which]
    if row.reuse == "again" and which == 2 then o.reuse = true end
    return case.layer(row, x, o)
  end)
  local make = maker()
  local want, by_hand = run(case, row, function(x, which)
    return case.plain(row, x, named[which], make)
  end)
  for step = 1, STEPS do
    assert.same(want[step].shape, got[step].shape, text)
    same(want[step].values, got[step].values, ("%s: result of step %d"):format(text, step))
  end
  for name, values in pairs(by_hand) do
    assert(variables[name], ("%s: there is no %s"):format(text, name))
    same(values, variables[name], ("%s: %s"):format(text, name))
    variables[name] = nil
  end
  assert.is_nil(next(variables), text)
end

-- ---- the factors that layers share ----

local FLAG = { true, false }
local INITIALIZER, REGULARIZER = { "none", "given" }, { "none", "l2", "l1_l2" }
local COMMON = {
  { "trainable", FLAG }, { "name", { "none", "given" } }, { "uses", { "once", "twice" } },
  { "reuse", { "other", "again" } }, { "mode", { "train", "predict" } },
  { "scope", { "none", "net" } },
}
local WEIGHTED = {
  { "activation", { "none", "tanh" } }, { "use_bias", FLAG },
  { "kernel_initializer", INITIALIZER }, { "bias_initializer", INITIALIZER },
  { "kernel_regularizer", REGULARIZER }, { "bias_regularizer", REGULARIZER },
}

local function with(...)
  local all = {}
  for _, list in ipairs { ... } do
    for _, factor in ipairs(list) do all[#all + 1] = factor end
  end
  return all
end

-- The options of a call that a row says, of those that end so or are plain values of the layer.
local function options(row, plain)
  local o = { trainable = row.trainable }
  for key, value in pairs(row) do
    if key:find "_initializer$" then o[key] = INITIALIZERS[value]() end
    if key:find "_regularizer$" then o[key] = REGULARIZERS[value]() end
  end
  o.activation = ACTIVATIONS[row.activation or "none"]
  for _, key in ipairs(plain) do
    if row[key] ~= "none" then o[key] = row[key] end
  end
  return o
end

-- What weights have that no initializer is given for.
local function glorot(fan_in, fan_out)
  local bound = math.sqrt(6 / (fan_in + fan_out))
  return flow.random_uniform_initializer(-bound, bound)
end
local function zeros() return flow.zeros_initializer() end
local function ones() return flow.ones_initializer() end

local function kernel(row, make, name, shape, field)
  field = field or 1
  local fans = glorot(shape.inputs or shape[2] * field, shape[1] * field)
  return make(name, { unpack(shape) }, INITIALIZERS[row.kernel_initializer]() or fans,
    REGULARIZERS[row.kernel_regularizer](), row.trainable)
end

local function bias(row, make, name, n)
  return make(name, { n }, INITIALIZERS[row.bias_initializer]() or zeros(),
    REGULARIZERS[row.bias_regularizer](), row.trainable)
end

-- ---- dense ----

local dense = {
  name = "dense", factors = with({ { "axes", { 2, 3 } } }, WEIGHTED, COMMON),
  shape = function(row) return row.axes == 2 and { 4, 3 } or { 2, 5, 3 } end,
  options = function(row) return options(row, { "use_bias" }) end,
  layer = function(_, x, o) return flow.layers.dense(x, 2, o) end,
  plain = function(row, x, name, make)
    local w = kernel(row, make, name .. "-weight", { 2, 3 })
    local y = flow.matmul(flow.reshape(x, { -1, 3 }), w, { transpose_b = true })
    if row.use_bias then y = nn.bias_add(y, bias(row, make, name .. "-bias", 2)) end
    return flow.reshape(activated(row, y), row.axes == 2 and { 4, 2 } or { 2, 5, 2 })
  end,
}

-- ---- convolutions ----

local FORMATS = { { "NCW", "NWC" }, { "NCHW", "NHWC" }, { "NCDHW", "NDHWC" } }

local function extents(n, extent)
  local list = {}
  for i = 1, n do list[i] = extent end
  return list
end

-- Channels and n extents in a format.
local function placed(row, n, before, channels, extent)
  local list = { before }
  if row.last then
    for _, e in ipairs(extents(n, extent)) do list[#list + 1] = e end
    list[#list + 1] = channels
    return list
  end
  list[2] = channels
  for _, e in ipairs(extents(n, extent)) do list[#list + 1] = e end
  return list
end

local function convolution(n)
  local kind = ("conv%dd"):format(n)
  return {
    name = kind,
    factors = with({
      { "last", { false, true } }, { "kernel_size", { "none", 2, 3 } }, { "strides", { 1, 2 } },
      { "padding", { "SAME", "VALID" } }, { "groups", { 1, 2 } },
      { "dilation_rate", { "none", 2 } }, { "weight_name", { "none", "w" } },
      { "bias_name", { "none", "b" } },
    }, WEIGHTED, COMMON),
    shape = function(row) return placed(row, n, 2, 4, n == 3 and 5 or 6) end,
    options = function(row)
      local o = options(row, { "kernel_size", "strides", "padding", "groups", "dilation_rate",
        "weight_name", "bias_name", "use_bias" })
      o.data_format = FORMATS[n][row.last and 2 or 1]
      return o
    end,
    layer = function(_, x, o) return flow.layers[kind](x, 2, o) end,
    plain = function(row, x, name, make)
      local size = row.kernel_size == "none" and 1 or row.kernel_size
      local shape = placed(row, n, 2, 4 / row.groups, size)
      shape.inputs = 4 / row.groups * size ^ n
      local w = kernel(row, make, row.weight_name ~= "none" and row.weight_name
        or name .. "-weight", shape, size ^ n)
      local o = { strides = row.strides, padding = row.padding, groups = row.groups,
        data_format = FORMATS[n][row.last and 2 or 1],
        dilations = row.dilation_rate ~= "none" and row.dilation_rate or 1 }
      local y = core.op(kind)(x, w, o)
      if row.use_bias then
        y = nn.bias_add(y, bias(row, make, row.bias_name ~= "none" and row.bias_name
          or name .. "-bias", 2), row.last and FORMATS[n][2] or FORMATS[n][1])
      end
      return activated(row, y)
    end,
    -- A second layer with variables of one name is the same layer, and is so by its name alone.
    adapt = function(row)
      if row.weight_name ~= "none" or row.bias_name ~= "none" then row.uses = "once" end
    end,
  }
end

-- ---- normalizations ----

local NORMED = {
  { "center", FLAG }, { "scale", FLAG }, { "epsilon", { 1e-3, 0.1 } },
  { "beta_initializer", INITIALIZER }, { "gamma_initializer", INITIALIZER },
  { "beta_regularizer", REGULARIZER }, { "gamma_regularizer", REGULARIZER },
}

local function scaled(row, y, name, make, shape, broadcast)
  if row.scale then
    y = y * flow.reshape(make(name .. "-gamma", shape,
      INITIALIZERS[row.gamma_initializer]() or ones(), REGULARIZERS[row.gamma_regularizer](),
      row.trainable), broadcast)
  end
  if row.center then
    y = y + flow.reshape(make(name .. "-beta", shape,
      INITIALIZERS[row.beta_initializer]() or zeros(), REGULARIZERS[row.beta_regularizer](),
      row.trainable), broadcast)
  end
  return y
end

-- (x - mean) / sqrt(variance + epsilon) over axes; also the mean and the variance.
local function normalized(row, x, axes)
  local mean = math_.reduce_mean(x, axes, true)
  local variance = math_.reduce_mean(math_.square(x - mean), axes, true)
  return (x - mean) / math_.sqrt(variance + row.epsilon), mean, variance
end

local batch = {
  name = "batch_norm",
  factors = with({ { "kind", { "", "_relu", "_add_relu" } }, { "axis", { 1, -1 } },
    { "momentum", { 0.9, 0.5 } }, { "training", FLAG },
    { "moving_mean_initializer", INITIALIZER }, { "moving_variance_initializer", { "none" } } },
    NORMED, COMMON),
  shape = function() return { 3, 2, 2, 4 } end,
  options = function(row)
    return options(row, { "axis", "momentum", "training", "center", "scale", "epsilon" })
  end,
  layer = function(row, x, o)
    local layer = flow.layers["batch_normalization" .. row.kind]
    if row.kind == "_add_relu" then return layer(x, x * 0.5, o) end
    return layer(x, o)
  end,
  plain = function(row, x, name, make)
    local first = row.axis == 1
    local n, shape = first and 2 or 4, first and { 1, 2, 1, 1 } or { 1, 1, 1, 4 }
    local mean = make(name .. "-moving_mean", { n },
      INITIALIZERS[row.moving_mean_initializer]() or zeros(), nil, false)
    local variance = make(name .. "-moving_variance", { n }, ones(), nil, false)
    local y
    if row.mode == "train" and row.training and row.trainable then
      local of_batch, of_squares
      y, of_batch, of_squares = normalized(row, x, first and { 0, 2, 3 } or { 0, 1, 2 })
      for v, now in pairs { [mean] = of_batch, [variance] = of_squares } do
        flow.assign(v, v * row.momentum + flow.reshape(now, { n }) * (1 - row.momentum))
      end
    else
      y = (x - flow.reshape(mean, shape)) / math_.sqrt(flow.reshape(variance, shape) + row.epsilon)
    end
    y = scaled(row, y, name, make, { n }, shape)
    if row.kind == "_add_relu" then y = y + x * 0.5 end
    return row.kind == "" and y or nn.relu(y)
  end,
  -- What steps of one layer's two uses make of the moving statistics has a spec of its own.
  adapt = function(row)
    if row.reuse == "again" and row.name == "given" then row.uses = "once" end
  end,
}

local layer_norm = {
  name = "layer_norm",
  factors = with({ { "begin_norm_axis", { 1, -1 } }, { "begin_params_axis", { 1, 2, -1 } } },
    NORMED, COMMON),
  shape = function() return { 2, 3, 2, 4 } end,
  options = function(row)
    return options(row, { "begin_norm_axis", "begin_params_axis", "center", "scale", "epsilon" })
  end,
  layer = function(_, x, o) return flow.layers.layer_norm(x, o) end,
  plain = function(row, x, name, make)
    local y = normalized(row, x, row.begin_norm_axis == 1 and { 1, 2, 3 } or { 3 })
    local shape = ({ [1] = { 3, 2, 4 }, [2] = { 2, 4 }, [-1] = { 4 } })[row.begin_params_axis]
    return scaled(row, y, name, make, shape, shape)
  end,
}

local rms_norm = {
  name = "rms_norm",
  factors = with({ { "begin_norm_axis", { 1, -1 } }, { "scale", FLAG },
    { "epsilon", { 1e-3, 0.1 } }, { "gamma_initializer", INITIALIZER },
    { "gamma_regularizer", REGULARIZER } }, COMMON),
  shape = function() return { 2, 3, 4 } end,
  options = function(row) return options(row, { "begin_norm_axis", "scale", "epsilon" }) end,
  layer = function(_, x, o) return flow.layers.rms_norm(x, o) end,
  plain = function(row, x, name, make)
    local all = row.begin_norm_axis == 1
    local squares = math_.reduce_mean(x * x, all and { 1, 2 } or { 2 }, true)
    local shape = all and { 3, 4 } or { 4 }
    return scaled(row, x / math_.sqrt(squares + row.epsilon), name, make, shape, shape)
  end,
}

local function grouped(kind, groups_of)
  return {
    name = kind,
    factors = with({ { "num_groups", kind == "group_norm" and { 1, 2, 4 } or { "none" } } }, NORMED,
      COMMON),
    shape = function() return { 2, 4, 3 } end,
    options = function(row) return options(row, { "num_groups", "center", "scale", "epsilon" }) end,
    layer = function(_, x, o) return flow.layers[kind](x, o) end,
    plain = function(row, x, name, make)
      local groups = groups_of(row)
      local y = normalized(row, flow.reshape(x, { 2, groups, 4 / groups, 3 }), { 2, 3 })
      return scaled(row, flow.reshape(y, { 2, 4, 3 }), name, make, { 4 }, { 1, 4, 1 })
    end,
  }
end

local prelu = {
  name = "prelu",
  factors = with({ { "shared_axes", { "none", "one", "two" } },
    { "alpha_initializer", INITIALIZER }, { "alpha_regularizer", REGULARIZER } }, COMMON),
  shape = function() return { 2, 4, 3 } end,
  options = function(row)
    local o = options(row, {})
    o.shared_axes = row.shared_axes == "one" and 2 or row.shared_axes == "two" and { 1, 2 } or nil
    return o
  end,
  layer = function(_, x, o) return flow.layers.prelu(x, o) end,
  plain = function(row, x, name, make)
    local shape = ({ none = { 4, 3 }, one = { 4, 1 }, two = { 1, 1 } })[row.shared_axes]
    local alpha = make(name .. "-alpha", shape, INITIALIZERS[row.alpha_initializer]() or zeros(),
      REGULARIZERS[row.alpha_regularizer](), row.trainable)
    return nn.relu(x) - nn.relu(-x) * alpha
  end,
}

-- ---- embedding ----

local embedding = {
  name = "embedding", dtype = flow.int32,
  factors = with({ { "padding_idx", { "none", 0, 4 } }, { "embeddings_initializer", INITIALIZER },
    { "embeddings_regularizer", REGULARIZER } }, COMMON),
  shape = function() return { 2, 4 } end,
  input = function(_, step)
    local list = {}
    for i = 1, 8 do list[i] = (3 * i + step) % 5 end
    return core.reshape(core.from_table(list, "int32"), { 2, 4 })
  end,
  options = function(row)
    local o = options(row, { "padding_idx" })
    o.dtype = flow.double
    return o
  end,
  layer = function(_, ids, o) return flow.layers.embedding(ids, 5, 3, o) end,
  plain = function(row, ids, name, make)
    local w = make(name .. "-weight", { 5, 3 }, INITIALIZERS[row.embeddings_initializer]()
      or flow.random_uniform_initializer(-0.05, 0.05), REGULARIZERS[row.embeddings_regularizer](),
      row.trainable)
    local picks = flow.one_hot(ids, 5, { dtype = flow.double })
    if row.padding_idx ~= "none" then
      local keep = {}
      for i = 1, 5 do keep[i] = i - 1 == row.padding_idx and 0 or 1 end
      picks = picks * core.from_table(keep, "float64")
    end
    return flow.reshape(flow.matmul(flow.reshape(picks, { 8, 5 }), w), { 2, 4, 3 })
  end,
}

-- ---- recurrent layers ----

local UNITS, BATCH, LENGTH, SIZE = 2, 3, 4, 2
local GATES = { tanh = 1, relu = 1, lstm = 4, gru = 3 }

-- The states after one step, of x W_ih^T + b_ih and h W_hh^T + b_hh.
local CELLS = {
  tanh = function(x, h) return math_.tanh(x[1] + h[1]) end,
  relu = function(x, h) return nn.relu(x[1] + h[1]) end,
  lstm = function(x, h, _, c)
    local i, f = math_.sigmoid(x[1] + h[1]), math_.sigmoid(x[2] + h[2])
    local now = f * c + i * math_.tanh(x[3] + h[3])
    return math_.sigmoid(x[4] + h[4]) * math_.tanh(now), now
  end,
  gru = function(x, h, before)
    local r, z = math_.sigmoid(x[1] + h[1]), math_.sigmoid(x[2] + h[2])
    return (1 - z) * math_.tanh(x[3] + r * h[3]) + z * before
  end,
}

-- One direction of one layer over the list of its inputs, each (batch, size).
local function direction(row, cell, list, name, suffix, make, size)
  local rows = GATES[cell] * UNITS
  local uniform = flow.random_uniform_initializer(-1 / math.sqrt(UNITS), 1 / math.sqrt(UNITS))
  local function part(what, shape, initializer, regularizer)
    return make(("%s-%s%s"):format(name, what, suffix), shape, initializer or uniform, regularizer,
      row.trainable)
  end
  local regularizer = REGULARIZERS[row.kernel_regularizer]
  local w = part("weight_ih", { rows, size }, INITIALIZERS[row.kernel_initializer](), regularizer())
  local u = part("weight_hh", { rows, UNITS }, INITIALIZERS[row.recurrent_initializer](),
    regularizer())
  local b, d
  if row.use_bias then
    b = part("bias_ih", { rows }, INITIALIZERS[row.bias_initializer]())
    d = part("bias_hh", { rows }, INITIALIZERS[row.bias_initializer]())
  end
  local function gates(x, weight, offset)
    local y = flow.matmul(x, weight, { transpose_b = true })
    if offset then y = y + offset end
    local parts = {}
    for i = 1, GATES[cell] do parts[i] = flow.slice(y, { 0, (i - 1) * UNITS }, { BATCH, UNITS }) end
    return parts
  end
  local h = flow.constant(0, { dtype = flow.double, shape = { BATCH, UNITS } })
  local c, states = h, {}
  local from, to, by = 1, LENGTH, 1
  if suffix:find "reverse" then from, to, by = LENGTH, 1, -1 end
  for t = from, to, by do
    h, c = CELLS[cell](gates(list[t], w, b), gates(h, u, d), h, c)
    states[t] = h
  end
  return states, h, c
end

local function recurrent(kind)
  return {
    name = kind,
    factors = with({ { "nonlinearity", kind == "rnn" and { "tanh", "relu" } or { "none" } },
      { "num_layers", { 1, 2 } }, { "bidirectional", FLAG }, { "batch_first", FLAG },
      { "use_bias", FLAG }, { "kernel_initializer", INITIALIZER },
      { "recurrent_initializer", INITIALIZER }, { "bias_initializer", INITIALIZER },
      { "kernel_regularizer", REGULARIZER }, { "gives", { "states", "last" } } }, COMMON),
    shape = function(row)
      return row.batch_first and { BATCH, LENGTH, SIZE } or { LENGTH, BATCH, SIZE }
    end,
    options = function(row)
      return options(row, { "nonlinearity", "num_layers", "bidirectional", "batch_first",
        "use_bias" })
    end,
    layer = function(row, x, o)
      local y, h, c = flow.layers[kind](x, UNITS, o)
      if row.gives == "states" then return y end
      return c and h + c * 0.5 or h
    end,
    plain = function(row, x, name, make)
      local cell = kind == "rnn" and row.nonlinearity or kind
      local list, ends = {}, {}
      for t = 1, LENGTH do
        local one = row.batch_first and flow.slice(x, { 0, t - 1, 0 }, { BATCH, 1, SIZE })
          or flow.slice(x, { t - 1, 0, 0 }, { 1, BATCH, SIZE })
        list[t] = flow.reshape(one, { BATCH, SIZE })
      end
      local size = SIZE
      for layer = 0, row.num_layers - 1 do
        local both = {}
        for d = 1, row.bidirectional and 2 or 1 do
          local states, h, c = direction(row, cell, list, name,
            ("_l%d%s"):format(layer, d == 2 and "_reverse" or ""), make, size)
          both[d] = states
          h = flow.reshape(kind == "lstm" and h + c * 0.5 or h, { 1, BATCH, UNITS })
          ends[#ends + 1] = h
        end
        for t = 1, LENGTH do
          list[t] = both[2] and flow.concat({ both[1][t], both[2][t] }, 1) or both[1][t]
        end
        size = both[2] and 2 * UNITS or UNITS
      end
      if row.gives == "last" then return #ends == 1 and ends[1] or flow.concat(ends, 0) end
      for t = 1, LENGTH do
        local shape = row.batch_first and { BATCH, 1, size } or { 1, BATCH, size }
        list[t] = flow.reshape(list[t], shape)
      end
      return flow.concat(list, row.batch_first and 1 or 0)
    end,
  }
end

-- ---- attention ----

local attention = {
  name = "multi_head_attention",
  factors = with({ { "num_kv_heads", { "none", 1 } }, { "head_size", { "none", 3 } },
    { "causal", { false, true } }, { "key_value", { false, true } }, { "use_bias", FLAG },
    { "kernel_initializer", INITIALIZER }, { "bias_initializer", INITIALIZER },
    { "kernel_regularizer", REGULARIZER }, { "bias_regularizer", REGULARIZER } }, COMMON),
  shape = function() return { 2, 3, 4 } end,
  options = function(row)
    return options(row, { "num_kv_heads", "head_size", "causal", "use_bias" })
  end,
  layer = function(row, x, o)
    if row.key_value then o.key_value = math_.tanh(x) end
    return flow.layers.multi_head_attention(x, 2, o)
  end,
  plain = function(row, x, name, make)
    local size = row.head_size == "none" and 2 or row.head_size
    local kv = row.num_kv_heads == "none" and 2 or row.num_kv_heads
    local function project(v, units, part, inputs)
      local y = flow.matmul(flow.reshape(v, { 6, inputs }),
        kernel(row, make, name .. part .. "-weight", { units, inputs }), { transpose_b = true })
      return row.use_bias and y + bias(row, make, name .. part .. "-bias", units) or y
    end
    -- Head number i of those that begin at row `from`: (batch, 3, size).
    local function head(v, from, i)
      return flow.reshape(flow.slice(v, { 0, from + i * size }, { 6, size }), { 2, 3, size })
    end
    -- Queries, keys and values: each where it is, and its first row there.
    local q, k, v
    if row.key_value then
      local memory = math_.tanh(x)
      q = { project(x, 2 * size, "-q_proj", 4), 0 }
      k = { project(memory, kv * size, "-k_proj", 4), 0 }
      v = { project(memory, kv * size, "-v_proj", 4), 0 }
    else
      local all = project(x, (2 + 2 * kv) * size, "-in_proj", 4)
      q, k, v = { all, 0 }, { all, 2 * size }, { all, (2 + kv) * size }
    end
    local heads = {}
    for i = 0, 1 do
      local from = math.floor(i * kv / 2)
      local of, by = head(q[1], q[2], i), head(k[1], k[2], from)
      local scores = flow.matmul(of, by, { transpose_b = true }) * (1 / math.sqrt(size))
      if row.causal then
        scores = scores + core.from_table({ { 0, -1e30, -1e30 }, { 0, 0, -1e30 }, { 0, 0, 0 } },
          "float64")
      end
      heads[i + 1] = flow.reshape(flow.matmul(nn.softmax(scores), head(v[1], v[2], from)),
        { 6, size })
    end
    return flow.reshape(project(flow.concat(heads, 1), 4, "-out_proj", 2 * size), { 2, 3, 4 })
  end,
}

local CASES = { dense, convolution(1), convolution(2), convolution(3), batch, layer_norm, rms_norm,
  grouped("group_norm", function(row) return row.num_groups end),
  grouped("instance_norm", function() return 4 end), prelu, embedding, recurrent "rnn",
  recurrent "lstm", recurrent "gru", attention }

describe("every pair of a layer's options", function()
  before_each(flow.clear_default_session)
  after_each(flow.clear_default_session)

  for _, case in ipairs(CASES) do
    it("does what plain ops do: " .. case.name, function()
      for _, row in ipairs(combine.rows(case.factors)) do
        if case.adapt then case.adapt(row) end
        compare(case, case.factors, row)
      end
    end)
  end
end)
