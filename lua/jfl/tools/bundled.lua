-- flow.bundle, and the beginning of a program that `jfl --bundle` made.
---@space bundle=space
local args = require "jfl.base.args"
local core = require "jfl.core"
local exit = require "jfl.job.exit"

local TRIES = 10

local bundled = { space = {} }   -- space: what flow.bundle is

-- The program that runs: its file, entries, tools, and the folder of copies once there is one, with
-- the number of the process that made it.
local program

-- ---- reading ----

local function fail(text, ...) error(text:format(...), 0) end

-- Bytes of the program's own file, which is that at the path.
local function own_bytes(file, path, count, at)
  local text, why = core.file_read(file, count, at)
  if not text then fail("this program cannot read its own file, %s: %s", path, why) end
  return text
end

-- The bytes of an entry, a chunk at a time.
local function chunks_of(entry)
  local left, format = entry.size, require "jfl.tools.bundle_format"
  local sum = format.SEED
  return function()
    if left == 0 then
      if sum ~= entry.sum then fail("%s in this program is damaged", entry.name) end
      return nil
    end
    local chunk = own_bytes(program.file, program.path, math.min(left, format.CHUNK),
      entry.at + entry.size - left)
    if chunk == "" then fail("%s in this program is cut off", entry.name) end
    left, sum = left - #chunk, format.sum(sum, chunk)
    return chunk
  end
end

local function text_of(entry)
  local parts = {}
  for chunk in chunks_of(entry) do parts[#parts + 1] = chunk end
  return table.concat(parts)
end

-- ---- copies on the disk ----

-- A forked child leaves them to its parent.
local function remove_copies()
  if core.process() ~= program.process then return end
  for i = #program.made, 1, -1 do os.remove(program.made[i]) end
  if program.held then program.tools.let_go(program.root, program.held) end
  program.held = nil
  for i = #program.folders, 1, -1 do program.tools.remove_folder(program.folders[i]) end
  program.made, program.folders, program.root = {}, {}, nil
end

local function make_folder(path)
  if program.has[path] then return end
  local made, why = program.tools.make_folder(path)
  if not made then fail("cannot make the folder %s: %s", path, why) end
  program.has[path] = true
  program.folders[#program.folders + 1] = path
end

-- A new folder under that path, which says that this program runs.
local function make_root(under)
  local path, made, why
  for _ = 1, TRIES do
    path = under .. "/" .. program.tools.random_name()
    made, why = program.tools.make_folder(path)
    if made then program.held, why = program.tools.hold(path) end
    if program.held then return path end
    program.tools.remove_folder(path)
  end
  fail("cannot make the folder %s: %s", path, why)
end

-- What programs left that were killed goes first.
local function root()
  if not program.root then
    local under = os.getenv "TMPDIR" or os.getenv "TEMP" or "/tmp"
    program.tools.clear(under)
    program.root, program.process = make_root(under), core.process()
    program.folders[1] = program.root
    local guard = newproxy(true)
    getmetatable(guard).__gc = remove_copies
    program.guard = guard
  end
  return program.root
end

local function copy_out(entry)
  if entry.copy then return end
  local folder = root()
  for part in entry.name:gmatch("([^/]+)/") do
    folder = folder .. "/" .. part
    make_folder(folder)
  end
  local path = root() .. "/" .. entry.name
  local out, why = core.file_make(path)
  if not out then fail("cannot write %s", why) end
  program.made[#program.made + 1] = path
  local at, done = 0, true
  for chunk in chunks_of(entry) do
    if done then done, why = core.file_write(out, chunk, at) end
    at = at + #chunk
    collectgarbage("step", 4 * #chunk / 1024)          -- else dozens of chunks wait to be freed
  end
  if done then done, why = core.file_close(out) end
  if not done then fail("cannot write %s: %s", path, why) end
  entry.copy = true
end

-- The path of a copy of what the bundle has under that name, a file or a folder; nil: nothing.
local function copy_of(name)
  if not program or type(name) ~= "string" then return nil end
  name = require("jfl.tools.bundle_format").plain(name)
  local found = program.entries[name]
  if found then copy_out(found) end
  local under = name .. "/"
  for _, entry in ipairs(program.entries) do
    if entry.name:sub(1, #under) == under then
      copy_out(entry)
      found = true
    end
  end
  return found and root() .. "/" .. name
end

-- ---- what scripts use ----

bundled.space.path = args.define("bundle.path",
  "The path under which a file or folder of the bundle can be read.", {
    { "name", "as it was given to jfl --bundle", type = "string" },
    returns = "string",
  }, function(o)
    return copy_of(o.name) or o.name
  end)

bundled.space.list = args.define("bundle.list", "The names of the files in the bundle that runs.",
  { returns = "string[]" }, function()
    local names = {}
    for i, entry in ipairs(program and program.entries or {}) do names[i] = entry.name end
    return names
  end)

-- ---- the beginning of a program ----

local function module_of(name)
  local path = name:gsub("%.", "/")
  local entry = program.entries[path .. ".lua"] or program.entries[path .. "/init.lua"]
  if not entry then return ("\n\tno file '%s.lua' in this program"):format(path) end
  local chunk, why = loadstring(text_of(entry), "@" .. entry.name)
  if not chunk then error(why, 0) end
  return chunk
end

-- Functions that read: the name, at first, may be one of the bundle.
local function redirect(t, name, reads)
  local original = t[name]
  rawset(t, name, function(path, ...)
    if reads and not reads(...) then return original(path, ...) end
    return original(copy_of(path) or path, ...)
  end)
end

local function redirect_all()
  local readers = { "load", "checkpoint_open", "directory", "file_open", "is_file", "is_there",
    "is_directory", "csv", "pack" }
  for _, name in ipairs(readers) do redirect(core, name) end
  local want = core.loader_want
  core.loader_want = function(loader, paths, ...)
    local list = {}
    for i, path in ipairs(paths) do list[i] = copy_of(path) or path end
    return want(loader, list, ...)
  end
  redirect(io, "open", function(mode)
    return not mode or (mode:find("^r") and not mode:find("+", 1, true))
  end)
  redirect(io, "lines")
  redirect(_G, "loadfile")
  redirect(_G, "dofile")
end

--- Opens the bundle and gives its script as a function. digits: of the mark; tools: of
-- src/cmd/bundle.c.
function bundled.start(argv0, digits, tools)
  local format = require "jfl.tools.bundle_format"
  local offset, size, total, sum = format.numbers(digits)
  local path = tools.program() or argv0        -- where the system does not tell
  local file, why = core.file_open(path)
  if not file then fail("this program cannot read its own file: %s", why) end
  local has = core.file_size(file)
  if not offset then fail("this program, %s, is damaged", argv0) end
  if not has or has < total then
    fail("this program is cut off: %s has %.0f of %.0f bytes", argv0, has or 0, total)
  end
  local index = own_bytes(file, path, size, offset)
  local entries = format.sum(format.SEED, index) == sum
    and format.entries(index, offset + size, total)
  if not entries then fail("this program, %s, is damaged", argv0) end
  program = { file = file, path = path, entries = entries, tools = tools, made = {}, folders = {},
    has = {} }
  table.insert(package.loaders, 2, module_of)
  redirect_all()
  exit.before(remove_copies)         -- which ends the program without collecting garbage
  local script = program.entries[1]
  local chunk, wrong = loadstring(text_of(script):gsub("^#[^\n]*", ""), "@" .. script.name)
  if not chunk then error(wrong, 0) end
  return chunk
end

return bundled
