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

local passed, broken = {}, {}       -- tests by name, as far as is known

-- Runs the tests of a fault one after another until one fails. Returns "caught" or "late" with that
-- test and what it printed, "survived", or "invalid" where the fault cannot be built.
local function verdict(tree, fault)
  if not select(2, tree:build("build/jfl")) then return "invalid" end
  for _, test in ipairs(tests.of(tree, fault)) do
    if not broken[test.name] then
      if test.goal then tree:build(test.goal) end
      local out, status, seconds = tree:test(test)
      if status == 124 then return "late", test, out end
      if status ~= 0 then return "caught", test, out end
      passed[test.name] = true
      tests.passed(test, seconds)
    end
  end
  return "survived"
end

-- Whether a test passes without a fault, in a tree that has one, and how long that took.
local function passes(tree, fault, test)
  if passed[test.name] then return true, 0 end
  tree:mend(fault)
  tree:build("build/jfl")
  if test.goal then tree:build(test.goal) end
  local began = os.time()
  local _, status, seconds = tree:test(tests.patient(test))
  passed[test.name], broken[test.name] = status == 0, status ~= 0 or nil
  if status == 0 then tests.passed(test, seconds) end
  return status == 0, os.time() - began
end

-- What tests say of a fault that is planted; those that fail without it are not asked. One that was
-- stopped is asked again where it takes as long without the fault.
local function tried(tree, fault)
  while true do
    local state, test, out = verdict(tree, fault)
    if not test then return state end
    local limit = test.seconds
    local ok, took = passes(tree, fault, test)
    if ok and (state ~= "late" or 3 * took < limit) then return state, test, out end
    if not ok then print(("broken\t%s\t%s"):format(fault.id, test.name)) end
    tree:plant(fault)
  end
end

-- Plants a fault, and tells what became of it.
local function outcome(tree, fault)
  local state, test, out = tree:plant(fault), nil, nil
  if state == "planted" then state, test, out = tried(tree, fault) end
  tree:mend(fault)
  return state, test, out
end

-- ---- a worker: some of the faults, each told in a line ----

local COUNTS = { equivalent = true, caught = true, late = true, survived = true }

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

local function work(options)
  local tree = copy.open(("%s/%d"):format(FOLDER, options.WORKER))
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

local ROW = "%-24s %8s %11s %7s %9s %9s %8s\n"

local function print_table(counts)
  local folders, sum = {}, {}
  for folder in pairs(counts) do folders[#folders + 1] = folder end
  table.sort(folders)
  io.write("\n", ROW:format("folder", "planted", "equivalent", "caught", "(by time)", "survived",
    "invalid"))
  local function row(name, c)
    local function of(state) return c[state] or 0 end
    local caught = of "caught" + of "late"
    io.write(ROW:format(name, caught + of "equivalent" + of "survived", of "equivalent", caught,
      of "late", of "survived", of "invalid"))
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

local function all(options)
  print(("SEED=%d, %s"):format(options.SEED, #options.OF > 80 and "these" or options.OF))
  local tree = copy.make(FOLDER .. "/1")
  for i = 2, options.WORKERS do copy.again(tree, ("%s/%d"):format(FOLDER, i)) end
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
  local tree = copy.make(FOLDER .. "/one")
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
