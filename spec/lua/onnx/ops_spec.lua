-- Ops of ONNX that neither a node test in spec/lua/onnx/cases nor a model there calls, in each way
-- to call them, beside numbers that were computed by hand; and what they refuse.
local flow = require "jfl"
local core = require "jfl.core"
local helper = require "spec.lua.helper"
local Node = require "jfl.onnx.node"
local ops = require "jfl.onnx.ops"

local nd = flow.ndarray
local ML, MS = "ai.onnx.ml", "com.microsoft"

local function array(list, dtype) return nd.array(list, { dtype = dtype or "float32" }) end
local function ints(...) return array({ ... }, "int64") end
local function one(value, dtype) return array({ value }, dtype):reshape {} end

-- What an op gives for inputs. o: its attributes, .domain, .opset (21) and .results (1).
local function call(name, o, ...)
  local attrs, outputs = {}, {}
  for key, value in pairs(o) do attrs[key] = value end
  attrs.domain, attrs.opset, attrs.results = nil, nil, nil
  for i = 1, o.results or 1 do outputs[i] = "y" .. i end
  local of = { op = name, domain = o.domain or "", name = "n", opset = o.opset or 21,
    attrs = attrs, outputs = outputs }
  return assert(ops.find(of)).run(Node.new(of, "m.onnx"), ...)
end

-- Whether numbers, arrays or lists of such are those that were wanted.
local function check(want, got, what)
  if core.type(got) == "array" then got = #got.shape == 0 and got:get() or got:totable() end
  if type(want) == "number" then
    assert(want == got or math.abs(want - got) <= 1e-5 * math.max(1, math.abs(want)),
      ("%s: %s, not %s"):format(what, tostring(got), want))
  else
    assert.equal(#want, #got, what)
    for i, each in ipairs(want) do check(each, got[i], what) end
  end
end

local function gelu(v)                                 -- by Abramowitz and Stegun, 7.1.26
  local x = math.abs(v) / math.sqrt(2)
  local t = 1 / (1 + 0.3275911 * x)
  local erf = 1 - ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t
    + 0.254829592) * t * math.exp(-x * x)
  return 0.5 * v * (1 + (v < 0 and -erf or erf))
end

local X = { { 1, -2, 4 }, { 0, 0, 0 } }
local function x() return array(X) end

