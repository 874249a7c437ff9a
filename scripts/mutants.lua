-- mutants.lua [OF="files or folders"] [N=200] [SEED=1] [FROM=1] [EACH=1] [MINUTES=30]
-- [ID=file:line:rule] [WORKERS=2]: plants faults of one line, one at a time, runs the tests of
-- their source, and lists those that no test sees. Works in copies of the tree in build/mutants.
-- Here and not from elsewhere, as mutators that are packaged know C or Lua, not both, and none
-- knows comments.
local copy = require "scripts.mutants.copy"
local draw = require "scripts.mutants.draw"
local judged = require "scripts.mutants.judged"
local tests = require "scripts.mutants.tests"

local FOLDER = "build/mutants"
local CLEAN = FOLDER .. "/clean"
local EQUIVALENT = "scripts/mutants/equivalent.txt"
local FOLDERS = "src kernels lua"

local function options_of(list)
  local options = { OF = FOLDERS, N = 200, FROM = 1, SEED = os.time() % 100000, WORKERS = 2 }
  for _, text in ipairs(list) do
    local name, value = text:match("^(%u+)=(.*)$")
    if name then options[name] = tonumber(value) or value end
  end
  return options
end

-- ---- one fault ----

-- What the tests of a fault take of the processor at most; and by the clock, as some wait. A test
-- that would go on behind that is ended.
local LIMIT = { cpu = 240, seconds = 900 }

local passed, broken = {}, {}       -- tests by name, as far as is known

-- Whether a test passes without a fault, and how many seconds that took.
local function passes(tree, test)
  if passed[test.name] then return true, 0 end
  if test.goal then tree:build(test.goal) end
  local began = os.time()
  local _, status, seconds = tree:test(tests.patient(test))
  passed[test.name], broken[test.name] = status == 0, status ~= 0 or nil
  if status == 0 then tests.passed(test, seconds) end
  return status == 0, os.time() - began
end

-- What a test says of a fault that is planted: "passed", "caught" or "late"; or "broken", where it
-- does not pass without it either, "slow" where it takes as long then, and "undecided" where it was
-- ended by the fault's: a sum in tree.took and a time. Also what it printed.
local function asked(tree, fault, test, cpu, ends)
  if test.goal then tree:build(test.goal) end
  local cut = tests.within(test, cpu - tree.took.tests, ends - os.time())
  local out, status, seconds = tree:test(cut)
  if status == 0 then
    passed[test.name] = true
    tests.passed(test, seconds)
    return "passed"
  end
  if status == 124 and cut.is_cut then return "undecided" end
  local limit = test.seconds
  local ok, took = passes(tree.clean, test)
  if ok then return status ~= 124 and "caught" or 3 * took < limit and "late" or "slow", out end
  print(("broken\t%s\t%s"):format(fault.id, test.name))
  return "broken"
end

-- Runs the tests of a fault one after another until one fails. Returns "caught" or "late" with that
-- test and what it printed, "survived", or "undecided" where that would take too long.
local function verdict(tree, fault)
  local cpu, ends = tree.took.tests + LIMIT.cpu, os.time() + LIMIT.seconds
  for _, test in ipairs(tests.of(tree, fault)) do
    if tree.took.tests > cpu or os.time() > ends then return "undecided" end
    if not broken[test.name] then
      local state, out = asked(tree, fault, test, cpu, ends)
      if state == "slow" then state, out = asked(tree, fault, tests.patient(test), cpu, ends) end
      if state == "undecided" then return state end
      if state == "caught" or state == "late" then return state, test, out end
    end
  end
  return "survived"
end

-- Plants a fault, and tells what became of it.
local function outcome(tree, fault)
  local state, test, out = tree:plant(fault), nil, nil
  if state == "planted" then state, test, out = verdict(tree, fault) end
  tree:mend(fault)
  return state, test, out
end

-- ---- a worker: some of the faults, each told in a line ----

local COUNTS = { equivalent = true, caught = true, late = true, survived = true, undecided = true }

local function tell(state, i, fault, test, seconds)
  local name = test and test.name or ""
  print(table.concat({ state, fault.id, name, i, seconds, fault.before, fault.after }, "\t"))
  io.stdout:flush()
end

-- Plants the faults of a sequence, every step-th from the first on, until so many count.
local function plant_some(tree, sequence, first, step, n, known, ends)
  for i = first, #sequence, step do
    local fault = sequence[i]
    if n <= 0 or os.time() > ends then return end
    if tree:has(fault.source) then
      if judged.of(known, fault) then
        tell("equivalent", i, fault, nil, 0)
        n = n - 1
      else
        local began = os.time()
        local state, test = outcome(tree, fault)
        tell(state, i, fault, test, os.time() - began)
        if COUNTS[state] then n = n - 1 end
      end
    end
  end
end

-- Sources in the order of how many lines can have faults, most first.
local function longest_first(sources)
  table.sort(sources, function(a, b)
    if #a.lines ~= #b.lines then return #a.lines > #b.lines end
    return a.path < b.path
  end)
  return sources
end

-- A copy for faults, and the one that has none.
local function open(name) return copy.open(FOLDER .. "/" .. name, copy.open(CLEAN)) end

