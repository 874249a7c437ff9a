local flow = require "jfl"
local helper = require "spec.lua.helper"
local layers = require "jfl.tools.plot_layers"
local plotgraph = require "jfl.tools.plot_graph"
local tp = flow.typing

local function job_of(body)
  flow.clear_default_session()
  return flow.global_function { name = "job", body = body, returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ 2, 3 }) } } }
end

local function saved(job)
  return helper.written(function(path) flow.plot_graph(job, { svg = path }) end)
end

describe("plot_graph", function()
  it("prints each node with what it reads", function()
    local out = plotgraph.text(job_of(function(x)
      return flow.layers.dense(x, 4, { name = "out" })
    end))
    assert.truthy(out:find("x +input +float32 %(2, 3%)\n"), out)
    assert.truthy(out:find("out%-weight +variable +float32 %(4, 3%)\n"), out)
    assert.truthy(out:find("float32 %(2, 4%) +<%- x, out%-weight"), out)
  end)

  it("writes that where it is asked for no file", function()
    local out = helper.script([[
      local flow = require "jfl"
      local job = flow.global_function { name = "job", inputs = { flow.float32 { 2, 3 } },
        body = function(x) return flow.nn.relu(flow.math.exp(x)) end }
      io.write(require("jfl.tools.plot_graph").text(job), "|")
      flow.plot_graph(job)
      io.write "|"
      flow.plot_graph(job, "optimized")
    ]])
    local text, traced, optimized = out:match "^(.-)|(.-)|(.*)$"
    assert.truthy(text:find("exp", 1, true), out)
    assert.equal(text, traced)
    assert.truthy(optimized:find("fused", 1, true), out)
  end)

  it("draws a box for each node and a line for each value read", function()
    local out = saved(job_of(function(x) return flow.math.exp(flow.matmul(x, x,
      { transpose_b = true })) end))
    assert.equal(3, select(2, out:gsub("<rect x=", "")))
    assert.equal(2, select(2, out:gsub("<path d=\"M[^\"]*C", "")))
    assert.equal(1, select(2, out:gsub('stroke%-width="2.5"', "")))
    assert.truthy(out:find(">matmul</text>", 1, true))
    assert.truthy(out:find(">x (2, 3)</text>", 1, true))
  end)

  it("draws training too, with what updates", function()
    flow.clear_default_session()
    local job = flow.global_function { name = "train", type = "train", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder({ 2, 3 }) } },
      body = function(x)
        local loss = flow.layers.dense(x, 1, { name = "out" })
        flow.optimizer.SGD(0.1):minimize(loss)
        return loss
      end }
    assert.truthy(saved(job):find("out-weight", 1, true))
  end)

  it("shows the graph as it is traced, or as it runs", function()
    local job = job_of(function(x)
      return flow.layers.dense(x, 4, { name = "out" })
    end)
    assert.truthy(plotgraph.text(job):find("bias_add", 1, true))
    assert.falsy(plotgraph.text(job, "optimized"):find("bias_add", 1, true))
  end)

  it("refuses what is no job", function()
    helper.fails(function() flow.plot_graph("train") end,
      "plot_graph: job must be a job, got string 'train'")
    local job = job_of(function(x) return x end)
    helper.fails(function() flow.plot_graph(job, "fast") end, "which must be")
  end)
end)

describe("layers", function()
  -- A chain of ten, each of which also reads the first and one of three steps before.
  local function nodes_of()
    local list = {}
    for i = 1, 10 do
      list[i] = { from = {}, width = 20 + 13 * i % 50 }
      for _, step in ipairs { 1, 3, i - 1 } do
        if i > step and step > 0 then table.insert(list[i].from, list[i - step]) end
      end
    end
    return list
  end

  it("puts every node below what it reads", function()
    local list, at = nodes_of(), {}
    for i, row in ipairs((layers.place(list, 10))) do
      for _, item in ipairs(row) do at[item] = i end
    end
    for _, node in ipairs(list) do
      for _, from in ipairs(node.from) do assert.truthy(at[from] < at[node]) end
    end
  end)

  it("keeps what stands in a row apart", function()
    for _, row in ipairs((layers.place(nodes_of(), 10))) do
      for i = 2, #row do
        local a, b = row[i - 1], row[i]
        assert.truthy(b.x - a.x >= ((a.width or 0) + (b.width or 0)) / 2)
      end
    end
  end)

  it("draws a chain as a straight line, with what it reads beside it", function()
    local list, chain = {}, {}
    for i = 1, 12, 2 do
      list[i] = { from = {}, width = 60 }
      list[i + 1] = { from = { list[i], list[i - 1] }, width = 100 }
      chain[#chain + 1] = list[i + 1]
    end
    layers.place(list, 10)
    for i = 2, #chain do assert.truthy(math.abs(chain[i].x - chain[i - 1].x) < 1) end
  end)

  it("leads an edge through a point in each row that it passes", function()
    local _, edges = layers.place(nodes_of(), 10)
    local longest = 0
    for _, points in ipairs(edges) do longest = math.max(longest, #points) end
    assert.equal(10, longest)
  end)
end)
