local flow = require "jfl"
local helper = require "spec.lua.helper"

local args = require "jfl.base.args"

describe("args", function()
  local f = args.define("spec.f", "For this spec.", {
    { "x", "first" },
    { "n", "second", 2 },
    { "name", "third", args.none },
  }, function(o) return o.x, o.n, o.name end)

  teardown(function() args.defined["spec.f"] = nil end)

  it("takes positions, then defaults", function()
    assert.same({ 1, 2 }, { f(1) })
    assert.same({ 1, 3, "a" }, { f(1, 3, "a") })
    assert.same({ 1, 2, "a" }, { f(1, nil, "a") })
  end)

  it("takes one options table last", function()
    assert.same({ 1, 5, "a" }, { f(1, { n = 5, name = "a" }) })
    assert.same({ 7, 2 }, { f { x = 7 } })
    assert.same({ 1, 2, "a" }, { f(1, nil, "a", {}) })
    assert.same({ 1, 2 }, { f(1, {}) })
    assert.same({ 1, 3 }, { f(1, 3, {}) })
    assert.equal("Adam(0.1, ", tostring(require("jfl").optimizer.Adam(0.1, {})):sub(1, 10))
  end)

  it("leaves lists and objects alone", function()
    local list, object = { 1, 2 }, setmetatable({ n = 1 }, {})
    assert.equal(list, (f(list)))
    assert.equal(object, (f(object)))
    assert.same({}, (f({})))
    local lists = args.define("spec.lists", "", { { "shape", "", args.none, type = "integer[]" },
      { "mean", "", { 0 } } }, function(o) return o.shape, o.mean end)
    args.defined["spec.lists"] = nil
    assert.same({ {}, { 0 } }, { lists({}) })
    assert.same({ { 1 }, {} }, { lists({ 1 }, {}) })
  end)

  it("takes a table of the names that a parameter expects for its value", function()
    local params = { { "values", "", keyed = true }, { "extra", "", args.none, keyed = true },
      { "on", "", true } }
    local keyed = args.define("spec.keyed", "", params,
      function(o) return o.values, o.extra, o.on end)
    args.defined["spec.keyed"] = nil
    local table_of = { a = 1, on = 2 }
    assert.same({ table_of, nil, true }, { keyed(table_of) })
    assert.same({ table_of, nil, false }, { keyed(table_of, { on = false }) })
    assert.same({ table_of, nil, false }, { keyed { values = table_of, on = false } })
    assert.same({ { 1 }, { a = 2 }, true }, { keyed({ 1 }, { a = 2 }) })
    assert.same({ { 1 }, table_of, false }, { keyed({ 1 }, table_of, { on = false }) })
    assert.same({ { 1 }, table_of, true }, { keyed({ 1 }, { extra = table_of }) })
    helper.fails(function() keyed({ 1 }, table_of) end, "unknown option 'a'")
  end)

  it("names the valid options beside an unknown one", function()
    helper.fails(function() f(1, { m = 1 }) end,
      "spec.f: unknown option 'm'; options are x, n, name")
  end)

  it("checks values of Lua's types, and whole numbers of at least as much", function()
    local g = args.unlisted("spec.g", { { "on", "", false, type = "boolean" },
      { "fn", "", args.none, type = "function" }, { "n", "", 1, type = "integer", least = 1 },
      { "free", "", 1, type = "number|Blob" } }, function(o) return o.on, o.n, o.free end)
    assert.same({ true, 3, "x" }, { g(true, print, 3, { free = "x" }) })
    helper.fails(function() g(1) end, "spec.g: on must be a boolean, got number 1")
    helper.fails(function() g(true, 2) end, "spec.g: fn must be a function, got number 2")
    helper.fails(function() g(true, print, 0) end,
      "spec.g: n must be a whole number of at least 1, got number 0")
  end)

  it("checks tensors, but where other things may stand for them", function()
    local g = args.unlisted("spec.g", { { "x", "", type = "Tensor" },
      { "y", "", args.none, type = "Tensor", stands = true } }, function(o) return o.x, o.y end)
    local x = require("jfl").ndarray.array { 1 }
    assert.same({ x, 2 }, { g(x, 2) })
    helper.fails(function() g(2) end, "spec.g: x must be a blob or an NdArray, got number 2")
  end)

  it("checks ranges, whose ends count as the message says", function()
    for range, cases in pairs {
      ["a finite number"] = { { -1e300, 0 }, { math.huge, -math.huge, 0 / 0, "1" } },
      ["a number above 0"] = { { 1e-9, 1e300 }, { 0, -1, math.huge, 0 / 0 } },
      ["a number of at least 0"] = { { 0, 2 }, { -1e-9, math.huge, 0 / 0 } },
      ["a number above 0 or math.huge"] = { { 1, math.huge }, { 0, -math.huge, 0 / 0 } },
      ["a number from -0.5 to 0.5"] = { { -0.5, 0.5 }, { -0.51, 0.51, 0 / 0 } },
      ["a number from 0 to below 1"] = { { 0, 0.99 }, { -0.1, 1 } },
      ["a number above 0 and at most 1"] = { { 0.1, 1 }, { 0, 1.1 } },
      ["a number above 0 and below 1"] = { { 0.1, 0.9 }, { 0, 1 } },
      ["a whole number from 2 to 16"] = { { 2, 16 }, { 1, 17, 2.5, 0 / 0 } },
    } do
      local g = args.unlisted("spec.g", { { "x", "", args.none, range = range } },
        function(o, who) return o.x, who end)
      assert.is_nil((g()))
      for _, x in ipairs(cases[1]) do assert.same({ x, "spec.g" }, { g(x) }) end
      for _, x in ipairs(cases[2]) do
        helper.fails(function() g(x) end, ("spec.g: x must be %s, got %s"):format(range,
          type(x) == "number" and ("%.14g"):format(x) or "string '1'"))
      end
    end
  end)

  it("checks words", function()
    local g = args.unlisted("spec.g", { { "how", "", "ij", words = { "ij", "xy" } } },
      function(o) return o.how end)
    assert.same({ "ij", "xy" }, { g(), g("xy") })
    helper.fails(function() g("yx") end, "spec.g: how must be \"ij\" or \"xy\", got string 'yx'")
  end)

  it("refuses what is given twice", function()
    helper.fails(function() f(1, 2, { n = 3 }) end,
      "spec.f: 'n' is given twice: as argument 2 and as an option")
  end)

  it("says what is missing and what is too much", function()
    helper.fails(function() f() end, "spec.f: argument 1 'x' is missing")
    helper.fails(function() f(1, 2, "a", 4) end,
      "spec.f: takes at most 3 arguments (x, n, name), got 4")
  end)

  it("says where several numbers should be one list", function()
    local nd, x = flow.ndarray, flow.ndarray.ones { 2, 2 }
    for message, call in pairs {
      ["ndarray.ones: shape is one list: {2, 3}"] = function() nd.ones(2, 3) end,
      ["ndarray.rand: shape is one list: {2, 3, 4}"] = function() nd.rand(2, 3, 4) end,
      ["tile: reps is one list: {2, 2}"] = function() x:tile(2, 2) end,
      ["reverse: axis is one list: {0, 1}"] = function() x:flip(0, 1) end,
      ["ndarray.sum: axis is one list: {0, 1}"] = function() x:sum(0, 1) end,
      ["typing.Numpy.Placeholder: shape is one list: {2, 3}"] = function()
        flow.typing.Numpy.Placeholder(2, 3)
      end,
    } do helper.fails(call, message) end
    assert.same({ 3, 3 }, nd.full(2, 3):totable())
  end)

  it("says which texts a choice takes", function()
    local function choose(value) return args.one_of("f", "mode", value, { "wait", "busy" }) end
    assert.equal("busy", choose("busy"))
    helper.fails(function() choose("late") end,
      "f: mode must be \"wait\" or \"busy\", got string 'late'")
    helper.fails(function() args.one_of("f", "mode", 1, { "a", "b", "c" }) end,
      'f: mode must be "a", "b" or "c", got number 1')
  end)

  it("lists the first few of many", function()
    assert.equal("a", args.listed { "a" })
    assert.equal("1, 2, 3, 4, 5, 6, 7, 8", args.listed { 1, 2, 3, 4, 5, 6, 7, 8 })
    local many = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }
    assert.equal("1, 2, 3, 4, 5, 6, 7, 8, and 2 more", args.listed(many))
  end)
end)
