-- Initializers of variables: each returns, for a shape, a kind of initial contents that the core
-- knows and its two parameters.
---@box constant_initializer glorot_normal_initializer glorot_uniform_initializer
---@box kaiming_initializer ones_initializer orthogonal_initializer random_normal_initializer
---@box random_uniform_initializer truncated_normal truncated_normal_initializer
---@box variance_scaling_initializer xavier_normal_initializer xavier_uniform_initializer
---@box zeros_initializer
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local core = require "jfl.core"

local initializer = {}

local Initializer = { __tostring = function(self) return self.text end }

-- resolve(shape, data_format) returns the name of the distribution and its parameters a and b.
local function new(text, resolve)
  return setmetatable({ text = text, resolve = resolve }, Initializer)
end

local function fixed(text, init, a, b)
  return new(text, function() return init, a, b end)
end

function initializer.is(value) return metatable(value) == Initializer end

local FINITE, POSITIVE = "a finite number", "a number above 0"

local function constant(path, value)
  return args.define(path, ("Fills a variable with %s."):format(value or "a value"), {
    { "value", "what each element is", value or 0, type = "number" },
    returns = "Initializer",
  }, function(o)
    return fixed(("%s(%g)"):format(path, o.value), "constant", o.value, 0)
  end)
end

initializer.constant_initializer = constant("constant_initializer")

local function filled(path, value)
  return args.define(path, ("Fills a variable with %d."):format(value), {
    returns = "Initializer",
  }, function() return fixed(path .. "()", "constant", value, 0) end)
end

initializer.zeros_initializer = filled("zeros_initializer", 0)
initializer.ones_initializer = filled("ones_initializer", 1)

initializer.random_uniform_initializer = args.define("random_uniform_initializer",
  "Draws from [minval, maxval).", {
    { "minval", "the least value", 0, range = FINITE },
    { "maxval", "the bound above", 1, range = FINITE },
    returns = "Initializer",
  }, function(o, who)
    local low, high = o.minval, o.maxval
    if low > high then core.fail("%s: minval must be at most maxval %g, got %g", who, high, low) end
    return fixed(("%s(%g, %g)"):format(who, low, high), "uniform", low, high)
  end)

local STDDEV = { "stddev", "standard deviation", 1, range = POSITIVE }

local function normal(path, doc, init)
  return args.define(path, doc, {
    { "mean", "of the distribution", 0, range = FINITE }, STDDEV,
    returns = "Initializer",
  }, function(o)
    return fixed(("%s(%g, %g)"):format(path, o.mean, o.stddev), init, o.mean, o.stddev)
  end)
end

initializer.random_normal_initializer = normal("random_normal_initializer",
  "Draws from a normal distribution.", "normal")
initializer.truncated_normal_initializer = normal("truncated_normal_initializer",
  "Draws from a normal distribution, again where a value is 2 stddev or more from the mean.",
  "truncated_normal")

initializer.truncated_normal = args.define("truncated_normal",
  "Draws from a normal distribution around 0, again where a value is 2 stddev or more from it.", {
    STDDEV,
    returns = "Initializer",
  }, function(o)
    return fixed(("truncated_normal(%g)"):format(o.stddev), "truncated_normal", 0, o.stddev)
  end)

-- The number of inputs and of outputs of one unit. Weights are (out, in), (out, in, kh, kw) or
-- (out, kh, kw, in).
local function fans(shape, data_format)
  local n = #shape
  if n < 2 then return shape[1] or 1, shape[1] or 1 end
  local channels_last = n > 2 and data_format:sub(-1) == "C"
  local field = channels_last and args.count(shape, 2, n - 1) or args.count(shape, 3, n)
  return args.count(shape, 2, n), shape[1] * field
end

local MODES = {
  fan_in = function(fan_in) return fan_in end,
  fan_out = function(_, fan_out) return fan_out end,
  fan_avg = function(fan_in, fan_out) return (fan_in + fan_out) / 2 end,
}