local function plant_all(options, tree)
  local sources = draw.sources(options.OF)
  local known = judged.read(EQUIVALENT)
  local ends = options.MINUTES and os.time() + options.MINUTES * 60 or math.huge
  local first, step = options.FROM + options.WORKER - 1, options.WORKERS
  if not options.EACH then
    local n = math.floor((options.N + step - options.WORKER) / step)
    return plant_some(tree, draw.sequence(sources, options.SEED), first, step, n, known, ends)
  end
  for i, source in ipairs(longest_first(sources)) do
    if i % step == first % step then
      plant_some(tree, draw.sequence({ source }, options.SEED + i), 1, 1, options.EACH, known, ends)
    end
  end
end

local function work(options)
  local tree = open(options.WORKER)
  plant_all(options, tree)
  print(("seconds of the processor: builds %d, tests %d, tests without a fault %d"):format(
    tree.took.build, tree.took.tests, tree.clean.took.tests))
end

-- ---- all of them ----

local function start_workers(options)
  local list = {}
  for name, value in pairs(options) do list[#list + 1] = ("%s='%s'"):format(name, value) end
  local line = {}
  for i = 1, options.WORKERS do
    line[i] = ("luajit %s WORKER=%d %s &"):format(arg[0], i, table.concat(list, " "))
  end
  return io.popen("{ " .. table.concat(line, " ") .. " wait; } 2>&1")
end

local function folder_of(path)
  return path:match("^lua/jfl/[^/]+/") or path:match("^[^/]+/[^/]+/") or path
end

local ROW = "%-24s %8s %11s %7s %9s %9s %10s %8s\n"

local function print_table(counts)
  local folders, sum = {}, {}
  for folder in pairs(counts) do folders[#folders + 1] = folder end
  table.sort(folders)
  io.write("\n", ROW:format("folder", "planted", "equivalent", "caught", "(by time)", "survived",
    "undecided", "invalid"))
  local function row(name, c)
    local function of(state) return c[state] or 0 end
    local caught = of "caught" + of "late"
    io.write(ROW:format(name, caught + of "equivalent" + of "survived" + of "undecided",
      of "equivalent", caught, of "late", of "survived", of "undecided", of "invalid"))
    return caught, of "survived"
  end
  for _, folder in ipairs(folders) do
    for state, n in pairs(counts[folder]) do sum[state] = (sum[state] or 0) + n end
    row(folder, counts[folder])
  end
  local caught, survived = row("all", sum)
  io.write(("%d of %d that change something survived: %.1f %%\n"):format(survived,
    caught + survived, 100 * survived / math.max(caught + survived, 1)))
end

local function print_survivors(list)
  for _, found in ipairs(list) do
    io.write(("\n%s\n  - %s\n  + %s\n"):format(found.id, found.before:match("^%s*(.*)$"),
      found.after:match("^%s*(.*)$")))
  end
end

-- Makes the copy without a fault, and one for each worker.
local function make_copies(options)
  local has_c
  for _, source in ipairs(draw.sources(options.OF)) do has_c = has_c or source.language == "c" end
  local clean = copy.make(CLEAN, has_c and { tests.SANITIZED_GOAL } or {})
  for i = 1, options.WORKERS do copy.again(clean, ("%s/%d"):format(FOLDER, i)) end
end

local function all(options)
  print(("SEED=%d, %s"):format(options.SEED, #options.OF > 80 and "these" or options.OF))
  make_copies(options)
  local counts, survivors, sources, n_sources = {}, {}, {}, 0
  for line in start_workers(options):lines() do
    local state, id, test, i, seconds, before, after =
      line:match("^(%l+)\t(.-)\t(.-)\t(%d+)\t(%d+)\t(.-)\t(.*)$")
    if state then
      local folder, path = folder_of(id), id:match("^[^:]*")
      if not sources[path] then sources[path], n_sources = true, n_sources + 1 end
      counts[folder] = counts[folder] or {}
      counts[folder][state] = (counts[folder][state] or 0) + 1
      if state == "survived" then
        survivors[#survivors + 1] = { id = id, before = before, after = after }
      end
      print(("%4d %-10s %4d s  %s  %s"):format(i, state, seconds, id, test))
    else
      print(line)
    end
    io.stdout:flush()
  end
  print_survivors(survivors)
  print_table(counts)
  print(("in %d sources"):format(n_sources))
end

-- Plants the faults that ids name, and shows what the tests say of each.
local function named(options)
  copy.again(copy.make(CLEAN), FOLDER .. "/one")
  local tree = open("one")
  for id in tostring(options.ID):gmatch("%S+") do
    local path = id:match("^(.-):") or ""
    local fault = assert(draw.find(draw.sources("'" .. path .. "'"), id), "no such fault: " .. id)
    print(("%s\n- %s\n+ %s"):format(fault.id, fault.before, fault.after))
    local state, test, out = outcome(tree, fault)
    print(state, test and test.name or "")
    if out then print(out) end
    io.stdout:flush()
  end
end

local options = options_of(arg)
if options.WORKER then work(options)
elseif options.ID then named(options)
else all(options) end
