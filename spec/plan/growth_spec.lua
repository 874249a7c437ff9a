--- Compiling takes work in proportion to what is compiled, or hardly more. As times differ by
--- chance, the program build/counted, which `make build/counted` builds, counts it: spec/counted.
local kinds = require "scripts.bench.growing"

-- How many of each kind are small, and how many times as much work four times as many may take:
-- quadratic work would be 16 times as much.
local SMALL = { predict = 4000, train = 2000, dense = 200, residual = 50, variables = 1000,
  equal = 1000, views = 4000, results = 1000, definitions = 4000, profile = 500,
  checkpoint = 500, jobs = 500 }
local TIMES, MOST = 4, 5
local COUNTED = { "places reached in C", "words copied in C", "instructions of Lua",
  "bytes of Lua" }

local function counts(kind, n)
  local command = ("build/counted spec/counted/measure.lua %s %d 2>&1"):format(kind, n)
  local pipe = assert(io.popen(command))
  local said, list = pipe:read "*a", {}
  pipe:close()
  for number in said:gmatch "[%d.]+" do list[#list + 1] = tonumber(number) end
  assert.equal(#COUNTED, #list, command .. " says: " .. said)
  return list
end

describe("compiling", function()
  for _, kind in ipairs(kinds) do
    local name, what = unpack(kind)
    it("takes about four times as much work for four times as many " .. what, function()
      local n = assert(SMALL[name])
      local small, large = counts(name, n), counts(name, TIMES * n)
      for i, counted in ipairs(COUNTED) do
        assert.is_true(small[i] > 0, counted)
        if large[i] > MOST * small[i] then
          error(("%s: %d for %d, %d for %d"):format(counted, small[i], n, large[i], TIMES * n))
        end
      end
    end)
  end
end)
