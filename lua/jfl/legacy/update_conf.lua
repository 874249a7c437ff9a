-- train.model_update_conf (old spelling): reads it into an optimizer, its options and its rates.
local args = require "jfl.base.args"
local core = require "jfl.core"
local schedule = require "jfl.optim.schedules"

local CONF = "train.model_update_conf"

-- Reads an entry: a table with these fields, each with the type that it must have, or a default.
local function entry(path, fields, read)
  return function(conf)
    local values = {}
    for field, value in pairs(args.expect(CONF, path, conf, "table")) do
      if fields[field] == nil then
        local names = args.names_of(fields)
        core.fail("%s: %s: unknown field '%s'; %s", CONF, path, tostring(field),
          names == "" and "it has none" or "fields are " .. names)
      end
      values[field] = value
    end
    for field, kind in pairs(fields) do
      local is_default = type(kind) ~= "string"
      if values[field] == nil and is_default then values[field] = kind end
      local expected = is_default and type(kind) or kind
      args.expect(CONF, path .. "." .. field, values[field], expected)
    end
    return read(values)
  end
end

-- The optimizer of that name, which takes what the entry has.
local function optimizer(path, name, fields)
  return entry(path, fields, function(conf) return name, conf end)
end

-- Each gives an optimizer's name and its options.
local UPDATES = {
  naive_conf = entry("naive_conf", {}, function() return "SGD", { momentum = 0 } end),
  momentum_conf = entry("momentum_conf", { beta = 0.9 },
    function(conf) return "SGD", { momentum = conf.beta } end),
  adam_conf = optimizer("adam_conf", "Adam",
    { beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, do_bias_correction = true }),
  lazy_adam_conf = optimizer("lazy_adam_conf", "LazyAdam",
    { beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8 }),
  lamb_conf = optimizer("lamb_conf", "LAMB", { beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8 }),
  lars_conf = optimizer("lars_conf", "LARS",
    { momentum_beta = 0.9, epsilon = 1e-9, lars_coefficient = 1e-4 }),
  rmsprop_conf = optimizer("rmsprop_conf", "RMSProp",
    { decay_rate = 0.99, epsilon = 1e-8, centered = false }),
}

-- The optimizers that decay weights in place of those that do not.
local WITH_DECAY = { SGD = "SGDW", Adam = "AdamW", LAMB = "LAMB", LARS = "LARS" }

local WARMUPS = {
  constant_conf = entry("constant_conf", { warmup_batches = "number", multiplier = "number" },
    function(conf) return schedule.warmup.constant(conf.warmup_batches, conf.multiplier) end),
  linear_conf = entry("linear_conf", { warmup_batches = "number", start_multiplier = "number" },
    function(conf) return schedule.warmup.linear(conf.warmup_batches, conf.start_multiplier) end),
}

-- Each gives a function from the primary rate and a warm-up, or nil, to a schedule.
local DECAYS = {
  piecewise_constant_conf = entry("piecewise_constant_conf",
    { boundaries = "table", values = "table" }, function(conf)
      return function(_, warmup)
        return schedule.kinds.PiecewiseConstantScheduler(conf.boundaries, conf.values, warmup)
      end
    end),
  piecewise_scaling_conf = entry("piecewise_scaling_conf",
    { boundaries = "table", scales = "table" }, function(conf)
      return function(rate, warmup)
        local values = {}
        for i, scale in ipairs(conf.scales) do values[i] = scale * rate end
        return schedule.kinds.PiecewiseConstantScheduler(conf.boundaries, values, warmup)
      end
    end),
}

-- Adds a decay that is a schedule of that name, of decay_batches steps, with these other fields.
local function add_decay(path, name, fields)
  fields.decay_batches = "number"
  DECAYS[path] = entry(path, fields, function(conf)
    conf.steps, conf.decay_batches = conf.decay_batches, nil
    return function(rate, warmup)
      conf.warmup = warmup
      return schedule.kinds[name](rate, conf)
    end
  end)
end

