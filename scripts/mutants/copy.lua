-- A copy of the working tree with a build folder of its own, in which a source has a fault.
local copy = {}

local Copy = {}
Copy.__index = Copy

local OBJECTS = "build/obj-gcc/"
-- What `make mutants` leaves in the environment; scripts/unset.sh has what else would change tests.
local UNSET = "LDFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES OF N SEED FROM ID EACH MINUTES WORKERS"
-- What a faulty program may take: of a file 2 GB, seconds of the processor, and what memory there
-- is, but for sanitizers, which reserve more; and it leaves no core file. Under a lower limit jfl
-- maps no files. Where memory runs out, it is the first program that the system ends. Some tests
-- set such limits themselves, up to those that are hard.
local BOUNDS = "ulimit -S -c 0; ulimit -S -f 4000000; ulimit -S -t %d; "
  .. "echo 1000 2>/dev/null >/proc/self/oom_score_adj; "
local MEMORY = "ulimit -S -v $(($(getconf _PHYS_PAGES) * $(getconf PAGESIZE) / 1024)); "
local KILLED, TOO_LONG = 137, 152       -- by timeout, and where it computed for too long

local RUN = "cd %s && . scripts/unset.sh && unset %s && timeout -k 5 %d sh -c %s 2>&1 </dev/null; "
  .. "echo \"=$?\""

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

--- Runs a line of shell in the copy for so many seconds at most; returns what it prints and its
-- status, which is 124 if it ended by that limit.
function Copy:run(seconds, line)
  local pipe = io.popen(RUN:format(quoted(self.folder), UNSET, seconds, quoted(line)))
  local out, status = pipe:read("*a"):match("^(.*)=(%d+)\n$")
  pipe:close()
  status = tonumber(status)
  return out, (status == KILLED or status == TOO_LONG) and 124 or status
end

-- Ends as the line before it did, and keeps what that and its children took of the processor.
local TIMED = "\nstatus=$?; times >build/times; exit $status"

-- The seconds of the processor in what TIMED wrote, nil where nothing is written: of two lines such
-- as "1m2.5s 0m0.1s" the second, which is of children.
local function seconds_taken(path)
  local file = io.open(path)
  local text = file and file:read("*a") or ""
  if file then file:close() end
  local m, s, m2, s2 = text:match("\n(%d+)m([%d.]+)s (%d+)m([%d.]+)s")
  return m and 60 * (m + m2) + s + s2
end

-- Runs a line as Copy:run does, and returns also how many seconds of the processor it took; these
-- are added to self.took[kind].
local function timed(self, kind, seconds, line)
  local times = self.folder .. "/build/times"
  os.remove(times)
  local out, status = self:run(seconds, line .. TIMED)
  local took = seconds_taken(times)
  self.took[kind] = self.took[kind] + (took or 0)
  return out, status, took
end

local BUILD_SECONDS = 1800

--- Builds goals of the Makefile, in so many seconds at most; returns what that prints, and its
-- status as Copy:run does.
function Copy:build(goals, seconds)
  return timed(self, "build", seconds or BUILD_SECONDS,
    "make --no-print-directory -s -j2 " .. goals)
end

--- Runs a test, as Copy:run does, within bounds, of the processor's seconds too. Returns also how
-- many of these it took.
function Copy:test(test)
  local bounds = BOUNDS:format(test.cpu)
  if not test.is_sanitized then bounds = bounds .. MEMORY end
  return timed(self, "tests", test.seconds, bounds .. test.line)
end

local function write(path, text, mode)
  local file = assert(io.open(path, mode or "wb"))
  assert(file:write(text))
  assert(file:close())
end

-- What is built of a source alone, by which it can be seen whether a fault changes anything.
local function parts_of(path)
  local stem, ending = path:match("^(.*)%.(%w+)$")
  if ending == "c" then return { OBJECTS .. stem .. ".o" } end
  if ending == "cuh" then return { "build/gen/" .. path:gsub("^kernels/", "") } end
  if ending == "cu" then
    return { OBJECTS .. stem .. ".o", "build/gen/" .. path:gsub("^kernels/", "") }
  end
  if ending == "h" then return { OBJECTS .. "libjfl.a" } end
