--- What is suggested for a wrong name.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local names = require "jfl.base.names"

--- What is suggested among these names; a list, or nil where that is nothing.
local function suggested(name, known, home)
  local paths = {}
  for path in known:gmatch "%S+" do paths[path] = true end
  local text = names.suggest(name, paths, home)
  if text == "" then return nil end
  return assert(text:match "^; did you mean (.*)%?$", text)
end

describe("a name like a wrong one is", function()
  it("one with a letter more, less, other or swapped", function()
    for _, wrong in ipairs { "softmaxx", "sofmax", "softmex", "sfotmax", "SOFTMAX" } do
      assert.equal("softmax", suggested(wrong, "softmax relu"))
    end
    assert.equal("tile", suggested("tiel", "tile"))
    assert.is_nil(suggested("tlie", "tela"))
  end)

  it("one in which a third of the letters differ, not more", function()
    assert.equal("abcdef", suggested("abcdxy", "abcdef"))
    assert.is_nil(suggested("abcxyz", "abcdef"))
    assert.equal("abcdefghi", suggested("abcdefxyz", "abcdefghi"))
    assert.is_nil(suggested("abcdewxyz", "abcdefghi"))
    assert.equal("ab", suggested("ax", "ab"))
    assert.is_nil(suggested("x", "a"))
  end)

  it("one that holds it or is in it, if that says enough", function()
    assert.equal("softmax", suggested("soft", "softmax"))
    assert.equal("soft", suggested("softmax", "soft"))
    assert.is_nil(suggested("sof", "softmax"))
    assert.is_nil(suggested("soft", "softmaxlayers"))
    assert.equal("softmaxlayer", suggested("softm", "softmaxlayer"))
    assert.equal("data.csv", suggested("load_csv", "data.csv models.load", "data"))
    assert.is_nil(suggested("loadcsv", "csv"))
  end)

  it("the nearest, and of those that are as near the first three", function()
    assert.equal("reduce_max", suggested("reduce_mex", "reduce_max reduce_mean reduce_min"))
    assert.equal("worda or wordb or wordc", suggested("wordx", "wordd wordc wordb worda"))
    assert.equal("worda or wordb", suggested("wordx", "wordb worda"))
  end)

  it("in the same place rather than elsewhere, and known by the end of its path", function()
    assert.equal("nn.relu", suggested("rely", "nn.relu math.relu", "nn"))
    assert.equal("math.relu", suggested("rely", "nn.relu math.relu", "math"))
    assert.equal("math.relu or nn.relu", suggested("rely", "nn.relu math.relu"))
    assert.equal("math.relu", suggested("relu", "nn.rely math.relu", "nn"))
    assert.equal("NdArray:sum", suggested("sun", "NdArray:sum"))
  end)

  it("what other libraries call so", function()
    assert.equal("axis", suggested("dim", "axis shape"))
    assert.is_nil(suggested("dim", "shape"))
    assert.equal("flow.layers.dense", suggested("Linear", "", "nn"))
    assert.matches("^flow.ndarray.array", suggested("new", "ndarray.ne", "ndarray"))
    assert.is_nil(suggested("Linear", ""))
  end)

  it("of the options that one may mean the first that there is", function()
    for _, wrong in ipairs { "path", "file", "filename", "out", "to", "save" } do
      assert.equal("svg", suggested(wrong, "svg directory"))
      assert.equal("svg", suggested(wrong, "title svg"))
    end
    for _, wrong in ipairs { "path", "file", "dir", "folder", "checkpoint_dir" } do
      assert.equal("directory", suggested(wrong, "directory epochs"))
    end
    assert.equal("path", suggested("filename", "path directory"))
    assert.equal("show", suggested("verbose", "show epochs"))
    assert.equal("separator", suggested("sep", "missing separator"))
    assert.equal("maxval", suggested("high", "minval maxval"))
    assert.is_nil(suggested("file", "epochs"))
    helper.fails(function() flow.random.uniform({ 2 }, { low = 1 }) end, "did you mean minval?")
    helper.fails(function() flow.random.normal({ 2 }, { std = 1 }) end, "did you mean stddev?")
    helper.fails(function() flow.data.csv("a.csv", { delimiter = ";" }) end,
      "did you mean separator?")
    for _, call in ipairs { flow.plot_images, flow.plot, flow.plot_matrix, flow.plot_graph } do
      helper.fails(function() call(flow.ndarray.ones { 2, 2 }, { path = "a.svg" }) end,
        "did you mean svg?")
    end
  end)
end)
