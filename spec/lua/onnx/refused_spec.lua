-- What nodes of ONNX files are refused for, and in which words; and what lies just beside that.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local made = require "spec.lua.onnx.made"

-- An attribute of a node: a whole number, a text, a list of whole numbers or of texts, or
-- { floats = LIST }.
local function attribute(name, v)
  if type(v) == "number" then return { name = name, i = v, type = 2 } end
  if type(v) == "string" then return { name = name, s = v, type = 3 } end
  if v.floats then return { name = name, floats = v.floats, type = 6 } end
  if type(v[1]) == "string" then return { name = name, strings = v, type = 8 } end
  return { name = name, ints = v, type = 7 }
end

local function ints(...)
  return { dims = { select("#", ...) }, data_type = 7, int64_data = { ... } }
end

local function scalar(v) return { dims = {}, data_type = 7, int64_data = { v } } end

local function floats(dims, ...) return made.floats(nil, dims, { ... }) end

local ML = "ai.onnx.ml"

-- Runs a model of one node: case[2] its op, case[3] its inputs, of which those that are tables are
-- numbers of the file and "x" is an array of ones; attributes, opset, domain, shape of x; first: a
-- node before it, for which there may be numbers by name.
local function run(case)
  local names, numbers, list = {}, {}, {}
  for i, input in ipairs(case[3]) do
    names[i] = input
    if type(input) == "table" then
      names[i], input.name = "n" .. i, "n" .. i
      numbers[#numbers + 1] = input
    end
  end
  for name, each in pairs(case.numbers or {}) do
    each.name, numbers[#numbers + 1] = name, each
  end
  for name, v in pairs(case.attributes or {}) do list[#list + 1] = attribute(name, v) end
  table.sort(list, function(a, b) return a.name < b.name end)
  local node = made.node(case[2], names, { "y" }, list)
  node.domain = case.domain
  local shape = case.shape or { 2, 3 }
  local text = made.model({ case.first or node, case.first and node }, { initializer = numbers,
    input = { made.info("x", shape) }, output = { made.info("y", { "any" }) } },
    { opset_import = { { version = case.opset or 17 }, { domain = ML, version = 3 } } })
  local path = helper.write(os.tmpname(), text)
  flow.clear_default_session()
  local ok, err = pcall(function()
    flow.onnx.load(path):predict { inputs = { flow.float32(shape) } }(flow.ndarray.ones(shape))
  end)
  os.remove(path)
  return ok, err
end

local SEQUENCE = made.node("SequenceConstruct", { "x" }, { "s" })
-- The first of the parts of x that have so many rows.
local function parts_case(text, rows, extent)
  return { text, "SequenceAt", { "s", scalar(0) }, shape = { extent, 1 },
    first = made.node("SplitToSequence", { "x", "rows" }, { "s" }),
    numbers = { rows = scalar(rows) } }
end

local RNN = { "x", floats({ 1, 4, 3 }, unpack(flow.zeros({ 12 }):totable())),
  floats({ 1, 4, 4 }, unpack(flow.zeros({ 16 }):totable())) }

-- A regressor by one tree: a node that compares, with two leaves.
local function tree(changes)
  local t = { nodes_treeids = { 0, 0, 0 }, nodes_nodeids = { 0, 1, 2 },
    nodes_featureids = { 0, 0, 0 }, nodes_modes = { "BRANCH_LEQ", "LEAF", "LEAF" },
    nodes_values = { floats = { 0.5, 0, 0 } }, nodes_truenodeids = { 1, 0, 0 },
    nodes_falsenodeids = { 2, 0, 0 }, target_treeids = { 0, 0 }, target_nodeids = { 1, 2 },
    target_ids = { 0, 0 }, target_weights = { floats = { 3, 4 } } }
  for key, v in pairs(changes) do t[key] = v end
  return t
end

local function tree_case(pattern, changes)
  return { pattern, "TreeEnsembleRegressor", { "x" }, domain = ML, attributes = tree(changes) }
end

-- A regressor by two support vectors.
local function svm_case(pattern, changes)
  local t = { n_supports = 2, kernel_type = "POLY", support_vectors = { floats = { 1, 2, 3, 4, 5,
    6 } }, coefficients = { floats = { 1, 2 } }, rho = { floats = { 0 } },
    kernel_params = { floats = { 1, 2, 3 } } }
  for key, v in pairs(changes) do t[key] = v end
  return { pattern, "SVMRegressor", { "x" }, domain = ML, attributes = t }
end

local REFUSED = {
  { "the heads must divide 6, got 4", "Attention", { "x", "x", "x" }, opset = 23,
    shape = { 1, 2, 6 }, attributes = { q_num_heads = 4, kv_num_heads = 4 } },
  { "sampling_ratio must be above 0, as it else depends on numbers, got 0", "RoiAlign",
    { "x", floats({ 1, 4 }, 0, 0, 1, 1), ints(0) }, shape = { 1, 1, 4, 4 } },
  { "it takes a sequence, got a tensor", "SequenceLength", { "x" } },
  { "the position must be below 1, got 1", "SequenceAt", { "s", scalar(1) }, first = SEQUENCE },
  { "the position must be below 1, got -1", "SequenceAt", { "s", scalar(-2) }, first = SEQUENCE },
  parts_case("split must be at least 1, got 0", 0, 3),
  parts_case("parts must be at most 10000, got 10001", 1, 10001),
  { "an index must be from -2 to 1, got 2", "Gather", { "x", ints(2) } },
  { "an index must be from -2 to 1, got -3", "Gather", { "x", ints(-3) } },
  { "the grid must have 2 numbers for each place", "GridSample",
    { "x", floats({ 1, 1, 1, 3 }, 0, 0, 0) }, shape = { 1, 1, 4, 4 } },
  { "the grid must have 2 numbers for each place and as many items as x", "GridSample",
    { "x", floats({ 2, 1, 1, 2 }, 0, 0, 0, 0) }, shape = { 1, 1, 4, 4 } },
  { "mode and padding_mode must be known, got bilinear and odd", "GridSample",
    { "x", floats({ 1, 1, 1, 2 }, 0, 0) }, shape = { 1, 1, 4, 4 },
    attributes = { mode = "bilinear", padding_mode = "odd" } },
  { "mode and padding_mode must be known, got odd and zeros", "GridSample",
    { "x", floats({ 1, 1, 1, 2 }, 0, 0) }, shape = { 1, 1, 4, 4 }, attributes = { mode = "odd" } },
  { "cubic takes pictures, got 3 axes", "GridSample",
    { "x", floats({ 1, 1, 1, 1, 3 }, 0, 0, 0) }, shape = { 1, 1, 2, 2, 2 }, opset = 20,
    attributes = { mode = "cubic" } },
  { "theta must be (batch, 2, 3), and the size have 4 numbers", "AffineGrid",
    { "x", ints(1, 1, 2, 2) }, shape = { 1, 2, 4 }, opset = 20 },
  { "theta must be (batch, 1, 2), and the size have 3 numbers", "AffineGrid",
    { "x", ints(1, 1, 2) }, shape = { 1, 1, 2 }, opset = 20 },
  { "direction must be LEFT or RIGHT, got UP", "BitShift", { "x", "x" },
    attributes = { direction = "UP" } },
  { "a and b must have axes, got a number", "MatMul", { "x", floats({}, 1) } },
  { "post_transform must be NONE, SOFTMAX or LOGISTIC, got ODD", "LinearRegressor", { "x" },
    domain = ML, attributes = { coefficients = { floats = { 1, 2, 3 } }, post_transform = "ODD" } },
  { "its classes must be whole numbers, got texts", "LinearClassifier", { "x" }, domain = ML,
    attributes = { coefficients = { floats = { 1, 2, 3 } }, classlabels_strings = { "a", "b" } } },
  { "its classes must be whole numbers, got texts", "OneHotEncoder", { "x" }, domain = ML,
    attributes = { cats_strings = { "a" } } },
  { "zeros must be 1", "OneHotEncoder", { "x" }, domain = ML,
    attributes = { cats_int64s = { 1 }, zeros = 0 } },
  { "its result must be of 2, 4, 8 or 16 bits, got int64", "QuantizeLinear",
    { "x", floats({}, 1), scalar(0) } },
  { "it has no activation 'Odd'", "RNN", RNN, shape = { 1, 2, 3 },
    attributes = { hidden_size = 4, activations = { "Odd" } } },
  { "axis 1 must get an extent of at least 1", "Resize", { "x", "", floats({ 2 }, 1, 0.33) } },
  { "axis 0 must get an extent of at least 1", "Resize", { "x", "", "", ints(2 ^ 24 + 1, 3) } },
  { "jfl has no coordinates 'odd'", "Resize", { "x", "", floats({ 2 }, 1, 2) },
    attributes = { coordinate_transformation_mode = "odd" } },
  { "jfl has no nearest_mode 'odd'", "Resize", { "x", "", floats({ 2 }, 1, 2) },
    attributes = { nearest_mode = "odd" } },
  { "scales or sizes must be given, got none", "Resize", { "x" } },
  { "its value must be numbers, got a text", "Constant", {}, attributes = { value_string = "a" } },
  { "the shape must have at most 2^28 elements, got 2.68435e+08", "ConstantOfShape",
    { ints(2 ^ 28 + 1) } },
  { "delta must be another number, got 0", "Range", { scalar(0), scalar(3), scalar(0) } },
  { "axis 0 must have extent 1, got 2", "Squeeze", { "x", ints(0) } },
  { "axes are missing", "Unsqueeze", { "x" } },
  { "x does not broadcast to the shape", "Expand", { "x", ints(3, 2) } },
  { "a step must not be 0", "Slice", { "x", ints(0), ints(2), ints(0), ints(0) } },
  { "mode must be constant, reflect, edge or wrap, got odd", "Pad", { "x", ints(0, 0, 1, 1) },
    attributes = { mode = "odd" } },
  { "pads must have 4 numbers, got 3", "Pad", { "x", ints(0, 0, 1) } },
  { "the last extent must be 1 or 2, got 3", "DFT", { "x" }, attributes = { axis = 0 } },
  { "axis must not be the last, which has the parts of numbers", "DFT", { "x" } },
  { "dft_length must be at least 1, got 0", "DFT", { "x", scalar(0) }, shape = { 1, 4, 1 } },
  { "it must have a window or a frame_length", "STFT", { "x", scalar(2) }, shape = { 1, 8, 1 } },
  { "frames of 9 must fit into a signal of 8, got steps of 2", "STFT",
    { "x", scalar(2), "", scalar(9) }, shape = { 1, 8, 1 } },
  { "frames of 8 must fit into a signal of 8, got steps of 0", "STFT",
    { "x", scalar(0), "", scalar(8) }, shape = { 1, 8, 1 } },
  { "frames of 0 must fit into a signal of 8, got steps of 1", "STFT",
    { "x", scalar(1), "", scalar(0) }, shape = { 1, 8, 1 } },
  tree_case("each of its nodes must have a number", { nodes_nodeids = { 0, 1 } }),
  tree_case("node 2 of its trees is reached in two ways", { nodes_falsenodeids = { 1, 0, 0 } }),
  tree_case("its nodes must be leaves, or all compare by BRANCH_LEQ, _LT, _GTE or _GT",
    { nodes_modes = { "BRANCH_NEQ", "LEAF", "LEAF" } }),
  tree_case("its nodes must be leaves, or all compare by",
    { nodes_modes = { "BRANCH_LEQ", "BRANCH_LT", "LEAF" } }),
  tree_case("node 1 of its trees leads to none", { nodes_falsenodeids = { 3, 0, 0 } }),
  tree_case("nodes_missing_value_tracks_true must be 0",
    { nodes_missing_value_tracks_true = { 0, 1, 0 } }),
  tree_case("weight 2 of its trees must be that of a leaf and a result", { target_ids = { 0, 1 } }),
  tree_case("weight 1 of its trees must be that of a leaf and a result",
    { target_ids = { -1, 0 } }),
  tree_case("weight 2 of its trees must be that of a leaf and a result",
    { target_nodeids = { 1, 3 } }),
  tree_case("aggregate_function must be SUM or AVERAGE", { aggregate_function = "MIN" }),
  svm_case("kernel_type must be LINEAR, POLY, RBF or SIGMOID, got ODD", { kernel_type = "ODD" }),
  svm_case("kernel_params must be gamma, coef0 and degree",
    { kernel_params = { floats = { 1, 2 } } }),
  svm_case("support_vectors must have as many numbers as its other attributes say, got 5",
    { support_vectors = { floats = { 1, 2, 3, 4, 5 } } }),
}

-- Of what is beside a bound that is tried above.
local TAKEN = {
  { "", "SequenceAt", { "s", scalar(-1) }, first = SEQUENCE },
  parts_case("", 2 ^ 20, 3),
  parts_case("", 2, 10002),
  { "", "Gather", { "x", ints(-2, 1) } },
  { "", "Resize", { "x", "", floats({ 2 }, 1, 0.34) } },
  { "", "Slice", { "x", ints(0), ints(2), ints(0), ints(-1) } },
  { "", "DFT", { "x", scalar(1) }, shape = { 1, 4, 1 } },
  { "", "STFT", { "x", scalar(1), "", scalar(8) }, shape = { 1, 8, 1 } },
  tree_case("", { aggregate_function = "AVERAGE" }),
  svm_case("", {}),
}

describe("a node of an ONNX file is refused:", function()
  for _, case in ipairs(REFUSED) do
    it(case[2] .. ", as " .. case[1], function()
      local ok, err = run(case)
      assert(not ok and err:find(case[1], 1, true), tostring(err))
    end)
  end
end)

describe("a node of an ONNX file is taken:", function()
  for i, case in ipairs(TAKEN) do
    it(case[2] .. ", case " .. i, function() assert(run(case)) end)
  end
end)
