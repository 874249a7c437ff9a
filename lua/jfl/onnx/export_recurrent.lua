-- How jfl's recurrent layers are written as ONNX's LSTM, GRU and RNN.
--
-- jfl multiplies the inputs by their weights outside of its op, ONNX within its own: the product is
-- looked for and becomes a part of that. Rows of weights are put into ONNX's order of gates.
local extent = require "jfl.onnx.export_extent"
local shapes = require "jfl.onnx.export_shapes"

local rows = {}

-- Per cell: ONNX's op, how many gates, which of jfl's comes first, second, ... in ONNX's order.
local CELLS = {
  lstm = { op = "LSTM", order = { 1, 4, 2, 3 } },
  gru = { op = "GRU", order = { 2, 1, 3 } },
  rnn_tanh = { op = "RNN", order = { 1 }, activation = "Tanh" },
  rnn_relu = { op = "RNN", order = { 1 }, activation = "Relu" },
}

-- A weight or bias with its gates in ONNX's order and one axis more.
local function ordered(b, name, cell, units)
  local n = #cell.order
  if n > 1 then
    local sizes, dtypes, pieces = {}, {}, {}
    for i = 1, n do sizes[i], dtypes[i] = units, b.dtypes[name] end
    local parts = b:outs("Split", { name, b:ints(sizes) }, { axis = 0 }, dtypes)
    for i, at in ipairs(cell.order) do pieces[i] = parts[at] end
    name = b:op("Concat", pieces, { axis = 0 })
  end
  return b:op("Unsqueeze", { name, b:ints { 0 } })
end

-- What the inputs of the steps are a product of: x (length, batch, size), its weights and the bias
-- or nil; nil where they are something else.
local function product_of(n)
  local outer = n:maker(n.inputs[1], "reshape")
  local added = outer and n:maker(outer.inputs[1], "bias_add")
  local product = outer and n:maker(added and added.inputs[1] or outer.inputs[1], "matmul")
  local inner = product and n:maker(product.inputs[1], "reshape")
  local x = inner and inner.inputs[1]
  if not x or #x.shape ~= 3 or not product.attributes.transpose_b
    or product.attributes.transpose_a then return nil end
  local steps = n.inputs[1].shape
  local same = extent.same(x.shape[1], steps[1]) and extent.same(x.shape[2], steps[2])
  if not same then return nil end
  return x, product.inputs[2], added and added.inputs[2]
end

-- X, W and the bias of the inputs. Without a product it is one with ones along the diagonal.
local function inputs_of(b, n, cell, units)
  local x, weight, bias = product_of(n)
  if x then
    return b:name(x), ordered(b, b:name(weight), cell, units), bias and b:name(bias)
  end
  local size = #cell.order * units
  local square = shapes.filled(b, n.out.dtype, { size, size }, 0)
  return n:x(1), ordered(b, b:op("EyeLike", { square }), cell, units), nil
end

-- The first state of input i, with one axis more; "" for zeros.
local function state(b, n, i)
  local constant = n:maker(n.inputs[i], "constant")
  if constant and constant.attributes.value == 0 then return "" end
  return b:op("Unsqueeze", { n:x(i), b:ints { 0 } })
end

-- The biases of inputs and states in one, or "" where neither is there.
local function biases(b, n, cell, units, first, second)
  if not (first or second) then return "" end
  local function one(name)
    name = name or shapes.filled(b, n.out.dtype, { #cell.order * units }, 0)
    return ordered(b, name, cell, units)
  end
  return b:op("Concat", { one(first), one(second) }, { axis = 1 })
end

-- The cells of all steps are not there in ONNX, but those of the last step: what reads them must
-- take that.
local function take_last_cells(b, n, name)
  local length = n.inputs[1].shape[1]
  local last = n.attributes.reverse and 0 or length - 1
  for _, node in ipairs(n.outputs[3] and n.readers[n.outputs[3]] or {}) do
    local a = node.attributes
    if node.op ~= "slice" or not extent.same(a.begin[1], last) or node.outputs[1].shape[1] ~= 1
      or a.begin[2] ~= 0 or a.begin[3] ~= 0
      or not extent.same(node.outputs[1].shape[2], n.out.shape[2])
      or not extent.same(node.outputs[1].shape[3], n.out.shape[3]) then
      n:refuse("the cells of all its steps are read")
    end
    b:alias(node.outputs[1], name)
    n.done[node] = true
  end
end

function rows.recurrent(b, n)
  local cell, units = CELLS[n.attributes.cell], n.out.shape[3]
  local x, weight, bias = inputs_of(b, n, cell, units)
  local second = n.attributes.cell == "gru" and n:x(4) or nil
  local inputs = { x, weight, ordered(b, n:x(2), cell, units),
    biases(b, n, cell, units, bias, second), "", state(b, n, 3) }
  local attributes = { hidden_size = units,
    direction = n.attributes.reverse and "reverse" or "forward" }
  if cell.activation then attributes.activations = { texts = { cell.activation } } end
  if cell.op == "GRU" then attributes.linear_before_reset = 1 end
  if cell.op == "LSTM" then inputs[7] = state(b, n, 4) end
  while inputs[#inputs] == "" do table.remove(inputs) end
  local dtype = n.out.dtype
  local made = b:outs(cell.op, inputs, attributes, { dtype, dtype,
    cell.op == "LSTM" and dtype or nil })
  b:out(n.out, "Squeeze", { made[1], b:ints { 1 } })
  take_last_cells(b, n, made[3])
end

return rows
