-- Errors in the interactive session: the message and where it comes from, without the frames of
-- jfl itself.
local colour = require "jfl.repl.colour"
local debug = require "debug"
local hints = require "jfl.base.hints"
local show = require "jfl.repl.show"

local report = {}

local MANY = 12                  -- lines of a traceback

-- What is running: its function and its text.
local running = {}

--- Says which chunk runs, and its text.
function report.begin(chunk, text) running = { chunk = chunk, text = text } end

-- The text of an error object, and of anything else that error() was given.
local function said_by(message)
  if type(message) == "string" then return hints.added(message) end
  local meta = debug.getmetatable(message)
  local tells = type(meta) == "table" and rawget(meta, "__tostring") ~= nil
  local ok, text = pcall(tells and tostring or show.text, message)
  if not ok or type(text) ~= "string" then return "error object that fails to tell what it is" end
  return tells and text or "error object " .. text
end

-- A line of the text that runs, if that has several.
local function quote(number)
  local text = running.text or ""
  if not text:find("\n", 1, true) then return "" end
  local n = 0
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do
    n = n + 1
    if n == number then return "\n" .. ("  %d | %s"):format(number, line) end
  end
  return ""
end

local function frame_text(info)
  local name = info.name and ("function '%s'"):format(info.name)
    or info.what == "main" and "main chunk"
    or ("function <%s:%d>"):format(info.short_src, info.linedefined)
  return ("  %s:%d: in %s"):format(info.short_src, info.currentline, name)
end

-- The user's frames from this level on as lines of text, and the place of the chunk that runs: its
-- source and line, or nil.
local function frames(level)
  local lines, count = {}, 0
  local info = debug.getinfo(level, "Slnf")
  while info and info.func ~= running.chunk and not info.source:find("^=jfl/repl/") do
    if info.currentline > 0 and not info.source:find("^=jfl/") then
      count = count + 1
      if count <= MANY then lines[count] = frame_text(info) end
    end
    level = level + 1
    info = debug.getinfo(level, "Slnf")
  end
  if count > MANY then lines[MANY] = ("  ... (%d more)"):format(count - MANY + 1) end
  return lines, info and info.func == running.chunk and info
end

--- For xpcall: the message; the line of the input, if that has several; and the functions between.
function report.handler(message)
  local text = colour.paint_error("error", said_by(message))
  local lines, bottom = frames(3)
  if bottom then text = text .. quote(bottom.currentline) end
  if #lines == 0 then return text end
  if bottom then
    lines[#lines + 1] = ("  %s:%d: in main chunk"):format(bottom.short_src, bottom.currentline)
  end
  return text .. colour.paint_error("detail", "\nstack traceback:\n" .. table.concat(lines, "\n"))
end

--- Prints a message as an error.
function report.say(text)
  io.stdout:flush()
  io.stderr:write(text .. "\n")
end

--- Prints as an error a message that no handler has seen.
function report.fail(message) report.say(colour.paint_error("error", said_by(message))) end

--- Prints why a text is no Lua, with the line that is wrong.
function report.refuse(message, text)
  report.begin(nil, text)
  local line = tonumber(message:match("^stdin:(%d+): "))
  report.say(colour.paint_error("error", hints.added(message)) .. (line and quote(line) or ""))
end

return report
