-- flow.progress: shows how far a loop is, as a bar on a terminal, else as a line a minute on
-- stderr.
---@flow progress
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local core = require "jfl.core"
local stack = require "jfl.base.stack"
local text = require "jfl.base.text"

local progress = {}

local REDRAW, LINE = 0.1, 60     -- seconds between two bars, and between two lines
local BAR, BAR_LEAST = 24, 5     -- columns inside the bar

local STDERR = 2

local function duration(seconds)
  local s = math.floor(seconds + 0.5)
  if s >= 3600 then return ("%d:%02d:%02d"):format(s / 3600, s / 60 % 60, s % 60) end
  return ("%d:%02d"):format(s / 60, s % 60)
end

local Bar = {}
Bar.__index = Bar

-- ---- whose loop is under way ----

-- The innermost other bar whose loop is still running.
local function around(self)
  return stack.generator(function(value)
    return metatable(value) == Bar and value ~= self and not value.closed
  end)
end

-- ---- what is written ----

-- A loss as text: a number, the mean of an array, each element of a list, or the value of a future
-- or registrar; nil where there is none yet, or for an array that was freed since.
local function loss_text(loss)
  if core.type(loss) == "request" then loss = core.peek(loss) end
  if core.type(loss) == "array" then
    local ok, mean = pcall(loss.mean, loss)
    loss = ok and mean or nil
  end
  if type(loss) == "number" then return ("%.4g"):format(loss) end
  if type(loss) ~= "table" then return loss ~= nil and text.line(tostring(loss)) or nil end
  if metatable(loss) then return nil end
  local parts = {}
  for i, item in ipairs(loss) do parts[i] = loss_text(item) end
  return parts[1] and table.concat(parts, ", ")
end

local function last_loss(self)
  self.said = loss_text(self.loss) or self.said
  return self.said and "  loss " .. self.said or ""
end

local function speed(rate)
  if rate > 0 and rate < 1 then return ("%.1f s each"):format(1 / rate) end
  return ("%.1f/s"):format(rate)
end

local function position(self)
  return self.total and ("%d/%d"):format(self.count, self.total) or tostring(self.count)
end

-- The description of a bar, after those of the loops around it.
local function head(self)
  local outer = self.outer
  local before = outer and ("%s%s  "):format(head(outer), position(outer)) or ""
  return self.desc and before .. self.desc .. ": " or before
end

local function tail(self, now)
  local spent = now - self.started
  local rate = spent > 0 and self.count / spent or 0
  local left = self.total and rate > 0 and math.max(self.total - self.count, 0) / rate
  local eta = left and ("  %s left"):format(duration(left)) or ""
  return ("%s  %s  %s%s%s"):format(position(self), speed(rate), duration(spent), eta,
    last_loss(self))
end

--- The line to draw in the given columns. The bar takes the room that is left, and is dropped
-- before any of the text is cut.
function progress.line(before, after, done, columns)
  local used = text.width(before) + text.width(after)
  local room = math.min(BAR, columns - 1 - used - #"[] ")
  local bar = ""
  if done and room >= BAR_LEAST then
    local full = math.floor(room * math.min(done, 1))
    bar = "[" .. ("="):rep(full) .. (" "):rep(room - full) .. "] "
  end
  return (text.cut(before .. bar .. after, columns - 1))
end

-- The outermost bar whose line is on the terminal, unless something was printed since.
local shown

-- Draws a bar. It fills the whole line: the terminal then starts a new line before the next letter,
-- whoever writes it, while the next bar returns to the start of this line. So whatever the loop, an
-- error or the shell prints gets a line of its own.
local function draw(self, now, last)
  self.root.drawn = now
  -- Of several ranks the first one shows how far the loop is, for all of them.
  if not (core.world() == 0 or os.getenv "JFL_PRINT" == "all") then return end
  local before, after = head(self), tail(self, now)
  local columns = core.columns(STDERR)
  if not columns then
    io.stderr:write(before, after, "\n")
    return
  end
  -- Ends the line of a bar whose loop was left early; one that has ended has done so itself.
  if shown and shown ~= self.root then io.stderr:write((" "):rep(columns)) end
  local done = self.total and (self.total > 0 and self.count / self.total or 1)
  local line = progress.line(before, after, done, columns)
  io.stderr:write("\r", line, last and "\27[K\n" or (" "):rep(columns - text.width(line)))
  shown = not last and self.root or nil
end

local function is_due(self, now)
  return now - self.root.drawn >= (self.terminal and REDRAW or LINE)
end

local function count(self)
  self.count = self.count + 1
  local now = core.now()
  if is_due(self, now) then draw(self, now) end
end

--- Shows the final state. The end of the loop does the same, but not leaving it early. Inside the
-- loop of another bar, that bar goes on instead.
function Bar:close()
  if self.closed then return end
  self.closed = true
  local now = core.now()
  if not self.outer or is_due(self, now) then draw(self, now, not self.outer) end
end

-- Begins to show a loop. An inner loop is shown on the line of its outer ones, after them.
local function begin(self)
  self.begun = true
  local outer = around(self)
  if outer then self.outer, self.root = outer, outer.root end
end

local function pass(self, ...)
  if (...) == nil then self:close() end
  return ...
end

function Bar:__call(_, control)
  if self.begun then count(self) else begin(self) end
  if control == nil then control = self.control end
  return pass(self, self.iterate(self.state, control))
end

function Bar:__tostring() return "progress bar at " .. position(self) end

local function numbers(n)
  return function(_, i)
    if i < n then return i + 1 end
  end
end

local function rows(list)
  return function(_, i)
    if i < #list then return i + 1, list[i + 1] end
  end
end

-- How to iterate over the first argument: an iterator, its first control value, and the number of
-- steps if it is known.
local function steps(source)
  if type(source) == "number" then
    return numbers(args.integer("progress", "source", source, 0)), 0, source
  end
  if core.type(source) == "array" then return rows(source), 0, #source end
  if type(source) == "function" then return source end
  local is_list = type(source) == "table" and metatable(source) == nil
  if is_list then return rows(source), 0, #source end
  if args.is_callable(source) then
    return source, nil, type(source.n) == "number" and source.n < math.huge and source.n or nil
  end
  core.fail("progress: source must be a number, an iterator, an NdArray or a list, got %s",
    args.describe(source))
end

--- Iterates over a number, an iterator such as flow.zip(a, b), an NdArray or a list, and shows how
-- far that is: `local bar = flow.progress(flow.zip(a, b), { desc = "epoch 1" })`, then `for i, x, y
-- in bar do bar.loss = job(x, y) end`. bar.loss is shown too: a number, an NdArray's mean, or the
-- value of an asynchronous call once it is there. bar:close() ends a loop that is left early.
progress.progress = args.define("progress", "Goes through something and shows how far it is.", {
  { "source", "a number, an iterator, an NdArray or a list",
    type = "number|function|Steps|NdArray|table" },
  { "state", "of an iterator that has one", args.none, type = "any" },
  { "control", "of an iterator that has one: its first value", args.none, type = "any" },
  { "desc", "what is written before the bar", args.none, type = "string" },
  { "total", "the number of steps, where it cannot be known", args.none,
    type = "integer", least = 0 },
  returns = "ProgressBar",
}, function(o)
  local iterate, control, total = steps(o.source)
  local now = core.now()
  local bar = { iterate = iterate, state = o.state, control = o.control or control, count = 0,
    total = o.total or total, desc = o.desc and text.line(o.desc), started = now, drawn = now,
    terminal = core.columns(STDERR) ~= nil }
  bar.root = bar
  return setmetatable(bar, Bar)
end)

return progress
