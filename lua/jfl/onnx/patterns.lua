-- Subgraphs that exporters write for one idea, and the node that takes the place of each.
--
-- A pattern is a tree from its result to its inputs. A node of it is { op, input, ... }. An input
-- is a node, a name, which stands for the same value everywhere, a number, which must be known and
-- that one, { known = name }, a number that is known, or { any = { tree, ... } }, one of several.
-- `attrs` are those that a node must have, `set` what is noted where it is found. Sums and products
-- match in either order of their inputs.
local C = "known"

local function known(name) return { [C] = name } end
local function any(...) return { any = { ... } } end

local LAST = { axes = { -1 } }

-- The mean over the last axis, whose axes are an attribute or an input.
local function mean(x)
  return any({ "ReduceMean", x, attrs = LAST }, { "ReduceMean", x, known "last" })
end

local function square(x) return any({ "Pow", x, 2 }, { "Mul", x, x }) end

-- ---- normalizations ----

local CENTRED = { "Sub", "x", mean "x" }
local NORMAL = any(
  { "Div", CENTRED, { "Sqrt", { "Add", mean(square(CENTRED)), known "epsilon" } } },
  { "Mul", CENTRED, { "Reciprocal",
    { "Sqrt", { "Add", mean(square(CENTRED)), known "epsilon" } } } })

local ROOT = { "Sqrt", { "Add", mean(square "x"), known "epsilon" } }
local RMS = any({ "Mul", "x", { "Reciprocal", ROOT } }, { "Div", "x", ROOT },
  { "Mul", "x", { "Div", 1, ROOT } })

-- ---- activations ----

local ERF = { "Add", { "Erf", any({ "Div", "x", 2 ^ 0.5 }, { "Mul", "x", 0.5 ^ 0.5 }) }, 1 }
local CUBE = any({ "Pow", "x", 3 }, { "Mul", "x", { "Mul", "x", "x" } })
local TANH = { "Add", { "Tanh", { "Mul", { "Add", "x", { "Mul", CUBE, 0.044715 } },
  (2 / math.pi) ^ 0.5 } }, 1 }

local function halved(x, f)
  return any({ "Mul", { "Mul", x, f }, 0.5 }, { "Mul", { "Mul", x, 0.5 }, f },
    { "Mul", x, { "Mul", f, 0.5 } })
end

-- ---- attention ----

-- k as (batch, heads, length, size), or with lengths before heads, turned for the product with q.
local KEYS = any(
  { "Transpose", "k", attrs = { perm = { 0, 1, 3, 2 } } },
  { "Transpose", "k", attrs = { perm = { 0, 2, 3, 1 } }, set = { swapped = 1 } },
  { "Transpose", "k", attrs = { perm = { 0, 2, 1 } } },
  { "Reshape", { "Transpose", { "Reshape", "k", "flat" }, attrs = { perm = { 0, 2, 1 } } },
    "full", set = { reshaped = 1 } },
  { "Reshape", { "Transpose", "k", attrs = { perm = { 0, 2, 1 } } }, "full",
    set = { reshaped = 1 } })

local function scaled(x, name)
  return any({ "Mul", x, known(name) }, { "Div", x, known(name .. "_divisor") }, x)
end

-- Factors may depend on shapes; then they are known when a job is described.
local FACTORED = any(scaled(KEYS, "scale_k"), { "Mul", KEYS, "factor" })
local QUERIES = any({ "Mul", "q", known "scale_q" }, { "Div", "q", known "scale_q_divisor" },
  { "Mul", "q", "factor_q" }, "q")

local SCORES = scaled({ "MatMul", QUERIES, FACTORED }, "scale")

local function attended(scores)
  local weights = { "Softmax", scores, attrs = { axis = -1 } }
  return { "MatMul", any(weights, { "Where", { "IsNaN", weights }, 0, weights }), "v" }
end

local ATTENDED = { "q", "k", "v", "mask", "factor", "factor_q" }
local SCALES = { "scale_q", "scale_q_divisor", "scale_k", "scale_k_divisor", "scale",
  "scale_divisor", "swapped", "reshaped" }

-- ---- rotary embedding ----

local FRONT = { "Slice", "x", 0, "half", 3, 1 }
local BACK = { "Slice", "x", "half", known "end", 3, 1 }
local ROTATED = { "Add", { "Mul", "x", "cosine" },
  { "Mul", { "Concat", { "Neg", BACK }, FRONT }, "sine" } }

--- In the order in which they are looked for: name, find, and make = { op, inputs = names,
-- attrs = { attribute = the name of a number or a value } }. ranks: those that tensors of the file
-- must have. fixed: which of these are no weights.
return {
  { name = "layer norm", find = { "Add", { "Mul", NORMAL, "scale" }, "bias" },
    ranks = { scale = 1, bias = 1 },
    make = { op = "LayerNormalization", inputs = { "x", "scale", "bias" },
      attrs = { epsilon = "epsilon" } } },
  { name = "gelu", find = halved("x", ERF), make = { op = "Gelu", inputs = { "x" } } },
  { name = "gelu by tanh", find = halved("x", TANH),
    make = { op = "Gelu", domain = "jfl", inputs = { "x" } } },
  { name = "silu", find = { "Mul", "x", { "Sigmoid", "x" } },
    make = { op = "Swish", inputs = { "x" } } },
  { name = "hardswish", find = { "Mul", "x", { "HardSigmoid", "x", attrs = { alpha = 1 / 6 } } },
    make = { op = "HardSwish", inputs = { "x" } } },
  { name = "mish", find = { "Mul", "x", { "Tanh", { "Softplus", "x" } } },
    make = { op = "Mish", inputs = { "x" } } },
  { name = "rms norm with weights", find = { "Mul", RMS, "scale" }, ranks = { scale = 1 },
    make = { op = "RMSNormalization", inputs = { "x", "scale" },
      attrs = { epsilon = "epsilon" } } },
  { name = "attention with a mask", find = attended { "Add", SCORES, "mask" },
    make = { op = "Attention", domain = "jfl", inputs = ATTENDED,
      attrs = SCALES }, fixed = { "mask" } },
  { name = "attention", find = attended(SCORES),
    make = { op = "Attention", domain = "jfl", inputs = ATTENDED,
      attrs = SCALES } },
  { name = "rotary embedding", find = ROTATED,
    make = { op = "Rotary", domain = "jfl", inputs = { "x", "cosine", "sine" } },
    fixed = { "cosine", "sine" } },
  { name = "linear", find = { "Add", { "MatMul", "x", "weight" }, "bias" },
    ranks = { weight = 2, bias = 1 },
    make = { op = "Linear", domain = "jfl", inputs = { "x", "weight", "bias" } } },
}
