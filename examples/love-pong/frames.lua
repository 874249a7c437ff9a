-- Frames at an even pace, also where the screen does not give one, and what they cost. Measuring
-- goes through its modes in turns of some seconds, so that other programs disturb all alike.
local frames = {}

local FRAME = 1 / 60
local TURN = 5                   -- seconds, at most
local FIRST = 20                 -- frames of a turn that do not count, as the mode has just changed

-- What is compared: no training, what the game does, and as much as a core can in the frame's rest.
local modes = {
  { name = "no training", effort = 0 },
  { name = "training", effort = 1 },
  { name = "30 steps a frame", effort = 30 },
}

local brain, ends, length        -- what is measured, until when, and a turn's seconds; nil: nothing
local mode, at, turn_ends        -- the mode of the present turn, and its number
local from, count                -- steps before this turn, and its frames
local due, start, last           -- when the frame should begin, when it did, and the one before

local RECENT, RENEWED = 600, 30  -- frames that are shown, and after how many that is made anew
local recent = { between = {}, work = {}, n = 0 }
local shown = ""

--- Begins to measure for so many seconds of each mode.
function frames.plan(its_brain, seconds)
  brain, at, turn_ends, count = its_brain, 0, 0, 0
  ends, length = love.timer.getTime() + seconds * #modes, math.min(TURN, seconds)
  for _, each in ipairs(modes) do each.between, each.work, each.steps, each.time = {}, {}, 0, 0 end
end

--- Whether the opponent may train in this frame.
function frames.training() return not mode or mode.effort > 0 end

-- Goes to the next mode when its turn has come.
local function turn(now)
  if now < turn_ends then return end
  if mode then mode.steps = mode.steps + brain.steps - from end
  at = at % #modes + 1
  mode, turn_ends, from, count = modes[at], now + length, brain.steps, 0
  brain.effort = mode.effort
end

function frames.begin()
  due = love.timer.getTime()
  last = due
end

--- Waits until the next frame is due and gives the seconds since the last one began. Sleeps are
-- short towards the end, as a long one may end late.
function frames.next()
  due = due + FRAME
  local now = love.timer.getTime()
  while now < due do
    love.timer.sleep(due - now > 0.002 and due - now - 0.001 or 0)
    now = love.timer.getTime()
  end
  if now - due > FRAME then due = now end              -- frames were lost: none is made up for
  local between = now - last
  start, last = now, now
  recent.between[recent.n % RECENT + 1] = between
  if ends then
    turn(now)
    count = count + 1
    if count == FIRST then from = brain.steps end
    if count > FIRST then mode.between[#mode.between + 1] = between end
  end
  return between
end

local function percentile(list, part)
  return (list[math.max(1, math.ceil(#list * part))] or 0) * 1e3
end

local function summary(list)
  local sorted = { unpack(list) }
  table.sort(sorted)
  return ("%.1f  %.1f  %.1f"):format(percentile(sorted, 0.5), percentile(sorted, 0.99),
    percentile(sorted, 1))
end

--- The last ten seconds in a line: of frames, and of the work in them, the median, what 99 of 100
-- keep to, and the longest, in milliseconds.
function frames.recent() return shown end

--- The frame's work is done.
function frames.done()
  recent.work[recent.n % RECENT + 1] = love.timer.getTime() - start
  recent.n = recent.n + 1
  if recent.n % RENEWED == 0 then
    shown = ("frames %s ms, work %s ms"):format(summary(recent.between), summary(recent.work))
  end
  if ends and count > FIRST then mode.work[#mode.work + 1] = love.timer.getTime() - start end
end

--- Whether all was measured.
function frames.over() return ends ~= nil and love.timer.getTime() >= ends end

--- The table of what was measured: milliseconds.
function frames.table()
  local out = { ("%-18s %7s %8s  %-23s  %s\n%-18s %7s %8s  %s  %s"):format("", "", "steps of",
    "from frame to frame, ms", "work in a frame, ms", "", "frames", "training",
    ("%7s "):rep(3):format("p50", "p99", "p99.9"), ("%7s "):rep(3):format("p50", "p99", "p99.9")) }
  for _, each in ipairs(modes) do
    table.sort(each.between)
    table.sort(each.work)
    local row = { each.name, #each.between, each.steps }
    for _, list in ipairs { each.between, each.work } do
      for _, part in ipairs { 0.5, 0.99, 0.999 } do row[#row + 1] = percentile(list, part) end
    end
    out[#out + 1] = ("%-18s %7d %8d  %7.2f %7.2f %7.2f   %7.2f %7.2f %7.2f"):format(unpack(row))
  end
  return table.concat(out, "\n") .. "\n"
end

return frames
