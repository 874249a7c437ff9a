--- What PyTorch and numpy give, which scripts/oracles/run writes to spec/oracle, and how it is
-- compared with what jfl gives.
--
-- Of a result of more than eight numbers an area keeps the first two, and four sums over all,
-- each number times a wave: sqrt(2) times cosine and sine of 2.27 i, and of 0.91 i^2, i from 0. At
-- any i one of the first two waves and one of the others are at least 1, so one wrong number moves
-- two sums by no less than it is off. Neither frequency is near a fraction of a turn with a small
-- denominator, and the second changes from number to number: numbers that change places, be it by
-- swapped axes, move the sums too.
--
-- Numbers are compared relative to their size above 1, and sums take part in that: there a number
-- above 1 counts by 1 and its logarithm. A sum may be off by what one number may be off by; in
-- float32 also by the rounding errors of all n numbers, which add up as the root of n. So each
-- number of float64 that is off by more than its tolerance is caught, and each of float32 that is
-- off by ten times that, less in small results: spec/oracle_waves_spec.lua proves it.
--
-- JFL_ORACLE=FILE compares with the cases in a file that scripts/oracles/run --full printed, where
-- all results are kept whole.
local core = require "jfl.core"
local support = require "spec.op.support"

local oracle = {}

local FIRST = 2
local WAVES = 4
local ROOT = math.sqrt(2)
-- Rounding errors of a number, twice the largest seen; those of float64 are far below tolerances.
local ROUNDING = { float32 = 2e-6 }

--- ---- inputs ----

--- scale sin(phase + 1.7 i) in that shape, rounded to float32, in a dtype (else float64).
function oracle.wave(shape, phase, scale, dtype)
  local flat = core.reshape(core.array("float32", shape), { -1 })
  for i = 1, #flat do flat[i] = (scale or 1) * math.sin(phase + 1.7 * (i - 1)) end
  return core.cast(core.reshape(flat, shape), dtype or "float64")
end

--- The names of all areas.
function oracle.areas()
  local names, list = {}, io.popen "ls spec/oracle"
  for file in list:lines() do names[#names + 1] = file:match "^(.*)%.lua$" end
  list:close()
  return names
end

--- The cases of an area; of that name, where one is given.
function oracle.cases(area, name)
  local path, chosen = os.getenv "JFL_ORACLE", {}
  local list = path and dofile(path) or require("spec.oracle." .. area)
  for _, case in ipairs(list.area == area and list or {}) do
    local own = case.call or case.name
    case.id = ("%s:%s%s"):format(area, own, case.case and ":" .. case.case or "")
    if not name or own == name then chosen[#chosen + 1] = case end
  end
  return chosen
end

--- ---- comparing ----

local function level(y)
  local size = math.abs(y)
  if not (size > 1) then return y end
  return (y > 0 and 1 or -1) * (1 + math.log(size))
end

-- weights[k][i]: the k-th wave at the i-th number, as far as it was needed.
local weights = {}
for k = 1, WAVES do weights[k] = {} end

local function weigh(n)
  for at = #weights[1] + 1, n do
    local i = at - 1
    local steady, rising = 2.27 * i, 0.91 * i * i
    weights[1][at], weights[2][at] = ROOT * math.cos(steady), ROOT * math.sin(steady)
    weights[3][at], weights[4][at] = ROOT * math.cos(rising), ROOT * math.sin(rising)
  end
end

--- What is kept of a list of numbers: the first, and the sums.
function oracle.kept(list)
  weigh(#list)
  local kept = { first = { unpack(list, 1, FIRST) }, waves = {} }
  for k, wave in ipairs(weights) do
    local sum = 0
    for i = 1, #list do sum = sum + wave[i] * level(list[i]) end
    kept.waves[k] = sum
  end
  return kept
end

--- How far a sum over n numbers of that dtype may be off where a number may be off by `tol`.
function oracle.tolerance(n, dtype, tol)
  return math.sqrt(tol ^ 2 + n * (ROUNDING[dtype] or 0) ^ 2)
end

local function waves_differ(got, want, allowed)
  for k = 1, WAVES do
    local off = math.abs(got[k] - want[k])
    if not (off <= allowed) then
      return ("wave %d: got %.15g, expected %.15g: off by %.3g, more than %.3g"):format(k, got[k],
        want[k], off, allowed)
    end
  end
end

--- Where a list of numbers, which are of that dtype, differs from what is kept of a result, or nil.
function oracle.difference(want, list, dtype, tol)
  if not want.waves then return select(2, support.close(list, want, tol)) end
  local got = oracle.kept(list)
  local _, text = support.close(got.first, want.first, tol)
  return text or waves_differ(got.waves, want.waves, oracle.tolerance(#list, dtype, tol))
end

local function same_shape(a, b)
  if #a ~= #b then return false end
  for i = 1, #a do
    if a[i] ~= b[i] then return false end
  end
  return true
end

local function shape_text(shape) return "(" .. table.concat(shape, ", ") .. ")" end

--- Fails where an array is not what a case keeps of a result; `what` names it. Results that have no
--- dtype in the file have the given one.
function oracle.check(case, what, want, got, dtype, tol)
  local text
  if got.dtype ~= (want.dtype or dtype) then
    text = ("dtype is %s, not %s"):format(got.dtype, want.dtype or dtype)
  elseif not same_shape(got.shape, want.shape) then
    text = ("shape is %s, not %s"):format(shape_text(got.shape), shape_text(want.shape))
  else
    text = oracle.difference(want, support.flat(got), got.dtype, tol)
  end
  if text then
    error(("%s, %s: %s\n  scripts/oracles/run --full %s prints all its numbers"):format(case.id,
      what, text, case.id), 2)
  end
end

return oracle
