local flow = require "jfl"
local helper = require "spec.lua.helper"
local tp = flow.typing

describe("layers.embedding", function()
  after_each(function() flow.clear_default_session() end)

  local function job(body, mode)
    return flow.global_function { name = "job", type = mode, returns = tp.Numpy, body = body,
      inputs = { { "ids", tp.Numpy.Placeholder({ 2, 3 }, { dtype = flow.int32 }) } } }
  end
  local ids = { { 1, 0, 3 }, { 3, 3, 2 } }

  it("gives the rows of its weight", function()
    local f = job(function(x) return flow.layers.embedding(x, 4, 5, { name = "words" }) end)
    local y, w = f(ids), flow.get_all_variables()["words-weight"]
    assert.same({ 2, 3, 5 }, y.shape)
    assert.same({ 4, 5 }, w.shape)
    for i = 1, 2 do
      for j = 1, 3 do assert.same(w[ids[i][j] + 1]:totable(), y[i][j]:totable()) end
    end
    assert.truthy(w:max() < 0.05 and w:min() >= -0.05 and w:std() > 0.01)
  end)

  for _, momentum in ipairs { 0, 0.9 } do
    it("never moves the row of padding, which counts as 0, with momentum " .. momentum, function()
      local f = job(function(x)
        local y = flow.layers.embedding(x, 4, 2, { padding_idx = 3, name = "words",
          embeddings_initializer = flow.ones_initializer() })
        flow.optimizer.SGD(0.5, { momentum = momentum }):minimize(flow.math.reduce_sum(y))
        return y
      end, "train")
      local y, w = f(ids), flow.get_all_variables()["words-weight"]
      assert.same({ { 1, 1 }, { 1, 1 }, { 0, 0 } }, y[1]:totable())
      assert.same({ { 0.5, 0.5 }, { 0.5, 0.5 }, { 0.5, 0.5 }, { 1, 1 } }, w:totable())
    end)
  end

  it("shares its weight where it is used again", function()
    local f = job(function(x)
      local a = flow.layers.embedding(x, 4, 2, { name = "words" })
      return a - flow.layers.embedding(x, 4, 2, { name = "words", reuse = true })
    end)
    assert.equal(0, flow.math.abs(f(ids)):max())
  end)

  local function says(message, ...)
    local given = { ... }
    it("says: " .. message, function()
      helper.fails(function()
        job(function(x) return flow.layers.embedding(x, unpack(given)) end):compile()
      end, message)
    end)
  end
  says("vocabulary must be a whole number of at least 1, got number 0", 0, 3)
  says("units must be a whole number of at least 1, got number 0.5", 3, 0.5)
  says("padding_idx must be below vocabulary 4, got 4", 4, 3, { padding_idx = 4 })
  says("dtype must be one of", 4, 3, { dtype = "real" })

  it("says that numbers must be whole", function()
    helper.fails(function()
      helper.predict("p", { 2 }, function(x) return flow.layers.embedding(x, 4, 3) end):compile()
    end, "layers.embedding: inputs must be int32 or int64, got float32")
  end)
end)
