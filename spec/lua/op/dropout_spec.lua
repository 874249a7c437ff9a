--- Dropout where nothing is dropped: nothing is added to the job.
local flow = require "jfl"
local helper = require "spec.lua.helper"

describe("nn.dropout", function()
  after_each(function() flow.clear_default_session() end)

  it("gives the blob itself in predict jobs, and where the rate is 0", function()
    local same
    helper.predict("job", { 2, 3 }, function(x)
      same = { rawequal(x, flow.nn.dropout(x, 0.5)),
        rawequal(x, flow.nn.dropout(x, 0, { training = true })),
        rawequal(x, flow.nn.dropout(x, 0.5, { training = true })) }
      return x + 1
    end)(flow.ndarray.ones { 2, 3 })
    assert.same({ true, true, false }, same)
  end)

  it("refuses rates of 1 and what is no boolean", function()
    local x = flow.ndarray.ones { 2 }
    helper.fails(function() flow.nn.dropout(x, 1) end,
      "nn.dropout: rate must be a number from 0 to below 1, got 1")
    helper.fails(function() flow.nn.dropout(x, 0.5, { training = 1 }) end,
      "nn.dropout: training must be a boolean, got number 1")
    helper.fails(function() flow.nn.dropout(x, 0.5, { training = true, name = 3 }) end,
      "nn.dropout: name must be a string, got number 3")
  end)
end)
