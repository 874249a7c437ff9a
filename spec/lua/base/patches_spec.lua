-- No module of the front end changes another's fields, the core's tables or the host's libraries
-- when it is required: what it adds it gives to the owner by a call, or the owner fetches it.
local helper = require "spec.lua.helper"

-- Requires all modules and prints what each changed, but for what those did that it required.
local SCRIPT = [[
  require "jfl.core"

  -- The fields of all modules and libraries that are loaded, and of their metatables: by module,
  -- then by field.
  local function add(of, prefix, t)
    for key, value in pairs(t) do of[prefix .. tostring(key)] = value end
    local meta = debug.getmetatable(t)
    for key, value in pairs(meta or {}) do of[prefix .. "(meta)" .. tostring(key)] = value end
    return of
  end
  local function fields()
    local found = {}
    for name, module in pairs(package.loaded) do
      if type(module) == "table" then found[name] = add({}, "", module) end
    end
    for key, value in pairs(package.loaded["jfl.core"]) do
      if type(value) == "table" then add(found["jfl.core"], key .. ".", value) end
    end
    found["package.loaded"], found["package.preload"] = nil, nil
    return found
  end

  local before = fields()
  local function note(by)
    local now = fields()
    for name, list in pairs(now) do
      local old = before[name]
      for key, value in pairs(old and list or {}) do
        if old[key] ~= value then io.stdout:write(by, " changes ", key, " of ", name, "\n") end
      end
      for key in pairs(old or {}) do
        if list[key] == nil then io.stdout:write(by, " takes ", key, " of ", name, "\n") end
      end
    end
    before = now
  end

  local open, names = { "the script" }, {}
  for name, loader in pairs(package.preload) do
    if name:find("^jfl") and not name:find("core$") then
      names[#names + 1] = name
      package.preload[name] = function(...)
        note(open[#open])
        open[#open + 1] = name
        local value = loader(...)
        note(table.remove(open))
        if type(value) == "table" then before[name] = add({}, "", value) end
        return value
      end
    end
  end
  table.sort(names)
]]

describe("a module that is required", function()
  it("changes nothing of another", function()
    local out = helper.script(SCRIPT .. [[
      for _, name in ipairs(names) do require(name) end
      io.stdout:write(#names > 150 and "all" or #names, "\n")]])
    -- The one replacement there is, with its reason in lua/jfl/job/exit.lua.
    assert.equal("jfl.job.queue changes exit of os\nall\n", out)
  end)

  it("that does would be found", function()
    local out = helper.script(SCRIPT .. [[
      open[2] = "jfl.trial"
      local names, core = require "jfl.base.names", require "jfl.core"
      names.suggest, core.array_mt.__add, string.trim = print, print, print
      note "jfl.trial"]])
    for _, key in ipairs { "suggest of jfl.base.names", "array_mt.__add of jfl.core",
      "trim of string" } do
      assert.truthy(out:find("jfl.trial changes " .. key, 1, true), out)
    end
  end)
end)
