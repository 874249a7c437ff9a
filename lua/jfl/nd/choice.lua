-- flow.random.choice: draws of classes by how probable they are.
---@box random.choice
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local call = require "jfl.op.call"
local core = require "jfl.core"
local trace = require "jfl.job.trace"

local choice = {}

local WHO = "random.choice"
local MOST_AT_ONCE = 2 ^ 20      -- random numbers that are made at a time
local LEAST = 1e-300             -- keeps log(0) away
local op = call.op

-- ---- what is drawn from ----

local function read_array(o)
  local weights = o.weights
  if type(weights) == "number" then
    return op.constant(1, { shape = { args.integer(WHO, "weights", weights, 1) },
      dtype = "float64" })
  end
  args.check(core.type(weights) ~= "blob", "%s: weights must be an NdArray or a list, got a blob: "
    .. "return it from the job, and draw from what a call gives", WHO)
  if type(weights) == "table" and metatable(weights) == nil and next(weights) ~= nil then
    weights = core.from_table(weights, "float64", nil, WHO .. ": weights")
  end
  args.must(core.type(weights) == "array" and #weights.shape > 0 and weights.size ~= 0, o.weights,
    "%s: weights must be an NdArray, a list or how many there are", WHO)
  return core.cast(weights, "float64")
end

-- Fails unless something can be drawn in each row of (rows, classes).
local function check_rows(o, rows)
  local least, most = rows:min(), rows:max(1):min()
  args.check(least == least and rows:max() ~= math.huge, "%s: weights must be finite numbers, got "
    .. "nan or inf", WHO)
  if o.logits then
    if most == -math.huge then core.fail("%s: weights: a row must have one above -inf", WHO) end
  elseif least < 0 then
    core.fail("%s: weights must be 0 or more, got %g; logits = true takes scores of any sign, as a "
      .. "network gives them", WHO, least)
  elseif most == 0 then
    core.fail("%s: weights: each row must have one above 0", WHO)
  end
end

-- ---- what is left to be drawn ----

-- Logits in which all below the last one of each row that counts cannot be drawn.
local function without(logits, values, lowest)
  return op.where(values:ge(lowest), logits, op.constant(-math.huge,
    { shape = logits.shape, dtype = "float64" }))
end

-- Leaves the k highest of each row.
local function highest(logits, k)
  local n = logits.shape[2]
  if k >= n then return logits end
  local sorted = op.sort(logits, { direction = "DESCENDING" })
  return without(logits, logits, op.slice(sorted, { 0, k - 1 }, { -1, 1 }))
end

-- Leaves the fewest of each row whose probabilities reach `share` together.
local function nucleus(logits, share)
  local chances = op.softmax(logits)
  local sorted = op.sort(chances, { direction = "DESCENDING" })
  local before = op.cumsum(sorted, { axis = 1, exclusive = true })
  local nothing = op.constant(math.huge, { shape = sorted.shape, dtype = "float64" })
  local kept = op.where(before:lt(share), sorted, nothing)
  return without(logits, chances, kept:min(1, true))
end

local function logits_of(o, rows)
  local logits = o.logits and rows or op.log(rows)
  if o.temperature > 0 then logits = logits / o.temperature end
  if o.top_k then logits = highest(logits, o.top_k) end
  if o.top_p and o.top_p < 1 then logits = nucleus(logits, o.top_p) end
  return logits
end

-- ---- drawing ----

-- Each logit with noise of Gumbel's distribution: the highest one is a draw, and the n highest are
-- draws that differ (Gumbel 1954; Vieira 2014).
local function noisy(logits, shape)
  local u = op.random_uniform({ shape = shape, dtype = "float64" })
  return logits - op.log(-op.log(u + LEAST))
end

local function draw_apart(o, logits)
  local least = logits:gt(-math.huge):astype("int32"):sum(1):min()
  args.check(o.n <= least, "%s: n must be at most %d, as many as can be drawn without replacement, "
    .. "got %d", WHO, least, o.n)
  return op.top_k(noisy(logits, logits.shape), { k = o.n })
end

local function draw_each(o, logits)
  local rows, classes = unpack(logits.shape)
  local wide, parts = op.reshape(logits, { rows, 1, classes }), {}
  local at_once = math.max(1, math.floor(MOST_AT_ONCE / logits.size))
  for first = 1, o.n or 1, at_once do
    local n = math.min(at_once, (o.n or 1) - first + 1)
    parts[#parts + 1] = op.argmax(noisy(wide, { rows, n, classes }), { axis = 2 })
  end
  return #parts == 1 and parts[1] or op.concat(parts, { axis = 1 })
end

local function draw(o)
  local weights = read_array(o)
  local shape = { unpack(weights.shape) }
  local rows = op.reshape(weights, { -1, table.remove(shape) })
  check_rows(o, rows)
  local logits = logits_of(o, rows)
  local drawn
  if not o.replace and o.n then drawn = draw_apart(o, logits)
  elseif o.temperature == 0 then
    drawn = op.broadcast_to(op.reshape(op.argmax(logits, { axis = 1 }), { -1, 1 }),
      { rows.shape[1], o.n or 1 })
  else drawn = draw_each(o, logits)
  end
  if o.n then shape[#shape + 1] = o.n end
  if #shape == 0 then return drawn:item() end
  return op.reshape(core.cast(drawn, "int32"), shape)
end

--- Draws a class of each row of logits (rows, classes) by a share of 1 for each: that at which the
-- sum of probabilities passes it. o: { temperature, top_k, top_p }.
function choice.at_shares(o, logits, shares)
  return (trace.without_graph(function()
    local rows = core.cast(logits, "float64")
    check_rows({ logits = true }, rows)
    local sums = op.cumsum(op.softmax(logits_of({ logits = true, temperature = o.temperature,
      top_k = o.top_k, top_p = o.top_p }, rows)), { axis = 1 })
    local classes = rows.shape[2]
    local bounds = core.from_table(shares, "float64"):reshape { #shares, 1 }
      * op.slice(sums, { 0, classes - 1 }, { -1, 1 })
    return sums:le(bounds):astype "int32":sum(1)
  end))
end

--- Draws numbers from 0 on, each as often as its weight says. Weights (..., classes) are
-- probabilities, or anything from 0 on that is proportional to them; with logits = true they are
-- logarithms of those, as a network gives them before softmax. It gives int32 (...), a draw for
-- each row, or with n (..., n); of one row without n a number. A temperature below 1 makes what is
-- probable more so, and 0 takes the most probable; then top_k leaves the k most probable, and top_p
-- the fewest whose probabilities make up that share (Holtzman et al. 2020). flow.random.seed has
-- the same drawn again.
choice.choice = args.define(WHO, "Draws classes by their weights or logits.", {
  { "weights", "how probable each is, (..., classes), or how many there are",
    type = "NdArray|table|integer" },
  { "n", "how many of each row; one", args.none, type = "integer", least = 1 },
  { "replace", "whether the same may be drawn again in a row", true, type = "boolean" },
  { "logits", "whether weights are logits", false, type = "boolean" },
  { "temperature", "what logits are divided by; 0: the most probable", 1.0, type = "number",
    range = "a number of at least 0" },
  { "top_k", "how many of the most probable can be drawn; all", args.none,
    type = "integer", least = 1 },
  { "top_p", "the share of the most probable that can be drawn; all", args.none, type = "number",
    range = "a number above 0 and at most 1" },
  returns = "NdArray|integer",
}, function(o) return (trace.without_graph(draw, o)) end)

return choice
