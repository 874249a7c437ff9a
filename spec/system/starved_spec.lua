--- What is done for the first time while each allocation fails, once or from there on: starved.lua
-- does it. JFL_CUTS=1 tries every allocation, JFL_CUTS=25 each 25th, else a few are tried.
local helper = require "spec.lua.helper"

local FEW, EVERY = 25, 1e9
local SCENARIOS = { "train", "save", "load", "arrays", "table", "pictures", "box" }

local function starved(what)
  local folder = helper.directory()
  local cuts = tonumber(os.getenv "JFL_CUTS")
  local pipe = io.popen(("LD_PRELOAD=build/faults.so timeout 3000 '%s' spec/system/starved.lua %s "
    .. "%s %d %d 2>&1"):format(helper.command(), what, folder, cuts and EVERY or FEW, cuts or 1))
  local text = pipe:read "*a"
  pipe:close()
  helper.remove(folder)
  return text
end

describe("where memory fails the program goes on, or says so, and does it when asked again:",
  function()
    for _, what in ipairs(SCENARIOS) do
      it("holds for " .. what .. " #cpu", function()
        if helper.sanitized() then return pending("the sanitizer has its own allocator") end
        local text = starved(what)
        local tried, wrong = text:match("(%d+) allocations, (%d+) wrong\n$")
        assert(tried and tonumber(tried) >= 10 and wrong == "0", text)
      end)
    end
  end)
