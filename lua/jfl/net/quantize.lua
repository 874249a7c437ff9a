-- flow.quantization.quantize: variables of a trained session stored in few bits;
-- flow.quantization.merge: adapters made part of the weights that they are beside.
---@flow quantization.quantize quantization.merge
local args = require "jfl.base.args"
local calibrate = require "jfl.net.calibrate"
local core = require "jfl.core"
local is_model = require "jfl.base.is_model"
local metatable = require "jfl.base.metatable"
local names = require "jfl.base.names"
local registry = require "jfl.net.variable"
local variables = require "jfl.checkpoint.variables"

local quantize = {}

-- The session's variables that a name, a pattern or a model stands for.
local function named(who, what)
  local of_model = is_model(what)
  local pattern = of_model and what.name .. "-*" or args.expect(who, "names", what, "string")
  local found, match = {}, names.pattern(pattern) .. "$"
  for _, name in ipairs(core.variables()) do
    if name:find(match) then found[#found + 1] = name end
  end
  args.check(#found > 0, "%s: there is no variable '%s' in the session", who, pattern)
  return found, of_model or what:find("*", 1, true) ~= nil
end

-- Why a variable cannot be stored so, or nil.
local function obstacle(dtype, shape, form)
  if not dtype:match("float") then return "is " .. dtype end
  if form == "int8" then
    if dtype == "float32" and (#shape == 2 or #shape == 4) then return nil end
    return ("of %s has %d axes, and only float32 of 2 or 4 is"):format(dtype, #shape)
  end
  if #shape ~= 2 then return ("has %d axes, and only matrices are"):format(#shape) end
  if shape[2] % core.blocks[form] == 0 then return nil end
  return ("has rows of %d, no multiple of the %d numbers in a block"):format(shape[2],
    core.blocks[form])
end

-- The names to be stored so: of patterns and models those that can be.
local function chosen(who, o)
  local list = {}
  local given = type(o.names) == "table" and metatable(o.names) == nil and o.names or { o.names }
  for _, what in ipairs(given) do
    local found, is_pattern = named(who, what)
    for _, name in ipairs(found) do
      local dtype, shape = core.variable_info(name)
      local why = obstacle(dtype, shape, o.form)
      if why and not is_pattern then
        core.fail("%s: variable '%s' %s %s, which %s needs", who, name, args.shape_text(shape), why,
          o.form)
      end
      if not why and not name:find("%-adapter_[ab]$") then list[#list + 1] = name end
    end
  end
  return list
end

--- Makes the weights of a network that are stored in few bits float32 again.
function quantize.restore(net)
  variables.settle()
  local values, old = {}, {}
  for _, name in ipairs((named("models.load", net))) do
    local form, value = registry.stored[name], core.variable_get(name)
    if form then
      old[#old + 1], values[name] = name, core.cast(value, "float32")
      registry.stored[name] = nil
    end
    if form and form.input then
      values[name] = values[name] * core.reshape(core.variable_get(name .. "_scale"),
        registry.channels(value.shape))
      for _, more in ipairs { "_scale", "_input_" .. form.input } do
        old[#old + 1] = name .. more
      end
    end
  end
  if #old == 0 then return end
  variables.drop_variables(old)
  variables.settle()
  variables.load_variables(values)
end

local NAMES = { "names", "a variable, a pattern such as \"block*-weight\", a model, or a list of "
  .. "those", type = "string|Model|(string|Model)[]" }

-- Stores variables as what `made` gives for each name, in few bits.
local function store(list, made)
  if #list > 0 then variables.drop_variables(list) end
  for _, name in ipairs(list) do registry.stored[name] = made[name] end
  variables.settle()
  for _, name in ipairs(list) do
    local stored = registry.stored[name]
    stored.array, stored.scale, stored.input_scale = nil, nil, nil
  end
  return list
end

-- The names whose ranges a job tells, and what their weights become in int8.
local function in_int8(who, o, list)
  local ranges = calibrate.ranges(who, o.job, o.batches, list)
  local kept, made = {}, {}
  for _, name in ipairs(list) do
    if ranges[name] then
      kept[#kept + 1] = name
      made[name] = calibrate.stored(core.variable_get(name), ranges[name])
    elseif type(o.names) == "string" and name == o.names then
      core.fail("%s: variable '%s' is read by no product with transpose_b and no nn.conv2d of job "
        .. "'%s'", who, name, o.job.name)
    end
  end
  return kept, made
end

local FORM = "q8_0 (8.5 bits a weight), q6_k (6.6), q4_k or q4_0 (4.5); or int8, for products and "
  .. "convolutions whose other operand is rounded to 8 bits too"

--- Stores trained weights in few bits, and returns their names. Jobs that use them are traced when
-- they are called next; the weights are not trained any more, and lose what optimizers kept for
-- them. Of patterns and models it takes the matrices whose rows can be cut into blocks. They must
-- be read by flow.matmul with transpose_b, as flow.layers.dense does, or by flow.gather.
--
-- int8 is for networks of convolutions: it takes filters and matrices that the predict job `job`
-- reads in flow.nn.conv2d and flow.matmul with transpose_b. For each channel the largest weight
-- becomes 127. What they are multiplied by is rounded to int8, or to uint8 where it is never below
-- 0, so that the numbers seen in `batches` fit: predict jobs round it for all that reads it, and
-- compute with integers where the processor has instructions for that.
quantize.quantize = args.define("quantization.quantize", "Stores trained weights in few bits.", {
  NAMES,
  { "form", FORM, "q8_0", type = "string" },
  { "job", "for int8: the predict job that tells the ranges", args.none, type = "Job" },
  { "batches", "for int8: what it is called with, a list of arrays or of lists of them, or a "
    .. "function that gives the next ones, then nil", args.none, type = "table|function" },
  returns = "string[]",
}, function(o, who)
  if o.form ~= "int8" then args.block_dtype(who, "form", o.form) end
  variables.settle()
  local list, made = chosen(who, o), {}
  if o.form == "int8" then return store(in_int8(who, o, list)) end
  for _, name in ipairs(list) do
    made[name] = { dtype = o.form, array = core.cast(core.variable_get(name), o.form) }
  end
  return store(list, made)
end)

--- Adds the product of each adapter to the weight beside it, rounds that to how the weight is
-- stored, and sets the adapter to 0. Returns the names of the weights.
quantize.merge = args.define("quantization.merge", "Makes adapters part of their weights.", {
  { "names", "of layers, or patterns of them; all", "*", type = "string|string[]" },
  { "scale", "that of the adapters", 1, type = "number" },
  returns = "string[]",
}, function(o, who)
  variables.settle()
  local done, values = {}, {}
  for _, layer in ipairs(type(o.names) == "table" and o.names or { o.names }) do
    local adapters = named(who, args.expect(who, "names", layer, "string") .. "-adapter_b")
    for _, name in ipairs(adapters) do
      local of = name:sub(1, -#"-adapter_b" - 1)
      local a, b = core.variable_get(of .. "-adapter_a"), core.variable_get(name)
      local weight = core.variable_get(of .. "-weight")
      local sum = weight:astype("float32") + b:matmul(a) * o.scale
      values[of .. "-weight"], values[name] = sum:astype(weight.dtype), b * 0
      done[#done + 1] = of .. "-weight"
    end
  end
  variables.load_variables(values)
  return done
end)

return quantize