add_decay("exponential_conf", "ExponentialScheduler", { decay_rate = "number", staircase = false })
add_decay("inverse_time_conf", "InverseTimeScheduler", { decay_rate = "number", staircase = false })
add_decay("natural_exp_conf", "NaturalExpScheduler", { decay_rate = "number", staircase = false })
add_decay("polynomial_conf", "PolynomialScheduler",
  { end_learning_rate = 1e-4, power = 1, cycle = false })
add_decay("cosine_conf", "CosineScheduler", { alpha = 0 })
add_decay("linear_cosine_conf", "LinearCosineScheduler",
  { num_periods = 0.5, alpha = 0, beta = 0.001 })

local CLIPS = {
  clip_by_global_norm = entry("clip_by_global_norm", { clip_norm = "number" },
    function(conf)
      if conf.clip_norm > 0 and conf.clip_norm < math.huge then return conf.clip_norm end
      core.fail("%s: clip_norm must be a positive number, got %g", CONF, conf.clip_norm)
    end),
}

-- The entry of conf, which has one: of its name in `readers`.
local function one_of(readers, conf, what)
  local name, value = next(args.expect(CONF, what, conf, "table"))
  if not readers[name] or next(conf, name) ~= nil then
    core.fail("%s: %s must be one of %s with a table, got %s", CONF, what,
      args.names_of(readers), name == nil and "an empty table" or args.names_of(conf))
  end
  return readers[name](value)
end

local read_decay = entry("weight_decay_conf",
  { weight_decay_rate = "number", includes = {}, excludes = {} }, function(conf)
    return { weight_decay = conf.weight_decay_rate,
      weight_decay_includes = conf.includes.pattern, weight_decay_excludes = conf.excludes.pattern }
  end)

local PARTS = {
  learning_rate_decay = { field = "decay",
    read = function(value) return one_of(DECAYS, value, "learning_rate_decay") end },
  warmup_conf = { field = "warmup",
    read = function(value) return one_of(WARMUPS, value, "warmup_conf") end },
  clip_conf = { field = "clip_norm",
    read = function(value) return one_of(CLIPS, value, "clip_conf") end },
  weight_decay_conf = { field = "weight_decay", read = read_decay },
}

local update_conf = {}

--- The rates' schedule for a primary learning rate.
function update_conf.schedule(parsed, rate)
  if parsed.decay then return parsed.decay(rate, parsed.warmup) end
  return schedule.kinds.PiecewiseConstantScheduler({}, { rate }, parsed.warmup)
end

-- Makes the optimizer one that decays weights, if that is asked for.
local function decay_weights(parsed)
  if not parsed.weight_decay then return end
  local name = WITH_DECAY[parsed.optimizer]
  args.check(name, "%s: weight_decay_conf: %s does not decay weights; flow.regularizers.l2 does so "
    .. "for a layer", CONF, parsed.optimizer)
  parsed.optimizer = name
  for option, value in pairs(parsed.weight_decay) do parsed.options[option] = value end
end

--- Reads the table: gives { optimizer, options, decay, warmup, clip_norm }.
function update_conf.read(conf)
  local parsed = {}
  for name, value in pairs(args.expect(CONF, "value", conf, "table")) do
    local part = PARTS[name]
    if part then
      parsed[part.field] = part.read(value)
    elseif not UPDATES[name] then
      core.fail("%s: unknown entry '%s'; entries are one of %s, and %s", CONF, tostring(name),
        args.names_of(UPDATES), args.names_of(PARTS))
    elseif parsed.optimizer then
      core.fail("%s: value must have one of %s, got two", CONF, args.names_of(UPDATES))
    else
      parsed.optimizer, parsed.options = UPDATES[name](value)
    end
  end
  if not parsed.optimizer then
    core.fail("%s: value must have one of %s, as in {naive_conf = {}}, got none", CONF,
      args.names_of(UPDATES))
  end
  decay_weights(parsed)
  update_conf.schedule(parsed, 1)
  return parsed
end

return update_conf
