require "jfl"
local core = require "jfl.core"
local optable = require "scripts.doc.optable"

describe("the table of ops", function()
  local text = optable.text(function(path) return "<" .. path .. ">" end)

  local function row(name) return text:match("\n(| `" .. name .. "` |[^\n]*)") end

  it("has a row for every op", function()
    for name in pairs(core.ops()) do assert.truthy(row(name), name) end
  end)

  it("says dtypes, gradients, kernels and parity cases", function()
    assert.truthy(row("softmax"):find("| <nn.softmax> | f32 f64 ", 1, true))
    assert.truthy(row("softmax"):match("| yes | vec_softmax | %d+ |$"))
    assert.truthy(row("argmax"):find("none: its results are whole numbers", 1, true))
    assert.truthy(row("one_hot"):find("none: it reads whole numbers", 1, true))
    assert.truthy(row("relu"):find("vector loop, fused", 1, true))
  end)

  it("says which kernels of a GPU serve an op, where that is known", function()
    assert.falsy(text:find("of a GPU", 1, true))
    local served = optable.text(function(path) return path end, { softmax = {
      { dtype = "float16", kernels = { "cuda_softmax" }, converted = true },
      { dtype = "float32", kernels = { "cuda_softmax" } },
    } })
    assert.truthy(served:match("\n| `softmax` |[^\n]*| cuda_softmax %(f32 f16%*%) | %d+ |\n"))
  end)

  it("has the functions that are made of ops", function()
    assert.truthy(text:match("\n| <layers.dense> | 1 |"))
    assert.falsy(text:match("\n| <zip> "))
  end)
end)
