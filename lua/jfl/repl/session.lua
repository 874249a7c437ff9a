-- The interactive session: reads, runs and prints, with the front end as the global `flow`.
--[==[ guide 14: The command and the prompt
`jfl train.lua 10` runs a script as `luajit` would, with jfl inside: `arg[1]` is `"10"`, and
`require "jfl"` needs no path. An error ends it with a traceback on stderr and status 1, Ctrl-C with
status 130.

| | |
|---|---|
| `jfl` | begins a session, told of below |
| `jfl -i train.lua` | the same after a script, whose globals are there |
| `jfl -e 'print(1 + 1)'` | runs a piece of text |
| `jfl --profile train.lua` | prints where the time of the script's jobs went |
| `jfl --version` | tells which optional libraries are there, too |
| `jfl --help` | lists all options |

A session reads what you type, runs it and shows its value. `flow` is there already.

    $ jfl
    > local nd = flow.ndarray
    > local a = nd.arange(4)
    > a * a
    [0. 1. 4. 9.]  (4) float32
    > _:sum()
    14
    > local b = nd.ones { 2, 2 }; b + 1
    [[2. 2.]
     [2. 2.]]  (2, 2) float32

Arrays come with their shape and dtype, strings in quotes, tables with what is in them. `_` is the
last value that was shown, `__` the one before. A `local` outside of a block stays for what you type
next, as it would for the next line of a file.

What is not finished goes on in the next line, and Ctrl-C drops it:

    > local function mean(x)
    >>   return x:sum() / x.size
    >> end
    > mean(a)
    1.5

An error shows the functions of your own that led to it, and nothing is lost by it:

    > mean(3)
    stdin:2: attempt to index local 'x' (a number value)
    stack traceback:
      stdin:2: in function 'mean'
      stdin:1: in main chunk

You can paste whole programs: a pasted text is one input, so the first example of this guide works
as it stands, and an error in it ends all of it. Of a copied session only what follows its prompts
is run.

## Looking things up

    > flow.nn.rellu
    stdin:1: there is no flow.nn.rellu; did you mean flow.nn.relu?
    > flow.has("nn.relu")
    true

| you type | you get |
|---|---|
| `?softmax`, `softmax?` | what it does, its arguments and an example |
| `?mean` | of a function of your own: what it takes, and where it is from |
| `flow` | a short overview; `flow.help()` lists every name |
| `flow.nn.` and Tab | the names in it |
| `flow.layers.dense(` and Tab | what the function takes |
| `flow.layers.dense(x, 10, { ` and Tab | its options |
| `%time job(x)` | the value, and how long it took |
| `%timeit job(x)` | how long it takes at best, of many times |
| `help` | this list in short |
| `exit`, Ctrl-D | the end of the session |

## While it waits

Asynchronous calls go on while you type. What their callbacks print appears above the line that you
are typing, and so do errors in them. Ctrl-C stops the statement that runs, or the wait, not the
session; the runs that it had begun go on, and no call or callback is lost by it. A loop that LuaJIT
has compiled cannot be stopped: after a moment the program says so, and another Ctrl-C within two
seconds ends it at once, without the callbacks that are due and without what files had not been
given yet.

The arrows bring back what you typed, also in earlier sessions; Ctrl-R searches it. It is kept in
`~/.jfl_history`, which nobody else can read. Where that is a link to `/dev/null`, nothing is kept.

## A start-up file

A session first runs `~/.config/jfl/init.lua` or, if that is not there, `~/.jflrc.lua`, unless you
say `--no-startup`. Globals that it sets are there at the prompt:

```lua
nd = flow.ndarray
function shape(x) return table.concat(x.shape, " x ") end
```

Colours follow the terminal's theme; with `NO_COLOR=1` in the environment there are none.
]==]
local chunk = require "jfl.repl.chunk"
local colour = require "jfl.repl.colour"
local completion = require "jfl.doc.completion"
local report = require "jfl.repl.report"
local show = require "jfl.repl.show"
local words = require "jfl.repl.words"

local handler = report.handler
local DEEPEST = 8                -- levels by which the prompt is indented
local LONG = 4096                -- bytes of an input, whose levels are counted after every line

local function pass(...) return ... end

-- ---- globals of the session ----

-- The values of `_` and `__`, and `flow` and `help`, which load the front end when they are named.
local given = { last = nil, before = nil }
local LENT = {
  _ = function() return given.last end,
  __ = function() return given.before end,
  flow = function()
    local flow = require "jfl"
    rawset(_G, "flow", flow)
    return flow
  end,
  help = function() return require("jfl").help end,
}

