-- Which tests may see a fault, and how they are run.
local tests = {}

-- A test hangs that computes, or waits, for so long: seconds, and as many times those that it takes
-- of the processor when it passes. Where these are not known a test without a fault may take MOST;
-- one that takes longer is not asked, as it would take the time of many faults.
local CPU = { seconds = 10, times = 4, unknown = 40, most = 80 }
local WAIT = { seconds = 20, times = 10, unknown = 60, most = 240 }
-- What tests took when they passed, also in earlier runs: a line "SECONDS NAME" each.
local TOOK = "build/mutants/took"
-- Of the tests that reach a line, so many beyond those of its source, the quickest.
local MORE = 8

-- ---- what `make map` measured, where it was run ----

-- Its file begins with a line for each test, "test NUMBER SECONDS NAME", cheapest first; then come
-- lines such as "src/run/queue.c:20 79 163", the tests that reach this line and those behind it.
local REACH = "build/map/reach"

local reach                         -- by source, a list of { line =, numbers = }
local measured, seconds_of = {}, {} -- names by number, seconds by name

local function read_reach()
  reach = {}
  local file = io.open(REACH)
  if not file then return end
  for line in file:lines() do
    local number, seconds, name = line:match("^test (%d+) (%S+) (%S+)$")
    if number then
      measured[tonumber(number)], seconds_of[name] = name, tonumber(seconds)
    else
      local path, at, numbers = line:match("^(.-):(%d+) ?(.*)$")
      reach[path] = reach[path] or {}
      table.insert(reach[path], { line = tonumber(at), numbers = numbers })
    end
  end
  file:close()
  for _, list in pairs(reach) do table.sort(list, function(a, b) return a.line < b.line end) end
end

-- The numbers of the tests that reach a line of a source, as a set; nil where that is not known.
-- What is counted on a line may be a block that begins there, behind a condition: the place before
-- it counts too.
local function reaching(path, line)
  if not reach then read_reach() end
  local before, on = "", ""
  for _, each in ipairs(reach[path] or {}) do
    if each.line < line then before = each.numbers
    elseif each.line == line then on = each.numbers end
  end
  local set = {}
  for number in (before .. " " .. on):gmatch("%d+") do set[tonumber(number)] = true end
  return next(set) and set
end

-- ---- tests ----

-- What compares the names and defaults of all that is defined with those that it had.
local DEFINES, SIGNATURES = "define(", "spec/lua/doc/signatures_spec.lua"

-- The tests that changed most often in the commits that changed a source lately: the map may be
-- older than these.
local BESIDE = "git log -8 --no-merges --format=%%h -- '%s' 2>/dev/null | while read -r commit; do "
  .. "git diff-tree --no-commit-id --name-only -r $commit; done | "
  .. "grep -E '^spec/.*_(spec[.]lua|test[.]c)$' | sort | uniq -c | sort -rn | head -4"

