--- What completion offers of arrays, blobs and long lists; spec/cmd/repl_spec.lua has the rest.
local flow = require "jfl"
local completion = require "jfl.doc.completion"
local helper = require "spec.lua.helper"

--- The words that may replace `before` while the global "it" has a value.
local function words(value, before)
  rawset(_G, "the_value", value)
  local found = completion.words((before:gsub("^it", "the_value")))
  rawset(_G, "the_value", nil)
  for i, word in ipairs(found) do found[i] = word:gsub("^the_value", "it") end
  return found
end

local function has(list, word)
  for _, each in ipairs(list) do
    if each == word then return true end
  end
  return false
end

describe("completion", function()
  it("knows the fields and methods of arrays", function()
    local array = flow.ndarray.ones { 2 }
    assert.same({ "it.shape" }, words(array, "it.sha"))
    assert.same({ "it.dtype" }, words(array, "it.dt"))
    assert.truthy(has(words(array, "it."), "it.size"))
    assert.same({ "it:reshape", "it:reshape_like" }, words(array, "it:resh"))
    assert.same({}, words(array, "it:sha"))
    assert.falsy(has(words(array, "it."), "it.name"))
  end)

  it("knows those of blobs", function()
    local found = {}
    helper.predict("job", { 2 }, function(x)
      for _, before in ipairs { "it.sha", "it.na", "it.siz", "it:softm", "it:item", "it:resh" } do
        found[#found + 1] = table.concat(words(x, before), " ")
      end
      return x + 1
    end) { 1, 2 }
    flow.clear_default_session()
    assert.same({ "it.shape", "it.name", "", "it:softmax it:softmax_cross_entropy_with_logits", "",
      "it:reshape it:reshape_like" }, found)
  end)

  it("knows functions of flow that are methods, and what they take", function()
    local array = flow.ndarray.ones { 2 }
    assert.same({ "it:softmax", "it:softmax_cross_entropy_with_logits" }, words(array, "it:softm"))
    rawset(_G, "the_value", array)
    local _, taken = completion.rest("the_value:softmax(", 80)
    assert.equal("NdArray:softmax(axis=-1, name) -> y", taken)
    assert.same({ "axis", "name" }, completion.words("the_value:softmax { "))
    assert.same({ "approximate", "name" }, completion.words("the_value:gelu { "))
    rawset(_G, "the_value", nil)
  end)

  it("knows the methods and fields of jobs, models and optimizers", function()
    local net = flow.model("net", function(x) return x end)
    assert.same({ "it:save", "it:summary" }, words(net, "it:s"))
    assert.same({ "it.name" }, words(net, "it.n"))
    local job = net:predict { inputs = { flow.float32 { 2 } } }
    assert.same({ "it:plan" }, words(job, "it:pl"))
    assert.same({ "it:minimize" }, words(flow.optimizer.SGD(0.1), "it:m"))
    rawset(_G, "the_value", net)
    assert.same({ "inputs" }, completion.words("the_value:train { in"))
    rawset(_G, "the_value", nil)
    flow.clear_default_session()
  end)

  it("knows what objects inherit", function()
    local first = { one = print }
    first.__index = first
    local second = setmetatable({ two = print }, first)
    local object = setmetatable({ three = 3 }, { __index = second, __names = { four = 4 } })
    assert.same({ "it.four", "it.one", "it.three", "it.two" }, words(object, "it."))
    assert.same({ "it:one", "it:two" }, words(object, "it:"))
  end)

  it("leaves out names that begin with a line unless one is typed", function()
    local object = { _hidden = 1, seen = 2, ["no name"] = 3, [1] = 4 }
    assert.same({ "it.seen" }, words(object, "it."))
    assert.same({ "it._hidden" }, words(object, "it._"))
  end)

  it("lists two hundred names in columns, and counts the others", function()
    -- What is listed of an object with n fields.
    local function listed(n)
      local object = {}
      for i = 1, n do object[(i < 102 and "a%03d" or "b%03d"):format(i)] = i end
      rawset(_G, "the_value", object)
      local rest, list = completion.rest("the_value.", 80)
      rawset(_G, "the_value", nil)
      assert.equal("", rest)
      return list
    end
    assert.falsy(listed(200):find "more")
    local list = listed(203)
    assert.equal(200, select(2, list:gsub("[ab]%d%d%d", "")))
    assert.equal("\n... (3 more)", list:sub(-13))
    assert.equal(6 * 13 - 2, #list:match("^[^\n]*"))
  end)
end)
