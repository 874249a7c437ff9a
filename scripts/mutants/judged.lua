-- The faults that somebody judged to change nothing that a test could see: equivalent.txt beside
-- this file has them, three lines each: the source and the rule, the line as it stands, and why.
local judged = {}

local function trimmed(text) return text:match("^%s*(.-)%s*$") end

-- Lines are known by their text, so that they keep their judgement where others are put in before.
local function key(path, rule, text) return path .. "\n" .. rule .. "\n" .. trimmed(text) end

--- The judgements in a file, each as { path =, rule =, text =, why = }, by key and as a list.
function judged.read(path)
  local file = assert(io.open(path))
  local set, list = {}, {}
  for block in (file:read("*a") .. "\n\n"):gmatch("(.-)\n\n+") do
    local source, rule, text, why = block:match("^(%S+) (%S+)\n%s+([^\n]+)\n%s+(.+)$")
    if source then
      local one = { path = source, rule = rule, text = text, why = why }
      set[key(source, rule, text)], list[#list + 1] = one, one
    end
  end
  file:close()
  return set, list
end

--- The judgement of a fault of draw.sequence, or nil.
function judged.of(set, fault)
  return set[key(fault.source.path, fault.rule, fault.before)]
end

return judged
