-- The graph of an ONNX file while it is made: nodes, constants, and what each value is called.
--
-- Ops whose types are narrower than jfl's are put between casts, and what jfl has as int8 with 0
-- for false is of ONNX's type bool where ops make or read it.
local args = require "jfl.base.args"
local core = require "jfl.core"
local extent = require "jfl.onnx.export_extent"

local Builder = {}
Builder.__index = Builder

local builder = {}

--- ONNX's numbers of types.
builder.TYPES = { float32 = 1, uint8 = 2, int8 = 3, int32 = 6, int64 = 7, bool = 9, float16 = 10,
  float64 = 11, bfloat16 = 16 }

-- Ops that take fewer types than jfl has: those that they take, and which others become.
local FLOATS = { "float32 float64 float16", "float32" }
local SINGLE = { "float32 float64", "float32" }
local NARROW = { Conv = FLOATS, ConvTranspose = FLOATS, AveragePool = FLOATS, MaxPool = FLOATS,
  InstanceNormalization = FLOATS, LSTM = FLOATS, GRU = FLOATS, RNN = FLOATS, Elu = FLOATS,
  Selu = FLOATS, HardSigmoid = FLOATS, HardSwish = FLOATS, Softplus = FLOATS, Softsign = FLOATS,
  LeakyRelu = FLOATS, Shrink = FLOATS, IsInf = SINGLE,
  Sin = FLOATS, Cos = FLOATS, Tan = FLOATS, Asin = FLOATS, Acos = FLOATS, Atan = FLOATS,
  Sinh = FLOATS, Cosh = FLOATS, Asinh = FLOATS, Acosh = FLOATS, Atanh = FLOATS, Round = FLOATS,
  CumSum = { "float32 float64 float16 int32 int64", "float32" },
  TopK = { "float32 float64 float16 int8 uint8 int32 int64", "float32" },
  Trilu = { "float32 float64 float16 int8 uint8 int32 int64 bool", "float32" },
}
-- The dtype of results that have another one than the first input.
local RESULTS = { ArgMax = "int64", ArgMin = "int64", Shape = "int64" }
for op in ([[And Equal Greater GreaterOrEqual IsInf IsNaN Less LessOrEqual Not Or
  Xor]]):gmatch "%a+" do
  RESULTS[op] = "bool"
end

-- Attributes that are numbers with a fraction.
local FRACTIONS = { alpha = true, beta = true, bias = true, epsilon = true, lambd = true }

-- How an attribute's type is written, by kind.
local FLOAT, INT, TEXT, TENSOR, FLOATS_OF, INTS, TEXTS = 1, 2, 3, 4, 6, 7, 8

local END = 2 ^ 53                       -- of a slice that goes to the end

-- Past the end of any axis, for slices.
builder.END = END

function builder.new(opset)
  return setmetatable({ opset = opset, nodes = {}, initializers = {}, taken = {}, called = {},
    dtypes = {}, truths = {}, constants = {}, scope = "" }, Builder)
end

-- ---- names ----

--- A name that nothing has yet: the one given, or with a number behind it.
function Builder:unique(name)
  local free, n = name, 1
  while self.taken[free] do
    n = n + 1
    free = ("%s_%d"):format(name, n)
  end
  self.taken[free] = true
  return free
end

--- Calls a value by a name of the file.
function Builder:call(value, name)
  self.called[value], self.dtypes[name] = name, value.dtype
  return name
end

--- Calls a value as another one is called that it equals.
function Builder:alias(value, name) self.called[value] = name end

--- What a value is called. One that is known as a truth is cast where it is first read as numbers.
function Builder:name(value)
  local name, truth = self.called[value], self.truths[value]
  if name or not truth then return name end
  return self:out(value, "Cast", { truth }, { to = builder.TYPES[value.dtype] })
end

--- The name of a value as a truth: whether its elements are not 0.
function Builder:truth(value)
  if not self.truths[value] then
    self.truths[value] = self:cast(self:name(value), "bool")
  end
  return self.truths[value]
end

