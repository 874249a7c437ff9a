-- train.model_update_conf (old spelling): reads it into an optimizer, its options and its rates.
local args = require "jfl.base.args"
local core = require "jfl.core"
local schedule = require "jfl.optim.schedules"

local CONF = "train.model_update_conf"

-- Forms of the original that need what the core lacks.
local MISSING = {
  lamb_conf = "the optimizer LAMB", lars_conf = "the optimizer LARS",
  lazy_adam_conf = "the optimizer LazyAdam",
  rmsprop_conf = "the optimizer RMSProp", weight_decay_conf = "weight decay",
  cosine_conf = "the cosine schedule", exponential_conf = "the exponential schedule",
  inverse_time_conf = "the inverse time schedule",
  linear_cosine_conf = "the linear cosine schedule",
  natural_exp_conf = "the natural exponential schedule",
  polynomial_conf = "the polynomial schedule",
}

-- Reads an entry: a table with these fields, each with the type that it must have, or a default.
local function entry(path, fields, read)
  return function(conf)
    local values = {}
    for field, value in pairs(args.expect(CONF, path, conf, "table")) do
      if not fields[field] then
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

-- Each gives an optimizer's name and its options.
local UPDATES = {
  naive_conf = entry("naive_conf", {}, function() return "SGD", { momentum = 0 } end),
  momentum_conf = entry("momentum_conf", { beta = 0.9 },
    function(conf) return "SGD", { momentum = conf.beta } end),
  adam_conf = entry("adam_conf",
    { beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, do_bias_correction = true },
    function(conf) return "Adam", conf end),
}

local WARMUPS = {
  constant_conf = entry("constant_conf", { warmup_batches = "number", multiplier = "number" },
    function(conf) return schedule.warmup.constant(conf.warmup_batches, conf.multiplier) end),
  linear_conf = entry("linear_conf", { warmup_batches = "number", start_multiplier = "number" },
    function(conf) return schedule.warmup.linear(conf.warmup_batches, conf.start_multiplier) end),
}

-- Each gives boundaries and values, of which `relative` ones are multiplied by the primary rate.
local DECAYS = {
  piecewise_constant_conf = entry("piecewise_constant_conf",
    { boundaries = "table", values = "table" }, function(conf)
      return { boundaries = conf.boundaries, values = conf.values }
    end),
  piecewise_scaling_conf = entry("piecewise_scaling_conf",
    { boundaries = "table", scales = "table" }, function(conf)
      return { boundaries = conf.boundaries, values = conf.scales, relative = true }
    end),
}

local CLIPS = {
  clip_by_global_norm = entry("clip_by_global_norm", { clip_norm = "number" },
    function(conf)
      if conf.clip_norm > 0 and conf.clip_norm < math.huge then return conf.clip_norm end
      core.fail("%s: clip_norm must be a positive number, got %g", CONF, conf.clip_norm)
    end),
}

local function fail_missing(path, name, there)
  core.fail("%s: %s: %s is not built into jfl; there is %s", CONF, path, MISSING[name], there)
end

-- The entry of conf, which has one: of its name in `readers`.
local function one_of(readers, conf, what)
  local name, value = next(args.expect(CONF, what, conf, "table"))
  if MISSING[name] then fail_missing(what .. "." .. name, name, args.names_of(readers)) end
  if not readers[name] or next(conf, name) ~= nil then
    core.fail("%s: %s must be one of %s with a table, got %s", CONF, what,
      args.names_of(readers), name == nil and "an empty table" or args.names_of(conf))
  end
  return readers[name](value)
end

local PARTS = {
  learning_rate_decay = { field = "decay", readers = DECAYS },
  warmup_conf = { field = "warmup", readers = WARMUPS },
  clip_conf = { field = "clip_norm", readers = CLIPS },
}

local update_conf = {}

--- The rates' schedule for a primary learning rate.
function update_conf.schedule(parsed, rate)
  local boundaries, values = {}, { rate }
  if parsed.decay then
    boundaries, values = parsed.decay.boundaries, {}
    for i, value in ipairs(parsed.decay.values) do
      values[i] = parsed.decay.relative and value * rate or value
    end
  end
  return schedule.kinds.PiecewiseConstantScheduler(boundaries, values, parsed.warmup)
end

--- Reads the table: gives { optimizer, options, decay, warmup, clip_norm }.
function update_conf.read(conf)
  local parsed = {}
  for name, value in pairs(args.expect(CONF, "value", conf, "table")) do
    local part = PARTS[name]
    if part then
      parsed[part.field] = one_of(part.readers, value, name)
    elseif MISSING[name] then
      fail_missing(name, name, args.names_of(UPDATES))
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
  update_conf.schedule(parsed, 1)
  return parsed
end

return update_conf
