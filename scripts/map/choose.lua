-- choose.lua FOLDER [SOURCES]: reads what scripts/map/measure measured there, and writes spec/map
-- and spec/sanitized; or of spec/map these files and folders alone.
local reached = require "scripts.map.reached"

local folder, wanted = ...
if wanted == "" then wanted = nil end

-- The share of the places of C that tests reach which the sanitized ones reach. The last places
-- cost most: from here on to all of them takes as long again.
local SHARE = 0.997

local tests = reached.tests(folder)
local lines_of, names_in = reached.lines_of, reached.names_in
local name_of, places_of = reached.name_of, reached.places_of

--- ---- choosing ----

--- Places that the same tests reach are one class: { size = HOW MANY, tests = { TEST = true } }.
-- Those that none of the tests reaches are left out.
local function classes_of(list, by)
  local classes, known = {}, {}
  for _, number in ipairs(list) do
    local key, reaching = {}, {}
    for i, test in ipairs(by) do
      if test.reached[number] ~= 0 then
        key[#key + 1] = i
        reaching[test] = true
      end
    end
    local class = known[table.concat(key, " ")]
    if class then class.size = class.size + 1
    elseif #key > 0 then
      class = { size = 1, tests = reaching }
      known[table.concat(key, " ")] = class
      classes[#classes + 1] = class
    end
  end
  return classes
end

--- How many places of these classes a test reaches.
local function gain_of(test, classes)
  local n = 0
  for class in pairs(classes) do
    if class.tests[test] then n = n + class.size end
  end
  return n
end

--- Tests that together reach all of the classes, in the order in which they are chosen: the first
-- ones, the next ones as far as they reach more, then always the one that reaches most for its
-- weight. Tests in the folder weigh a quarter: they are more likely to look at what they reach.
local function cover(classes, by, first, next_ones, folder_of)
  local left, chosen = {}, {}
  for _, class in ipairs(classes) do left[class] = true end
  local function take(test)
    for class in pairs(left) do
      if class.tests[test] then left[class] = nil end
    end
    chosen[#chosen + 1] = test
  end
  for _, test in ipairs(first) do take(test) end
  for _, test in ipairs(next_ones) do
    if gain_of(test, left) > 0 then take(test) end
  end
  while next(left) do
    local best, most = nil, 0
    for _, test in ipairs(by) do
      local near = folder_of and test.name:sub(1, #folder_of) == folder_of
      local gain = gain_of(test, left) / test.weight * (near and 4 or 1)
      if gain > most then best, most = test, gain end
    end
    take(best)
  end
  return chosen
end

--- Without the tests, but for the first `n_given`, all of whose places others of the list reach
-- too.
local function pruned(classes, chosen, n_given)
  local kept = {}
  for _, test in ipairs(chosen) do kept[test] = true end
  local function is_needed(test)
    for _, class in ipairs(classes) do
      local others = 0
      for other in pairs(kept) do
        if other ~= test and class.tests[other] then others = others + 1 end
      end
      if class.tests[test] and others == 0 then return true end
    end
    return false
  end
  local list = {}
  for i = n_given + 1, #chosen do
    if not is_needed(chosen[i]) then kept[chosen[i]] = nil end
  end
  for _, test in ipairs(chosen) do
    if kept[test] then list[#list + 1] = test end
  end
  return list
end

--- The ops that the rows of a GPU's kernels are for; where a macro names them, a row is called as
-- its op.
local function ops_of(source)
  local ops, text = {}, source:find "^kernels/cuda/" and table.concat(lines_of(source), "\n") or ""
  for row in text:gmatch "\nJFL_CUDA(%b())" do
    for names in row:gmatch '"([%l%d_ ]+)"' do
      for op in names:gmatch "%S+" do ops[op] = true end
    end
    ops[row:match "^%(cuda_([%l%d_]+)" or ""] = true
  end
  return ops
end

--- The tests that are called as a source is: spec/pass/fuse_spec.lua is one of src/pass/fuse.c.
-- Those of a GPU's kernels are those of their ops. Then the tests that are called as a folder
-- around it.
local function called_as(source)
  local own, folders, ops = {}, {}, ops_of(source)
  local path, stem = source:match "^(.*/)([^/]+)%.%w+$"
  local names = {}
  for name in path:gmatch "[^/]+" do names[name] = true end
  if names.kernels and names.cpu then names.op = true end      -- op_spec tries all ops
  for _, name in ipairs { "src", "lua", "jfl", "kernels" } do names[name] = nil end
  for _, test in ipairs(tests) do
    local name = test.name:match "([^/]+)_spec%.lua$" or test.name:match "([^/]+)_test%.c$"
    if name == stem or ops[test.name:match ":gpu:%%s(.*)%%s$"] then own[#own + 1] = test
    elseif names[name] then folders[#folders + 1] = test end
  end
  return own, folders
end

--- The folder of specs that mirrors that of a source; kernels have that of ops.
local function room_of(source)
  local path = source:gsub("^src/", ""):gsub("^lua/jfl/", "lua/"):gsub("^kernels/cpu/", "op/")
  return "spec/" .. path:match "^(.*/)"
end

--- Of the tests of a folder the one that reaches most of these places: others may go through a
-- source without looking at what it does.
local function most_of(folder_of, classes)
  local best, most = nil, 0
  for _, test in ipairs(tests) do
    local gain = test.name:sub(1, #folder_of) == folder_of and gain_of(test, classes) or 0
    if gain > most or gain == most and best and test.weight < best.weight then
      best, most = test, gain
    end
  end
  return best
end

local chosen_for = {}               -- of a source: the names of its tests
local times = {}                    -- how long the tests of each source take

local function choose(source)
  local classes = classes_of(places_of[source], tests)
  local all, first, names = {}, {}, {}
  for _, class in ipairs(classes) do all[class] = true end
  local own, folders = called_as(source)
  local seconds = 0
  for _, test in ipairs(own) do
    if gain_of(test, all) > 0 then first[#first + 1] = test end
  end
  local of_room, has = most_of(room_of(source), all), {}
  for _, test in ipairs(first) do has[test] = true end
  if of_room and not has[of_room] then first[#first + 1] = of_room end
  local list = cover(classes, tests, first, folders, room_of(source))
  for _, test in ipairs(pruned(classes, list, #first)) do
    names[#names + 1] = test.name
    seconds = seconds + test.seconds
  end
  if #names > 0 then
    chosen_for[source] = names
    times[#times + 1] = seconds
  end
end

--- Whether the tests of a source are to be chosen anew.
local function is_wanted(source)
  if not wanted then return true end
  for path in wanted:gmatch "%S+" do
    if source == path or source:sub(1, #path + 1) == path:gsub("/$", "") .. "/" then return true end
  end
  return false
end

for source in pairs(places_of) do
  if is_wanted(source) then choose(source) end
end

-- Text for the device alone has no places. It belongs to the C of the same name, else to all
-- programs.
for _, source in ipairs(names_in "kernels/cuda/*.cuh") do
  chosen_for[source] = chosen_for[source:gsub("%.cuh$", ".c")]
    or chosen_for["kernels/cuda/program.cu"]
end

-- Records without functions, or of which a function says the name alone, have no places that tell:
-- their tests are those of what reads them.
local READ_BY = { ["src/op/pack.c"] = "src/plan/packing.c", ["src/op/table.c"] = "src/api/op.c",
  ["src/op/transfer.c"] = "src/pass/place.c" }

-- Nothing tells which lines of a kernel a test reaches, so the specs that compare kernels around
-- each of their extents belong to all of them.
local comparing = {}
for _, name in ipairs(names_in "spec/dev/*_spec.lua") do
  local text = table.concat(lines_of(name), "\n")
  if text:find('require "spec.dev.compare"', 1, true) then comparing[#comparing + 1] = name end
end

local function with_comparing(names)
  local list, has = { unpack(names) }, {}
  for _, name in ipairs(names) do has[name] = true end
  for _, name in ipairs(comparing) do
    if not has[name] then list[#list + 1] = name end
  end
  return list
end

for source, names in pairs(chosen_for) do
  if source:find "^kernels/cuda/.*%.cuh?$" then chosen_for[source] = with_comparing(names) end
end

-- Two specs try all ops, where those that reach more may look at nothing that an op gives: one
-- compares plain kernels with others, one parts with the whole. Their tests of an op belong to the
-- source that defines this.
local OPS, MOST_OPS = { "spec/op/op_spec.lua", "spec/op/signature_spec.lua" }, 3

local function add_ops(source, names)
  local has, ops = {}, {}
  for _, name in ipairs(names) do has[name] = true end
  for op in ("\n" .. table.concat(lines_of(source), "\n")):gmatch "\nJFL_OP%(([%l%d_]+)" do
    ops[#ops + 1] = op
  end
  for _, spec in ipairs(OPS) do
    for _, op in ipairs(ops) do
      local name = #ops > MOST_OPS and spec or spec .. "::" .. op
      if not has[spec] and not has[name] then names[#names + 1], has[name] = name, true end
    end
  end
end

for source, names in pairs(chosen_for) do
  if source:find "^src/op/.*%.c$" then add_ops(source, names) end
end

local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  assert(file:close())
end

--- Takes the tests of all other sources from spec/map as it is, and those on the emulated GPU,
-- which are not measured then.
local function keep_others()
  for line in io.lines "spec/map" do
    local source, names = line:match "^([^#:]+): (.*)$"
    local file, was = source and io.open(source), chosen_for[source]
    if file then
      file:close()
      chosen_for[source] = was or {}
      for name in names:gmatch "%S+" do
        if not was or name:find(":gpu", 1, true) then table.insert(chosen_for[source], name) end
      end
    end
  end
end
if wanted then keep_others() end
for source, by in pairs(READ_BY) do chosen_for[source] = chosen_for[by] end

local sources, map = {}, {}
for source in pairs(chosen_for) do sources[#sources + 1] = source end
table.sort(sources)
for i, source in ipairs(sources) do
  map[i] = ("%s: %s\n"):format(source, table.concat(chosen_for[source], " "))
end
write("spec/map", [[
# For each source the tests that together reach every place of it that any test reaches, in the
# least time; those that are called as the source is come first. `make test OF=SOURCE` runs them.
# Written by `make map`, which measures.
]] .. table.concat(map))

table.sort(times)
print(("%d sources; CPU seconds of its tests: half %.1f, nine of ten %.1f, most %.1f"):format(
  #sources, times[math.ceil(#times / 2)], times[math.ceil(#times * 0.9)], times[#times]))

--- ---- what runs sanitized: a spec of each source ----

-- Specs that leave out nearly all they have where a sanitizer runs, whose allocator takes the place
-- of the one that fails; scripts/map/unsanitized knows them too.
local LEFT_OUT = { ["spec/system/starved_spec.lua"] = true, ["spec/system/worlds_spec.lua"] = true }

--- Whether a test runs under the sanitizers, of which these specs do; they take no other device.
local function is_sanitized(name, specs)
  return specs[name:match "^[^:]+"] and not name:find(":gpu", 1, true)
    or name:find "_test%.c$" ~= nil
end

--- Writes these specs, a set, and for each source in C of whose tests none is among them the
-- quickest spec; head: a comment.
local function write_sanitized(head, specs)
  local seconds, list = {}, {}
  for _, test in ipairs(tests) do seconds[test.name] = test.seconds end
  for _, source in ipairs(sources) do
    local quickest, done = nil, not source:find "%.c$"
    for _, name in ipairs(chosen_for[source]) do
      done = done or is_sanitized(name, specs)
      if seconds[name] and name:find "_spec%.lua$" and not LEFT_OUT[name]
        and seconds[name] < (seconds[quickest] or math.huge) then quickest = name end
    end
    if not done and quickest then specs[quickest] = true end
  end
  for name in pairs(specs) do list[#list + 1] = name end
  table.sort(list)
  write("spec/sanitized", head .. table.concat(list, "\n") .. "\n")
end

if wanted then
  local head, specs = "", {}
  for line in io.lines "spec/sanitized" do
    if line:find "^#" then head = head .. line .. "\n" else specs[line] = true end
  end
  return write_sanitized(head, specs)
end

--- ---- which tests reach a line ----

-- For `make mutants`: a line "test NUMBER SECONDS NAME" for each test, quickest first, then lines
-- such as "src/run/queue.c:20 79 163".
local quickest = { unpack(tests) }
table.sort(quickest, function(a, b)
  if a.seconds ~= b.seconds then return a.seconds < b.seconds end
  return a.name < b.name
end)

--- The numbers of the places of a source by the line that they are on.
local function places_by_line(source)
  local by_line = {}
  for _, number in ipairs(places_of[source]) do
    local line = name_of[number]:match "^[^:]+:(%d+)"
    by_line[line] = by_line[line] or {}
    table.insert(by_line[line], number)
  end
  return by_line
end

local reach = {}
for i, test in ipairs(quickest) do
  reach[i] = ("test %d %.1f %s\n"):format(i, test.seconds, test.name)
end
for source in pairs(places_of) do
  for line, places in pairs(places_by_line(source)) do
    local parts = { source .. ":" .. line }
    for i, test in ipairs(quickest) do
      local is_reached = false
      for _, number in ipairs(places) do is_reached = is_reached or test.reached[number] ~= 0 end
      if is_reached then parts[#parts + 1] = i end
    end
    reach[#reach + 1] = table.concat(parts, " ") .. "\n"
  end
end
write(folder .. "/reach", table.concat(reach))

--- ---- what runs sanitized: what reaches most ----

-- The C tests run sanitized all; specs are chosen for what these leave. Two tests take another
-- device, which the sanitized part does not.
local specs, c_tests = {}, {}
for _, test in ipairs(tests) do
  if test.name:find "_spec%.lua$" then specs[#specs + 1] = not LEFT_OUT[test.name] and test or nil
  elseif test.name:find "_test%.c$" then c_tests[#c_tests + 1] = test end
end

local n_c, left_by_c = 0, {}
for source, list in pairs(places_of) do
  if not source:find "^lua/" then
    for _, number in ipairs(list) do
      local is_reached = false
      for _, test in ipairs(c_tests) do is_reached = is_reached or test.reached[number] ~= 0 end
      if is_reached then n_c = n_c + 1 else left_by_c[#left_by_c + 1] = number end
    end
  end
end
table.sort(left_by_c)

local left, n_left = {}, 0
local classes = classes_of(left_by_c, specs)
for _, class in ipairs(classes) do
  left[class] = true
  n_left = n_left + class.size
end
local n_all, seconds, chosen = n_c + n_left, 0, nil
local names = {}                    -- a set
print(("C tests reach %d places of C, specs %d others"):format(n_c, n_left))
print "specs  CPU s  share of these"
for i, test in ipairs(cover(classes, specs, {}, {})) do
  n_left = n_left - gain_of(test, left)
  for class in pairs(left) do
    if class.tests[test] then left[class] = nil end
  end
  seconds = seconds + test.seconds
  if not chosen then names[test.name] = true end
  local share = 1 - n_left / n_all
  if share >= SHARE then chosen = chosen or share end
  print(("%5d %6.1f  %.5f  %s"):format(i, seconds, share, test.name))
end
write_sanitized(([[
# The specs that run under the sanitizers. With the C tests, which all do, they reach %.2f %% of the
# places of C that any test or spec reaches, in the least time; of each source in C one of its tests
# is among them. Written by `make map`, which measures.
]]):format((chosen or 1) * 100), names)