--- Says that a value is a truth of that name, as ops make it that compare.
function Builder:is_truth(value, name) self.truths[value] = name end

--- Whether an op's result is a truth.
function Builder.gives_truth(_, op_type) return RESULTS[op_type] == "bool" end

-- ---- nodes ----

local function attribute_of(name, value)
  local kind = type(value)
  if kind == "string" then return { name = name, type = TEXT, s = value } end
  if kind == "boolean" then return { name = name, type = INT, i = value and 1 or 0 } end
  if kind == "number" and FRACTIONS[name] then return { name = name, type = FLOAT, f = value } end
  if kind == "number" then return { name = name, type = INT, i = value } end
  if value.texts then return { name = name, type = TEXTS, strings = value.texts } end
  if value.floats then return { name = name, type = FLOATS_OF, floats = value.floats } end
  if value.tensor then return { name = name, type = TENSOR, t = value.tensor } end
  return { name = name, type = INTS, ints = value }
end

-- Attributes in the order of their names, so that a file is the same each time.
local function attributes_of(attributes)
  local list = {}
  for i, name in ipairs(args.keys(attributes or {})) do
    list[i] = attribute_of(name, attributes[name])
  end
  return list
end

--- Adds a node as it is.
function Builder:raw(op_type, inputs, outputs, attributes)
  self.nodes[#self.nodes + 1] = { op_type = op_type, input = inputs, output = outputs,
    name = self:node_name(op_type), attribute = attributes_of(attributes) }
end

function Builder:node_name(op_type)
  self.node_names = self.node_names or {}
  local base = self.scope == "" and op_type or self.scope .. "/" .. op_type
  local count = (self.node_names[base] or 0) + 1
  self.node_names[base] = count
  return count == 1 and base or ("%s_%d"):format(base, count)
end

function Builder:cast(name, dtype)
  if self.dtypes[name] == dtype then return name end
  return self:op("Cast", { name }, { to = builder.TYPES[dtype] }, dtype)
end

-- The inputs of an op that takes fewer types than its first input has, cast, and the dtype that
-- they had; the inputs as they are where it takes them.
local function narrowed(self, op_type, inputs)
  local rule, dtype = NARROW[op_type], self.dtypes[inputs[1]]
  if not rule or (" " .. rule[1] .. " "):find(" " .. dtype .. " ", 1, true) then return inputs end
  local list = {}
  for i, name in ipairs(inputs) do
    list[i] = self.dtypes[name] == dtype and self:cast(name, rule[2]) or name
  end
  return list, dtype
end

-- Adds a node of one result, whose name is given: that of `wanted`, or of a temporary.
local function add(self, op_type, inputs, attributes, dtype, result)
  local list, outer = narrowed(self, op_type, inputs)
  dtype = dtype or RESULTS[op_type] or self.dtypes[inputs[op_type == "Where" and 2 or 1]]
  if outer and dtype == outer then
    local inner = self:op(op_type, list, attributes)
    self:raw("Cast", { inner }, { result }, { to = builder.TYPES[dtype] })
  else
    self:raw(op_type, list, { result }, attributes)
  end
  self.dtypes[result] = dtype
  return result
end

--- Adds a node and returns the name of its result. dtype: of the result, where the op and its
-- inputs do not tell.
function Builder:op(op_type, inputs, attributes, dtype)
  local result = self:unique(("%s/%s"):format(self.scope, op_type:lower()))
  return add(self, op_type, inputs, attributes, dtype, result)
end

--- Adds a node whose result is a value of the job.
function Builder:out(value, op_type, inputs, attributes)
  local result = self:unique(value.name)
  self:call(value, result)
  return add(self, op_type, inputs, attributes, value.dtype, result)
end