end

local SUM = [[
  for part in %s; do
    case $part in
      *.[oa]) objcopy -g -D $part build/part.stripped && cksum <build/part.stripped ;;
      *) cksum <$part ;;
    esac
  done]]

-- A sum over what is built of a source, without what debuggers read.
local function sum_of(tree, path)
  return (tree:run(60, SUM:format(table.concat(parts_of(path), " "))))
end

local function lua_sum(text, name)
  local chunk = loadstring(text, name)
  return chunk and string.dump(chunk, true)
end

-- The source with a fault in it, and nothing else changed.
local function faulty(fault)
  local n = 0
  return (fault.source.text:gsub("([^\n]*)(\n?)", function(line, ending)
    n = n + 1
    return (n == fault.line and fault.after or line) .. ending
  end))
end

-- Whether a text is a program, and not the same one as the source.
local function lua_state(fault, text)
  local before, after = lua_sum(fault.source.text, "=it"), lua_sum(text, "=it")
  return not after and "invalid" or before == after and "equivalent" or "planted"
end

-- What C with a fault is: as lua_state says, or "undecided" where building it takes too long.
local PLANT_SECONDS = 600

local function c_state(self, path)
  local _, status = self:build(table.concat(parts_of(path), " ") .. " build/jfl", PLANT_SECONDS)
  if status ~= 0 then return status == 124 and "undecided" or "invalid" end
  return sum_of(self, path) == self.sums[path] and "equivalent" or "planted"
end

-- The sources that had faults since all was built: where a run is killed the next one builds
-- them again.
local FAULTY = "/build/faulty"

--- Writes the source with a fault into the copy and builds the command. Returns "planted",
-- "equivalent" if what is built is the same, or "invalid" if it cannot be built.
function Copy:plant(fault)
  local path, text = fault.source.path, faulty(fault)
  local is_lua = fault.source.language == "lua"
  local state = is_lua and lua_state(fault, text) or "planted"
  if state ~= "planted" then return state end
  if not is_lua then self.sums[path] = self.sums[path] or sum_of(self.clean, path) end
  write(self.folder .. FAULTY, path .. "\n", "ab")
  write(self.folder .. "/" .. path, text)
  if not is_lua then return c_state(self, path) end
  return select(2, self:build("build/jfl", PLANT_SECONDS)) == 0 and "planted" or "invalid"
end

--- Takes the fault out again: what is built next is as it was.
function Copy:mend(fault) write(self.folder .. "/" .. fault.source.path, fault.source.text) end

--- Whether a source is part of what is built on this system.
function Copy:has(source)
  if source.language == "lua" or not source.path:find("%.c$") then return true end
  local file = io.open(self.folder .. "/" .. parts_of(source.path)[1])
  if file then file:close() end
  return file ~= nil
end

--- A copy that was made, and one beside it that never has a fault.
function copy.open(folder, clean)
  return setmetatable({ folder = folder, clean = clean, sums = {},
    took = { build = 0, tests = 0 } }, Copy)
end

local TAKE = [[
  mkdir -p %s/build && find %s -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} + &&
    git ls-files -z --cached --others --exclude-standard |
    tar -c --null -T - 2>/dev/null | tar -x -C %s]]

--- Makes a copy in a folder, or makes it again, and builds what tests need, with other goals.
-- Raises what the build prints where that fails.
function copy.make(folder, goals)
  assert(os.execute((TAKE:gsub("%%s", folder))) == 0)
  local self = copy.open(folder)
  self:run(60, "xargs -r touch -c <build/faulty")
  for _, goal in ipairs { "all emulated build/faults.so", unpack(goals or {}) } do
    local out, status = self:build(goal)
    if status ~= 0 then error("the sources as they stand cannot be built:\n" .. out, 0) end
  end
  self:run(60, "rm -f build/faulty")
  return self
end

--- Makes another copy of one that was made.
function copy.again(from, to)
  assert(os.execute(("rm -rf %s && cp -a %s %s"):format(to, from.folder, to)) == 0)
  return copy.open(to)
end

return copy
