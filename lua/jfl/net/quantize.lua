-- flow.quantization.quantize: variables of a trained session stored in few bits;
-- flow.quantization.merge: adapters made part of the weights that they are beside.
---@flow quantization.quantize quantization.merge
local args = require "jfl.base.args"
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
  if #found == 0 then
    core.fail("%s: there is no variable '%s' in the session", who, pattern)
  end
  return found, of_model or what:find("*", 1, true) ~= nil
end

-- Why a variable cannot be stored so, or nil.
local function obstacle(dtype, shape, form)
  if not dtype:match("float") then return "is " .. dtype end
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

local NAMES = { "names", "a variable, a pattern such as \"block*-weight\", a model, or a list of "
  .. "those", type = "string|Model|(string|Model)[]" }

--- Stores trained weights in few bits, and returns their names. Jobs that use them are traced when
-- they are called next; the weights are not trained any more, and lose what optimizers kept for
-- them. Of patterns and models it takes the matrices whose rows can be cut into blocks. They must
-- be read by flow.matmul with transpose_b, as flow.layers.dense does, or by flow.gather.
quantize.quantize = args.define("quantization.quantize", "Stores trained weights in few bits.", {
  NAMES,
  { "form", "q8_0 (8.5 bits a weight), q6_k (6.6), q4_k or q4_0 (4.5)", "q8_0", type = "string" },
  returns = "string[]",
}, function(o)
  local who = "quantization.quantize"
  args.block_dtype(who, "form", o.form)
  variables.settle()
  local list = chosen(who, o)
  local arrays = {}
  for i, name in ipairs(list) do arrays[i] = core.cast(core.variable_get(name), o.form) end
  if #list > 0 then variables.drop_variables(list) end
  for i, name in ipairs(list) do registry.stored[name] = { dtype = o.form, array = arrays[i] } end
  variables.settle()
  for _, name in ipairs(list) do registry.stored[name].array = nil end
  return list
end)

--- Adds the product of each adapter to the weight beside it, rounds that to how the weight is
-- stored, and sets the adapter to 0. Returns the names of the weights.
quantize.merge = args.define("quantization.merge", "Makes adapters part of their weights.", {
  { "names", "of layers, or patterns of them; all", "*", type = "string|string[]" },
  { "scale", "that of the adapters", 1 },
  returns = "string[]",
}, function(o)
  local who = "quantization.merge"
  variables.settle()
  args.expect(who, "scale", o.scale, "number")
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
