--- The pictures that the tools draw, whole: where each line, box and text is.
local flow = require "jfl"
local golden = require "spec.golden"
local helper = require "spec.lua.helper"
local nd = flow.ndarray
local tp = flow.typing

--- Compares what draw(options) writes to a file with the picture that is kept. How small zlib packs
-- a picture in it is left open.
local function looks(name, draw, options)
  options = options or {}
  local out = helper.written(function(path)
    options.svg = path
    draw(options)
  end)
  golden.check("picture_" .. name, (out:gsub("base64,[%w+/=]+", "base64,")))
end

local function train_job()
  flow.clear_default_session()
  return flow.global_function { name = "train", type = "train", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder { 2, 1, 4, 4 } },
      { "labels", tp.Numpy.Placeholder({ 2 }, { dtype = flow.int32 }) } },
    body = function(x, labels)
      local y = flow.layers.conv2d(x, 2, 3, { name = "conv", activation = flow.nn.relu })
      y = flow.layers.dense(flow.reshape(y, { 2, -1 }), 3, { name = "out" })
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, y)
      flow.optimizer.SGD(0.1):minimize(loss)
      return loss
    end }
end

describe("a picture stays as it was:", function()
  it("curves", function()
    local curves = { loss = { 3, 2, 1, 1.5 }, accuracy = { 1, 0 / 0, 2.5, 3 }, dot = { 2 } }
    looks("curves", function(o) flow.plot(curves, o) end,
      { title = "a < b", xlabel = "steps", ylabel = "value" })
    local many = {}
    for i = 1, 40 do many[i] = { i, i + 1 } end
    looks("curves_many", function(o) flow.plot(many, o) end)
    looks("curve", function(o) flow.plot({ 10, 1000, 20 }, o) end, { x = { -1, 0, 2 } })
  end)

  it("a matrix", function()
    local cells = { { 0, 10, 0.5 }, { 5, 0 / 0, 2 } }
    looks("matrix", function(o) flow.plot_matrix(cells, o) end, { rows = { "a", "bb" },
      columns = { "x", "y", "a long name" }, title = "t", xlabel = "is", ylabel = "was" })
    looks("matrix_plain", function(o) flow.plot_matrix({ { 1, 2 }, { 3, 4 } }, o) end)
  end)

  it("pictures side by side", function()
    local images = nd.array { { { 0, 0.25 }, { 0.5, 1 } }, { { 1, 1 }, { 0, 0 } },
      { { 1, 0 }, { 0, 1 } } }
    looks("images", function(o) flow.plot_images(images, o) end,
      { labels = { "a<b", "b", "c" }, columns = 2, title = "t" })
  end)

  it("a graph", function()
    looks("graph", function(o) flow.plot_graph(train_job(), o) end)
  end)
end)
