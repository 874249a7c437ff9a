local flow = require "jfl"
local colour = require "jfl.repl.colour"
local show = require "jfl.repl.show"

describe("a shown value", function()
  after_each(function() colour.allow(false, false) end)

  it("tells its shape and dtype if it is an array", function()
    assert.equal("[0. 1. 2.]  (3) float32", show.text(flow.ndarray.arange(3)))
    assert.equal("[[1 1]\n [1 1]]  (2, 2) int32", show.text(flow.ndarray.ones({ 2, 2 }, "int32")))
    assert.equal("{ NdArray (28, 28) float32, [0. 1.]  (2) float32 }",
      show.text { flow.ndarray.zeros { 28, 28 }, flow.ndarray.arange(2) })
    local gone = flow.ndarray.zeros { 2 }
    gone:free()
    assert.equal("a freed NdArray", show.text(gone))
  end)

  it("tells its inputs and results if it is a job, and what it is if it is a blob", function()
    local blob
    local job = flow.global_function { name = "shown", returns = flow.typing.Numpy,
      inputs = { { "x", flow.typing.Numpy.Placeholder { 3 } } },
      body = function(x)
        blob = show.text(x)
        return x
      end }
    finally(function() flow.clear_default_session() end)
    assert.equal("job 'shown' (predict): x (3) float32 -> Numpy", show.text(job))
    job:compile()
    assert.equal("blob 'x' (3) float32", blob)
  end)

  it("tells where a function is from", function()
    local function own(a, b, ...) return a, b, ... end
    assert.truthy(show.text(own):find("^function %(a, b, %.%.%.%) of .*show_spec%.lua:%d+$"))
    assert.truthy(show.text(flow.layers.dense):find("of flow$"))
    assert.truthy(show.text(print):find("^function: "))
  end)

  it("is quoted if it is a string", function()
    assert.equal('"a\\n\\"b\\"\\27[1m"', show.text('a\n"b"\27[1m'))
    assert.equal('"a line\\n"', show.text "a line\n")
  end)

  it("ends with the shape if it is an array that is shown in part", function()
    local text = show.text(flow.ndarray.zeros { 9, 9, 9, 9, 9 })
    assert.truthy(text:find(" more bytes%)\n%(9, 9, 9, 9, 9%) float32$"))
    assert.truthy(#text < 4100)
  end)

  it("is as it stands if it is a text of several lines", function()
    assert.same({ "a\n\tb\n  c" }, { show.text "a\n\tb\n  c\n" })
    assert.equal('{ "a\\nb" }', show.text { "a\nb" })
  end)

  it("tells how much is in tables inside of it", function()
    local long = {}
    for i = 1, 40 do long[i] = i end
    assert.equal("{ list = {... (40 entries)}, x = 1 }", show.text { list = long, x = 1 })
    assert.truthy(show.text(flow.nn):find("^flow%.nn\n"))
  end)

  it("has colours where they are allowed, which change no layout", function()
    colour.allow(true, false)
    assert.equal("{ \27[36m1\27[0m, \27[32m\"a\"\27[0m, \27[35mtrue\27[0m }",
      show.text { 1, "a", true })
    assert.equal("[1.]  \27[2m(1) float32\27[0m", show.text(flow.ndarray.ones { 1 }))
    local wide = {}
    for i = 1, 15 do wide[i] = i * 10 end
    assert.falsy(show.text(wide):find("\n"))
  end)
end)
