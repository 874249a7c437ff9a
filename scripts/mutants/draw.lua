-- Which faults are planted, and in which order: random, and the same for the same seed.
local code = require "scripts.mutants.code"
local rules = require "scripts.mutants.rules"

local draw = {}

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

--- A source as { path =, text =, language =, lines = }: these are the lines that can have faults.
function draw.source(path, text)
  local language = code.language(path)
  return { path = path, text = text, language = language, lines = rules.of(text, language) }
end

--- The sources below some folders, or files, in the order of their names.
function draw.sources(paths)
  local list = {}
  local pipe = io.popen("find " .. paths .. " -type f | LC_ALL=C sort")
  for path in pipe:lines() do
    if code.language(path) then list[#list + 1] = draw.source(path, read(path)) end
  end
  pipe:close()
  return list
end

-- The name of a rule without the number of its place on the line.
local function base(rule) return (rule:gsub("%.%d+$", "")) end

-- Takes one of a line's faults that are left: each rule is as likely, whatever the number of places
-- where it applies.
local function take(faults)
  local names, by_name = {}, {}
  for i, fault in ipairs(faults) do
    local name = base(fault.rule)
    if not by_name[name] then names[#names + 1], by_name[name] = name, {} end
    table.insert(by_name[name], i)
  end
  local places = by_name[names[math.random(#names)]]
  return table.remove(faults, places[math.random(#places)])
end

local function shuffle(list)
  for i = #list, 2, -1 do
    local j = math.random(i)
    list[i], list[j] = list[j], list[i]
  end
end

local function fault_of(source, line, fault)
  return { id = ("%s:%d:%s"):format(source.path, line.line, fault.rule), source = source,
    line = line.line, rule = fault.rule, before = line.text, after = fault.text }
end

--- All faults of some sources in random order, as { id =, source =, line =, rule =, before =,
-- after = }: one on each line that can have some, then another on each that can have two, and on.
function draw.sequence(sources, seed)
  math.randomseed(seed)
  local left, drawn = {}, {}
  for _, source in ipairs(sources) do
    for _, line in ipairs(source.lines) do
      left[#left + 1] = { source = source, line = line, faults = { unpack(line.faults) } }
    end
  end
  while #left > 0 do
    shuffle(left)
    local more = {}
    for _, item in ipairs(left) do
      drawn[#drawn + 1] = fault_of(item.source, item.line, take(item.faults))
      if #item.faults > 0 then more[#more + 1] = item end
    end
    left = more
  end
  return drawn
end

--- The fault that an id names, or nil.
function draw.find(sources, id)
  for _, source in ipairs(sources) do
    for _, line in ipairs(source.lines) do
      for _, fault in ipairs(line.faults) do
        local found = fault_of(source, line, fault)
        if found.id == id then return found end
      end
    end
  end
end

return draw
