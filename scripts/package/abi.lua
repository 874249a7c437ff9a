-- abi.lua [--header FILE] [--write]: compares the binary interface that src/jfl.h describes with
-- those that scripts/package/abi keeps of this version and of earlier ones with the same major
-- number, and fails where a program that was built with one of them would no longer run.
-- --write keeps the interface of this version, which must be done when something was added.
local ffi = require "ffi"

local FOLDER = "scripts/package/abi/"

local function run(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "*a"
  assert(pipe:close(), command)
  return text
end

local function squeeze(text)
  text = text:gsub("%s+", " "):gsub("%s*([%*,%(%)%[%]{}])%s*", "%1")
  return (text:gsub("^ ", ""):gsub(" $", ""))
end

-- The declarations of a header without macros, each ending where braces are closed.
local function declarations(text)
  local list, depth, from = {}, 0, 1
  for at, letter in text:gmatch "()([{};])" do
    depth = depth + (letter == "{" and 1 or letter == "}" and -1 or 0)
    if letter == ";" and depth == 0 then
      list[#list + 1] = squeeze(text:sub(from, at - 1))
      from = at + 1
    end
  end
  return list
end

-- The fields of a struct, "const char *name, *doc; int n[2];", in order: name and type.
local function fields(body)
  local list = {}
  for text in body:gmatch " ?([^;]+)" do
    local pointer = text:match "%(%*([%w_]+)%)"
    if pointer then
      list[#list + 1] = { pointer, (text:gsub("%(%*[%w_]+%)", "(*)")) }
    else
      local type = text:match "^([%w_ ]-)%f[%*]" or text:match "^(.-) [%w_]+%f[,%[%z]"
      for item in text:sub(#type + 1):gmatch "[^,]+" do
        local stars, name, extent = item:match "^%s*(.-)([%w_]+)([%[%]%w_]*)$"
        list[#list + 1] = { name, type .. stars .. extent }
      end
    end
  end
  return list
end

-- One line for each thing that a program is linked or compiled with, by its key.
local function describe(text, out)
  local kind, tag, body, name = text:match "^typedef (%l+) ([%w_]+){(.*)}([%w_]+)$"
  if kind == "enum" or text:find "^enum{" then
    name, body = name or "enum", body or text:match "{(.*)}"
    for constant in body:gmatch "([%w_]+)[^,]*" do
      out["constant " .. constant] = ("%s %d"):format(name, tonumber(ffi.C[constant]))
    end
  elseif kind == "struct" then
    assert(tag == name, name)
    out["struct " .. name] = "size " .. ffi.sizeof(name)
    for _, f in ipairs(fields(body)) do
      out[("field %s.%s"):format(name, f[1])] =
        ("%s at %d"):format(f[2], ffi.offsetof(name, f[1]))
    end
  elseif not text:find "^typedef" then
    local result, called, takes = text:match "^(.-) ?(jfl_[%w_]+)%((.*)%)$"
    out["function " .. assert(called, text)] = ("%s(%s)"):format(result, takes)
  end
end

-- The interface that a header describes: what tells about each thing, by its key.
local function interface(path)
  local text = run("cc -E -P -x c " .. path):gsub("__attribute__%s*%b()", "")
  text = text:sub((text:find("typedef enum jfl_status", 1, true)))
  ffi.cdef(text)
  local out = {}
  for _, declaration in ipairs(declarations(text)) do describe(declaration, out) end
  return out
end

local function version_of(path)
  for line in io.lines(path) do
    local version = line:match '^#define JFL_VERSION "([%d.]+)"'
    if version then return version end
  end
end

local function write(path, things)
  local keys = {}
  for key in pairs(things) do keys[#keys + 1] = key end
  table.sort(keys)
  local file = assert(io.open(path, "w"))
  for _, key in ipairs(keys) do assert(file:write(key, ": ", things[key], "\n")) end
  assert(file:close())
end

local function read(path)
  local things = {}
  for line in io.lines(path) do
    local key, tells = line:match "^(.-): (.*)$"
    things[key] = tells
  end
  return things
end

-- Structs whose first field is their size may get more fields; counts of an enum's names may grow.
local function may_differ(key, old, new, things)
  local name = key:match "^struct (.*)$"
  local before, after = old:match "(%d+)$", new and new:match "(%d+)$"
  if not after or tonumber(after) < tonumber(before) then return false end
  if name then return things[("field %s.size"):format(name)] == "size_t at 0" end
  return key:find "^constant JFL_N_" ~= nil
end

-- What of an older interface the newer one lacks or has otherwise, as lines.
local function broken(old, new)
  local list = {}
  for key, tells in pairs(old) do
    if new[key] ~= tells and not may_differ(key, tells, new[key], new) then
      list[#list + 1] = ("%s: was %s, is %s"):format(key, tells, new[key] or "not there")
    end
  end
  table.sort(list)
  return list
end

local function kept_versions()
  local list = {}
  for name in run("ls " .. FOLDER):gmatch "([%d.]+)%.txt" do list[#list + 1] = name end
  return list
end

local function say(text, ...) io.stderr:write("abi: ", text:format(...), "\n") end

-- Complains, and gives whether there was a reason.
local function check(header)
  local new, version = interface(header), version_of(header)
  local wrong, known = false, false
  for _, kept in ipairs(kept_versions()) do
    local old = read(FOLDER .. kept .. ".txt")
    if kept:match "^%d+" == version:match "^%d+" then
      for _, line in ipairs(broken(old, new)) do
        say("a program built with %s breaks: %s", kept, line)
        wrong = true
      end
    end
    known = known or kept == version
    local added = kept == version and not wrong and broken(new, old)[1]
    if added then
      say("not kept yet: %s, run build/jfl scripts/package/abi.lua --write", added:match "^[^:]+")
      wrong = true
    end
  end
  if not known then
    say("the interface of %s is not kept: run build/jfl scripts/package/abi.lua --write", version)
  end
  return wrong or not known
end

local header, writes = "src/jfl.h", false
for i = 1, #arg do
  if arg[i] == "--write" then writes = true end
  if arg[i] == "--header" then header = arg[i + 1] end
end
if writes then
  write(FOLDER .. version_of(header) .. ".txt", interface(header))
elseif check(header) then
  os.exit(1)
end