local function beside(tree, path)
  local list, pipe = {}, io.popen(BESIDE:format(path))
  for name in pipe:read("*a"):gmatch("spec/%S+") do
    local file = io.open(tree.folder .. "/" .. name)
    if file then
      file:close()
      list[#list + 1] = name
    end
  end
  pipe:close()
  return table.concat(list, "\n")
end

-- The tests of a source by their names, as `make test OF=` runs them, the spec at the path that
-- mirrors its own, which may be newer than the map, and those that changed with it.
local function named(tree, source)
  local path = source.path
  local spec = path:gsub("^src/", ""):gsub("^lua/jfl/", "lua/"):gsub("%.%w+$", "_spec.lua")
  local out = tree:run(60, ("scripts/tests_of.sh --list '%s' 2>/dev/null; ls 'spec/%s' 2>/dev/null")
    :format(path, spec))
  if source.text:find(DEFINES, 1, true) then out = SIGNATURES .. "\n" .. out end
  out = out .. "\n" .. beside(tree, path)
  local list, has = {}, {}
  for name in out:gmatch("%S+") do
    if not has[name] then list[#list + 1], has[name] = name, true end
  end
  return list
end

-- The names of the tests of a line: those of its source that reach it, then others that do. The
-- other tests of the source follow, as few places of C are counted, and the last one before a line
-- may be in a branch that ended; and as they may have changed since that was measured.
local function names_of(tree, source, line)
  local own, set = named(tree, source), reaching(source.path, line)
  if not set then return own end
  local list, is_own, by_name, more = {}, {}, {}, 0
  for number in pairs(set) do by_name[measured[number]] = true end
  for _, name in ipairs(own) do
    is_own[name] = true
    if by_name[name] then list[#list + 1] = name end
  end
  for _, kind in ipairs { "_spec%.lua", "_test%.c" } do     -- of these each has to be linked
    for number, name in ipairs(measured) do
      if set[number] and not is_own[name] and name:find(kind) and more < MORE then
        list[#list + 1], more = name, more + 1
      end
    end
  end
  for _, name in ipairs(own) do
    if not by_name[name] then list[#list + 1] = name end
  end
  return list
end

-- What has to be built for a test besides the command.
local function goal_of(tree, name, line)
  if name:find("_test%.c") then return line:match("(%S+)$") end
  local text = tree:run(60, ("cat '%s'"):format(name:match("^[^:]*")))
  return text:find("build/counted", 1, true) and "build/counted"
    or text:find("jfl%.so") and "all" or nil
end

-- The command of a test, of which a spec ends at the first that fails.
local function command_of(tree, name, settings)
  local line = tree:run(60, ("%s scripts/tests_of.sh --command '%s'"):format(settings or "", name))
  return "env " .. line:gsub("%s+$", ""):gsub("/busted ", "%0--no-keep-going ")
end

-- Sets when a test is taken to hang, by the seconds of the processor that it takes.
local function limit(test, seconds)
  test.cpu = seconds and CPU.seconds + CPU.times * seconds or CPU.unknown
  test.seconds = seconds and WAIT.seconds + WAIT.times * seconds or WAIT.unknown
  test.cost = seconds
  return test
end

local known = {}                    -- tests by name

local function read_took()
  local file = io.open(TOOK)
  for line in file and file:lines() or function() end do
    local seconds, name = line:match("^(%S+) (.+)$")
    if name then seconds_of[name] = tonumber(seconds) end
  end
  if file then file:close() end
end

local function test_of(tree, name)
  if not known[name] then
    if not next(known) then read_took() end
    local line = command_of(tree, name)
    known[name] = limit({ name = name, goal = goal_of(tree, name, line), line = line },
      seconds_of[name])
  end
  return known[name]
end

--- A test with time enough where nobody knows how long it takes.
function tests.patient(test)
  local line = { cpu = math.max(CPU.most, test.cpu), seconds = math.max(WAIT.most, test.seconds) }
  return setmetatable(line, { __index = test })
end

--- The same test with so many seconds of the processor and of the clock at most; is_cut where it
-- would have had more.
function tests.within(test, cpu, seconds)
  local line = { cpu = math.min(test.cpu, math.max(1, math.ceil(cpu))),
    seconds = math.min(test.seconds, math.max(1, math.ceil(seconds))) }
  line.is_cut = line.cpu < test.cpu or line.seconds < test.seconds
  return setmetatable(line, { __index = test })
end

--- Tells how long a test took that passed.
function tests.passed(test, seconds)
  if not seconds or test.cost then return end
  limit(test, seconds)
  local file = assert(io.open(TOOK, "a"))
  file:write(("%.2f %s\n"):format(seconds, test.name))
  file:close()
end

-- What reads or writes beside its memory, or frees nothing any more, is seen by sanitizers alone.
-- They make tests slower.
local SANITIZED = "build/obj-gcc-address,undefined"
local SANITIZED_TIMES, SANITIZED_MOST = 4, 10    -- those that take longer without are not run so
local SANITIZED_ENV = "UBSAN_OPTIONS=halt_on_error=1 ASAN_OPTIONS=allocator_may_return_null=1 "
  .. "LSAN_OPTIONS=use_tls=0:print_suppressions=0:suppressions=$PWD/scripts/lsan.supp "
tests.SANITIZED_GOAL = ("SAN=address,undefined %s/jfl"):format(SANITIZED)
local SETTINGS = ("JFL_OBJECTS='%s' JFL_COMMAND='%s/jfl'"):format(SANITIZED, SANITIZED)

local function sanitized(tree, name)
  local own, full = test_of(tree, name), name .. " sanitized"
  if not known[full] then
    local line = command_of(tree, name, SETTINGS)
    local goal = name:find("_test%.c") and line:match("(%S+)$") or SANITIZED .. "/jfl"
    known[full] = limit({ name = full, line = line:gsub("^env ", "%0" .. SANITIZED_ENV),
      goal = "SAN=address,undefined " .. goal, is_sanitized = true }, seconds_of[full])
  end
  local test = known[full]
  if not test.cost then
    test.cpu, test.seconds = SANITIZED_TIMES * own.cpu, SANITIZED_TIMES * own.seconds
  end
  return test
end

-- The tests of a fault in C that run sanitized: those that the landing tier runs so, and all of
-- them where a statement that frees is left out, but for slow ones.
local function sanitized_tests(tree, fault, names)
  local list, specs = {}, {}
  for line in io.lines("spec/sanitized") do specs[line] = true end
  for _, name in ipairs(names) do
    local own = test_of(tree, name)
    if (own.cost or 0) <= SANITIZED_MOST and (name:find("_test%.c$") or specs[name]
      or fault.rule:find "^freed" and not name:find(":", 1, true)
        and own.goal ~= "build/counted") then
      list[#list + 1] = sanitized(tree, name)
    end
  end
  return list
end

-- The part of a spec of all ops that names the source, which tells soonest.
local OPS = "spec/op/op_spec.lua"

-- How much likelier a test sees a fault of a source than others do that the map has for it: one at
-- the path that mirrors it, one that is called so, one of its room.
local function likelihood(test, path)
  local stem, room = path:match("([^/]+)%.%w+$"), path:gsub("^src/", ""):gsub("/[^/]*$", "")
  local file = test.name:match("^[^: ]*")
  local is_called_so = file:find("/" .. stem .. "_", 1, true)
    or test.name:find("::" .. stem, 1, true)
  local is_near = file:find("/" .. room:gsub("/jfl/", "/") .. "/", 1, true)
  return (is_called_so and 3 or 1) * (is_near and 2 or 1)
end

-- What running any test takes besides its own seconds, and those of a test that never ran.
local START_SECONDS, UNKNOWN_SECONDS = 1, 4

--- Puts the tests of a source in the order in which the least time passes until one sees a fault:
-- by their seconds for the likelihood of each. Of equals those stay in front that are.
function tests.best_first(list, path)
  local place, price = {}, {}
  for i, test in ipairs(list) do
    place[test] = i
    price[test] = (START_SECONDS + (test.cost or UNKNOWN_SECONDS)) / likelihood(test, path)
  end
  table.sort(list, function(a, b)
    if price[a] ~= price[b] then return price[a] < price[b] end
    return place[a] < place[b]
  end)
  return list
end

--- The tests that may see a fault, each as { name =, seconds =, cpu =, line =, goal =,
-- is_sanitized = }: those that the map has for the source, and where it is known which tests reach
-- the line, these. Those that run sanitized follow where the source is C.
function tests.of(tree, fault)
  if not fault.tests then
    local names = names_of(tree, fault.source, fault.line)
    fault.tests = {}
    for _, name in ipairs(names) do
      if name == OPS then
        local stem = fault.source.path:match("([^/.]+)%.%w+$")
        table.insert(fault.tests, 1, test_of(tree, ("%s::%s"):format(OPS, stem)))
      end
      fault.tests[#fault.tests + 1] = test_of(tree, name)
    end
    tests.best_first(fault.tests, fault.source.path)
    if fault.source.language == "c" then
      local more = tests.best_first(sanitized_tests(tree, fault, names), fault.source.path)
      for _, test in ipairs(more) do table.insert(fault.tests, test) end
    end
  end
  return fault.tests
end

return tests
