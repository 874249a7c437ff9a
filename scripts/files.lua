-- Fails when something opens, looks at, makes or removes files by itself: src/system does, which
-- asks what the thread may open, so that no reader or writer can forget to.

local CALLS = [[
  access chmod chown creat dlopen fopen freopen link lstat mkdir mkdirat mkfifo mkstemp open openat
  opendir popen readlink readlinkat realpath remove rename renameat rmdir scandir stat statfs
  symlink system tmpfile truncate unlink unlinkat
]]
local LUA_CALLS = [[
  dofile ffi.C ffi.load io.input io.lines io.open io.output io.popen io.tmpfile loadfile os.execute
  os.remove os.rename os.tmpname package.loadlib
]]

-- What no script leads to: the command; libraries that start with the process or come from its
-- environment; the program's own file, and the tool that makes it.
local own = {
  ["src/script/lua.c"] = true, ["src/world/mpi.c"] = true, ["src/world/mpi/shim.c"] = true,
  ["lua/jfl/tools/bundle.lua"] = true, ["lua/jfl/tools/bundled.lua"] = true,
  ["lua/jfl/repl/session.lua"] = true,
}

-- Where the thread's reach is changed: with whom it works for, and for what is the library's own.
local reaches = { ["src/base/memory.c"] = true, ["src/dev/cuda/cache.c"] = true }

local function set_of(text)
  local set = {}
  for word in text:gmatch("%S+") do set[word] = true end
  return set
end
local calls, lua_calls = set_of(CALLS), set_of(LUA_CALLS)

local bad = 0

local function blank(text) return (text:gsub("[^\n]", "")) end

-- The lines of a source without comments and texts.
local function lines_of(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  if path:find("%.lua$") then
    text = text:gsub("%-%-%[(=*)%[.-%]%1%]", blank):gsub("%-%-[^\n]*", "")
  else
    text = text:gsub("/%*.-%*/", blank)
  end
  return text:gsub('"[^"\n]*"', '""'):gmatch("([^\n]*)\n")
end

local function check(path, finds)
  local number = 0
  for line in lines_of(path) do
    number = number + 1
    local name = finds(line, path)
    if name and not own[path] then
      io.stderr:write(("%s:%d: %s: files are opened by src/system\n"):format(path, number, name))
      bad = bad + 1
    end
  end
end

-- A call of one of the system's functions, which is no field and no definition.
local function in_c(line, path)
  for before, name in (" " .. line):gmatch("([^%w_>.])([%a_][%w_]*)%s*%(") do
    local other = name:find("^jf_raw_") or name == "jf_reach_set" and not reaches[path]
    if before and (calls[name] or other) then return name end
  end
end

local function in_lua(line)
  for name in (" " .. line):gmatch("[%a_][%w_.]*") do
    if lua_calls[name] then return name end
  end
end

local function each(command, finds)
  local list = io.popen(command .. " | LC_ALL=C sort")
  for path in list:lines() do check(path, finds) end
  list:close()
end

each("find src kernels -name '*.[ch]' -not -path 'src/system/*' -not -path 'src/cmd/*'", in_c)
each("find lua/jfl -name '*.lua' -not -path 'lua/jfl/doc/*'", in_lua)
os.exit(bad == 0 and 0 or 1)