--- Adds a node with several results, of which the i-th is called `values[i]`, or not read where
-- that is false; dtypes: of the others.
function Builder:outs(op_type, inputs, attributes, dtypes)
  local names = {}
  for i, dtype in ipairs(dtypes) do
    names[i] = dtype and self:unique(("%s/%s"):format(self.scope, op_type:lower())) or ""
    if dtype then self.dtypes[names[i]] = dtype end
  end
  local list, outer = narrowed(self, op_type, inputs)
  self:raw(op_type, list, names, attributes)
  for i, name in ipairs(names) do
    if outer and name ~= "" and dtypes[i] == outer then
      self.dtypes[name] = self.dtypes[list[1]]
      names[i] = self:cast(name, outer)
    end
  end
  return names
end

-- ---- constants ----

--- An array as a tensor of the file: { name =, dtype =, shape =, read = }. dtype: "bool" for one of
-- int8 that holds truths.
function builder.tensor_of(name, array, dtype)
  return { name = name, dtype = dtype or array.dtype, shape = array.shape,
    read = function() return array end }
end

--- Adds such a tensor as an initializer of that name.
function Builder:tensor(name, tensor)
  tensor.name = name
  self.initializers[#self.initializers + 1] = tensor
  self.dtypes[name] = tensor.dtype
  return name
end

--- Numbers as a constant; equal ones are one.
function Builder:constant(dtype, shape, list)
  local texts = {}
  for i, value in ipairs(list) do texts[i] = ("%.17g"):format(value) end
  local key = ("%s %s %s"):format(dtype, table.concat(shape, "x"), table.concat(texts, ","))
  if self.constants[key] then return self.constants[key] end
  local is_truth = dtype == "bool"
  local own = is_truth and "int8" or dtype
  local array = #list == 0 and core.array(own, shape)
    or core.reshape(core.from_table(list, own), shape)
  self.constants[key] = self:tensor(self:unique("const"),
    builder.tensor_of(nil, array, is_truth and "bool" or nil))
  return self.constants[key]
end

--- A list of whole numbers, for shapes and axes.
function Builder:ints(list) return self:constant("int64", { #list }, list) end

--- One number, without axes.
function Builder:scalar(dtype, value) return self:constant(dtype, {}, { value }) end

--- A number of the dtype that a value of that name has.
function Builder:like(name, value) return self:scalar(self.dtypes[name], value) end

-- ---- extents that depend on the batch ----

-- The batch size, as one int64 in a list.
local function batch(self)
  if not self.batch_name then
    local outer = self.scope
    self.scope = "batch"
    self.batch_name = self:op("Shape", { self.batch_input }, { start = 0, ["end"] = 1 })
    self.scope = outer
  end
  return self.batch_name
end

-- An extent as one int64 in a list.
local function one(self, e)
  if not extent.is(e) then return self:ints { e } end
  local name = batch(self)
  local parts = 1 / e.a
  if e.a % 1 == 0 then
    if e.a ~= 1 then name = self:op("Mul", { name, self:ints { e.a } }) end
  elseif parts % 1 == 0 then
    name = self:op("Div", { name, self:ints { parts } })
  else
    error({ why = ("an extent of it is %s"):format(tostring(e)) }, 0)
  end
  return e.b == 0 and name or self:op("Add", { name, self:ints { e.b } })
end

--- A shape, or another list of numbers, as int64: a constant, or computed from the batch.
function Builder:extents(list)
  if not extent.varies(list) then return self:ints(list) end
  local pieces = {}
  for i, e in ipairs(list) do pieces[i] = one(self, e) end
  return #pieces == 1 and pieces[1] or self:op("Concat", pieces, { axis = 0 })
end

--- A shape for Reshape: -1 where one extent alone depends on the batch.
function Builder:target(shape)
  local list, n = {}, 0
  for i, e in ipairs(shape) do
    if e == 0 then return self:extents(shape) end
    if extent.is(e) then n = n + 1 end
    list[i] = extent.is(e) and -1 or e
  end
  return n == 1 and self:ints(list) or self:extents(shape)
end

--- A reshaped value, as a temporary.
function Builder:reshape(name, shape) return self:op("Reshape", { name, self:target(shape) }) end

--- A transposed one.
function Builder:transpose(name, perm) return self:op("Transpose", { name }, { perm = perm }) end

return builder
