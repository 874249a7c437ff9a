-- What the session understands beside Lua: ?name, help, exit, %time.
local metatable = require "jfl.base.metatable"
local colour = require "jfl.repl.colour"
local locals = require "jfl.repl.locals"
local show = require "jfl.repl.show"

local words = {}

local HELP = [[
What you type is Lua; values are shown. flow is jfl, and there already.
  ?name, name?   what a name does: ?softmax, ?flow.layers.dense
  flow.help()    all names
  Tab            completes names and options; after "(" it shows what is taken
  _, __          the last value that was shown, and the one before
  %time x        how long x takes; %timeit x: at best, of many times
  Up, Ctrl-R     lines of before, also of earlier sessions
  Ctrl-C         drops the input, or stops what runs
  exit, Ctrl-D   ends the session]]

local function is_free(name) return not locals.has(name) and rawget(_G, name) == nil end

-- The text that flow.help prints of a name or a value.
local function help_on(what)
  require("jfl")                 -- help knows only what that has loaded
  return require("jfl.doc.help").text(what)
end

-- What a user's own value is, or nil.
local function told(value)
  if value == nil then return nil end
  if show.call(value) then return show.text(value) .. "\n?Job lists what it has" end
  local meta = metatable(value)
  if type(meta) == "table" and rawget(meta, "help") == "model" then
    return show.text(value) .. "\n?Model lists what it has, ?flow.model tells how one is made"
  end
  local ok, text = pcall(help_on, value)
  if ok and type(value) ~= "string" and type(value) ~= "userdata" then return text end
  text = show.text(value)
  return type(value) == "userdata" and ok and text .. "\n?NdArray lists what it has" or text
end

local function explain(name)
  local text = told(locals.value_of(name)) or help_on(name)
  io.stdout:write(text, "\n")
end

-- Each takes the text and gives true where it was meant: "exit" where the session ends.
local function asked(text)
  local name = text:match("^%s*%?+%s*([%w_.:]*)%s*$")
    or text:match("^%s*%?%s*(%a[%w_ ]*%w)%s*$") or text:match("^%s*%?%s*(==)%s*$")
    or text:match("^%s*([%a_][%w_.:]*)%?+%s*$")
    or (is_free("help") and text:match("^%s*help%s+[\"']?([%a_][%w_.:]*)[\"']?%s*$"))
  if not name then return nil end
  return function() if name == "" then io.stdout:write(HELP, "\n") else explain(name) end end
end

local function bare(text)
  local word = text:match("^%s*(%a+)%s*;?%s*$") or text:match("^%s*(%a+)%s*%(%s*%)%s*;?%s*$")
  if word == "help" and is_free(word) then
    return function() io.stdout:write(HELP, "\n") end
  end
  if (word == "exit" or word == "quit") and is_free(word) then return function() return true end end
end

--- What a text asks for beside Lua: a function that does it and gives true where the session is to
-- end; nil where the text is Lua.
function words.find(text) return asked(text) or bare(text) end

--- "time" or "timeit" where a text asks for that, and the Lua that follows.
function words.timing(text)
  local word, rest = text:match("^%s*%%(time%a*)%f[%A]%s*(.*)$")
  if word == "time" or word == "timeit" then return word, rest end
  return nil, text
end

-- Seconds as people read them.
local function seconds_text(t)
  for _, unit in ipairs { { 1, "s" }, { 1e-3, "ms" }, { 1e-6, "us" } } do
    if t >= unit[1] then return ("%.3g %s"):format(t / unit[1], unit[2]) end
  end
  return ("%.3g ns"):format(t * 1e9)
end

local function say(text) io.stdout:write(colour.paint("detail", text), "\n") end

local function time(f, n)
  local now = require("jfl.core").now
  local before = now()
  for _ = 1, n do f() end
  return now() - before
end

local ROUNDS, LONG = 5, 0.2      -- seconds of a round

local function with_time(before, ...)
  local taken = require("jfl.core").now() - before
  return function() say(seconds_text(taken)) end, ...
end

--- Runs f once; gives a function that says how long it took, and the results.
function words.time(f) return with_time(require("jfl.core").now(), f()) end

--- Runs f for a second; gives a function that says how long a run takes at best.
function words.timeit(f)
  local n, taken = 1, time(f, 1)
  while taken < LONG / 10 do
    n = n * 10
    taken = time(f, n)
  end
  n = math.max(1, math.floor(n * LONG / taken))
  local best = math.huge
  for _ = 1, ROUNDS do best = math.min(best, time(f, n) / n) end
  return function()
    say(("%s at best, of %d times %d"):format(seconds_text(best), ROUNDS, n))
  end
end

return words
