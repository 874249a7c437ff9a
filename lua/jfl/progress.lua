-- flow.progress: how far a loop is: a bar on a terminal, else a line a minute, on stderr.
--[==[ guide 11: Tools
`flow.progress` goes through a number, an iterator such as `flow.zip(...)`, an array or a list, and
shows on stderr how far it is: a bar on a terminal, a line a minute elsewhere.

```lua
local bar = flow.progress(20, { desc = "training" })
local sum = 0
for i in bar do
  sum = sum + i
  bar.loss = 1 / i
end
print(sum)                                       --> 210
```

`flow.profile(fn)` runs a function and prints what the steps of its jobs took, and gives that as
rows, the longest first.

```lua
local job = flow.global_function {
  name = "job",
  inputs = { { "x", tp.Numpy.Placeholder({ 64, 64 }) } },
  returns = tp.Numpy,
  body = function(x) return flow.matmul(x, x) end,
}
local x = flow.ndarray.ones({ 64, 64 })
local rows = flow.profile(function() for _ = 1, 3 do job(x) end end)
print(rows[1].op, rows[1].runs)                  --> matmul	3
```
]==]
local args = require "jfl.args"
local core = require "jfl.core"

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

local function last_loss(self)
  local loss = self.loss
  if core.type(loss) == "array" then loss = loss:mean() end
  if type(loss) == "number" then return ("  loss %.4g"):format(loss) end
  return loss and "  loss " .. tostring(loss) or ""
end

local function text(self, now)
  local spent = now - self.started
  local rate = spent > 0 and self.count / spent or 0
  local left = self.total and rate > 0 and math.max(self.total - self.count, 0) / rate
  local head = self.desc and self.desc .. ": " or ""
  local of = self.total and ("%d/%d"):format(self.count, self.total) or tostring(self.count)
  local eta = left and ("  %s left"):format(duration(left)) or ""
  return head, ("%s  %.1f/s  %s%s%s"):format(of, rate, duration(spent), eta, last_loss(self))
end

--- What is drawn in so many columns: the bar is as long as there is room, and left out before any
-- of the text is. The last column stays free, since terminals differ in when they wrap.
function progress.line(head, tail, done, columns)
  local room = math.min(BAR, columns - 1 - #head - #tail - #"[] ")
  local bar = ""
  if done and room >= BAR_LEAST then
    local full = math.floor(room * math.min(done, 1))
    bar = "[" .. ("="):rep(full) .. (" "):rep(room - full) .. "] "
  end
  return (head .. bar .. tail):sub(1, columns - 1)
end

local function draw(self, now, last)
  self.drawn = now
  local head, tail = text(self, now)
  local columns = core.columns(STDERR)
  if not columns then
    io.stderr:write(head, tail, "\n")
    return
  end
  local done = self.total and self.count / math.max(self.total, 1)
  io.stderr:write("\r", progress.line(head, tail, done, columns), "\27[K", last and "\n" or "")
end

local function count(self)
  self.count = self.count + 1
  local now = core.now()
  if now - self.drawn >= (self.terminal and REDRAW or LINE) then draw(self, now) end
end

--- Shows the final state; the end of the loop does so too.
function Bar:close()
  if self.closed then return end
  self.closed = true
  draw(self, core.now(), true)
end

local function pass(self, ...)
  if (...) == nil then self:close() end
  return ...
end

function Bar:__call(_, control)
  if self.begun then count(self) end
  self.begun = true
  if control == nil then control = self.control end
  return pass(self, self.iterate(self.state, control))
end

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

-- How to go through the first argument: an iterator, its first control value, and the number of
-- steps if it is known.
local function steps(source)
  if type(source) == "number" then
    return numbers(args.integer("progress", "source", source, 0)), 0, source
  end
  if core.type(source) == "array" then return rows(source), 0, #source end
  if type(source) == "function" then return source end
  local meta = getmetatable(source)
  if type(source) == "table" and meta == nil then return rows(source), 0, #source end
  if type(meta) == "table" and meta.__call then return source, nil, source.n end
  core.fail("progress: expected a number, an iterator, an NdArray or a list, got %s",
    args.describe(source))
end

--- Goes through a number, an iterator such as flow.zip(a, b), an NdArray or a list, and shows how
-- far that is: `local bar = flow.progress(flow.zip(a, b), { desc = "epoch 1" })`, then
-- `for i, x, y in bar do bar.loss = job(x, y) end`. bar.loss, a number or an NdArray, is shown too.
progress.progress = args.define("progress", "Goes through something and shows how far it is.", {
  { "source", "a number, an iterator, an NdArray or a list",
    type = "number|function|Steps|NdArray|table" },
  { "state", "of an iterator that has one", args.none, type = "any" },
  { "control", "of an iterator that has one: its first value", args.none, type = "any" },
  { "desc", "what is written before the bar", args.none, type = "string" },
  { "total", "the number of steps, where it cannot be known", args.none, type = "integer" },
  returns = "Steps",
}, function(o)
  local iterate, control, total = steps(o.source)
  if o.desc ~= nil then args.expect("progress", "desc", o.desc, "string") end
  if o.total ~= nil then args.integer("progress", "total", o.total, 0) end
  local now = core.now()
  return setmetatable({ iterate = iterate, state = o.state, control = o.control or control,
    count = 0, total = o.total or total, desc = o.desc, started = now, drawn = now,
    terminal = core.columns(STDERR) ~= nil }, Bar)
end)

return progress
