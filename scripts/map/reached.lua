-- What scripts/map/measure measured. reached.tests(FOLDER) reads it: a list of the tests, each with
-- .name, .seconds, a .weight and .reached, a flag for each place of the sources. Places have the
-- numbers of reached.places_of and reached.name_of.
local ffi = require "ffi"

local reached = {}

function reached.lines_of(path)
  local list = {}
  for line in io.lines(path) do list[#list + 1] = line end
  return list
end

function reached.names_in(path)
  local list = {}
  local pipe = io.popen("ls " .. path)
  for name in pipe:lines() do list[#list + 1] = name end
  pipe:close()
  return list
end

--- ---- places, which have numbers from 1 on ----

local n_places = 0
reached.name_of = {}                -- of a place, by its number: "src/a.c:12:7 function"
reached.places_of = {}              -- of a source: a list of numbers
local numbers, places_of = {}, reached.places_of

--- The number of a place of a source, which has a name.
local function place(source, name)
  local number = numbers[name]
  if not number then
    n_places = n_places + 1
    number = n_places
    numbers[name], reached.name_of[number] = number, name
    places_of[source] = places_of[source] or {}
    table.insert(places_of[source], number)
  end
  return number
end

--- What each flag of a program or library stands for: a place, or false where it is none of ours.
-- The linker puts one source into several programs, so places are known by what the symbolizer says
-- of them: function, file, line and column.
local function places_of_module(path)
  local described = path .. ".symbols"
  local file = io.open(described)
  if not file then
    local program = assert(io.lines(path)())
    assert(os.execute(("tail -n +2 %s | llvm-symbolizer --obj=%s >%s.tmp && mv %s.tmp %s"):format(
      path, program, described, described, described)) == 0, "llvm-symbolizer failed")
    file = assert(io.open(described))
  end
  local list, first, second = {}, nil, nil
  for line in file:lines() do
    if line == "" then               -- ends an address, whose innermost function is first
      local source, at = second:match "([^:]+):(%d+:%d+)$"
      source = source and (source:match "/(src/.*)$" or source:match "/(kernels/.*)$"
        or source:match "^src/.*$" or source:match "^kernels/.*$")
      -- What the compiler joined or made by itself is on line 0.
      source = source and not at:find "^0:" and source
      list[#list + 1] = source and place(source, source .. ":" .. at .. " " .. first) or false
      first, second = nil, nil
    elseif not first then first = line
    elseif not second then second = line
    end
  end
  file:close()
  return list
end

--- The places of each program and library in a folder of what was measured, by name, and of the
-- front end.
local function modules_in(folder)
  local modules = {}
  for _, name in ipairs(reached.names_in(folder .. "/modules")) do
    if not name:find "%." then modules[name] = places_of_module(folder .. "/modules/" .. name) end
  end

  local marks = {}
  for _, mark in ipairs(reached.lines_of(folder .. "/tree/build/gen/marks")) do
    marks[#marks + 1] = place(mark:match "^[^:]+", mark .. " " .. #marks)
  end
  modules.lua = marks
  return modules
end

--- ---- tests ----

local function first_line(path)
  local file = io.open(path)
  local line = file and file:read "*l"
  if file then file:close() end
  return line
end

--- A weight is the next power of two of CPU seconds, so that the next measuring finds the same.
local function weight_of(seconds) return 2 ^ math.ceil(math.log(seconds + 0.05) / math.log(2)) end

function reached.tests(folder)
  local modules = modules_in(folder)
  local tests = {}
  for _, name in ipairs(reached.names_in(folder .. "/tests")) do
    local own = folder .. "/tests/" .. name
    local seconds = tonumber(first_line(own .. "/seconds"))
    if seconds then
      local test = { name = first_line(own .. "/name"), seconds = seconds,
        reached = ffi.new("uint8_t[?]", n_places + 1) }
      test.weight = weight_of(test.seconds)
      for module, list in pairs(modules) do
        local file = io.open(own .. "/" .. module, "rb")
        local flags = file and file:read "*a" or ""
        if file then file:close() end
        for i = 1, math.min(#flags, #list) do
          if flags:byte(i) ~= 0 and list[i] then test.reached[list[i]] = 1 end
        end
      end
      tests[#tests + 1] = test
    end
  end
  table.sort(tests, function(a, b) return a.name < b.name end)
  return tests
end

return reached
