-- Errors: whose line they name.
local core = require "jfl.core"
local helper = require "spec.bind.helper"

local function front(text) return assert(loadstring(text, "=jfl/front.lua")) end

describe("where", function()
  it("is the line of the user's code", function()
    assert.equal("user.lua:3: ", helper.run("\n\nlocal w = c.where() return w"))
  end)

  it("passes over front-end and C frames", function()
    local inner = front("return function(f, ...) local r = f(...) return r end")()
    assert.equal("user.lua:2: ", helper.run("\nlocal w = (...)(c.where) return w", inner))
    local outer = front [[
      local inner = ...
      return function(f) local r = inner(pcall, f) return r end]]
    assert.is_true(helper.run("\nlocal ok = (...)(c.where) return ok", outer(inner)))
  end)

  it("is empty where no user's code runs", function()
    local thread = coroutine.create(core.where)
    local _, where = coroutine.resume(thread)
    assert.equal("", where)
  end)
end)

describe("fail", function()
  it("formats and blames the user", function()
    local check = front [[
      local c = require "jfl.core"
      return function(x) c.fail("%s: %d", x, 7) end]]()
    assert.equal("user.lua:2: a: 7", helper.message("\nlocal check = ... check('a')", check))
  end)

  it("blames through a chain of front-end calls", function()
    local check = front([[
      local c = require 'jfl.core'
      local function deep(n) if n == 0 then c.array("float32", "x") end deep(n - 1) end
      return deep]])()
    assert.equal("user.lua:4: array: shape must be a table of numbers, got string",
      helper.message("\n\n\nlocal deep = ... deep(5)", check))
  end)
end)

describe("type", function()
  it("tells the module's values from all others", function()
    local graph = core.graph("types", "predict")
    assert.equal("graph", core.type(graph))
    assert.equal("blob", core.type(core.input(graph, "x", "float32", { 1 })))
    assert.is_nil(core.type(1))
    assert.is_nil(core.type({}))
    assert.is_nil(core.type(io.stdout))
    assert.is_nil(core.type(nil))
    assert.is_nil(core.type())
    assert.is_nil(core.type(core.pointer(core.array("float32", { 1 }))))
  end)
end)

describe("the module", function()
  it("is the same when it is opened again", function()
    local loader = package.preload["jfl.core"]
    assert.matches("^%d+%.%d+%.%d+$", core.version)
    if loader then assert.equal(core, loader("jfl.core")) end
  end)
end)
