local flow = require "jfl"
local helper = require "spec.lua.helper"
local plotmatrix = require "jfl.tools.plot_matrix"
local nd = flow.ndarray

local function saved(values, options)
  return helper.written(function(path)
    options.svg = path
    flow.plot_matrix(values, options)
  end)
end

describe("plot_matrix", function()
  it("prints numbers in columns under their names", function()
    assert.equal("   a    b\na  1  200\nb  0  0.5\n",
      plotmatrix.text { values = { { 1, 200 }, { 0, 0.5 } }, labels = { "a", "b" } })
    assert.equal("title\n  1  2\n  3  4\n",
      plotmatrix.text { values = nd.array { { 1, 2 }, { 3, 4 } }, title = "title" })
    assert.equal("      x\nrow  -1\n",
      plotmatrix.text { values = { { -1 } }, rows = { "row" }, columns = { "x" } })
  end)

  it("saves cells that are darker where numbers are larger", function()
    local out = saved({ { 0, 10 }, { 5, 0 / 0 } }, { labels = { "a", "b" }, xlabel = "is & was",
      ylabel = "y", title = "t" })
    assert.equal(1, select(2, out:gsub('fill="#ffffff" stroke', "")))
    assert.equal(1, select(2, out:gsub('fill="#0072b2" stroke', "")))
    assert.equal(1, select(2, out:gsub('fill="#eeeeee" stroke', "")))
    assert.truthy(out:find('fill="#ffffff">10</text>', 1, true))
    assert.truthy(out:find(">is &amp; was</text>", 1, true))
  end)

  it("turns names upright that are wider than a cell", function()
    local long = saved({ { 1 } }, { columns = { "a name that is long" } })
    assert.truthy(long:find('rotate%(%-90 [^>]*>a name that is long<'))
    assert.falsy(saved({ { 1 } }, { columns = { "a" } }):find("rotate", 1, true))
  end)

  it("refuses what is no table of numbers", function()
    local function fails(message, ...)
      local given = { ... }
      helper.fails(function() flow.plot_matrix(unpack(given)) end, message)
    end
    fails("plot_matrix: values must be a table, got number 3", 3)
    fails("plot_matrix: values must have two axes, got an NdArray (3)", nd.ones { 3 })
    fails("plot_matrix: values: row 2 must have 2 numbers as the first has, got 1",
      { { 1, 2 }, { 3 } })
    fails("plot_matrix: values: row 1 must be a number, got string 'x'", { { "x" } })
    fails("plot_matrix: values must have 1 to 64 rows and columns, got (0, 0)", {}, { labels = {} })
    fails("plot_matrix: values must have 1 to 64 rows and columns, got (1, 65)", nd.ones { 1, 65 })
    fails("plot_matrix: rows must be a table, got string 'x'", { { 1 } }, { rows = "x" })
  end)
end)
