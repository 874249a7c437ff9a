-- jfl --bundle: writes a program in one file. It is a copy of the command, the index and the files,
-- one after another, and in the copy a mark says where they lie; bundled.lua reads them.
local archive = require "jfl.data.archive"
local core = require "jfl.core"
local format = require "jfl.tools.bundle_format"

local bundle = {}

local function fail(text, ...) error(text:format(...), 0) end

-- ---- what goes in ----

-- The name that the script uses: what is before "=" or, without it, the path as it is given. A path
-- from the root or to a folder above keeps its last part; the folder "." has none.
local function name_and_path(word)
  local name, path = word:match("^([^=]+)=(.+)$")
  path = path or word
  name = format.plain(name or path)
  if name == "." then return "", path end
  if format.leads_out(name) then name = name:match("([^/]+)$") end
  if not name or name == "" or name == ".." then
    fail("--bundle: %s has no name; give name=%s", word, word)
  end
  return name, path
end

local function add(entries, kind, name, path)
  if name:find("[%c]") then
    fail("--bundle: the name of %s must have no control characters", path)
  end
  local old = entries[name]
  if old and format.plain(old.path) ~= format.plain(path) then
    fail("--bundle: %s and %s would both be named %s; give one another by name=path", old.path,
      path, name)
  end
  if not old then
    entries[name] = { kind = kind, name = name, path = path }
    entries[#entries + 1] = entries[name]
  end
end

-- above: the folders that the path lies in, by their identities. A link may lead back to one.
local function add_tree(entries, identity, name, path, above)
  if not core.is_directory(path) then
    if not core.is_file(path) then fail("--bundle: there is no file or folder %s", path) end
    return add(entries, "file", name, path)
  end
  local id = identity(path)
  if above[id] then fail("--bundle: %s leads back to %s, without end", path, above[id]) end
  above[id] = path
  local inside = core.directory(path)
  if not inside then fail("--bundle: there is no folder %s", path) end
  table.sort(inside)
  for _, each in ipairs(inside) do
    if each ~= "." and each ~= ".." then
      local inner = name == "" and each or name .. "/" .. each
      add_tree(entries, identity, inner, path .. "/" .. each, above)
    end
  end
  above[id] = nil
end

local function collect(identity, first, ...)
  local entries = {}
  local name, path = name_and_path(first)
  if not core.is_file(path) then fail("--bundle: there is no script %s", path) end
  add(entries, "script", name, path)
  for _, word in ipairs { ... } do
    local inner, outer = name_and_path(word)
    add_tree(entries, identity, inner, outer, {})
  end
  local script = table.remove(entries, 1)
  table.sort(entries, function(a, b) return a.name < b.name end)
  table.insert(entries, 1, script)
  return entries
end

-- ---- writing ----

-- Fails where the program would take the place of what it is made of, or of a device.
local function check_output(path, entries, runtime)
  if not core.is_there(path) then return end
  if not core.is_file(path) then fail("--bundle: -o must name a file, got %s", path) end
  local plain = format.plain(path)
  local own = plain == format.plain(runtime)
  for _, entry in ipairs(entries) do own = own or plain == format.plain(entry.path) end
  if own then
    fail("--bundle: -o must name another file than those that go into the program, got %s", path)
  end
end

-- The bytes of a file, a chunk at a time.
local function chunks_of(path)
  local file, why = core.file_open(path)
  if not file then fail("--bundle: cannot read %s", why) end
  return function()
    local chunk, trouble = core.file_read(file, format.CHUNK)
    if not chunk then fail("--bundle: cannot read %s: %s", path, trouble) end
    if chunk ~= "" then return chunk end
    core.file_close(file)
  end
end

-- Sets each entry's size and checksum.
local function measure(entries)
  for _, entry in ipairs(entries) do
    entry.size, entry.sum = 0, format.SEED
    for chunk in chunks_of(entry.path) do
      entry.size, entry.sum = entry.size + #chunk, format.sum(entry.sum, chunk)
    end
  end
end

-- The bytes of the command, and where its mark is.
local function runtime_of(path)
  local text, why = archive.read(path)
  if not text then fail("--bundle: cannot read %s", why) end
  local first, last = text:find(format.HEAD .. ("%x"):rep(format.DIGITS))
  if not first then
    fail("--bundle: %s is no jfl command that could begin a bundle", path)
  end
  if text:sub(first + #format.HEAD, last):find("[^0]") then
    fail("--bundle: %s is a bundle itself; name a jfl command by --runtime", path)
  end
  return text, first, last
end

-- Writes the program by calling write with each part.
local function write_all(write, entries, runtime)
  local index = format.index(entries)
  local text, first, last = runtime_of(runtime)
  local total = #text + #index
  for _, entry in ipairs(entries) do total = total + entry.size end
  write(text:sub(1, first - 1))
  write(format.HEAD .. format.digits(#text, #index, total, format.sum(format.SEED, index)))
  write(text:sub(last + 1))
  write(index)
  for _, entry in ipairs(entries) do
    local size = 0
    for chunk in chunks_of(entry.path) do
      size = size + #chunk
      write(chunk)
    end
    if size ~= entry.size then fail("--bundle: %s changed meanwhile", entry.path) end
  end
end

--- Does what the command line says: argv0, tools of src/cmd/bundle.c, where to write, what to begin
-- it with (nil: the command itself), and the script and other files.
function bundle.make(argv0, tools, output, given, ...)
  local runtime = given or tools.program() or argv0
  local entries = collect(tools.identity, ...)
  check_output(output, entries, runtime)
  measure(entries)
  runtime_of(runtime)
  archive.replace("--bundle", output, function(write) write_all(write, entries, runtime) end,
    runtime)
end

return bundle