describe("an op of ONNX gives what it says:", function()
  it("those of onnxruntime", function()
    check({ gelu(1.5), gelu(-1) }, call("BiasGelu", { domain = MS }, array { 1, -2 },
      array { 0.5, 1 }), "BiasGelu")
    check({ gelu(1.5), gelu(-1) }, call("Gelu", { domain = MS }, array { 1.5, -1 }), "Gelu")
    local a, b = array { { 1, 2 }, { 3, 4 }, { 5, 6 } }, array { { 1, 0, 2 }, { -1, 1, 0 } }
    check({ { -1, 2, 2 }, { -1, 4, 6 }, { -1, 6, 10 } }, call("FusedMatMul", { domain = MS }, a, b),
      "FusedMatMul")
    check({ { 22, 4 }, { 28, 4 } }, call("FusedMatMul", { domain = MS, transA = 1, transB = 1,
      alpha = 2 }, a, b), "FusedMatMul of both turned")
    for _, bias in ipairs { 0, 3 } do
      local y, _, _, sum = call("SkipLayerNormalization", { domain = MS, results = 4, epsilon = 0 },
        array { { 1, 2, 3, 6 } }, array { { 1, 1, -1, -2 } }, array { 1, 2, 1, 1 },
        array { 0, 0, 5, 0 }, bias ~= 0 and array { bias, -bias, 0, 0 } or nil)
      local rows = { 2 + bias, 3 - bias, 2, 4 }
      check({ rows }, sum, "SkipLayerNormalization's sum")
      local mean, square = (rows[1] + rows[2] + rows[3] + rows[4]) / 4, 0
      for _, v in ipairs(rows) do square = square + (v - mean) ^ 2 / 4 end
      local function normal(i) return (rows[i] - mean) / math.sqrt(square) end
      check({ { normal(1), 2 * normal(2), normal(3) + 5, normal(4) } }, y,
        "SkipLayerNormalization")
    end
    local size = math.sqrt((1 + 4 + 16) / 3)
    check({ { 2 / size, -2 / size, 4 / size } }, call("SimplifiedLayerNormalization", {
      domain = MS, epsilon = 0 }, array { { 1, -2, 4 } }, array { 2, 1, 1 }),
      "SimplifiedLayerNormalization")
  end)

  it("those of ai.onnx.ml", function()
    local length = math.sqrt(21)
    for how, by in pairs { MAX = 4, L1 = 7, L2 = length } do
      check({ { 1 / by, -2 / by, 4 / by }, { 0, 0, 0 } }, call("Normalizer", { domain = ML,
        norm = how }, x()), "Normalizer " .. how)
    end
    check({ { 1, 2, 3 } }, call("FeatureVectorizer", { domain = ML }, array({ { 1, 2 } }, "int64"),
      array { { 3 } }), "FeatureVectorizer")
    check({ 1, 0, 0.25 }, call("ZipMap", { domain = ML }, array { 1, 0, 0.25 }), "ZipMap")
    local e = math.exp(1)
    check({ { 1 / (1 + e), e / (1 + e) } }, call("LinearRegressor", { domain = ML, targets = 2,
      coefficients = { 1, 0, 0, 1 }, intercepts = { 0, -2 }, post_transform = "SOFTMAX" },
      array { { 1, 4 } }), "LinearRegressor")
    check({ { 1 }, { -1 } }, call("SVMRegressor", { domain = ML, one_class = 1,
      coefficients = { 1, 1 }, rho = { -1 } }, array { { 1, 1 }, { 0, 1 } }), "SVMRegressor")
  end)

  -- Two trees: x[0] <= 1 ? leaf 1 : leaf 2; x[1] <= 0 ? leaf 1 : leaf 2.
  local function forest(prefix, ids, more)
    local o = { domain = ML, nodes_treeids = { 0, 0, 0, 1, 1, 1 }, results = 2,
      nodes_nodeids = { 0, 1, 2, 0, 1, 2 },
      nodes_modes = { "BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF" },
      nodes_truenodeids = { 1, 0, 0, 1, 0, 0 }, nodes_falsenodeids = { 2, 0, 0, 2, 0, 0 },
      nodes_featureids = { 0, 0, 0, 1, 0, 0 }, nodes_values = { 1, 0, 0, 0, 0, 0 },
      [prefix .. "_treeids"] = { 0, 0, 1, 1 }, [prefix .. "_nodeids"] = { 1, 2, 1, 2 },
      [prefix .. "_ids"] = ids, [prefix .. "_weights"] = { 0.25, 0.5, 0.125, 0.375 } }
    for key, value in pairs(more or {}) do o[key] = value end
    return o
  end
  local ROWS = { { 1, 0 }, { 1, 1 }, { 2, 0 }, { 2, 1 } }
  local SUMS = { 0.375, 0.625, 0.625, 0.875 }

  it("trees", function()
    local function both(o)
      o.classlabels_int64s = { 7, 9 }
      local label, scores = call("TreeEnsembleClassifier", o, array(ROWS))
      return { label:totable(), scores:totable() }
    end
    local sums, means = {}, {}
    for i, sum in ipairs(SUMS) do sums[i], means[i] = { sum + 1 }, { sum / 2 } end
    check(sums, call("TreeEnsembleRegressor", forest("target", { 0, 0, 0, 0 }, {
      base_values = { 1 } }), array(ROWS)), "a sum of trees")
    check(means, call("TreeEnsembleRegressor", forest("target", { 0, 0, 0, 0 }, {
      aggregate_function = "AVERAGE" }), array(ROWS)), "a mean of trees")
    -- Weights of one class stand for two: as shares, as scores, and behind a logistic function.
    local shares, signed, logistic = { {}, {} }, { {}, {} }, { {}, {} }
    for i, sum in ipairs(SUMS) do
      shares[1][i], shares[2][i] = sum > 0.5 and 9 or 7, { 1 - sum, sum }
      local score = sum - 0.5
      signed[1][i], signed[2][i] = score > 0 and 9 or 7, { -score, score }
      local p = 1 / (1 + math.exp(-sum))
      logistic[1][i], logistic[2][i] = 9, { 1 - p, p }
    end
    check(shares, both(forest("class", { 0, 0, 0, 0 })), "shares of one class")
    check(signed, both(forest("class", { 0, 0, 0, 0 }, {
      class_weights = { -0.25, 0, 0.125, 0.375 } })), "scores of one class")
    check(logistic, both(forest("class", { 0, 0, 0, 0 }, { post_transform = "LOGISTIC" })),
      "probabilities of one class")
    check({ { 7, 9, 7, 7 }, { { 0.25, 0.125 }, { 0.25, 0.375 }, { 0.5, 0.125 }, { 0.5, 0.375 } } },
      both(forest("class", { 0, 0, 1, 1 })), "two classes")
    for text, more in pairs {
      ["its nodes must be leaves, or all compare by"] = { nodes_modes = { "BRANCH_LEQ", "LEAF",
        "LEAF", "BRANCH_LT", "LEAF", "LEAF" } },
      ["nodes_missing_value_tracks_true must be 0"] = {
        nodes_missing_value_tracks_true = { 0, 1 } },
      ["leads to none"] = { nodes_truenodeids = { 8, 0, 0, 1, 0, 0 } },
      ["aggregate_function must be SUM or AVERAGE"] = { aggregate_function = "MIN" },
      ["weight 4 of its trees must be that of a leaf and a result"] = {
        target_ids = { 0, 0, 0, 1 } },
    } do
      helper.fails(function()
        call("TreeEnsembleRegressor", forest("target", { 0, 0, 0, 0 }, more), array(ROWS))
      end, text)
    end
  end)

  it("lists of tensors", function()
    local function pair(...) return call("SequenceConstruct", {}, ...) end
    local two = pair(array { 1 }, array { 2, 3 })
    local function values_of(list)
      local out = {}
      for i, each in ipairs(list) do out[i] = each:totable() end
      return out
    end
    check(0, call("SequenceLength", {}, call("SequenceEmpty", {})), "an empty list")
    check(2, call("SequenceLength", {}, two), "a list of two")
    for _, row in ipairs { { nil, { 1 } }, { 0, { 1 } }, { 1, { 2, 3 } }, { -1, { 2, 3 } },
      { -2, { 1 } } } do
      check(row[2], call("SequenceAt", {}, two, row[1] and one(row[1], "int64")), "SequenceAt")
    end
    for at, want in pairs { [0] = { { 9 }, { 1 }, { 2, 3 } }, { { 1 }, { 9 }, { 2, 3 } },
      { { 1 }, { 2, 3 }, { 9 } }, [-1] = { { 1 }, { 9 }, { 2, 3 } } } do
      check(want, values_of(call("SequenceInsert", {}, two, array { 9 }, one(at, "int64"))),
        "SequenceInsert")
    end
    check({ { 1 }, { 2, 3 }, { 9 } }, values_of(call("SequenceInsert", {}, two, array { 9 })),
      "SequenceInsert at the end")
    check({ { 2, 3 } }, values_of(call("SequenceErase", {}, two, one(0, "int64"))), "SequenceErase")
    check({ { 1 } }, values_of(call("SequenceErase", {}, two)), "SequenceErase of the last")
    check({ { 1 }, { 2, 3 } }, values_of(two), "the list that was given")
    for _, changed in ipairs { call("SequenceErase", {}, two),
      call("SequenceInsert", {}, two, array { 9 }) } do
      check(#changed, call("SequenceLength", {}, changed), "the length of a changed list")
    end
    check({ 1, 2, 3 }, call("ConcatFromSequence", { axis = -1 }, two), "ConcatFromSequence")
    local alike = pair(array { 1, 2 }, array { 3, 4 })
    check({ { 1, 2 }, { 3, 4 } }, call("ConcatFromSequence", { axis = 0, new_axis = 1 }, alike),
      "ConcatFromSequence by rows")
    check({ { 1, 3 }, { 2, 4 } }, call("ConcatFromSequence", { axis = -1, new_axis = 1 }, alike),
      "ConcatFromSequence by columns")
    for text, f in pairs {
      ["the position must be below 2, got 2"] = function()
        call("SequenceAt", {}, two, one(2, "int64"))
      end,
      ["the position must be below 2, got -1"] = function()
        call("SequenceErase", {}, two, one(-3, "int64"))
      end,
      ["it takes a sequence, got a tensor"] = function()
        call("SequenceLength", {}, array { 1 })
      end,
    } do helper.fails(f, text) end
  end)

  it("SplitToSequence", function()
    local function parts(o, list, sizes)
      local out = {}
      for i, each in ipairs(call("SplitToSequence", o, array(list), sizes)) do
        out[i] = each:totable()
      end
      return out
    end
    local list = { { 1, 2, 3 }, { 4, 5, 6 } }
    check({ { { 1, 2, 3 } }, { { 4, 5, 6 } } }, parts({}, list), "by rows")
    check({ { 1, 2, 3 }, { 4, 5, 6 } }, parts({ keepdims = 0 }, list), "by rows without the axis")
    check({ { 1, 4 }, { 2, 5 }, { 3, 6 } }, parts({ axis = -1, keepdims = 0 }, list), "by columns")
    check({ { { 1, 2 }, { 4, 5 } }, { { 3 }, { 6 } } }, parts({ axis = 1, keepdims = 0 }, list,
      one(2, "int64")), "by twos")
    check({ { { 1 }, { 4 } }, { { 2, 3 }, { 5, 6 } } }, parts({ axis = 1 }, list, ints(1, 2)),
      "by sizes")
    helper.fails(function() parts({}, list, one(0, "int64")) end, "split must be at least 1, got 0")
  end)

  it("numbers of one input", function()
    local inf = math.huge
    local odd = array { -inf, 1, inf }
    for _, row in ipairs { { 1, 1, { 1, 0, 1 } }, { 1, 0, { 0, 0, 1 } }, { 0, 1, { 1, 0, 0 } },
      { 0, 0, { 0, 0, 0 } } } do
      check(row[3], call("IsInf", { detect_positive = row[1], detect_negative = row[2] }, odd),
        "IsInf")
    end
    local list = array { -1, 3, 9 }
    for _, row in ipairs { { nil, nil, { -1, 3, 9 } }, { 0, nil, { 0, 3, 9 } },
      { 0, inf, { 0, 3, 9 } }, { 0, 6, { 0, 3, 6 } }, { nil, 4, { -1, 3, 4 } },
      { 5, 2, { 2, 2, 2 } }, { 1, 4, { 1, 3, 4 } } } do
      check(row[3], call("Clip", {}, list, row[1] and one(row[1]), row[2] and one(row[2])), "Clip")
    end
    for exponent, f in pairs { [0.5] = math.sqrt, function(v) return v end,
      function(v) return v * v end, function(v) return v ^ 3 end, [-1] = function(v)
        return 1 / v
      end } do
      check({ f(4), f(0.25) }, call("Pow", {}, array { 4, 0.25 }, one(exponent)), "Pow")
    end
    check({ 9, 16 }, call("Pow", {}, array({ 3, 4 }, "int64"), one(2)), "Pow of whole numbers")
    for direction, want in pairs { LEFT = { 4, 24 }, RIGHT = { 0, 6 } } do
      check(want, call("BitShift", { direction = direction }, array({ 1, 12 }, "uint8"),
        array({ 2, 1 }, "uint8")), "BitShift")
    end
  end)

  it("casts to floats of few bits, also of what is no number or beyond them", function()
    local nan, inf = 0 / 0, math.huge
    local FLOAT8E4M3FN, FLOAT8E5M2FNUZ, FLOAT4E2M1, FLOAT8E8M0 = 17, 20, 23, 24
    local least, most = 2 ^ -127, 2 ^ 127
    for _, row in ipairs {
      { FLOAT8E4M3FN, 1, { nan, inf, -inf, 1.1 }, { nan, 448, -448, 1.125 } },
      { FLOAT8E4M3FN, 0, { nan, inf, -inf, 500 }, { nan, nan, nan, nan } },
      { FLOAT8E5M2FNUZ, 0, { nan, inf, 1.1 }, { nan, nan, 1 } },
      { FLOAT4E2M1, 1, { nan, inf, -inf, 0.8 }, { 0, 6, -6, 1 } },
      { FLOAT8E8M0, 1, { nan, inf, 0, 2 ^ -140, 3, 4 }, { nan, most, least, least, 4, 4 }, "up" },
      { FLOAT8E8M0, 1, { nan, inf, 1.5 * most, 3.9 }, { nan, most, most, 2 }, "down" },
      { FLOAT8E8M0, 0, { nan, inf, 0, 2 ^ -140 }, { nan, nan, nan, nan }, "nearest" },
      { FLOAT8E8M0, 0, { 1.9 * most, 1.1 * most, 2.9, 3 }, { nan, nan, 2, 4 }, "nearest" },
    } do
      local to, saturate, numbers, want, round_mode = unpack(row, 1, 5)
      local y = call("Cast", { opset = 25, to = to, saturate = saturate, round_mode = round_mode },
        array(numbers)):totable()
      for i, each in ipairs(want) do
        local what = ("%d, %d, %s: %g is %g"):format(to, saturate, round_mode, numbers[i], y[i])
        assert(each ~= each and y[i] ~= y[i] or each == y[i], what)
      end
    end
  end)

  it("reductions, of nothing too", function()
    local none = nd.zeros { 2, 0, 3 }
    check({ { -math.huge, -math.huge, -math.huge }, { -math.huge, -math.huge, -math.huge } },
      call("ReduceMax", { keepdims = 0 }, none, ints(1)), "ReduceMax of nothing")
    local y = call("ReduceMin", { keepdims = 1 }, none, ints(1))
    assert.same({ 2, 1, 3 }, y.shape)
    check({ { { math.huge, math.huge, math.huge } }, { { math.huge, math.huge, math.huge } } }, y,
      "ReduceMin of nothing")
    check(127, call("ReduceMin", { keepdims = 0 }, nd.zeros({ 0 }, { dtype = "int8" })),
      "ReduceMin of no int8")
    check(7, call("ReduceSum", {}, one(7)), "ReduceSum of a number")
    check(7, call("ReduceL2", {}, one(-7)), "ReduceL2 of a number")
  end)

  it("products and pools", function()
    local a, b = { { 1, 2 }, { 3, 4 } }, { { 5, 6 }, { 7, 8 } }
    check({ { 19, 22 }, { 43, 50 } }, call("MatMul", {}, array(a, "int32"), array(b, "int32")),
      "MatMul of whole numbers")
    check({ { 20, 24 }, { 44, 52 } }, call("Gemm", {}, array(a, "int64"), array(b, "int64"),
      array({ 1, 2 }, "int64")), "Gemm of whole numbers")
    check({ { 10.5, 12 }, { 22.5, 26 } }, call("Gemm", { alpha = 0.5, beta = 0.5 }, array(a),
      array(b), array { 2, 2 }), "Gemm")
    helper.fails(function() call("MatMul", {}, one(1), array { 1 }) end,
      "a and b must have axes, got a number")
    local p = array { { { { 1, -2 }, { 2, 0 } } } }
    check({ { { { 3 } } } }, call("GlobalLpPool", {}, p), "GlobalLpPool")
    check({ { { { 5 } } } }, call("GlobalLpPool", { p = 1 }, p), "GlobalLpPool of sums")
    check({ { { { 2 } } } }, call("GlobalMaxPool", {}, p), "GlobalMaxPool")
  end)

  it("norms of groups and rows of older op sets", function()
    local p = array { { { 1, 3 }, { 5, 7 }, { 2, 2 }, { 4, 4 } } }      -- (1, 4, 2), two groups
    local s = math.sqrt(5)
    local function want(by, add)
      return { { { by[1] * -3 / s + add[1], by[1] * -1 / s + add[1] },
        { by[2] * 1 / s + add[2], by[2] * 3 / s + add[2] },
        { -by[3] + add[3], -by[3] + add[3] }, { by[4] + add[4], by[4] + add[4] } } }
    end
    local o = { num_groups = 2, epsilon = 0 }
    check(want({ 1, 2, 3, 4 }, { 0, 1, 0, -1 }), call("GroupNormalization", o, p,
      array { 1, 2, 3, 4 }, array { 0, 1, 0, -1 }), "a number for each channel")
    check(want({ 2, 2, 3, 3 }, { 1, 1, -1, -1 }), call("GroupNormalization", o, p,
      array { 2, 3 }, array { 1, -1 }), "a number for each group")
    -- Before op set 13 all axes from one on are one.
    local cube = { { { 0, 0 }, { 0, math.log(3) } } }
    local sixth = { { { 1 / 6, 1 / 6 }, { 1 / 6, 0.5 } } }
    local half = { { { 0.5, 0.5 }, { 0.25, 0.75 } } }
    check(sixth, call("Softmax", { opset = 12 }, array(cube)), "Softmax of op set 12")
    check(half, call("Softmax", { opset = 12, axis = 2 }, array(cube)), "Softmax of the last axis")
    check(half, call("Softmax", { opset = 13 }, array(cube)), "Softmax of op set 13")
  end)

  it("constants and slices of older op sets", function()
    for name, row in pairs { value_int = { 3, 3 }, value_float = { 0.5, 0.5 },
      value_ints = { { 1, 2 }, { 1, 2 } }, value_floats = { { 0.5 }, { 0.5 } } } do
      local y = call("Constant", { [name] = row[1] })
      assert.equal(name:find "int" and "int64" or "float32", y.dtype)
      check(row[2], y, name)
    end
    check({ { 2, 3 } }, call("Slice", { opset = 9, starts = { 0, 1 }, ends = { 1, 3 } },
      array { { 1, 2, 3 }, { 4, 5, 6 } }), "Slice of op set 9")
    check({ { 2 }, { 5 } }, call("Slice", { opset = 9, starts = { 1 }, ends = { 2 }, axes = { 1 } },
      array { { 1, 2, 3 }, { 4, 5, 6 } }), "Slice of an axis")
    check({ { 8, 1, 8, 8 } }, call("Pad", { opset = 10, pads = { 0, 1, 0, 2 }, value = 8 },
      array { { 1 } }), "Pad of op set 10")
    check({ { 1, 3 } }, call("Compress", { axis = 1 }, array { { 1, 2, 3 } },
      array({ 1, 0, 1 }, "int8")), "Compress")
    check({ 2 }, call("Compress", {}, array { { 1, 2 }, { 3, 4 } }, array({ 0, 1 }, "int8")),
      "Compress of all")
  end)

  it("and refuses the rest", function()
    local square = array { { 1, 2 }, { 3, 4 } }
    for _, row in ipairs {
      { "its value must be numbers, got a text", "Constant", { value_string = "x" } },
      { "its value must be numbers, got none", "Constant", {} },
      { "direction must be LEFT or RIGHT, got UP", "BitShift", { direction = "UP" }, square,
        square },
      { "attribute 'direction' is missing", "BitShift", {}, square, square },
      { "attribute 'alpha' must be a number, a text or a list of them, got type 9", "Elu",
        { alpha = { unknown = "type 9" } }, square },
      { "axis must be from -2 to 1, got 2", "Softmax", { axis = 2 }, square },
      { "axis -1 occurs twice", "ReduceSum", {}, square, ints(1, -1) },
      { "delta must be another number, got 0", "Range", {}, one(0), one(3), one(0) },
      { "there must be at most 2^26 numbers", "Range", {}, one(0), one(1e9), one(1) },
      { "the shape must have at most 2^28 elements", "ConstantOfShape", {}, ints(2 ^ 20, 2 ^ 20) },
      { "a step must not be 0", "Slice", {}, square, ints(0), ints(1), ints(0), ints(0) },
      { "pads must have 4 numbers, got 3", "Pad", {}, square, ints(1, 1, 1) },
      { "kernel_params must be gamma, coef0 and degree", "SVMRegressor", { domain = ML,
        n_supports = 1, support_vectors = { 1, 2 }, coefficients = { 1 }, rho = { 0 },
        kernel_params = { 1 } }, square },
      { "kernel_type must be LINEAR, POLY, RBF or SIGMOID, got X", "SVMRegressor", { domain = ML,
        n_supports = 1, kernel_type = "X" }, square },
      { "support_vectors must have as many numbers", "SVMRegressor", { domain = ML,
        n_supports = 1, support_vectors = { 1, 2, 3 } }, square },
      { "zeros must be 1", "OneHotEncoder", { domain = ML, cats_int64s = { 1 }, zeros = 0 },
        square },
      { "its classes must be whole numbers, got texts", "OneHotEncoder", { domain = ML }, square },
      { "post_transform must be NONE, SOFTMAX or LOGISTIC, got PROBIT", "LinearRegressor",
        { domain = ML, coefficients = { 1, 1 }, post_transform = "PROBIT" }, square },
      { "the last extent must be 1 or 2, got 3", "DFT", { axis = 0 }, array { { 1, 2, 3 } } },
      { "axis must not be the last", "DFT", { axis = 1 }, square },
      { "dft_length must be at least 1, got 0", "DFT", { axis = 0 }, square, one(0, "int64") },
      { "its second result, the mask, is not there in training", "Dropout", { results = 2 }, square,
        one(0.5), one(1, "int8") },
    } do
      helper.fails(function() call(row[2], row[3], unpack(row, 4)) end, row[1])
    end
  end)
end)
