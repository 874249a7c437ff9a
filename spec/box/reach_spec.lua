-- Everything that a restricted script can reach, compared with a list: what is added has to be
-- added there too, by someone who looked at it.
local allowed = require "jfl.sandbox.allowed"
local flow = require "jfl"
local golden = require "spec.golden"

-- Goes through all tables from the globals on, in the box, as a stranger would.
local WALK = [[
  local seen, list = {}, {}
  local function walk(path, t)
    if seen[t] then return end
    seen[t] = true
    local keys = {}
    for k in pairs(t) do keys[#keys + 1] = k end
    table.sort(keys)
    for _, k in ipairs(keys) do
      local name = path .. k
      list[#list + 1] = name .. " " .. type(t[k])
      if type(t[k]) == "table" then walk(name .. ".", t[k]) end
      local meta = getmetatable(t[k])
      list[#list + 1] = meta and name .. " has metatable " .. type(meta) or nil
    end
  end
  walk("", _G)
  list[#list + 1] = "flow " .. type(require "jfl") .. " of " .. getmetatable(require "jfl")
  return table.concat(list, "\n")
]]

local function sorted(set)
  local list = {}
  for name in pairs(set) do list[#list + 1] = name end
  table.sort(list)
  return list
end

describe("what a restricted script reaches", function()
  it("is what the list says", function()
    local text = { flow.sandbox({ seconds = 1000 }):run(WALK), "", "flow:" }
    for _, path in ipairs(sorted(allowed.paths)) do text[#text + 1] = path end
    for _, kind in ipairs(sorted(allowed.fields)) do
      text[#text + 1] = "\n" .. kind .. ": " .. table.concat(sorted(allowed.fields[kind]), " ")
    end
    golden.check("sandbox", table.concat(text, "\n") .. "\n")
  end)

  it("is there", function()
    local box = flow.sandbox { seconds = 1000 }
    box:run([[function look(path)
      local value = require "jfl"
      for name in path:gmatch("[^.]+") do value = value[name] end
      return type(value)
    end]])
    for path in pairs(allowed.paths) do
      assert(flow.has(path), path)
      local kind = box:call("look", path)
      assert(kind == "function" or kind == "string" or kind == "userdata", path)
    end
  end)

  it("is everything that jfl has but what was left out on purpose", function()
    local left = {}
    for path in pairs(require("jfl.doc.index").paths()) do
      if not allowed.paths[path] and not path:find(":") then left[path] = true end
    end
    golden.check("sandbox_left_out", table.concat(sorted(left), "\n") .. "\n")
  end)
end)
