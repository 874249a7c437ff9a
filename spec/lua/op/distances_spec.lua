-- Distances of vectors: what they refuse. Their values are compared with PyTorch's in
-- spec/oracle/math.lua.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd, nn = flow.ndarray, flow.nn

describe("distances", function()
  it("name what is wrong", function()
    local a, b = nd.ones { 2, 3 }, nd.ones { 2, 4 }
    helper.fails(function() nn.cosine_similarity(a, b) end,
      "nn.cosine_similarity: shapes (2, 3) and (2, 4) do not broadcast")
    helper.fails(function() nn.cosine_similarity(a, a, 2) end,
      "nn.cosine_similarity: axis must be from -2 to 1, got 2; axes count from 0")
    helper.fails(function() nn.cosine_similarity(a, a, 1, 0) end,
      "nn.cosine_similarity: eps must be a number above 0, got 0")
    helper.fails(function() nn.pairwise_distance(a, a, 0) end,
      "nn.pairwise_distance: p must be a number above 0, got 0")
    helper.fails(function() nn.pairwise_distance(a, 1) end,
      "nn.pairwise_distance: x2 must be a blob or an NdArray, got number 1")
  end)
end)
