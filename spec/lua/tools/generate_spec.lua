--- flow.generate gives id for id what a job gives that reads the whole text for each.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local nd, tp = flow.ndarray, flow.typing

local CLASSES, SIZE, PROMPT, N = 30, 16, { 1, 5, 9, 2, 7, 7, 3 }, 24

local function logits(ids, cache)          -- (sequences, n) -> (sequences, classes)
  local wide = flow.random_normal_initializer(0, 1)
  local n, sequences = ids.shape[2], ids.shape[1]
  local x = flow.layers.embedding(ids, CLASSES, SIZE, { name = "e" })
  for i = 1, 2 do
    x = x + flow.layers.multi_head_attention(x, 4, { causal = true, cache = cache, rotary = true,
      kernel_initializer = wide, name = "a" .. i })
  end
  local last = flow.slice(x, { 0, n - 1, 0 }, { sequences, 1, SIZE })
  return flow.layers.dense(flow.reshape(last, { sequences, SIZE }), CLASSES,
    { kernel_initializer = wide, name = "d" })
end

describe("flow.generate", function()
  local cache, step
  before_each(function()
    flow.clear_default_session()
    flow.random.seed(5)
  end)
  after_each(flow.clear_default_session)

  local function make(sequences, returns)
    cache = flow.layers.attention_cache(64, sequences)
    step = flow.global_function { name = "step", returns = returns or tp.Numpy,
      inputs = { { "ids", tp.Numpy.Placeholder({ -1, sequences }, { dtype = flow.int32 }) } },
      body = function(ids) return logits(flow.transpose(ids, { 1, 0 }), cache) end }
  end

  -- The most probable ids, each by reading all before it.
  local function by_hand(prompt, n)
    local whole = flow.global_function { name = "whole", returns = tp.Numpy,
      inputs = { { "ids", tp.Numpy.Placeholder({ -1 }, { dtype = flow.int32 }) } },
      body = function(ids) return logits(flow.reshape(ids, { 1, -1 })) end }
    local ids, drawn = { unpack(prompt) }, {}
    for i = 1, n do
      drawn[i] = whole(nd.array(ids, "int32")):argmax(1):totable()[1]
      ids[#ids + 1] = drawn[i]
    end
    return drawn
  end

  for _, returns in ipairs { tp.Numpy, tp.Callback(tp.Numpy) } do
    it("continues a text by a job that gives " .. tostring(returns), function()
      make(1, returns)
      local got = flow.generate(step, PROMPT, { cache = cache, max = N, temperature = 0 })
      assert.same(by_hand(PROMPT, N), got)
      assert.same({ #PROMPT + N - 1 }, cache:lengths())
    end)
  end

  it("continues several texts of several lengths", function()
    make(3)
    local prompts = { PROMPT, { 4 }, { 8, 8, 1, 29, 0, 6, 5, 4, 3, 2 } }
    local got = flow.generate(step, prompts, { cache = cache, max = N, temperature = 0 })
    for s, prompt in ipairs(prompts) do assert.same(by_hand(prompt, N), got[s]) end
    assert.same({ 7 + N - 1, 1 + N - 1, 10 + N - 1 }, cache:lengths())
  end)

  it("ends at a stop, and goes on behind it", function()
    make(1)
    local all = by_hand(PROMPT, N)
    local stop, at = all[N], nil
    for i, id in ipairs(all) do at = at or id == stop and i end
    local said = {}
    local first = flow.generate(step, PROMPT, { cache = cache, max = N, temperature = 0,
      stop = { 99, stop }, on_token = function(id, s) said[#said + 1] = id * 10 + s end })
    assert.equal(at, #first)
    for i, id in ipairs(first) do assert.equal(id * 10 + 1, said[i]) end
    local text = { unpack(PROMPT) }
    for _, id in ipairs(first) do text[#text + 1] = id end
    text[#text + 1], text[#text + 2] = 11, 12
    local got = flow.generate(step, { 11, 12 }, { cache = cache, max = 5, temperature = 0,
      keep = true })
    assert.same(by_hand(text, 5), got)
  end)

  it("draws the same after the same seed", function()
    make(1)
    local function draw()
      flow.random.seed(8)
      return flow.generate(step, PROMPT, { cache = cache, max = N, temperature = 2, top_k = 9 })
    end
    local first = draw()
    assert.same(first, draw())
    assert.not_same(by_hand(PROMPT, N), first)
  end)

  it("runs in the background until it ends or is cancelled", function()
    make(1)
    local want, ended, said = by_hand(PROMPT, N), nil, 0
    local handle = flow.generate(step, PROMPT, { cache = cache, max = N, temperature = 0,
      on_end = function(ids) ended = ids end })
    assert.is_nil(ended)
    handle:wait()
    assert.same(want, ended)
    handle = flow.generate(step, PROMPT, { cache = cache, max = N, temperature = 0,
      on_token = function() said = said + 1 if said == 4 then handle:cancel() end end,
      on_end = function(ids) ended = ids end })
    handle:wait()
    assert.same({ unpack(want, 1, 4) }, { unpack(ended, 1, 4) })
    assert.is_true(#ended < N)
    assert.same({ #PROMPT + #ended }, cache:lengths())     -- the call under way has read the last
  end)

  it("tells what is wrong", function()
    make(1)
    local function fails(text, prompt, options, job)
      options.cache = options.cache or cache
      helper.fails(function() flow.generate(job or step, prompt, options) end, text)
    end
    fails("prompt must be a list of one or more ids, got an empty table", {}, {})
    fails("prompt[2] must be a whole number of at least 0, got number -1", { 1, -1 }, {})
    fails("prompt must have a list of ids for each of the 1 sequences, got 2",
      { { 1 }, { 2 } }, {})
    fails("cache must be what flow.layers.attention_cache gives, got number 3", { 1 },
      { cache = 3 })
    fails("the prompt's 7 ids and max 100 must fit the cache 'cache' behind its 0 positions of 64, "
      .. "got 106; flow.layers.attention_cache(106) has room", PROMPT, {})
    fails("step must be a network of flow.models.gpt2 or llama, or a job, got number 1", { 1 }, {},
      1)
    fails("index at position 0 must be from 0 to 29, got 30", { 30 }, { max = 2 })
    assert.same({ 0 }, cache:lengths())
    assert.equal(3, #flow.generate(step, { 1 }, { cache = cache, max = 3 }))
    local message
    flow.generate(step, { 1 }, { cache = cache, max = 3, on_token = function() error("no", 0) end,
      on_end = function(_, err) message = err end }):wait()
    assert.equal("no", message)
  end)
end)
