local flow = require "jfl"
local helper = require "spec.lua.helper"

local decay = require "jfl.optim.decay"

describe("weight decay by names", function()
  local NAMES = { "conv1-weight", "conv1-bias", "norm-gamma", "norm-beta", "layer12/w.x", "a{b" }

  -- The names that an expression excludes, as one text.
  local function spared(...)
    local list, spares = {}, decay.spares("optimizer.AdamW", { weight_decay_excludes = { ... } })
    for _, name in ipairs(NAMES) do
      if spares(name) then list[#list + 1] = name end
    end
    return table.concat(list, " ")
  end

  it("spares those that an expression finds, anywhere in the name", function()
    assert.equal("conv1-bias norm-beta a{b", spared("b[ie]", "\\{"))
    assert.equal("conv1-weight conv1-bias", spared("^conv"))
    assert.equal("norm-gamma norm-beta", spared("(gamma|beta)$"))
    assert.equal("norm-gamma norm-beta", spared("^(layer)?norm-[^w]+$"))
    assert.equal("conv1-weight conv1-bias layer12/w.x", spared("\\w\\d\\W"))
    assert.equal("layer12/w.x", spared("w\\.x"))
    assert.equal("layer12/w.x", spared("\\d\\d"))
    assert.equal("", spared("%a", "weight bias", "\\s"))
  end)

  it("may be for those alone", function()
    local spares = decay.spares("optimizer.AdamW", { weight_decay_includes = { "weight$" } })
    assert.is_false(spares("conv1-weight"))
    assert.is_true(spares("conv1-bias"))
    assert.is_nil(decay.spares("optimizer.AdamW", {}))
  end)

  it("refuses expressions that it cannot read", function()
    local bad = { ["(a"] = "it has a ( without a )", ["[a"] = "it has a [ without",
      ["a\\"] = "it has a \\",
      ["a{3}"] = "it has a {", ["(?i)a"] = "it has a (?", ["\\1"] = "it has a \\1",
      ["\\bnorm"] = "it has a \\b", ["++"] = "follows nothing",
      [("a"):rep(2000)] = "it has too many parts" }
    for expression, text in pairs(bad) do
      helper.fails(function()
        local made = flow.optimizer.AdamW(0.1, { weight_decay_excludes = { expression } })
        return made
      end, text)
    end
    helper.fails(function() flow.optimizer.AdamW(0.1, { weight_decay_excludes = { "a\\" } }) end,
      "optimizer.AdamW: weight_decay_excludes: 'a\\' must be a regular expression of plain text, ")
    helper.fails(function() flow.optimizer.AdamW(0.1, { weight_decay_excludes = {} }) end,
      "optimizer.AdamW: weight_decay_excludes must not be empty")
    helper.fails(function()
      flow.optimizer.AdamW(0.1, { weight_decay_excludes = { "a" },
        weight_decay_includes = { "b" } })
    end, "optimizer.AdamW: weight_decay_includes and weight_decay_excludes exclude each other")
  end)
end)
