-- Mistakes of newcomers: each is reported at its line, in words that help, and leaves the session
-- as it was. The catalogue is in spec/lua/mistakes; `build/jfl spec/lua/mistakes/list.lua` prints
-- it.
local command = require "spec.cmd.helper"
local flow = require "jfl"
local helper = require "spec.lua.helper"
local run = require "spec.lua.mistakes.run"

local SEED = tonumber(os.getenv("JFL_SEED")) or 1     -- of their order
local CALLS = 3                  -- under way while a mistake is made

local Input = flow.typing.Numpy.Placeholder({ 2 })

-- A job with a variable, whose calls give 1, 0.75, 0.5, ...
local function steady()
  return flow.global_function { name = "steady", type = "train", returns = flow.typing.Numpy,
    inputs = { { "x", Input } },
    body = function(x)
      local w = flow.get_variable("steady-w", { shape = { 2 },
        initializer = flow.ones_initializer() })
      flow.optimizer.SGD(0.5, { momentum = 0 }):minimize(x * w)
      return x * w
    end,
  }
end

local function counter(name)
  return flow.global_function { name = name, inputs = { { "x", Input } },
    returns = flow.typing.Callback(flow.typing.Numpy), body = function(x) return x + 1 end }
end

local function shuffled(list)
  local state = SEED % 2147483647
  for i = #list, 2, -1 do
    state = (state * 16807 + 11) % 2147483647
    local k = state % i + 1
    list[i], list[k] = list[k], list[i]
  end
  return list
end

local function check_message(entry, ok, message)
  assert(not ok, "no error was raised")
  assert.equal("string", type(message))
  local line, text = message:match("^train%.lua:(%d+): (.*)")
  assert(line, "expected the user's line first: " .. message)
  assert(tonumber(line) == entry.line, ("expected line %d: %s"):format(entry.line, message))
  for _, phrase in ipairs(entry.phrases) do
    assert(text:find(phrase, 1, true), ("expected: %s\ngot: %s"):format(phrase, message))
  end
end

describe(("mistakes (in the order of JFL_SEED=%d):"):format(SEED), function()
  local directory

  before_each(function()
    flow.clear_default_session()
    directory = helper.directory()
  end)

  after_each(function()
    pcall(flow.sync)
    flow.clear_default_session()
    helper.remove(directory)
  end)

  local function make(entry)
    local before, count, told = steady(), counter("count"), {}
    assert.equal(1, before({ 1, 1 })[1])
    for i = 1, CALLS do
      count({ i, i })(function(value) told[#told + 1] = value[1] end)
    end
    check_message(entry, run.script(entry, directory))
    flow.config.memory_limit(0)
    flow.sync()
    assert.same({ 2, 3, 4 }, told)
    local again = entry.clears and steady() or before
    assert.equal(entry.clears and 1 or 0.75, again({ 1, 1 })[1])
    counter("after")({ 4, 4 })(function(value) told[#told + 1] = value[1] end)
    flow.sync()
    assert.equal(5, told[#told])
    assert.equal(CALLS + 1, #told)
  end

  for _, entry in ipairs(shuffled(run.entries())) do
    it(entry.title, function() make(entry) end)
  end
end)

describe("the catalogue of mistakes", function()
  it("has no mistake twice", function()
    local seen = {}
    for _, entry in ipairs(run.entries()) do
      assert(not seen[entry.title] and not seen[entry.text], entry.title)
      seen[entry.title], seen[entry.text] = true, true
    end
  end)

  it("tells nothing of how the library is made", function()
    for _, entry in ipairs(run.entries()) do
      for _, phrase in ipairs(entry.phrases) do
        assert(not phrase:find("jf_") and not phrase:find("jfl/") and not phrase:find("core%."),
          phrase)
      end
    end
  end)
end)

describe("a script with a mistake", function()
  local titles = { "a misspelled name of the library", "a kernel larger than the image",
    "a train job without an optimizer", "a job without a comma between its fields" }

  local function entry_of(title)
    for _, entry in ipairs(run.entries()) do
      if entry.title == title then return entry end
    end
    error("there is no mistake " .. title)
  end

  for _, title in ipairs(titles) do
    it("ends with its message, a traceback and status 1: " .. title, function()
      local directory, entry = helper.directory(), entry_of(title)
      local file = assert(io.open(directory .. "/train.lua", "wb"))
      file:write(entry.text)
      file:close()
      local out, err, status = command.run(directory .. "/train.lua")
      helper.remove(directory)
      assert.equal("", out)
      assert.equal(1, status)
      assert.truthy(err:find("train.lua:" .. entry.line .. ": ", 1, true))
      assert.truthy(err:find(entry.phrases[1], 1, true))
      assert.truthy(err:find("stack traceback:", 1, true) or err:find("expected", 1, true))
    end)
  end
end)
