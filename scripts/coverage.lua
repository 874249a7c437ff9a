-- coverage.lua [SOURCE...]: prints how many places of the sources no test reaches, by room, of what
-- `make map` measured last; of these files and folders also each such place, with its line.
--
-- A place is where code branches to: a block of C as the compiler sees it, with one for all that a
-- macro makes at one spot; a block of Lua, or what follows one.
local reached = require "scripts.map.reached"

local FOLDER = "build/map"
local tests = reached.tests(FOLDER)

--- Places of a source that no test reaches, in order: a list of { line =, column =, name = }.
local function missed(source)
  local list, name_of = {}, reached.name_of
  for _, number in ipairs(reached.places_of[source]) do
    local is_reached = false
    for _, test in ipairs(tests) do is_reached = is_reached or test.reached[number] ~= 0 end
    local line, column, name = name_of[number]:match "^[^:]+:(%d+):?(%d*) (.*)$"
    if not is_reached then
      list[#list + 1] = { line = tonumber(line), column = tonumber(column) or 0, name = name }
    end
  end
  table.sort(list, function(a, b)
    if a.line ~= b.line then return a.line < b.line end
    return a.column < b.column
  end)
  return list
end

local function is_within(source, paths)
  for _, path in ipairs(paths) do
    if (source .. "/"):sub(1, #path + 1) == path:gsub("/$", "") .. "/" then return true end
  end
  return #paths == 0
end

--- Prints the places of a source with their lines.
local function tell(source, list)
  local text = reached.lines_of(source)
  for _, each in ipairs(list) do
    local name = each.name:match "^[%a_]" and each.name .. ": " or ""
    local at = each.column > 0 and ":" .. each.column or ""
    print(("%s:%d%s: %s%s"):format(source, each.line, at, name, text[each.line]:match "^%s*(.*)"))
  end
end

local wanted = { ... }
local sources, rooms, count = {}, {}, {}
for source in pairs(reached.places_of) do
  if is_within(source, wanted) then sources[#sources + 1] = source end
end
table.sort(sources)
for _, source in ipairs(sources) do
  local room = source:match "^lua/jfl/[^/]+/" or source:match "^[^/]+/[^/]+/"
  if not count[room] then
    rooms[#rooms + 1] = room
    count[room] = { all = 0, missed = 0 }
  end
  local list = missed(source)
  count[room].all = count[room].all + #reached.places_of[source]
  count[room].missed = count[room].missed + #list
  if #wanted > 0 then tell(source, list) end
end

local all, none = 0, 0
local function row(room, n, n_missed)
  print(("%-24s %7d places, %5d not reached, %5.1f %%"):format(room, n, n_missed,
    100 * n_missed / math.max(n, 1)))
end
for _, room in ipairs(rooms) do
  row(room, count[room].all, count[room].missed)
  all, none = all + count[room].all, none + count[room].missed
end
row("all", all, none)
