--- scripts/bench/roof.lua: what a training step takes at least on GPUs that are not here.
local helper = require "spec.lua.helper"

local GPU = "LD_LIBRARY_PATH=build/emulated JFL_DEVICE=gpu JFL_EMULATED_COMPILE=0 "
  .. "XDG_CACHE_HOME=\"$PWD/build/cache\" "

describe("the roof of a training step", function()
  it("says which kinds of steps take the time, the longest first", function()
    local out = helper.script([[loadfile "scripts/bench/roof.lua"("lenet", "t4")]], GPU)
    local list = {}
    for flop, ms, op in out:gmatch "\n *%d+ +([%d.]+) +[%d.]+ +([%d.]+)  ([^\n]+)" do
      list[#list + 1] = tonumber(ms)
      -- 100 pictures of 14 by 14 pixels, 64 filters of 5 by 5 on 32 planes; two operations each
      if op:find "^conv2d_data_grad" then
        assert.near(2 * 100 * 14 * 14 * 64 * 32 * 25 / 1e12, tonumber(flop), 1e-4)
      end
    end
    assert.truthy(#list > 5, out)
    -- Three steps are copies; sums that blocks begin take a second kernel.
    local launches, steps = out:match "\n *(%d+) launches of (%d+) steps"
    local sums = select(2, out:gsub("reduce_sum", ""))
    assert.truthy(tonumber(launches) >= tonumber(steps) - 3 + 1 and sums > 0, out)
    assert.truthy(tonumber(launches) < 2 * tonumber(steps), out)
    for i = 2, #list do assert.truthy(list[i - 1] >= list[i], out) end
  end)

  it("knows its models", function()
    local out = helper.script([[loadfile "scripts/bench/roof.lua"("alexnet")]], GPU)
    assert.matches("no model is called 'alexnet'", out)
  end)
end)
