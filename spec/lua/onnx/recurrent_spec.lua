-- ONNX's LSTM, GRU and RNN beside their formulas, in pairs of all that a node may ask for.
local combine = require "spec.pairs"
local core = require "jfl.core"
local flow = require "jfl"
local node = require "jfl.onnx.node"
local ops = require "jfl.onnx.ops_recurrent"

local nd, tp = flow.ndarray, flow.typing
local exp = math.exp

local STEPS, BATCH, SIZE, UNITS = 4, 3, 2, 5
local GATES = { LSTM = 4, GRU = 3, RNN = 1 }
local LENGTHS = { 4, 1, 3 }

-- Activations, with the alpha and beta that they are given.
local ACTS = {
  { "Sigmoid", function(x) return 1 / (1 + exp(-x)) end },
  { "tanh", function(x) return 1 - 2 / (1 + exp(2 * x)) end },
  { "Relu", function(x) return math.max(x, 0) end },
  { "Affine", function(x) return 0.75 * x + 0.125 end, 0.75, 0.125 },
  { "LeakyRelu", function(x) return x < 0 and 0.25 * x or x end, 0.25 },
  { "ThresholdedRelu", function(x) return x > 0.0625 and x or 0 end, 0.0625 },
  { "HardSigmoid", function(x) return math.min(math.max(0.3 * x + 0.4, 0), 1) end, 0.3, 0.4 },
  { "Elu", function(x) return x < 0 and 0.5 * (exp(x) - 1) or x end, 0.5 },
  { "Softsign", function(x) return x / (1 + math.abs(x)) end },
  { "Softplus", function(x) return math.max(x, 0) + math.log(1 + exp(-math.abs(x))) end },
}
local USUAL = { LSTM = { 1, 2, 2 }, GRU = { 1, 2 }, RNN = { 2 } }

local FLAG = { false, true }
local FACTORS = {
  { "kind", { "LSTM", "GRU", "RNN" } }, { "direction", { "forward", "reverse", "bidirectional" } },
  { "first", { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 } }, { "bias", FLAG }, { "lengths", FLAG },
  { "states", FLAG }, { "clip", FLAG }, { "flag", FLAG }, { "peepholes", FLAG }, { "last", FLAG },
}

-- The activations of direction d: the usual ones, or those from `first` on.
local function acts_of(row, d)
  local list = {}
  for i, usual in ipairs(USUAL[row.kind]) do
    local i_of = row.first == 0 and usual or (row.first + (d - 1) * 4 + (i - 1) * 3 - 1) % #ACTS + 1
    list[i] = ACTS[i_of]
  end
  return list
end

-- ---- the formulas ----

-- Sums x[k] m[row][k].
local function dot(m, row, x)
  local sum = 0
  for k = 1, #x do sum = sum + m[row][k] * x[k] end
  return sum
end

-- One sample's state behind a step of direction d, whose tensors t has: h and c, lists of numbers.
local function step(row, t, acts, x, h, c)
  local n = UNITS
  local function clipped(v) return row.clip and math.max(-0.5, math.min(0.5, v)) or v end
  local function act(i, v) return acts[i][2](clipped(v)) end
  local function bias(k) return t.b and t.b[k] or 0 end
  local function own(k, state) return dot(t.r, k, state) + bias(GATES[row.kind] * n + k) end
  local function gate(g, u, state)
    local k = (g - 1) * n + u
    return dot(t.w, k, x) + bias(k) + own(k, state or h)
  end
  local function peep(g, u, state) return t.p and t.p[(g - 1) * n + u] * state or 0 end
  local new_h, new_c, reset = {}, {}, {}
  for u = 1, row.kind == "GRU" and n or 0 do reset[u] = act(1, gate(2, u)) * h[u] end
  for u = 1, n do
    if row.kind == "RNN" then
      new_h[u] = act(1, gate(1, u))
    elseif row.kind == "GRU" then
      local z, k = act(1, gate(1, u)), 2 * n + u
      local new = row.flag and dot(t.w, k, x) + bias(k) + act(1, gate(2, u)) * own(k, h)
        or gate(3, u, reset)
      new_h[u] = (1 - z) * act(2, new) + z * h[u]
    else
      local i = act(1, gate(1, u) + peep(1, u, c[u]))
      local f = row.flag and 1 - i or act(1, gate(3, u) + peep(3, u, c[u]))
      new_c[u] = f * c[u] + i * act(2, gate(4, u))
      new_h[u] = act(1, gate(2, u) + peep(2, u, new_c[u])) * acts[3][2](new_c[u])
    end
  end
  return new_h, new_c
end

-- All that the node gives for sample b in direction d: its rows by step, and its last states.
local function sample(row, t, d, b)
  local h, c, rows = {}, {}, {}
  for u = 1, UNITS do h[u], c[u] = t.h and t.h[b][u] or 0, t.c and t.c[b][u] or 0 end
  local length = row.lengths and LENGTHS[b] or STEPS
  local back = row.direction == "reverse" or d == 2
  for i = 1, STEPS do
    rows[i] = {}
    for u = 1, UNITS do rows[i][u] = 0 end
  end
  for i = 1, length do
    local at = back and length + 1 - i or i
    h, c = step(row, t, acts_of(row, d), t.x[at][b], h, c)
    rows[at] = h
  end
  return rows, h, c