-- The standard deviation of a standard normal distribution that is cut off at -2 and 2.
local CUT_STDDEV = 0.87962566103423978

local DISTRIBUTIONS = {
  truncated_normal = function(var) return "truncated_normal", 0, math.sqrt(var) / CUT_STDDEV end,
  random_normal = function(var) return "normal", 0, math.sqrt(var) end,
  random_uniform = function(var)
    local bound = math.sqrt(3 * var)
    return "uniform", -bound, bound
  end,
}

local MODE = { "mode", "fan_in, fan_out or fan_avg", "fan_in",
  words = { "fan_in", "fan_out", "fan_avg" } }

local function scaled(text, scale, fan_of, draw)
  return new(text, function(shape, data_format)
    local fan_in, fan_out = fans(shape, data_format or "")
    return draw(scale / math.max(1, fan_of(fan_in, fan_out)))
  end)
end

initializer.variance_scaling_initializer = args.define("variance_scaling_initializer",
  "Draws with variance scale / max(1, fan).", {
    { "scale", "of the variance", 1, range = POSITIVE },
    MODE,
    { "distribution", "truncated_normal, random_normal or random_uniform", "truncated_normal",
      words = { "truncated_normal", "random_normal", "random_uniform" } },
    returns = "Initializer",
  }, function(o, who)
    return scaled(("%s(%g, %s, %s)"):format(who, o.scale, o.mode, o.distribution), o.scale,
      MODES[o.mode], DISTRIBUTIONS[o.distribution])
  end)

for name, distribution in pairs {
  glorot_uniform_initializer = "random_uniform", glorot_normal_initializer = "random_normal",
} do
  local make = args.define(name, "Draws with variance 2 / (fan_in + fan_out).", {
    returns = "Initializer",
  }, function() return scaled(name .. "()", 1, MODES.fan_avg, DISTRIBUTIONS[distribution]) end)
  initializer[name] = make
  initializer[name:gsub("glorot", "xavier")] = make
end

local GAINS = {
  none = function() return 1 end,
  sigmoid = function() return 1 end,
  tanh = function() return 5 / 3 end,
  relu = function() return math.sqrt(2) end,
  leaky_relu = function(slope) return math.sqrt(2 / (1 + slope * slope)) end,
}

initializer.kaiming_initializer = args.define("kaiming_initializer",
  "Draws with standard deviation gain / sqrt(fan).", {
    { "shape", "of the variable" },
    { "distribution", "random_normal or random_uniform", "random_normal",
      words = { "random_normal", "random_uniform" } },
    MODE,
    { "nonlinearity", "none, sigmoid, tanh, relu or leaky_relu", "leaky_relu",
      words = { "none", "sigmoid", "tanh", "relu", "leaky_relu" } },
    { "negative_slope", "of leaky_relu", 0, type = "number" },
    { "data_format", "NCHW or NHWC", "NCHW", type = "string" },
    returns = "Initializer",
  }, function(o, who)
    args.shape(who, "shape", o.shape)
    local gain = GAINS[o.nonlinearity](o.negative_slope)
    local fan = MODES[o.mode](fans(o.shape, o.data_format))
    return fixed("kaiming_initializer", DISTRIBUTIONS[o.distribution](gain * gain / fan))
  end)

--- The weights as a matrix (shape[1], all other extents) are gain times a random matrix whose rows,
-- or columns where these are fewer, are orthonormal: Saxe et al., "Exact solutions to the nonlinear
-- dynamics of learning in deep linear neural networks", 2014.
initializer.orthogonal_initializer = args.define("orthogonal_initializer",
  "Fills a variable with a random orthogonal matrix.", {
    { "gain", "what it is multiplied by", 1, range = FINITE },
    returns = "Initializer",
  }, function(o, who)
    local gain = o.gain
    return new(("%s(%g)"):format(who, gain), function(shape)
      if #shape > 1 then return "orthogonal", gain, 0 end
      core.fail("%s: the variable must have two or more axes, got shape %s", who,
        args.shape_text(shape))
    end)
  end)

return initializer