-- Globals that the user sets take their place.
local function lend()
  local mt = getmetatable(_G) or {}
  local before = mt.__index
  function mt.__index(t, key)
    if LENT[key] then return LENT[key]() end
    if type(before) == "function" then return before(t, key) end
    return before and before[key]
  end
  setmetatable(_G, mt)
end

-- ---- running ----

local function show_all(ok, ...)
  if not ok then return report.say((...)) end
  local n, texts = select("#", ...), { ... }
  if n == 0 then return end
  for i = 1, n do texts[i] = show.text(texts[i]) end
  io.stdout:write(table.concat(texts, "\t"), "\n")
  if (...) ~= nil then given.last, given.before = (...), given.last end
end

-- Shows the results of a timed run, and then the time.
local function show_timed(ok, say, ...)
  if not ok then return report.say(say) end
  show_all(true, ...)
  say()
end

-- Runs a chunk and shows its results, which may fail or be interrupted too.
local function run(f, timing)
  local ok, message = xpcall(function()
    if timing then show_timed(xpcall(words[timing], handler, f))
    else show_all(xpcall(f, handler)) end
  end, handler)
  if not ok then report.say(message) end
end

-- Does what a word asks for; gives true where that is to end the session. Mistakes in it are the
-- user's, so that no traceback is of use.
local function obey(word)
  local ok, ends = pcall(word)
  if not ok then report.fail((tostring(ends):gsub("^stdin:%d+: ", ""))) end
  return ok and ends
end

-- Runs a text; one that is no chunk is run line by line, if that is possible. Gives true where the
-- session is to end.
local function execute(text)
  local word = words.find(text)
  if word then return obey(word) end
  local timing, code = words.timing(text)
  local f, _, message = chunk.load(code, pass)
  local pieces = not f and code:find("\n", 1, true) and chunk.divide(code)
  if pieces then
    for _, piece in ipairs(pieces) do
      if execute(piece) then return true end
    end
  elseif f then
    report.begin(f, code)
    run(f, timing)
  else
    report.refuse(message, code)
  end
end

--- Runs the callbacks that are due, if the session made asynchronous calls; after one that fails
-- the others still run.
local function deliver()
  local queue = package.loaded["jfl.job.queue"]
  if not queue then return end
  repeat
    local ok, message = xpcall(queue.poll, handler)
    if not ok then report.say(message) end
  until ok
end

-- ---- reading ----

-- Whether a text is whole, or wrong whatever follows.
local function is_whole(text)
  if words.find(text) then return true end
  local _, code = words.timing(text)
  local f, more = chunk.load(code, pass)
  return f ~= nil or not more
end

local function prompt_after(text)
  if text == "" then return "> " end
  if #text > LONG then return ">> " end
  return ">> " .. ("  "):rep(math.min(chunk.depth(text), DEEPEST))
end

-- Reads lines until they are a whole statement; gives their text. Gives nothing for lines that were
-- given up; false and the second result of read at the end of input.
local function read_text(read)
  local queue, core = package.loaded["jfl.job.queue"], package.loaded["jfl.core"]
  local fd = queue and core.fd() or nil
  deliver()
  local text = ""
  while true do
    local before = text
    local function rest(part, columns) return completion.rest(before .. part, columns) end
    local line, signal = read(prompt_after(text), rest, fd, deliver)
    if line == false then return end
    if not line and (text == "" or signal > 0) then return false, signal end
    text = text .. chunk.without_prompts(line or "")
    if not line or is_whole(text) then return text end
    text = text .. "\n"
  end
end

-- ---- the session ----

-- Runs the user's start-up file; what is wrong with it is told, and ends nothing.
local function start_up(path)
  local f, message = loadfile(path, "t")
  if not f then return report.fail(message) end
  report.begin(f, "")
  local ok, wrong = xpcall(f, handler)
  if not ok then report.say(wrong) end
end

--- Runs a session on the lines that read(prompt, ...) gives; keep(text) remembers them. Options are
-- startup, the path of a file to run first; colour and colour_errors, whether the terminal shows
-- them. Returns the signal that ended it, or 0.
return function(read, keep, options)
  lend()
  colour.allow(options.colour, options.colour_errors)
  if options.startup then start_up(options.startup) end
  local function step()
    local text, signal = read_text(read)
    if text == false then return signal end
    if text then keep(text) end
    return text and execute(text) and 0 or nil
  end
  while true do
    local ok, ended = xpcall(step, handler)
    if not ok then report.say(ended) elseif ended then return ended end
  end
end
