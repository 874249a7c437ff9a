--- Extents that vary up to a bound, { max = 512 }.
local core = require "jfl.core"
local flow = require "jfl"
local helper = require "spec.lua.helper"
local nd, tp = flow.ndarray, flow.typing

local WORDS, UNITS, MOST = 11, 8, 12
local LENGTH = { max = MOST, name = "length" }

--- A network for texts in which many ops read the length: masks, places, attention, norms, sums.
local function network(ids)
  local batch, length = ids.shape[1], ids.shape[2]
  local there = flow.reshape(flow.math.not_equal(ids, 0), { batch, 1, 1, length })
  local places = flow.get_variable("places", { shape = { 1, MOST, UNITS },
    initializer = flow.random_normal_initializer(0, 1) })
  local x = flow.layers.embedding(ids, WORDS, UNITS, { name = "words" })
  x = x + flow.slice(places, { 0, 0, 0 }, { 1, length, UNITS })
  x = x + flow.layers.multi_head_attention(x, 2, { causal = true, mask = there, rotary = true,
    name = "heads" })
  x = flow.layers.layer_norm(x, { begin_norm_axis = -1, name = "norm" })
  x = x + flow.layers.gru(x, UNITS, { name = "gru" })
  x = x + flow.cumsum(x, 1) / length
  x = x * flow.nn.softmax(flow.transpose(flow.math.reduce_max(x, 2), { 0, 1 })):reshape {
    batch, length, 1 }
  local before = flow.pad(x, { { 0, 0 }, { 1, 0 }, { 0, 0 } })
  x = flow.concat({ x, flow.slice(before, { 0, 0, 0 }, { batch, length, UNITS }) }, 2)
  return flow.layers.dense(x, WORDS, { name = "next" })
end

--- The loss of the network, which leaves padding out.
local function loss_of(ids, nexts)
  local losses = flow.nn.cross_entropy(network(ids), nexts, { ignore_index = 0 })
  return flow.math.reduce_mean(losses)
end

--- A train job of that loss with these types of its inputs.
local function train_job(name, ids, nexts)
  return flow.global_function { name = name, type = "train", returns = tp.Numpy,
    inputs = { { "ids", ids }, { "nexts", nexts } },
    body = function(x, y)
      local loss = loss_of(x, y)
      flow.optimizer.Adam(0.01):minimize(loss)
      return loss
    end }
end

local function words(batch, length)
  return core.cast(nd.rand({ batch, length }) * (WORDS - 1) + 1, "int32")
end

--- Calls f in a session of its own; with equal seeds all numbers are drawn alike.
local function afresh(f)
  flow.clear_default_session()
  flow.random.seed(7)
  local results = { f() }
  flow.clear_default_session()
  return unpack(results)
end

