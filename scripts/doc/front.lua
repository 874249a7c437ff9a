-- front.lua: draws what the README begins with, scripts/doc/pages/session.svg: the README's first
-- program at jfl's own prompt, on a terminal that `script` of Debian's bsdutils makes, and all that
-- it prints, curves too. Run it when the prompt, the program or the curves look different.
local session = require "scripts.doc.session"

local COLUMNS, SECONDS = 82, 600
local OUT = "scripts/doc/pages/session.svg"

-- What is typed: the program without comments and its first line, which the prompt needs not, and a
-- mistake.
local function typed()
  local file = assert(io.open "README.md")
  local program = file:read("*a"):match "```lua\nlocal flow = require \"jfl\"\n(.-)\nnet:save"
  file:close()
  return program:gsub(" *%-%-[^\n]*", "") .. "\nflow.nn.rellu(x)\n"
end

-- The bytes that the terminal gets. The prompt is there before anything is typed, and its end ends
-- all.
local function recorded(text)
  local input, output = os.tmpname(), os.tmpname()
  local file = assert(io.open(input, "w"))
  file:write(text, "exit\n")
  file:close()
  local run = ("stty cols %d rows 60; exec build/jfl"):format(COLUMNS)
  local feed = "until grep -q 'ends the session' %s; do sleep 0.1; done; cat %s; "
    .. "tail --pid=$$ -f /dev/null"
  local command = ("{ " .. feed .. "; } | HOME=/nonexistent LC_ALL=C.UTF-8 TERM=xterm timeout %d "
    .. "script -qfec '%s' %s >/dev/null"):format(output, input, SECONDS, run, output)
  os.execute(command)
  file = assert(io.open(output))
  local bytes = file:read "*a"
  file:close()
  os.remove(input)
  os.remove(output)
  return bytes
end

local rows = session.rows(recorded(typed()))
local file = assert(io.open(OUT, "w"))
assert(file:write(session.svg(rows, COLUMNS)))
file:close()
print(("%s: %d lines"):format(OUT, #rows))
