local flow = require "jfl"
local core = require "jfl.core"
local helper = require "spec.lua.helper"

-- Runs fn on a clock that advances by `step` seconds at each reading, with stderr a terminal of the
-- given columns, or no terminal; returns what was written there.
local function on_clock(step, columns, fn)
  local now, width, time = core.now, core.columns, 0
  core.now = function()
    time = time + step
    return time
  end
  core.columns = function() return columns end
  local ok, text = pcall(helper.stderr_of, fn)
  core.now, core.columns = now, width
  if not ok then error(text, 0) end
  return text
end

-- The lines of a text on a terminal of the given columns. A full line is left when the next letter
-- comes.
local function screen(text, columns)
  local lines, row, column = { "" }, 1, 0
  local function put(letter)
    if column == columns then row, column = row + 1, 0 end
    local line = lines[row] or ""
    lines[row] = line:sub(1, column) .. letter .. line:sub(column + 2)
    column = column + 1
  end
  for part in text:gsub("\27%[K", "\1"):gmatch(".") do
    if part == "\r" then
      column = 0
    elseif part == "\n" then
      row, column = row + 1, 0
      lines[row] = lines[row] or ""
    elseif part == "\1" then
      lines[row] = lines[row]:sub(1, column)
    else
      put(part)
    end
  end
  for i, line in ipairs(lines) do lines[i] = line:gsub(" +$", "") end
  return lines
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

  it("tells what a loop took so far and what is left, in minutes and hours", function()
    local now, time = core.now, 1000
    core.now = function() return time end
    -- What is written of n items that take so many seconds each; the last line may come twice.
    local function said(n, seconds)
      return (helper.stderr_of(function()
        for _ in flow.progress(n) do time = time + seconds end
      end):gsub("([^\n]+\n)%1", "%1"))
    end
    local ok, message = pcall(function()
      assert.equal("1/4  75.0 s each  1:15  3:45 left\n2/4  75.0 s each  2:30  2:30 left\n"
        .. "3/4  75.0 s each  3:45  1:15 left\n4/4  75.0 s each  5:00  0:00 left\n", said(4, 75))
      assert.equal("1/2  3599.0 s each  59:59  59:59 left\n"
        .. "2/2  3599.0 s each  1:59:58  0:00 left\n", said(2, 3599))
      assert.equal("1/2  3661.0 s each  1:01:01  1:01:01 left\n"
        .. "2/2  3661.0 s each  2:02:02  0:00 left\n", said(2, 3661))
      assert.equal("10/10  16.7/s  0:01  0:00 left\n", said(10, 0.06))
    end)
    core.now = now
    assert(ok, message)
  end)

  it("fits its terminal", function()
    local line = require("jfl.tools.progress").line
    local tail = "300/600  111.1/s"
    assert.equal("e: [" .. ("="):rep(12) .. (" "):rep(12) .. "] " .. tail,
      line("e: ", tail, 0.5, 80))
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

  it("leaves a line of its own to what is written between, by whomever", function()
    local lines = screen(on_clock(1, 60, function()
      for i in flow.progress(3, { desc = "a\27b" }) do
        if i == 2 then io.stderr:write("x\n") end
      end
    end), 60)
    assert.equal(4, #lines)
    assert.truthy(lines[1]:match("^a b: %[=+ +%] 1/3  "), lines[1])
    assert.equal("x", lines[2])
    assert.truthy(lines[3]:match("^a b: %[=+%] 3/3  "), lines[3])
    assert.equal("", lines[4])
  end)

  it("leaves the last state of a loop that was left early, and print as it is", function()
    local before, write = rawget(_G, "print"), rawget(io, "write")
    local function left_early(between)
      return screen(on_clock(1, 60, function()
        for i in flow.progress(9) do
          if i == 3 then break end
        end
        assert.equal(before, rawget(_G, "print"))
        assert.equal(write, rawget(io, "write"))
        io.stderr:write(between)
        for _ in flow.progress(2) do end
        io.stderr:write("end\n")
      end), 60)
    end
    for between, count in pairs { [""] = 4, ["x\n"] = 5, ["x"] = 5 } do
      local lines = left_early(between)
      assert.equal(count, #lines)
      assert.truthy(lines[1]:match("^%[=+ +%] 2/9  "), lines[1])
      assert.equal(between:match("%a"), count == 5 and lines[2] or nil)
      assert.truthy(lines[count - 2]:match("^%[=+%] 2/2  "), lines[count - 2])
      assert.equal("end", lines[count - 1])
    end
  end)

  -- What a bar of n items wrote, where item i takes the seconds that of(i) says: { item, of how
  -- many, speed, spent, left } each.
  local function told(n, total, of)
    local now, width, time, list = core.now, core.columns, 100, {}
    core.now = function() return time end
    core.columns = function() return 80 end
    local ok, text = pcall(helper.stderr_of, function()
      for i in flow.progress(n, { total = total }) do
        time = time + of(i)
      end
    end)
    core.now, core.columns = now, width
    assert(ok, text)
    for item, all, speed, spent, left in
      text:gmatch("(%d+)/(%d+)  (%S[^\r]-)  (%d[%d:]*)  (%d[%d:]*) left") do
      list[#list + 1] = { tonumber(item), tonumber(all), speed, spent, left }
    end
    return list
  end

  local function clock(seconds)
    local s = math.floor(seconds + 0.5)
    local hours, minutes = math.floor(s / 3600), math.floor(s / 60)
    if hours > 0 then return ("%d:%02d:%02d"):format(hours, minutes % 60, s % 60) end
    return ("%d:%02d"):format(minutes, s % 60)
  end

  it("tells at each item how much time is left at the speed so far", function()
    local ways = {
      function() return 2 end, function() return 59.5 end, function() return 3600 end,
      function(i) return i end, function(i) return 11 - i end, function() return 0.125 end,
      function(i) return i % 2 * 400 + 1 end,
    }
    for _, of in ipairs(ways) do
      for _, total in ipairs { 10, 25 } do
        local list, spent, at = told(10, total, of), 0, 0
        assert.is_true(#list >= 9)
        for i = 1, 10 do
          spent = spent + of(i)
          local line = list[at + 1]
          if line and line[1] == i then
            at = at + 1
            assert.equal(total, line[2])
            assert.equal(clock(spent), line[4])
            assert.equal(clock((total - i) * spent / i), line[5])
          end
        end
        assert.is_true(at >= 9)
      end
    end
  end)

  it("tells the speed as items a second, or seconds an item", function()
    local function speeds(seconds)
      local seen = {}
      for _, line in ipairs(told(4, 4, function() return seconds end)) do seen[line[3]] = true end
      return seen
    end
    assert.same({ ["8.0/s"] = true }, speeds(0.125))
    assert.same({ ["1.0/s"] = true }, speeds(1))
    assert.same({ ["2.5 s each"] = true }, speeds(2.5))
    assert.same({ ["90.0 s each"] = true }, speeds(90))
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

  it("ends in one line when closed, also twice", function()
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
    assert.equal(1, select(2, text:gsub("\n", "")))
  end)

  it("refuses what it cannot go through", function()
    helper.fails(function() flow.progress("x") end,
      "progress: source must be a number, an iterator")
    helper.fails(function() flow.progress(3, { dsc = 1 }) end, "progress: unknown option 'dsc'")
    helper.fails(function() flow.progress(0 / 0) end, "progress: source must be a whole number")
    helper.fails(function() flow.progress(3, { total = "x" }) end, "progress: total must be")
    helper.fails(function() flow.progress(3, { desc = {} }) end, "progress: desc must be")
  end)
end)
