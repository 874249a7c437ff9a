-- The interactive session: reads, runs and prints, with the front end as the global `flow`.
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

-- The values of `_` and `__`, and `help`, which loads the front end when it is named; the command
-- lends `flow` in the same way.
local given = { last = nil, before = nil }
local LENT = {
  _ = function() return given.last end,
  __ = function() return given.before end,
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
  local first = ...
  if not ok then return report.say(first) end
  local n, texts = select("#", ...), { ... }
  if n == 0 then return end
  for i = 1, n do texts[i] = show.text(texts[i]) end
  io.stdout:write(table.concat(texts, "\t"), "\n")
  if first ~= nil then given.last, given.before = first, given.last end
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
