local flow = require "jfl"
local helper = require "spec.lua.helper"
local profile = require "jfl.profile"

local tp = flow.typing

describe("flow.profile", function()
  local job

  before_each(function()
    flow.clear_default_session()
    job = helper.predict("product", { 8, 16 }, function(x)
      return flow.matmul(x, flow.get_variable("w",
        { shape = { 16, 4 }, initializer = flow.ones_initializer() }))
    end)
  end)

  after_each(function() flow.clear_default_session() end)

  -- What fn gives, and what it prints.
  local function quietly(fn)
    local lines, print_before = {}, _G.print
    _G.print = function(text) lines[#lines + 1] = text end -- luacheck: ignore
    local ok, result = pcall(fn)
    _G.print = print_before -- luacheck: ignore
    assert(ok, result)
    return result, table.concat(lines, "\n")
  end

  it("counts the runs and the work of each step", function()
    local x = flow.ndarray.ones { 8, 16 }
    job(x)
    local rows, text = quietly(function()
      return flow.profile(function() for _ = 1, 3 do job(x) end end)
    end)
    assert.equal(1, #rows)
    assert.equal("matmul", rows[1].op)
    assert.equal(3, rows[1].runs)
    assert.equal(2 * 8 * 16 * 4, rows[1].flop)
    assert.equal(4 * (8 * 16 + 16 * 4 + 8 * 4), rows[1].bytes)
    assert.is_true(rows[1].seconds > 0)
    assert.truthy(text:find("product: matmul_1", 1, true))
  end)

  it("sees queued runs, too, and gives the same results", function()
    local later = helper.predict("later", { 2 }, function(x) return x * 3 end,
      { returns = tp.Callback(tp.Numpy) })
    local seen
    local rows = quietly(function()
      return flow.profile(function() later({ 1, 2 })(function(y) seen = y:totable() end) end)
    end)
    assert.same({ 3, 6 }, seen)
    assert.is_true(#rows >= 1)
  end)

  it("writes a trace", function()
    local path = os.tmpname()
    quietly(function()
      return flow.profile(function() job(flow.ndarray.ones { 8, 16 }) end, { trace = path })
    end)
    local f = assert(io.open(path))
    local text = f:read "*a"
    f:close()
    os.remove(path)
    assert.truthy(text:find('^{"traceEvents":%[\n{"ph":"X",'))
    assert.truthy(text:find('"name":"matmul_1","cat":"matmul"', 1, true))
  end)

  it("ends with the function's error, and another can begin", function()
    helper.fails(function() flow.profile(function() error("mine") end) end, "mine")
    quietly(function() return flow.profile(function() job(flow.ndarray.ones { 8, 16 }) end) end)
  end)

  it("refuses a file it cannot write, and is over then", function()
    helper.fails(function()
      flow.profile(function() job(flow.ndarray.ones { 8, 16 }) end, { trace = "/nowhere/trace.json" })
    end, "profile: /nowhere/trace.json: ")
    quietly(function() return flow.profile(function() job(flow.ndarray.ones { 8, 16 }) end) end)
  end)

  it("cannot be nested", function()
    helper.fails(function() flow.profile(function() profile.start() end) end, "being made already")
  end)

  it("says so where nothing ran", function()
    local _, text = quietly(function() return flow.profile(function() end) end)
    assert.equal("profile: no job ran", text)
  end)
end)
