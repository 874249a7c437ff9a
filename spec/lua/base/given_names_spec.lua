--- Names of jobs, inputs, variables, layers and ops: one that files could not hold, so that what
-- was trained could never be saved, is refused where it is given.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local tp = flow.typing

local BAD = {
  ["must be UTF%-8, got '\\xff\\xfe'"] = "\255\254",
  ["must not hold a zero byte"] = "a\0b",
  ["must have at most 1000 bytes, got 1200: 'xxxx"] = ("x"):rep(1200),
}

local function job_of(body, input)
  return flow.global_function {
    name = "given_names",
    inputs = { { input or "x", tp.Numpy.Placeholder({ 2, 2 }) } },
    returns = tp.Numpy,
    body = body,
  }
end

-- What takes a name, and the start of its message.
local TAKERS = {
  ["global_function: name "] = function(name)
    flow.global_function { name = name, returns = tp.Numpy, body = function() end }
  end,
  ["given_names: inputs: the name of entry 1 "] = function(name)
    job_of(function(x) return x end, name)
  end,
  ["get_variable: name "] = function(name)
    job_of(function() return flow.get_variable(name, { 2 }) end)(flow.ndarray.ones({ 2, 2 }))
  end,
  ["layers%.dense: name "] = function(name)
    job_of(function(x) return flow.layers.dense(x, 2, { name = name }) end)(
      flow.ndarray.ones({ 2, 2 }))
  end,
  ["namespace: name "] = function(name)
    job_of(function(x)
      return flow.scope.namespace(name, function() return flow.layers.dense(x, 2) end)
    end)(flow.ndarray.ones({ 2, 2 }))
  end,
  ["name "] = function(name)
    job_of(function(x) return flow.nn.relu(x, { name = name }) end)(flow.ndarray.ones({ 2, 2 }))
  end,
}

describe("a name", function()
  after_each(flow.clear_default_session)

  for start, take in pairs(TAKERS) do
    it("that no file can hold is refused: " .. start, function()
      for text, name in pairs(BAD) do
        local ok, message = pcall(take, name)
        assert.is_false(ok)
        assert.matches("^spec/lua/base/given_names_spec%.lua:%d+: .*" .. start .. text, message)
      end
    end)
  end

  it("of any writing is taken, saved and loaded", function()
    local job = job_of(function(x)
      return flow.layers.dense(x, 2, { name = "Schicht \195\188 \230\177\137" })
    end)
    job(flow.ndarray.ones({ 2, 2 }))
    local where = helper.directory()
    flow.train.CheckPoint():save(where, { overwrite = true })
    local report = flow.train.CheckPoint():load(where, { strict = true })
    assert.equal(0, #report.missing)
    helper.remove(where)
  end)
end)

describe("a message", function()
  it("shows what a terminal would obey", function()
    local ok, message = pcall(flow.global_function, {
      name = "a\27[2J\194\155", type = 5, body = print,
    })
    assert.is_false(ok)
    assert.is_nil(message:find "\27")
    assert.matches("a\\x1b[2J\\xc2\\x9b: type must", message, 1, true)
  end)

  it("of names in a file does too", function()
    local where, told = helper.directory(), {}
    local load = flow.train.CheckPoint()
    flow.checkpoint.save(where, { ["a\27[31m"] = flow.ndarray.ones({ 1 }) }, { overwrite = true })
    flow.config.on_warning(function(text) told[#told + 1] = text end)
    load:load(where)
    local ok, message = pcall(load.load, load, where, { strict = true })
    flow.config.on_warning(nil)
    helper.remove(where)
    assert.is_false(ok)
    assert.matches("a\\x1b[31m", told[1], 1, true)
    assert.matches("a\\x1b[31m", message, 1, true)
    assert.is_nil((told[1] .. message):find "\27")
  end)
end)
