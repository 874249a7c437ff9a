-- The patterns that one op takes the place of: every pair of forms that a pattern has, beside the
-- same nodes as they stand, and patterns that a number or an attribute keeps from being one.
local flow = require "jfl"
local builder = require "jfl.onnx.export_builder"
local combine = require "spec.pairs"
local core = require "jfl.core"
local file = require "jfl.onnx.export_file"
local helper = require "spec.lua.helper"
local match = require "jfl.onnx.match"
local patterns = require "jfl.onnx.patterns"
local protobuf = require "jfl.onnx.protobuf"
local schema = require "jfl.onnx.schema"

-- Parts of a number by which one is another number, or is still that of a pattern.
local WRONG, ROUNDED = 0.01, 2e-4

local BATCH, HEADS, LENGTH, KEYS, SIZE = 2, 3, 4, 5, 6

-- ---- the forms of a pattern ----

-- The places of a pattern that have several forms, as factors of spec.pairs; known: by place, its
-- factor. All means of a file have the form of its op set.
local function add_factors(tree, factors, known)
  if type(tree) ~= "table" or known[tree] then return end
  known[tree] = true
  if tree.any then
    local name, levels = tree.any[1][1] == "ReduceMean" and "mean" or #factors + 1, {}
    for i in ipairs(tree.any) do levels[i] = i end
    if not known[name] then factors[#factors + 1] = { name, levels } end
    known[tree], known[name] = name, true
  end
  for _, each in ipairs(tree.any or tree) do add_factors(each, factors, known) end
end

-- ---- models ----

local NUMBERS = { epsilon = 0.25, scale_q = 0.5, scale_q_divisor = 4, scale_k = -0.75,
  scale_k_divisor = 1.5, scale = 1.25, scale_divisor = 0.8 }
local LISTS = { last = { -1 }, half = { SIZE / 2 }, ["end"] = { 2 ^ 40 },
  flat = { BATCH * HEADS, KEYS, SIZE }, full = { BATCH, HEADS, SIZE, KEYS } }
-- Whether these are tensors of the file.
local WEIGHTS = { scale = true, bias = true, weight = true }

-- In place of a shape: a number that is known when a job is described, and not before.
local COMPUTED = {}

local Model = {}
Model.__index = Model

-- Numbers of both signs that are not near 0.
local function array_of(shape)
  local a = flow.random.uniform(shape, { minval = 0.2, maxval = 1.5 })
  return a * flow.math.sign(flow.random.normal(shape))
end

-- A tensor of the file.
function Model:tensor(name, array)
  return self.b:tensor(name, builder.tensor_of(name, array))
end

-- An input of the model, a tensor of the file or what is computed of one, for a name in a pattern.
function Model:leaf(name)
  if self.leaves[name] then return name end
  self.leaves[name] = true
  if LISTS[name] then return self:tensor(name, core.from_table(LISTS[name], "int64")) end
  if self.shapes and self.shapes[name] == COMPUTED then
    self.b:raw("Neg", { self.b:scalar("float32", 0.7) }, { name })
    return name
  end
  local a = self.arrays[name] or array_of(assert(self.shapes[name], name))
  if WEIGHTS[name] or self.stored[name] then return self:tensor(name, a) end
  self.inputs[#self.inputs + 1] = { name = name, array = a }
  return name
end

-- A number in a pattern as an input of an op; one of them may be wrong.
function Model:number(value, op)
  if op == "Slice" then return self.b:ints { value } end
  self.n_numbers = self.n_numbers + 1
  if self.n_numbers == self.wrong then
    value = value * (1 + self.by) + (value == 0 and self.by == WRONG and 1 or 0)
  end
  return self.b:scalar("float32", value)
end

-- What a node must have that patterns do not ask for.
local ALSO = { Concat = { axis = -1 } }

-- The attributes of a node, one of which may be wrong.
function Model:attributes(tree)
  local list = {}
  for name, value in pairs(tree.attrs or ALSO[tree[1]] or {}) do
    if tree.attrs then self.n_attributes = self.n_attributes + 1 end
    local add = tree.attrs and self.n_attributes == self.wrong_attribute and -1 or 0
    if type(value) == "table" then
      value = { unpack(value) }
      value[#value] = value[#value] + add
    else
      value = value % 1 == 0 and value + add or value * (1 + add * WRONG)
    end
    list[name] = value
  end
  return list
end

-- Adds the nodes of a pattern; gives the name of its result. op: of what reads it.
function Model:add(tree, op)
  if type(tree) == "string" then return self:leaf(tree) end
  if type(tree) == "number" then return self:number(tree, op) end
  if tree.any then return self:add(tree.any[self.row[self.known[tree]]], op) end
  if tree.known then
    if LISTS[tree.known] then return self:leaf(tree.known) end
    return self.b:scalar("float32", NUMBERS[tree.known])
  end
  local inputs = {}
  for i = 2, #tree do inputs[i - 1] = self:add(tree[i], tree[1]) end
  if self.turned and (tree[1] == "Add" or tree[1] == "Mul") then
    inputs[1], inputs[2] = inputs[2], inputs[1]
  end
  local outputs = { self.b:unique(tree[1]) }
  if tree[1] == "ReduceMean" then self.opset = tree.attrs and 17 or 18 end
  self.b:raw(tree[1], inputs, outputs, self:attributes(tree))
  return outputs[1]
end

local function info(name, shape)
  local dims = {}
  for i, extent in ipairs(shape or {}) do dims[i] = { dim_value = extent } end
  return { name = name, type = { tensor_type = { elem_type = 1, shape = shape and
    { dim = dims } } } }
end

-- Writes a model of one form of a pattern; gives its path, and its inputs in order.
local function write(pattern, o)
  local m = setmetatable({ b = builder.new(17), opset = 17, leaves = {}, inputs = {},
    n_numbers = 0, n_attributes = 0, stored = {}, arrays = {} }, Model)
  for key, value in pairs(o) do m[key] = value end
  local result, inputs, tensors = m:add(pattern.find), {}, {}
  for i, each in ipairs(m.inputs) do inputs[i] = info(each.name, each.array.shape) end
  for i, tensor in ipairs(m.b.initializers) do tensors[i] = file.tensor(tensor) end
  local texts = {}
  protobuf.write(protobuf.encode(schema, "ModelProto", { ir_version = 8,
    opset_import = { { domain = "", version = m.opset } }, graph = { name = "g",
      node = m.b.nodes, input = inputs, output = { info(result) }, initializer = tensors } }),
    function(text) texts[#texts + 1] = text end)
  local path = os.tmpname()
  helper.write(path, table.concat(texts))
  return path, m
end

local function run(path, inputs)
  flow.clear_default_session()
  local types, arrays = {}, {}
  for i, each in ipairs(inputs) do
    types[i], arrays[i] = flow.float32(each.array.shape), each.array
  end
  local job = flow.onnx.load(path, { name = "m" }):predict { inputs = types }
  return job(unpack(arrays)), job:graph()
end

-- What a model gives without patterns.
local function as_it_stands(path, inputs)
  local apply = match.apply
  match.apply = function(m) return apply(m, {}) end
  local ok, y = pcall(run, path, inputs)
  match.apply = apply
  return assert(ok and y, y)
end

-- By how much two arrays differ; places where both have no number do not.
local function distance(want, got, what)
  assert.same(want.shape, got.shape, what)
  local a, b, most = want:reshape({ -1 }):totable(), got:reshape({ -1 }):totable(), 0
  for i = 1, #a do
    if a[i] == a[i] or b[i] == b[i] then
      local far = math.abs(a[i] - b[i])
      if not (far <= most) then most = far == far and far or math.huge end
    end
  end
  return most
end

-- Compares a form with its nodes, but for rounded numbers and wrong attributes, which may fit no
-- shape; gives how often the pattern is found in it, and the model.
local function compare(pattern, o, what)
  local path, m = write(pattern, o)
  local ok, far = pcall(function()
    if o.by == ROUNDED or o.wrong_attribute then return 0 end
    local got, graph = run(path, m.inputs)
    for op, is in pairs(not o.by and o.ops or {}) do
      assert.equal(is, graph:find(" = " .. op .. "(", 1, true) ~= nil, op .. " in " .. graph)
    end
    return distance(as_it_stands(path, m.inputs), got, what)
  end)
  local found = flow.onnx.check(path).patterns[pattern.name]
  os.remove(path)
  assert(ok, ("%s: %s"):format(what, tostring(far)))
  assert(far < 1e-4, ("%s: off by %g"):format(what, far))
  return found, m
end

-- The forms of a pattern, in which each two levels of the factors are, and of more factors.
local function rows_of(pattern, more)
  local factors, known = { { "turned", { false, true } }, unpack(more or {}) }, {}
  add_factors(pattern.find, factors, known)
  if #factors == 1 then return { { turned = false }, { turned = true } }, known, factors end
  return combine.rows(factors), known, factors
end

-- ---- shapes ----

local FLAT = { x = { 2, 3, SIZE }, scale = { SIZE }, bias = { SIZE }, weight = { SIZE, SIZE } }

-- The shapes of k where it is read by the i-th form of keys.
local K_SHAPES = { { BATCH, HEADS, KEYS, SIZE }, { BATCH, KEYS, HEADS, SIZE },
  { BATCH, KEYS, SIZE }, { BATCH, HEADS, KEYS, SIZE }, { BATCH * HEADS, KEYS, SIZE } }

-- The place of a pattern where the forms of keys are.
local function place_of_keys(known)
  for tree in pairs(known) do
    if type(tree) == "table" and tree.any and #tree.any == #K_SHAPES then return tree end
  end
end

-- Options of a form of attention, with a mask and factors of several shapes. Where there are three
-- axes they are none of heads.
local function attention(row, known, pattern)
  local form = row[known[place_of_keys(known)]]
  local function shape(batch, heads, rows, columns)
    if form == 3 then return { batch, rows, columns } end
    return { batch, heads, rows, columns }
  end
  local masks = { shape(BATCH, HEADS, LENGTH, KEYS), shape(BATCH, 1, LENGTH, KEYS),
    { LENGTH, KEYS }, { KEYS }, shape(1, 1, 1, KEYS), shape(BATCH, 1, LENGTH, 1),
    { 2, unpack(shape(BATCH, 1, LENGTH, KEYS)) } }
  local factors = { COMPUTED, {}, { 1 }, { SIZE, 1 }, { KEYS }, shape(BATCH, HEADS, 1, 1) }
  local factors_q = { COMPUTED, {}, { 1 }, { SIZE }, shape(BATCH, HEADS, LENGTH, 1) }
  local v, k = shape(BATCH, HEADS, KEYS, SIZE), { unpack(K_SHAPES[form]) }
  if row.apart == "v" then v[1] = 1 end
  if row.apart == "heads of v" then v = shape(BATCH, 1, KEYS, SIZE) end
  if row.apart == "k" and form < 4 then k[1] = 1 end
  if row.apart == "heads of k" and form < 3 then k[form + 1] = 1 end
  local is_apart = row.apart == "v" or row.apart == "heads of v" and form ~= 3
    or row.factor < #factors and (row.apart == "k" and form < 4
      or row.apart == "heads of k" and form < 3)
  local is_masked = pattern.name:find "mask"
  return { row = row, known = known, turned = row.turned, stored = { mask = row.stored },
    ops = { scaled_dot_product_attention = not is_apart
      and not (is_masked and row.mask == #masks) },
    shapes = { q = shape(BATCH, HEADS, LENGTH, SIZE), k = k, v = v, mask = masks[row.mask],
      factor = factors[row.factor], factor_q = factors_q[row.factor_q] } }
end

local OF_ATTENTION = { { "apart", { "none", "v", "heads of v", "k", "heads of k" } },
  { "mask", { 1, 2, 3, 4, 5, 6, 7 } }, { "factor", { 1, 2, 3, 4, 5, 6 } },
  { "factor_q", { 1, 2, 3, 4, 5 } }, { "stored", { false, true } } }

-- Cosines and sines of positions by a base, or numbers that no base gives.
local function tables(base, length, size)
  local cosine, sine = {}, {}
  for i = 1, length do
    cosine[i], sine[i] = {}, {}
    for j = 1, size do
      local angle = (i - 1) * base ^ (-2 * ((j - 1) % (size / 2)) / size)
      cosine[i][j], sine[i][j] = math.cos(angle), math.sin(angle)
    end
  end
  return flow.ndarray.array(cosine), flow.ndarray.array(sine)
end

-- Options of a form of a rotary embedding, by tables of a base or others, with axes before or none,
-- or sines for each head.
local function rotary(row, known)
  local cosine, sine = tables(row.base, LENGTH, SIZE)
  if row.base == 3 then sine = cosine * 0.5 end
  if row.axes == "all" then
    cosine, sine = cosine:reshape { 1, 1, LENGTH, SIZE }, sine:reshape { 1, 1, LENGTH, SIZE }
  elseif row.axes == "heads" then
    sine = flow.stack({ sine, sine * 0.5, sine * 2 }, 0)         -- each of HEADS turns differently
  end
  return { row = row, known = known, turned = row.turned, arrays = { cosine = cosine, sine = sine },
    stored = { cosine = row.stored, sine = row.stored },
    ops = { rotary_embedding = row.stored and row.base > 10 and row.axes ~= "heads" },
    shapes = { x = { BATCH, HEADS, LENGTH, SIZE } } }
end

local OF_ROTARY = { { "base", { 10000, 500000, 12, 3, 2 } }, { "axes", { "last", "all", "heads" } },
  { "stored", { false, true } } }

local function others(row, known)
  return { row = row, known = known, turned = row.turned, shapes = FLAT, stored = {} }
end

-- Compares a form of a pattern, which is one, and then without one of its numbers or attributes.
local function check(pattern, o, what)
  local found, m = compare(pattern, o, what)
  assert.equal(1, found, what)
  for i = 1, m.n_numbers do
    for by, count in pairs { [WRONG] = false, [ROUNDED] = 1 } do
      o.wrong, o.by = i, by
      local each = ("%s, number %d off by %g"):format(what, i, by)
      assert.equal(count or nil, compare(pattern, o, each), each)
    end
  end
  o.wrong = nil
  for i = 1, m.n_attributes do
    o.wrong_attribute = i
    assert.is_nil(compare(pattern, o, what), ("%s, attribute %d"):format(what, i))
  end
end

describe("a pattern of ONNX", function()
  before_each(function() flow.random.seed(3) end)

  for _, pattern in ipairs(patterns) do
    local options, more = others, nil
    if pattern.name:find "attention" then options, more = attention, OF_ATTENTION end
    if pattern.name:find "rotary" then options, more = rotary, OF_ROTARY end
    it("gives what its nodes give, in each form: " .. pattern.name, function()
      local rows, known, factors = rows_of(pattern, more)
      for _, row in ipairs(rows) do
        check(pattern, options(row, known, pattern), combine.text(factors, row))
      end
    end)
  end
end)
