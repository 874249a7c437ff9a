-- What the specs of programs that jfl is a guest of share: finding and starting them, a folder of
-- their own, and what each gave, which scripts/hosts/table prints.
local shell = require "spec.cmd.helper"

local helper = {
  --- The checkout, and where `scripts/setup hosts` unpacks programs.
  root = os.getenv "PWD",
}

local unpacked = helper.root .. "/build/hosts"
local started = {}              -- process groups of programs that may still run
local folder

local function quoted(text) return "'" .. tostring(text):gsub("'", "'\\''") .. "'" end

--- What a command line prints, without the last line's end.
local function answer(line)
  local pipe = io.popen(line)
  local text = pipe:read "*a"
  pipe:close()
  return (text:gsub("%s+$", ""))
end

function helper.exists(path) return answer("ls -d " .. quoted(path) .. " 2>/dev/null") ~= "" end

local libraries = answer("ls -d " .. unpacked .. "/usr/lib/*-linux-gnu 2>/dev/null")
local searched = ("%s/usr/sbin:%s/usr/bin"):format(unpacked, unpacked)

--- The path of a program, first of those that were unpacked, and whether it is one of those; nil
-- where there is none.
function helper.program(name)
  local path = answer(("PATH=%s:$PATH command -v %s"):format(quoted(searched), name))
  if path == "" then return nil end
  return path, path:sub(1, #unpacked) == unpacked
end

--- The path of a file below build/hosts or, failing that, of the system's own; nil without either.
function helper.file(path)
  for _, place in ipairs { unpacked .. path, path } do
    if helper.exists(place) then return place end
  end
end

--- What package.cpath needs to find a C module, by its file's name, that Debian packages for
-- Lua 5.1; nil without it.
function helper.modules(name)
  local pattern = "/usr/lib/*-linux-gnu/lua/5.1/" .. name .. ".so"
  local found = answer(("ls %s %s 2>/dev/null"):format(unpacked .. pattern, pattern))
  local folder_of = found:match "^([^\n]*/)"
  return folder_of and folder_of .. "?.so"
end

--- What is missing of build/jfl.so, programs and files that begin with "/", as the reason for a
-- spec to be pending; nil where all are there.
function helper.missing(...)
  if shell.command():find("obj-", 1, true) then return "sanitizers look at the command alone" end
  if not helper.exists "build/jfl.so" then return "needs build/jfl.so: run make" end
  for _, name in ipairs { ... } do
    local found = name:sub(1, 1) == "/" and helper.file(name) or helper.program(name)
    if not found then
      return "needs " .. name .. ": run scripts/setup hosts"
    end
  end
end

--- Whether the specs that take seconds are wanted, as in .ci/run.
helper.thorough = os.getenv "JFL_HOSTS" ~= nil

--- A new folder for what a spec writes; helper.clean removes it.
function helper.place()
  if not folder then folder = answer "mktemp -d" end
  return folder
end

--- Writes a file below the folder, with the folders above it, and gives its path. Words in capitals
-- between @ are replaced by what `words` says, ROOT and PLACE by themselves.
function helper.write(name, text, words)
  local path = helper.place() .. "/" .. name
  os.execute("mkdir -p " .. quoted(path:match "(.*)/"))
  local file = assert(io.open(path, "wb"))
  file:write((text:gsub("@(%u+)@", function(word)
    return words and words[word] or word == "ROOT" and helper.root
      or word == "PLACE" and helper.place() or nil
  end)))
  file:close()
  return path
end

function helper.read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

--- Ends what was started and still runs, and removes the folder.
function helper.clean()
  for _, group in ipairs(started) do os.execute("kill -s KILL -- -" .. group .. " 2>/dev/null") end
  started = {}
  if folder then os.execute("rm -rf " .. quoted(folder)) end
  folder = nil
end

-- The shell's words that start a program: { name, argument..., env = { NAME = value } }. Its Lua
-- finds jfl.so and the spec's own modules. A program from build/hosts finds its libraries there, of
-- which LuaJIT's is OpenResty's.
local function words(command)
  local path, is_unpacked = helper.program(command[1])
  local list = { "env", "-u", "LUA_INIT",
    quoted("LUA_PATH=" .. helper.root .. "/?.lua;;"),
    quoted("LUA_CPATH=" .. helper.root .. "/build/?.so;;") }
  if is_unpacked or command.libraries then
    list[#list + 1] = quoted("LD_LIBRARY_PATH=" .. libraries)
  end
  for name, value in pairs(command.env or {}) do
    list[#list + 1] = quoted(name .. "=" .. value)
  end
  list[#list + 1] = command.under
  list[#list + 1] = quoted(path or command[1])
  for i = 2, #command do list[#list + 1] = quoted(command[i]) end
  return table.concat(list, " ")
end

--- What a command's field `under` is for a program that must be installed, and not only unpacked,
-- to find its own files: it then sees those of build/hosts as if they were. nil and why, where
-- the system does not let one do so.
function helper.installed()
  local mount = ("mount -t overlay overlay -o lowerdir=%s/usr:/usr /usr"):format(unpacked)
  local under = "unshare -rm sh -c " .. quoted(mount .. ' && exec "$@"') .. " sh"
  if os.execute(under .. " true 2>/dev/null") ~= 0 then
    return nil, "needs a system where unshare -rm may mount an overlay"
  end
  return under
end

--- Runs a program to its end and gives its output, errors and exit status. The command is a list of
-- words, with fields env (a table), under (words of the shell before the program), input (text),
-- libraries (true: those of build/hosts). One that hangs is ended, with status 124.
function helper.run(command)
  return shell.shell("cd " .. quoted(helper.place()) .. " && exec " .. words(command),
    command.input)
end

-- Whether a process group has members that are not dead.
local function is_alive(group)
  assert(helper.program "ps", "needs ps: run scripts/setup hosts")
  return answer(("ps -o stat= -g %d | grep -v Z"):format(group)) ~= ""
end

--- Waits until a condition holds; gives whether it does within minutes, so that a test that fails
-- ends.
function helper.wait(condition)
  local last = os.time() + 300
  repeat
    if condition() then return true end
    os.execute "sleep 0.02"
  until os.time() > last
  return false
end

local Running = {}
Running.__index = Running

--- What it has written so far to its output and errors.
function Running:text() return helper.exists(self.log) and helper.read(self.log) or "" end

--- Sends it, not its children, a signal: "TERM", "HUP"...
function Running:signal(name) os.execute(("kill -%s %d"):format(name, self.pid)) end

--- Waits for its end and gives its exit status and what it has written; nil if it does not end.
function Running:finish()
  local done = helper.wait(function() return helper.exists(self.status) end)
  if not done then return nil, self:text() end
  return tonumber(helper.read(self.status)), self:text()
end

--- Whether it still runs.
function Running:runs() return not helper.exists(self.status) end

--- Whether neither it nor a child of it runs any more.
function Running:is_gone()
  return helper.wait(function() return not is_alive(self.group) end)
end

--- Starts a program, a command as for helper.run, in a process group of its own; its fields are
-- its pid and group.
function helper.start(command)
  local place = helper.place()
  local self = setmetatable({}, Running)
  local stem = ("%s/started%d"):format(place, #started)
  self.log, self.status = stem .. ".log", stem .. ".status"
  local line = ("cd %s; %s >%s 2>&1 & echo $! >%s.pid; wait $!; echo $? >%s.tmp; mv %s.tmp %s")
    :format(quoted(place), "exec " .. words(command), self.log, stem, stem, stem, self.status)
  self.group = tonumber(answer(("setsid sh -c %s </dev/null >/dev/null 2>&1 & echo $!")
    :format(quoted(line))))
  started[#started + 1] = self.group
  helper.wait(function() return helper.exists(stem .. ".pid") end)
  helper.wait(function() return helper.read(stem .. ".pid"):find "\n" end)
  self.pid = tonumber(helper.read(stem .. ".pid"))
  return self
end

--- What a process holds: resident kilobytes, threads and file descriptors.
function helper.usage(pid)
  local status = helper.read(("/proc/%d/status"):format(pid))
  return { rss = tonumber(status:match "VmRSS:%s*(%d+)"),
    threads = tonumber(status:match "Threads:%s*(%d+)"),
    fds = tonumber(answer(("ls /proc/%d/fd | wc -l"):format(pid))) }
end

helper.port = shell.port

--- The answer to an HTTP request of a server on 127.0.0.1: its status and body; nil and why not.
function helper.ask(port, method, path, body)
  local file = body and helper.write("body", body)
  local pipe = io.popen(([[timeout 1800 bash -c 'exec 3<>/dev/tcp/127.0.0.1/%d || exit
    { printf "%s %s HTTP/1.0\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"; %s; } >&3
    cat <&3' 2>&1]]):format(port, method, path, #(body or ""), file and "cat " .. file or "true"))
  local text = pipe:read "*a"
  pipe:close()
  local status, rest = text:match "^HTTP/[%d.]+ (%d+).-\r?\n\r?\n(.*)$"
  if not status then return nil, text end
  return tonumber(status), rest
end

--- The version of a Debian package, of those that were unpacked if it is one.
function helper.version(package)
  local text = answer(("sed -n 's/^%s=//p' %s/packages 2>/dev/null"):format(package, unpacked))
  if text == "" then
    text = answer("dpkg-query -W -f '${Version}' " .. package .. " 2>/dev/null")
  end
  if text == "" then return "unknown" end
  return (text:gsub("^%d+:", ""):gsub("%-[^-]*$", ""))
end

--- Tells scripts/hosts/table, if it is that which runs the specs, what was run in a host.
function helper.row(host, version, what)
  local path = os.getenv "JFL_HOSTS_TABLE"
  if not path then return end
  local file = assert(io.open(path, "a"))
  file:write(("| %s | %s | %s |\n"):format(host, version, what))
  file:close()
end

return helper
