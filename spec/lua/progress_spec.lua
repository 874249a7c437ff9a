local flow = require "jfl"
local helper = require "spec.lua.helper"

describe("progress", function()
  it("goes through numbers, lists, arrays and iterators", function()
    local seen = {}
    local text = helper.stderr_of(function()
      for i in flow.progress(2) do seen[#seen + 1] = i end
      for i, x in flow.progress({ "a", "b" }) do seen[#seen + 1] = i .. x end
      for i, x in flow.progress(flow.ndarray.array { 7, 8 }) do seen[#seen + 1] = i + x end
      for i, x, y in flow.progress(flow.zip({ 1 }, { 2 })) do seen[#seen + 1] = i + x + y end
      for word in flow.progress(("x y"):gmatch("%a")) do seen[#seen + 1] = word end
    end)
    assert.same({ 1, 2, "1a", "2b", 8, 10, 4, "x", "y" }, seen)
    assert.equal(5, select(2, text:gsub("\n", "")))
  end)

  it("ends with one line that says how many, how fast, and the last loss", function()
    local text = helper.stderr_of(function()
      local bar = flow.progress(flow.zip({ 1, 2, 3 }), { desc = "epoch 1" })
      for i in bar do bar.loss = flow.ndarray.array { i, i + 1 } end
    end)
    assert.truthy(text:match("^epoch 1: 3/3  [%d.]+/s  0:00.*  loss 3.5\n$"), text)
  end)

  it("fits its terminal", function()
    local line = require("jfl.progress").line
    local tail = "300/600  111.1/s"
    assert.equal("e: [" .. ("="):rep(12) .. (" "):rep(12) .. "] " .. tail, line("e: ", tail, 0.5, 80))
    assert.equal("e: [====    ] " .. tail, line("e: ", tail, 0.5, 31))
    assert.equal("e: " .. tail, line("e: ", tail, 0.5, 27))
    assert.equal("e: 300/600", line("e: ", tail, 0.5, 11))
    assert.equal("e: " .. tail, line("e: ", tail, nil, 80))
  end)

  it("shows any loss, and no time left beyond the total", function()
    local text = helper.stderr_of(function()
      local bar = flow.progress({ 1, 2, 3 }, { total = 2 })
      for _ in bar do bar.loss = "unknown" end
    end)
    assert.truthy(text:match("^3/2  [%d.]+/s  0:00  0:00 left  loss unknown\n$"), text)
  end)

  it("refuses what it cannot go through", function()
    helper.fails(function() flow.progress("x") end, "progress: expected a number, an iterator")
    helper.fails(function() flow.progress(3, { dsc = 1 }) end, "progress: unknown option 'dsc'")
    helper.fails(function() flow.progress(0 / 0) end, "progress: source: expected a whole number")
    helper.fails(function() flow.progress(3, { total = "x" }) end, "progress: total: expected")
    helper.fails(function() flow.progress(3, { desc = {} }) end, "progress: desc: expected")
  end)
end)
