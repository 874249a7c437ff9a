--- What a restricted script does with jfl and its arrays, and what it is told.
local flow = require "jfl"

describe("a restricted script", function()
  local box

  setup(function() box = flow.sandbox {} end)

  local function run(text)
    return box:run("local flow = require 'jfl' local nd = flow.ndarray " .. text)
  end

  local function fails(message, text)
    local ok, err = pcall(run, text)
    assert.is_false(ok)
    assert.truthy(err:find(message, 1, true), err)
  end

  it("computes with arrays", function()
    assert.same({ "[ 9. 13.]", "[5. 5.]", "[14. 36.]", "[3.5  2.25]" }, { run [[
      local a, b = nd.array { 7, 9 }, nd.array { 2, 4 }
      return tostring(a + b), tostring(a - b), tostring(a * b), tostring(a / b)]] })
    assert.same({ "[1. 1.]", "[  49. 6561.]", "[-7. -9.]" }, { run [[
      local a, b = nd.array { 7, 9 }, nd.array { 2, 4 }
      return tostring(a % b), tostring(a ^ b), tostring(-a)]] })
    assert.same({ "[3. 9.]x", 2, 9, 2, "float32" }, { run [[
      local a = nd.array { 7, 9 }
      a[1] = 3
      return a .. "x", #a, a[2], a.shape[1], a.dtype]] })
  end)

  it("prints shapes as other scripts do", function()
    assert.same({ "(2, 3)", "(2, 3)", "()", 2 }, { run [[
      local a, inner = nd.ones { 2, 3 }
      flow.model("net", function(x) inner = x.shape return x end)
        :predict { inputs = { flow.float32 { 2, 3 } } }(a)
      return tostring(a.shape), tostring(inner), tostring(nd.ones({}).shape), #a.shape]] })
    fails("shape: 10 extents are too many", [[
      local s = nd.ones({ 2 }).shape
      for i = 1, 10 do s[i] = i end
      return tostring(s)]])
    assert.same({ "(9, 3)", "(2, 3)" }, { run [[
      local a = nd.ones { 2, 3 }
      local s = a.shape
      s[1] = 9
      return tostring(s), tostring(a.shape)]] })
  end)

  it("has the methods of tokenizers", function()
    assert.same({ 256, 104, "hi", 2, "h", 104 - 33 }, { run [[
      local t = flow.text.train { texts = { "hi" }, size = 256 }
      local ids = t:encode "hi"
      return t.size, t:token(ids[1]):byte(), t:decode(ids), t:batch({ "hi" }).ids.shape[2],
        t:token(t:id "h"), t:id "h"]] })
    fails("'_core' of a tokenizer is not there for a restricted script",
      'return flow.text.train({ texts = { "hi" }, size = 256 })._core')
  end)

  it("sees names in place of what it cannot reach", function()
    assert.same({ "flow", "flow.nn" }, { run "return tostring(flow), tostring(flow.nn)" })
    fails("flow.nosuch is not there for a restricted script", "return flow.nosuch")
    fails("flow.nn.nosuch is not there for a restricted script", "return flow.nn.nosuch")
    fails("flow.nn is no function", "flow.nn()")
    fails("'pointer' of an array is not there for a restricted script",
      "return nd.array({ 1 }).pointer")
    fails("can be set, not 'shape' of an array", "nd.array({ 1 }).shape = 3")
    fails("can be set, not 'x' of a table", "flow.nn.x = 3")
  end)
end)
