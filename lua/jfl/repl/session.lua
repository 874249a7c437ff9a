-- The interactive session: reads, runs and prints, with the front end as the global `flow`.
--[==[ guide 12: The command and the prompt
`jfl [options] [script [arguments]]` takes the options of `luajit` (`-e`, `-l`, `-i`, `-v`, `-j`,
`-O`, `-`, `--`) and runs any Lua program. An error ends it with a traceback on stderr and status 1.
`--profile` prints where the time of the script's jobs went, `--profile=trace.json` writes that for
Perfetto too.

Without a script, on a terminal, it is a prompt. `flow` is there already; results are printed
without `=`; a line that is not finished goes on in the next; Tab completes names; the arrows bring
back lines of earlier sessions; Ctrl-C ends the line that runs and not the program; callbacks run
while it waits for a line.

    $ jfl
    > a = flow.ndarray.arange(4)
    > a * a
    [0. 1. 4. 9.]
    > flow.help("arange")

From another program with LuaJIT inside, `require "jfl"` loads the same from `jfl.so`.
]==]
local completion = require "jfl.doc.completion"
local text_of = require "jfl.repl.show"

local function results(...) return ... end

-- Loads typed text. It is not compiled to machine code, as compiled loops cannot be interrupted;
-- what it calls is compiled.
local function load(text)
  local chunk, message = loadstring(text, "=stdin")
  if chunk then jit.off(chunk, true) end
  return chunk, message
end

-- The chunk of a text, which may be an expression. Returns nil and true when more lines are needed,
-- or nil, false and a message. An expression is made an argument of `results`, since a tail call
-- would lose the line for tracebacks.
local function compile(text)
  local expression, asked = text:gsub("^%s*=", "")
  local valid, wrong = loadstring("return " .. expression, "=stdin")
  if valid then return load("return (...)(" .. expression .. "\n)") end
  local chunk, message = load(text)
  if chunk then return chunk end
  if asked > 0 then message = wrong end
  return nil, message:find("'<eof>'$") ~= nil, message
end

--- The traceback down to the user's own lines.
local function handler(message)
  local meta = debug.getmetatable(message)
  local ok, said = true, message
  if type(message) ~= "string" then
    ok = type(meta) == "table" and rawget(meta, "__tostring") ~= nil
    if ok then ok, said = pcall(tostring, message) end
  end
  if not ok then said = "(error object is a " .. type(message) .. " value)" end
  local text = debug.traceback(said, 2)
  return (text:gsub("\n%s*%[C%]: in function 'xpcall'.*", ""))
end

local function say(text)
  io.stdout:flush()
  io.stderr:write(text, "\n")
end

local function show(ok, ...)
  if not ok then
    say((...))
  elseif select("#", ...) > 0 then
    local texts = { ... }
    for i = 1, select("#", ...) do texts[i] = text_of(texts[i]) end
    io.stdout:write(table.concat(texts, "\t"), "\n")
  end
end

-- Runs a line. Showing its results may fail or be interrupted too.
local function run(chunk)
  local ok, message = xpcall(function() show(xpcall(chunk, handler, results)) end, handler)
  if not ok then say(message) end
end

--- Runs the callbacks that are due, if the session made asynchronous calls; after one that fails
-- the others still run.
local function deliver()
  local queue = package.loaded["jfl.job.queue"]
  if not queue then return end
  repeat
    local ok, message = xpcall(queue.poll, handler)
    if not ok then say(message) end
  until ok
end

-- Reads lines until they are a whole statement; returns its chunk, or nil and a message, and the
-- text. Returns nothing for lines that were given up; false and the second result of read at the
-- end of input.
local function read_chunk(read)
  local queue, core = package.loaded["jfl.job.queue"], package.loaded["jfl.core"]
  local fd = queue and core.fd() or nil
  deliver()
  local text, prompt = "", "> "
  while true do
    local before = text
    local function rest(part, columns) return completion.rest(before .. part, columns) end
    local line, signal = read(prompt, rest, fd, deliver)
    if line == false then return end
    if not line and (text == "" or signal > 0) then return false, signal end
    text = text .. (line or "")
    local chunk, more, message = compile(text)
    if chunk or not more or not line then return chunk, message, text end
    text, prompt = text .. "\n", ">> "
  end
end

--- `flow` loads the front end when it is first named.
local function define_flow()
  local mt = getmetatable(_G) or {}
  local before = mt.__index
  mt.__index = function(t, key)
    if key == "flow" then
      local flow = require("jfl")
      rawset(t, key, flow)
      return flow
    end
    if type(before) == "function" then return before(t, key) end
    return before and before[key]
  end
  setmetatable(_G, mt)
end

--- Runs a session on the lines that read(prompt, ...) gives; keep(text) remembers them. Returns the
-- signal that ended it, or 0.
return function(read, keep)
  define_flow()
  local function step()
    local chunk, message, text = read_chunk(read)
    if chunk == false then return message end
    if text then keep(text) end
    if chunk then run(chunk) elseif message then say(message) end
  end
  while true do
    local ok, ended = xpcall(step, handler)
    if not ok then say(ended) elseif ended then return ended end
  end
end
