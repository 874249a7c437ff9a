--- What a session understands beside Lua, on a clock of its own.
require "jfl"
local core = require "jfl.core"
local words = require "jfl.repl.words"

--- Calls fn with io.stdout replaced; gives what was written there.
local function written(fn)
  local real, parts = io.stdout, {}
  rawset(io, "stdout", { write = function(_, ...)
    for i = 1, select("#", ...) do parts[#parts + 1] = tostring((select(i, ...))) end
  end })
  local ok, err = pcall(fn)
  rawset(io, "stdout", real)
  assert(ok, err)
  return table.concat(parts)
end

describe("%time", function()
  local now, time

  before_each(function()
    now, time = core.now, 1000
    core.now = function() return time end
  end)
  after_each(function() core.now = now end)

  --- What is said of something that takes so long.
  local function said(seconds)
    local say, first, second = words.time(function()
      time = time + seconds
      return "a", "b"
    end)
    assert.same({ "a", "b" }, { first, second })
    return written(say)
  end

  it("tells seconds in a unit that leaves few digits", function()
    for text, seconds in pairs { ["90 s\n"] = 90, ["1 s\n"] = 1, ["999 ms\n"] = 0.999,
      ["1.5 ms\n"] = 1.5e-3, ["999 us\n"] = 999e-6, ["2 us\n"] = 2e-6, ["500 ns\n"] = 500e-9 } do
      assert.equal(text, said(seconds))
    end
  end)

  it("tells the best of five rounds of a fifth of a second", function()
    local calls = 0
    local say = words.timeit(function()
      calls = calls + 1
      time = time + (calls < 60 and 0.25 or 0.125) / 64
    end)
    -- One call and ten, then five rounds of as many as take a fifth of a second.
    local n = math.floor(10 * 0.2 / (10 * 0.25 / 64))
    assert.equal(1 + 10 + 5 * n, calls)
    assert.equal(("1.95 ms at best, of 5 times %d\n"):format(n), written(say))
  end)

  it("is told from Lua", function()
    assert.same({ "time", "1 + 1" }, { words.timing "  %time 1 + 1" })
    assert.same({ "timeit", "f()" }, { words.timing "%timeit f()" })
    assert.is_nil((words.timing "%times 3"))
    assert.is_nil((words.timing "x %time 3"))
  end)
end)

describe("words", function()
  it("are help, exit and quit, with parentheses or a semicolon, and names with a ?", function()
    for _, text in ipairs { "help", " help() ", "help;", "exit", "quit()", "?relu", "relu?", "??",
      "help relu", "help 'relu'" } do
      assert.equal("function", type(words.find(text)), text)
    end
    for _, text in ipairs { "helper", "exit(1)", "help = 3", "relu", "a ? b", "print(help)" } do
      assert.is_nil(words.find(text), text)
    end
    assert.is_true(words.find "exit"())
    local ends
    assert.truthy(written(function() ends = words.find "help"() end):find("%time x", 1, true))
    assert.is_nil(ends)
    rawset(_G, "help", 3)
    local found = words.find "help"
    rawset(_G, "help", nil)
    assert.is_nil(found)
  end)
end)
