-- The axes of plots: ranges, ticks at round numbers, and curves thinned to what can be seen.
local axis = {}

local FLAT = 1e-12           -- of a value: less difference than this is none
local SEEN = 4               -- points that are told apart in one column

--- An axis from low to high; where they are the same, one around them.
function axis.new(low, high)
  local most = math.max(math.abs(low), math.abs(high))
  if high - low <= most * FLAT then
    local room = most > 0 and most * 0.1 or 1
    low, high = low - room, high + room
  end
  return { low = low, high = high }
end

--- The axis with the given share of its length added at both ends.
function axis.widened(a, share)
  local room = (a.high - a.low) * share
  return { low = a.low - room, high = a.high + room }
end

--- The position of v on the axis, from 0 to 1.
function axis.at(a, v) return (v - a.low) / (a.high - a.low) end

-- The round step (1, 2 or 5 times a power of ten) that makes at most `most` ticks.
local function step_of(a, most, whole)
  local least = (a.high - a.low) / most
  local power = 10 ^ math.floor(math.log10(least))
  local step = 10 * power
  for _, factor in ipairs { 5, 2, 1 } do
    if factor * power >= least then step = factor * power end
  end
  return whole and math.max(step, 1) or step
end

-- The format of a step's ticks: with as many digits as tell them apart.
local function form_of(a, step)
  local most = math.max(math.abs(a.low), math.abs(a.high))
  local digits = -math.floor(math.log10(step) + 1e-9)
  if most < 1e6 and digits <= 4 then return ("%%.%df"):format(math.max(digits, 0)) end
  return ("%%.%dg"):format(math.max(1, math.floor(math.log10(most)) + digits + 1))
end

--- At most `most` ticks: a list of { value, label }. whole: at whole numbers only.
function axis.ticks(a, most, whole)
  local step = step_of(a, math.max(most, 1), whole)
  local form, list = form_of(a, step), {}
  for i = math.ceil(a.low / step - 1e-9), math.floor(a.high / step + 1e-9) do
    local label = form:format(i * step):gsub("e%+?(%-?)0*(%d)", "e%1%2"):gsub("^%-(0%.?0*)$", "%1")
    list[#list + 1] = { i * step, label }
  end
  return list
end

-- The points of a curve, from first to last, that can be seen when all fall into one column: the
-- positions of the first, the lowest, the highest and the last finite one, in order; nil where none
-- is finite.
local function extremes(y, x, first, last)
  local low, high, from, to
  for i = first, last do
    local v, at = y[i], x and x[i] or 0
    if v - v == 0 and at - at == 0 then
      from, to = from or i, i
      if not low or v < y[low] then low = i end
      if not high or v > y[high] then high = i end
    end
  end
  if not from then return nil end
  return from, math.min(low, high), math.max(low, high), to
end

-- Adds points to the open run, which a gap ends.
local function add(runs, open, c, ...)
  local run = open or {}
  if not open then runs[#runs + 1] = run end
  for k = 1, select("#", ...) do
    local i = select(k, ...)
    if i ~= run.last then
      run[#run + 1] = { c.x and c.x[i] or i + 1, c.y[i] }
      run.last = i
    end
  end
  return run
end

--- The runs of finite points of a curve { y, x or nil, n }, whose elements count from 0: lists of {
-- x, y }. Where there are many more points than columns, points that cannot be seen are left out.
function axis.runs(c, columns)
  local runs, open = {}, nil
  local per = c.n > SEEN * columns and c.n / columns or 1
  for column = 0, math.ceil(c.n / per) - 1 do
    local first = math.floor(column * per)
    local last = math.min(math.max(first, math.floor((column + 1) * per) - 1), c.n - 1)
    local from, a, b, to = extremes(c.y, c.x, first, last)
    open = from and add(runs, open, c, from, a, b, to) or nil
  end
  return runs
end

--- The lowest and the highest finite number of a list of n, counted from 0; nil where none is.
function axis.range(list, n)
  local _, a, b = extremes(list, nil, 0, n - 1)
  if not a then return nil end
  return math.min(list[a], list[b]), math.max(list[a], list[b])
end

return axis
