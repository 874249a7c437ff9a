local flow = require "jfl"
local core = require "jfl.core"
local helper = require "spec.lua.helper"

-- Runs fn on a clock that goes on by `step` seconds whenever it is read, with stderr a terminal of
-- so many columns, or none; gives what was written there. What is printed goes into a list.
local function on_clock(step, columns, fn, printed)
  local now, width, print, time = core.now, core.columns, rawget(_G, "print"), 0
  core.now = function()
    time = time + step
    return time
  end
  core.columns = function() return columns end
  rawset(_G, "print", function(s) table.insert(printed or {}, s) end)
  local ok, text = pcall(helper.stderr_of, fn)
  core.now, core.columns = now, width
  rawset(_G, "print", print)
  if not ok then error(text, 0) end
  return text
end

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
    assert.equal("训练: [==   ] " .. tail, line("训练: ", tail, 0.5, 31))
    assert.equal("训练", line("训练练", tail, 0.5, 6))
    assert.equal("", line("e: ", tail, 0.5, 1))
  end)

  it("shows any loss, and no time left beyond the total", function()
    local text = helper.stderr_of(function()
      local bar = flow.progress({ 1, 2, 3 }, { total = 2 })
      for _ in bar do bar.loss = "unknown" end
    end)
    assert.truthy(text:match("^3/2  [%d.]+/s  0:00  0:00 left  loss unknown\n$"), text)
    local function shown(loss)
      return helper.stderr_of(function()
        local bar = flow.progress(2)
        for _ in bar do bar.loss = loss end
      end):match("left(.*)\n$")
    end
    local nd = flow.ndarray
    assert.equal("  loss 1.5", shown(nd.array({ 1, 2 }, "int32")))
    assert.equal("  loss 0.5, 2", shown { nd.array { 0, 1 }, 2 })
    assert.equal("  loss nan", (shown(0 / 0):gsub("-nan", "nan")))
    assert.equal("", shown {})
    local freed = nd.array { 1 }
    freed:free()
    assert.equal("", shown(freed))
  end)

  it("shows what asynchronous calls have got", function()
    flow.clear_default_session()
    local tp = flow.typing
    local job = helper.predict("twice", { 2 }, function(x) return x * 2 end,
      { returns = tp.Callback(tp.Numpy) })
    local bar
    local text = helper.stderr_of(function()
      bar = flow.progress(3)
      for i in bar do job({ i, i })(function(value) bar.loss = value end) end
      flow.sync()
    end)
    assert.truthy(text:match("^3/3"))
    assert.equal(6, bar.loss:mean())
    text = helper.stderr_of(function()
      bar = flow.progress(3)
      for _ in bar do
        bar.loss = job { 5, 5 }
        flow.sync()
      end
    end)
    assert.truthy(text:match("loss 10\n$"), text)
    text = helper.stderr_of(function()
      bar = flow.progress(1)
      for _ in bar do bar.loss = job { 5, 5 } end
    end)
    assert.truthy(text:match("^1/1"))
    flow.sync()
  end)

  it("writes a line a minute where there is no terminal, for all loops in each other", function()
    local text = on_clock(20, nil, function()
      for _ in flow.progress(7, { desc = "outer" }) do
        for _ in flow.progress(2, { desc = "inner" }) do end
      end
    end)
    local seen = {}
    for line in text:gmatch("[^\n]+") do seen[#seen + 1] = line:match("^%D+%d+/%d+%D+%d*/?%d*") end
    assert.equal("outer: 0/7  inner: 2/2", seen[1])
    assert.truthy(seen[#seen]:match("^outer: 7/7"))
    assert.truthy(#seen <= 13, text)
  end)

  it("frees the line of a terminal for what is printed between", function()
    local printed = {}
    local text = on_clock(1, 60, function()
      for i in flow.progress(3, { desc = "a\27b" }) do
        if i == 2 then _G.print("x") end
      end
    end, printed)
    assert.same({ "x" }, printed)
    assert.truthy(text:match("^\ra b: .-1/3.-\27%[K\r\27%[K\ra b: .-2/3.-\27%[K.*3/3.-\27%[K\n$"), text)
  end)

  it("leaves the last state of a loop that was left early, on a line of its own", function()
    local printed = {}
    local text = on_clock(1, 60, function()
      for i in flow.progress(9) do
        if i == 3 then break end
      end
      _G.print("x")
      _G.print("y")
    end, printed)
    assert.same({ "x", "y" }, printed)
    assert.equal(1, select(2, text:gsub("\n", "")))
    assert.truthy(text:match("2/9.-\n$"), text)
  end)

  it("shows loops in each other on one line", function()
    local text = on_clock(1, 80, function()
      for _ in flow.progress(2, { desc = "epoch" }) do
        for _ in flow.progress(3, { desc = "batch" }) do end
      end
    end)
    assert.truthy(text:find("\repoch: 1/2  batch: [========", 1, true), text)
    assert.equal(1, select(2, text:gsub("\n", "")))
    assert.truthy(text:match("epoch: %S+ 2/2.-\n$"))
  end)

  it("ends in one line when closed, also twice, and gives print back", function()
    local before = rawget(_G, "print")
    local text = on_clock(1, 60, function()
      local bar = flow.progress(9)
      for i in bar do
        if i == 3 then
          bar:close()
          break
        end
      end
      bar:close()
      assert.equal("progress bar at 2/9", tostring(bar))
    end)
    assert.equal(before, rawget(_G, "print"))
    assert.equal(1, select(2, text:gsub("\n", "")))
  end)

  it("refuses what it cannot go through", function()
    helper.fails(function() flow.progress("x") end, "progress: expected a number, an iterator")
    helper.fails(function() flow.progress(3, { dsc = 1 }) end, "progress: unknown option 'dsc'")
    helper.fails(function() flow.progress(0 / 0) end, "progress: source: expected a whole number")
    helper.fails(function() flow.progress(3, { total = "x" }) end, "progress: total: expected")
    helper.fails(function() flow.progress(3, { desc = {} }) end, "progress: desc: expected")
  end)
end)