end

-- ---- the node ----

local function node_of(row)
  local names, alphas, betas = {}, {}, {}
  for d = 1, row.direction == "bidirectional" and 2 or 1 do
    for _, act in ipairs(acts_of(row, d)) do
      names[#names + 1] = act[1]
      alphas[#names], betas[#names] = act[3] or 0, act[4] or 0
    end
  end
  local attributes = { direction = row.direction, layout = row.last and 1 or 0,
    clip = row.clip and 0.5 or nil,
    [row.kind == "LSTM" and "input_forget" or "linear_before_reset"] = row.flag and 1 or 0,
    activations = row.first > 0 and names or nil,
    activation_alpha = row.first > 0 and alphas or nil,
    activation_beta = row.first > 0 and betas or nil }
  return node.new({ op = row.kind, attrs = attributes, opset = 22, outputs = {} }, "the spec")
end

local function arrays_of(row)
  local n, all = row.direction == "bidirectional" and 2 or 1, GATES[row.kind] * UNITS
  local is_lstm = row.kind == "LSTM"
  local shapes = { x = { STEPS, BATCH, SIZE }, w = { n, all, SIZE }, r = { n, all, UNITS },
    b = row.bias and { n, 2 * all } or nil, h = row.states and { n, BATCH, UNITS } or nil,
    c = row.states and is_lstm and { n, BATCH, UNITS } or nil,
    p = row.peepholes and is_lstm and { n, 3 * UNITS } or nil }
  local arrays = {}
  for _, name in ipairs { "x", "w", "r", "b", "h", "c", "p" } do      -- the same draws each time
    arrays[name] = shapes[name] and nd.rand(shapes[name]) * 2 - 1
  end
  if row.lengths then arrays.lengths = nd.array(LENGTHS, { dtype = "int32" }) end
  return arrays
end

-- What the node gives: y, h and c with directions in front, as nested lists.
local function outcome(row, arrays)
  flow.clear_default_session()
  local given, inputs, place = {}, {}, {}
  for name, a in pairs(arrays) do
    if row.last and (name == "x" or name == "h" or name == "c") then
      a = flow.transpose(a, { 1, 0, 2 })
    end
    given[#given + 1], place[name] = a, #given + 1
    inputs[#given] = { name, tp.Numpy.Placeholder(a.shape, { dtype = a.dtype }) }
  end
  local n = row.kind == "LSTM" and 3 or 2
  local job = flow.global_function { name = "node", inputs = inputs,
    returns = tp.Tuple(unpack({ tp.Numpy, tp.Numpy, tp.Numpy }, 1, n)), body = function(...)
      local blobs = { ... }
      local function blob(name) return blobs[place[name]] end
      local results = { ops[row.kind](node_of(row), blob "x", blob "w", blob "r", blob "b",
        blob "lengths", blob "h", blob "c", blob "p") }
      return unpack(results, 1, n)
    end }
  local list = { job(unpack(given)) }
  if row.last then
    list[1] = flow.transpose(list[1], { 1, 2, 0, 3 })
    for i = 2, n do list[i] = flow.transpose(list[i], { 1, 0, 2 }) end
  end
  for i, a in ipairs(list) do list[i] = a:totable() end
  return list
end

local function compare(row)
  local arrays, tables = arrays_of(row), {}
  for name, a in pairs(arrays) do tables[name] = a:totable() end
  local got, what = outcome(row, arrays), combine.text(FACTORS, row)
  local function same(want, list, where)
    for u = 1, UNITS do
      assert(math.abs(want[u] - list[u]) < 4e-5 * math.max(1, math.abs(want[u])),
        ("%s: %s %d: expected %.9g, got %.9g"):format(what, where, u, want[u], list[u]))
    end
  end
  for d = 1, #tables.w do
    local t = { x = tables.x }
    for _, name in ipairs { "w", "r", "b", "h", "c", "p" } do
      t[name] = tables[name] and tables[name][d]
    end
    for b = 1, BATCH do
      local rows, h, c = sample(row, t, d, b)
      for i = 1, STEPS do same(rows[i], got[1][i][d][b], "step " .. i) end
      same(h, got[2][d][b], "h")
      if got[3] then same(c, got[3][d][b], "c") end
    end
  end
end

describe("recurrent nodes of ONNX", function()
  setup(function() flow.random.seed(5) end)
  teardown(core.reset)

  it("do what their formulas say", function()
    for _, row in ipairs(combine.rows(FACTORS)) do compare(row) end
  end)

  it("do so where one op of jfl's computes a direction", function()
    local factors = { unpack(FACTORS) }
    for i, plain in pairs { [3] = 0, [5] = false, [7] = false, [9] = false, [10] = false } do
      factors[i] = { FACTORS[i][1], { plain } }
    end
    for _, row in ipairs(combine.rows(factors)) do
      row.flag = row.kind == "GRU"
      compare(row)
    end
  end)
end)