describe("extents up to a bound", function()
  before_each(flow.clear_default_session)
  after_each(flow.clear_default_session)

  for _, device in ipairs { "cpu", "sim" } do
    it("give on " .. device .. " what jobs of just these sizes give", function()
      local sizes = { { 2, 5 }, { 1, 1 }, { 2, MOST }, { 3, 5 }, { 2, 7 }, { 2, 5 } }
      local function run(types)
        core.set("device", device)
        local losses = {}
        for i, size in ipairs(sizes) do
          local train = train_job(types(i, unpack(size)))
          losses[i] = tostring(train(words(unpack(size)), words(unpack(size))))
        end
        local predict = flow.global_function { name = "predict", returns = tp.Numpy,
          inputs = { { "ids", (select(2, types(0, 2, 9))) } }, body = network }
        losses[#losses + 1] = tostring(predict(words(2, 9)))
        return losses
      end
      local varying = afresh(function()
        return run(function()
          return "train", flow.int32 { -1, LENGTH }, flow.int32 { -1, LENGTH }
        end)
      end)
      local exact = afresh(function()
        return run(function(_, batch, length)
          return "train", flow.int32 { batch, length }, flow.int32 { batch, length }
        end)
      end)
      assert.same(exact, varying)
    end)
  end

  it("are what a body sees as shape, at any axis", function()
    local seen = {}
    local job = flow.global_function { name = "sums",
      inputs = { x = flow.float32 { { max = 3 }, 2, { max = 4 } },
        y = flow.float32 { { max = 9 } } },
      body = function(x, y)
        seen[#seen + 1] = { x.shape[1], x.shape[3], y.shape[1] }
        return flow.math.reduce_sum(x) + flow.math.reduce_sum(y)
      end }
    assert.equal(7, job(nd.ones { 1, 2, 3 }, nd.ones { 1 }):item())
    assert.equal(28, job(nd.ones { 3, 2, 4 }, { 1, 1, 1, 1 }):item())
    assert.equal(7, job({ { { 1, 1, 1 }, { 1, 1, 1 } } }, { 1 }):item())
    assert.equal(7, (job { x = { { { 1, 1, 1 }, { 1, 1, 1 } } }, y = { 1 } }):item())
    assert.same({ { 1, 3, 1 }, { 3, 4, 4 } }, seen)
  end)

  it("are told where they are wrong", function()
    local job = flow.global_function { name = "j",
      inputs = { x = flow.float32 { -1, { max = 5 } } },
      body = function(x) return x end }
    local function fails(x, text) helper.fails(function() job(x) end, "j: x" .. text) end
    fails(nd.ones { 2, 6 }, ": dimension 2 must be 1 to 5 long, got 6")
    fails({ { 1, 2, 3, 4, 5, 6 } }, ": dimension 2 must be 1 to 5 long, got 6")
    fails(nd.ones { 2, 0 }, ": dimension 2 must be 1 to 5 long, got 0")
    fails(nd.ones { 2 }, " must be of shape (-1, up to 5), got (2)")
    fails({ 1, 2 }, " must be of shape (-1, up to 5), got a list of 2 numbers; a batch of one")
    fails({ { 1, 2 }, { 1 } }, "[2] must have 2 elements like those before it, got 1")
    helper.fails(function() job:compile(2):compile(0) end, "batch_size")
    assert.same({ 2, 5 }, job(nd.ones { 2, 5 }).shape)
    assert.equal("Numpy.Placeholder((-1, up to 5), int8)", tostring(flow.int8 { -1, { max = 5 } }))
  end)

  it("are told where they are stated wrong", function()
    local function fails(shape, text)
      helper.fails(function() flow.float32(shape) end, "dimension 2" .. text)
    end
    fails({ 1, { max = 0 } }, ": max must be a whole number of at least 1, got number 0")
    fails({ 1, { max = 1.5 } }, ": max must be a whole number of at least 1, got number 1.5")
    fails({ 1, { max = -1 } }, ": max must be a whole number")
    fails({ 1, {} }, ": max must be a whole number of at least 1, got nil")
    fails({ 1, { max = "5" } }, ": max must be a whole number")
    fails({ 1, { maxi = 5 } }, ": a bound such as { max = 512 } has max and name, got string 'maxi'"
      .. "; did you mean max?")
    fails({ 1, { max = 5, name = 3 } }, ": name")
    fails({ 1, -1 }, " must be a whole number of at least 0, got number -1; one behind the first "
      .. "varies up to a bound: { max = 512 }")
    helper.fails(function() tp.ListNumpy.Placeholder { 2, { max = 3 } } end,
      "dimension 2 must be a number, got a bound; the extents of ListNumpy are bounds themselves")
  end)

  it("of one name are alike in each call, and of one bound", function()
    local job = flow.global_function { name = "two",
      inputs = { ids = flow.float32 { -1, LENGTH }, mask = flow.float32 { -1, LENGTH } },
      body = function(ids, mask) return ids * mask end }
    assert.same({ { 0, 2 } }, job({ { 1, 2 } }, { { 0, 1 } }):totable())
    helper.fails(function() job({ { 1, 2 } }, { { 1, 2, 3 } }) end,
      "two: 'length' must be the same in all inputs, got 2 in ids and 3 in mask")
    helper.fails(function()
      flow.global_function { name = "two", body = function(ids) return ids end,
        inputs = { { "ids", flow.float32 { -1, LENGTH } }, { "mask", flow.float32 { -1,
          { max = 5, name = "length" } } } } }
    end, "inputs: 'length' must be of one bound in all inputs, got 12 in 'ids' and 5 in 'mask'")
  end)

  it("are at their bounds where a job is compiled without a call", function()
    local job = flow.global_function { name = "j",
      inputs = { x = flow.float32 { -1, { max = 5 } } },
      body = function(x) return flow.layers.dense(x:reshape { -1, 1 }, 2, { name = "d" }) end }
    assert.truthy(job:compile(3):graph():find("input x: float32 (3, 5)", 1, true))
    assert.same({ 4, 2 }, job(nd.ones { 2, 2 }).shape)
    flow.train.CheckPoint():init()
    local bounded = flow.global_function { name = "k", body = function(x) return x end,
      inputs = { x = flow.float32 { { max = 4 } } } }
    helper.fails(function() bounded:compile(5) end, "k: x: dimension 1 must be 1 to 4 long, got 5")
  end)

  it("stay where a job is defined anew", function()
    local function define(most, factor)
      return flow.global_function { name = "j",
        inputs = { x = flow.float32 { -1, { max = most } } },
        body = function(x)
          if x.shape[2] > 6 then error("too long") end
          return x * factor
        end }
    end
    local job = define(6, 1)
    job(nd.ones { 1, 6 })
    define(5, 2)
    assert.same({ { 2, 2 } }, job(nd.ones { 1, 2 }):totable())
    helper.fails(function() job(nd.ones { 1, 6 }) end, "must be 1 to 5 long, got 6")
  end)

  it("serve the jobs of a model", function()
    local net = flow.model("reader", function(ids) return network(ids) end)
    local train = net:train { inputs = { ids = flow.int32 { -1, LENGTH },
      nexts = flow.int32 { -1, LENGTH } }, optimizer = flow.optimizer.Adam(0.01),
      loss = function(logits, nexts) return flow.nn.cross_entropy(logits, nexts) end }
    local predict = net:predict { inputs = { flow.int32 { -1, LENGTH } } }
    for length = 1, 4 do
      train(words(2, length), words(2, length))
      assert.same({ 1, length, WORDS }, predict(words(1, length)).shape)
    end
  end)

  it("may have their plans made among the runs", function()
    flow.config.when_new "queue"
    local job = flow.global_function { name = "sums", returns = tp.Callback(tp.Numpy),
      inputs = { { "x", flow.float32 { -1, { max = 20 } } } },
      body = function(x) return flow.math.reduce_sum(x, 1) end }
    local got, want = {}, {}
    for i = 1, 40 do
      want[i] = i % 20 + 1
      job(nd.ones { 1, want[i] })(function(y) got[i] = y:item() end)
    end
    flow.sync()
    assert.same(want, got)
  end)

  it("keep memory flat over a thousand calls of random lengths", function()
    local train = train_job("train", flow.int32 { -1, LENGTH }, flow.int32 { -1, LENGTH })
    local x = {}
    for length = 1, MOST do x[length] = words(2, length) end
    flow.config.max_plans(3)
    local function resident()
      collectgarbage()
      for line in io.lines "/proc/self/status" do
        local kb = line:match "^VmRSS:%s*(%d+)"
        if kb then return tonumber(kb) end
      end
    end
    if not io.open "/proc/self/status" then return pending "there is no /proc" end
    local state, before = 5, nil
    for call = 1, 1000 do
      state = (state * 16807) % 2147483647
      local length = state % MOST + 1
      train(x[length], x[length])
      if call == 300 then before = resident() end
    end
    assert.is_true(resident() < before + 8192)
  end)
end)
