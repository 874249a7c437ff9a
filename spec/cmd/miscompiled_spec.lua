-- Loops and functions that the LuaJIT of Debian 12 gets wrong once they are compiled.
local helper = require "spec.cmd.helper"

-- A program that goes through a table 100,000 times, with this in the loop's body.
local function loop(body)
  return [[
    local list, t, wrong = { 1, 2, 3, 4, 5 }, { a = 1, b = 2, c = 3, d = 4, e = 5 }, 0
    local function turn(...) for _ = 1, 100 do end end
    local function inner() for _ in ipairs(list) do end end
    for _ = 1, 100000 do
      turn()
      local n = 0
      for k, v in pairs(t) do
        ]] .. body .. [[

        n = n + 1
      end
      if n ~= 5 then wrong = wrong + 1 end
    end
    print(wrong)]]
end

-- Each prints how often it went wrong. luajit itself prints thousands.
local programs = {
  ["a loop over pairs with another within"] = loop "for _ in pairs(list) do end",
  ["a loop over pairs that calls what has a loop"] = loop "inner()",
  ["table.foreach"] = loop "table.foreach(t, function() end)",
  ["a fixed number of values read behind a call"] = [[
    local function deep(n) return n <= 0 and 1 or n * deep(n - 1) end
    local wrong = 0
    local function read(...)
      deep(20)
      local _, second = ...
      if second ~= 2 then wrong = wrong + 1 end
    end
    for _ = 1, 10000 do read(1, 2, 3) end
    print(wrong)]],
}

-- Prints why LuaJIT compiles no trace through a function of the front end that has such a loop.
local guest = [[
  local args = require "jfl" and require "jfl.base.args"
  local reasons = require("jit.vmdef").traceerr
  jit.attach(function(what, _, _, _, code, detail)
    if what == "abort" then print((reasons[code]:format(detail):gsub(" at .*", ""))) os.exit() end
  end, "trace")
  for _ = 1, 1000 do args.keys { a = 1, b = 2 } end]]

describe("the jfl command", function()
  for what, program in pairs(programs) do
    it("runs " .. what .. " right", function()
      assert.same({ "0\n", "", 0 }, { helper.run("-e", program) })
    end)
  end
end)

describe("a stock luajit", function()
  it("interprets loops over pairs of the front end", function()
    if jit.version ~= "LuaJIT 2.1.0-beta3" then return pending "this LuaJIT compiles them right" end
    local out = helper.said("LUA_CPATH='build/?.so' luajit -e '%s'", guest)
    assert.equal("JIT compilation disabled for function\n", out)
  end)
end)
