-- What the command's specs share: running it as a shell would.
local core = require "jfl.core"

local helper = {}

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function take(path)
  local f = assert(io.open(path, "rb"))
  local text = f:read("*a")
  f:close()
  os.remove(path)
  return text
end

--- The command that runs the specs.
function helper.command()
  local first = 0
  while arg[first - 1] do first = first - 1 end
  return arg[first]
end

--- A file with this text, removed by helper.clean.
local files = {}
function helper.file(text)
  local path = os.tmpname()
  local f = assert(io.open(path, "wb"))
  f:write(text)
  f:close()
  files[#files + 1] = path
  return path
end

function helper.clean()
  for _, path in ipairs(files) do os.remove(path) end
  files = {}
end

-- Seconds after which a command that hangs is ended: more than any needs on a slow, busy machine.
local LIMIT = 600

--- Runs a shell command line with this standard input; gives its output, errors and exit status,
-- which is 124 where it hung.
function helper.shell(line, input)
  local out, err = os.tmpname(), os.tmpname()
  local stdin = input and helper.file(input) or "/dev/null"
  local pipe = io.popen(("timeout %d sh -c %s <%s >%s 2>%s; echo $?"):format(LIMIT,
    quoted(line), stdin, out, err))
  local status = tonumber(pipe:read("*a"))
  pipe:close()
  return take(out), take(err), status
end

--- What a shell command line, made of a format, writes to its output and errors, and its status.
function helper.said(text, ...)
  local pipe = io.popen(("(%s) 2>&1; echo \"status $?\""):format(text:format(...)))
  local out = pipe:read("*a")
  pipe:close()
  local body, status = out:match("^(.*)status (%d+)\n$")
  return body, tonumber(status)
end

--- A TCP port of 127.0.0.1 that nothing listens on now. Specs that run beside each other, each in a
-- process of its own, get others.
local given = 0
function helper.port()
  local used = {}
  for line in io.lines "/proc/net/tcp" do
    local port = line:match ":(%x%x%x%x) [%x:]+ 0A"
    if port then used[tonumber(port, 16)] = true end
  end
  local port
  repeat
    port, given = 15000 + (7 * core.process() + given) % 17000, given + 1
  until not used[port]
  return port
end

function helper.write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

--- A file's text; nil where there is none.
function helper.read(path)
  local file = io.open(path, "rb")
  local text = file and file:read("*a")
  return file and file:close() and text
end

--- The shell's words of the command with these arguments.
function helper.line(...)
  local words = { helper.command(), ... }
  for i, word in ipairs(words) do words[i] = quoted(word) end
  return table.concat(words, " ")
end

--- Runs the command with arguments; { input = text } as the last one is its standard input.
function helper.run(...)
  local words = { ... }
  local options = type(words[#words]) == "table" and table.remove(words) or {}
  return helper.shell((options.before or "") .. " " .. helper.line(unpack(words)), options.input)
end

return helper
