--- flow.generate with networks of flow.models: the same ids as without a cache.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local nd = flow.ndarray

local CASES = "spec/lua/gguf/cases/"
local PROMPT, N = { 1, 5, 9, 260, 7, 7, 3 }, 12

describe("flow.generate of a network", function()
  local net, directory
  before_each(function()
    flow.clear_default_session()
    flow.random.seed(5)
    directory = helper.directory()
  end)
  after_each(function()
    flow.clear_default_session()
    helper.remove(directory)
  end)

  local function open(case) net = flow.models.load(CASES .. (case or "llama") .. ".gguf") end

  -- The logits (classes) of what follows ids, by reading all of them.
  local function following(list)
    local whole = flow.global_function { name = "whole-" .. net.name,
      inputs = { ids = flow.int32 { -1 } },
      body = function(ids) return net(ids:reshape(1, -1)) end }
    local logits = whole(nd.array(list, "int32"))
    return flow.slice(logits, { 0, #list - 1, 0 }, { 1, 1, -1 }):reshape { -1 }
  end

  local function by_hand(prompt, n)
    local ids, drawn = { unpack(prompt) }, {}
    for i = 1, n do
      local logits = following(ids)
      drawn[i] = flow.math.argmax(logits:reshape { 1, -1 }):totable()[1]
      ids[#ids + 1] = drawn[i]
    end
    return drawn
  end

  local function greedy(prompt, options)
    local o = { max = N, temperature = 0 }
    for key, value in pairs(options or {}) do o[key] = value end
    return flow.generate(net, prompt, o)
  end

  for _, case in ipairs { "llama", "llama3", "linear", "yarn", "qwen2", "gpt2" } do
    it("is what " .. case .. " gives without a cache", function()
      open(case)
      assert.same(by_hand(PROMPT, N), greedy(PROMPT))
    end)
  end

  -- The dtypes of the variables whose names match.
  local function dtypes_of(pattern)
    local list = {}
    for name, array in pairs(flow.get_all_variables()) do
      if name:match(pattern) then list[array.dtype] = (list[array.dtype] or 0) + 1 end
    end
    return list
  end

  it("keeps 16 bits of a number where weights have no more", function()
    net = flow.models.llama { vocab_size = 300, hidden_size = 32, intermediate_size = 64,
      num_hidden_layers = 2, num_attention_heads = 4 }
    greedy(PROMPT)
    assert.same({ float32 = 2 }, dtypes_of "%-cache%-.*%-key$")
    flow.clear_default_session()
    net = flow.models.llama { vocab_size = 300, hidden_size = 32, intermediate_size = 64,
      num_hidden_layers = 2, num_attention_heads = 4 }
    net:predict { name = "make", inputs = { flow.int32 { 1, 1 } } }
    flow.quantization.quantize(net, { form = "q8_0" })
    greedy(PROMPT)
    assert.same({ float16 = 2 }, dtypes_of "%-cache%-.*%-value$")
    greedy(PROMPT, { cache = flow.layers.attention_cache(40, { name = "own" }) })
    assert.same({ float32 = 2 }, dtypes_of "^own%-.*%-key$")
  end)

  it("continues several texts of several lengths at once", function()
    open()
    local prompts = { PROMPT, { 4 }, { 8, 8, 1, 29, 0, 6, 5, 4, 3, 2, 300, 17, 4, 4, 5, 6, 7 } }
    local got = greedy(prompts)
    for s, prompt in ipairs(prompts) do assert.same(by_hand(prompt, N), got[s]) end
  end)

  it("goes on where it ended, and behind what is forgotten", function()
    open()
    local all = by_hand(PROMPT, N)
    local cache = flow.layers.attention_cache(40, { name = "talk" })
    assert.same({ unpack(all, 1, 5) }, greedy(PROMPT, { cache = cache, max = 5 }))
    local text = { unpack(PROMPT) }
    for i = 1, 5 do text[#text + 1] = all[i] end
    text[#text + 1] = 11
    assert.same(by_hand(text, 4), greedy({ 11 }, { cache = cache, max = 4, keep = true }))
    cache:rewind(#PROMPT)
    text = { unpack(PROMPT) }
    text[#text + 1] = 12
    assert.same(by_hand(text, 4), greedy({ 12 }, { cache = cache, max = 4, keep = true }))
    assert.is_true(flow.has "generate")
    local own = greedy(PROMPT, { max = 3 })                -- with a cache of its own
    assert.same({ unpack(all, 1, 3) }, own)
    text = { unpack(PROMPT) }
    for i = 1, 3 do text[#text + 1] = all[i] end
    text[#text + 1] = 2
    assert.same(by_hand(text, 3), greedy({ 2 }, { max = 3, keep = true }))
  end)

  it("saves what it has read, and another run goes on there", function()
    open()
    local cache = flow.layers.attention_cache(40, { name = "talk" })
    local first = greedy(PROMPT, { cache = cache, max = 5 })
    local text = { unpack(PROMPT) }
    for _, id in ipairs(first) do text[#text + 1] = id end
    text[#text + 1] = 11
    local want = by_hand(text, 4)
    cache:save(directory .. "/talk")
    flow.clear_default_session()
    open()
    for _, length in ipairs { 30, 40 } do                  -- also into one of another length
      cache = flow.layers.attention_cache(length, { name = "again" .. length })
      cache:load(directory .. "/talk")
      assert.same(want, greedy({ 11 }, { cache = cache, max = 4, keep = true }))
    end
    local other = flow.layers.attention_cache(40, { sequences = 2 })
    helper.fails(function() other:load(directory .. "/talk") end,
      "it must have 2 sequences of at most 40 positions, as the cache 'cache', got 1 of 11")
    helper.fails(function() flow.layers.attention_cache(10):load(directory .. "/talk") end,
      "it must have 1 sequences of at most 10 positions")
    flow.clear_default_session()
    open "qwen2"
    other = flow.layers.attention_cache(40, { name = "talk" })
    other:load(directory .. "/talk")
    assert.equal(4, #greedy({ 11 }, { cache = other, max = 4, keep = true }))   -- of the same sizes
    flow.clear_default_session()
    open "llama3"
    other = flow.layers.attention_cache(40, { name = "talk" })
    other:load(directory .. "/talk")
    helper.fails(function() greedy({ 11 }, { cache = other, max = 4, keep = true }) end,
      "is that another model's? it has ")
  end)

  it("is not loaded from what is damaged or was changed by hand", function()
    local checkpoint = require "jfl.checkpoint.checkpoint"
    open()
    local cache = flow.layers.attention_cache(40, { name = "talk" })
    greedy(PROMPT, { cache = cache, max = 4 })
    local path = directory .. "/hand"
    cache:save(path)
    local lengths, good = cache:lengths(), flow.checkpoint.get(path)
    local note = checkpoint.texts_of(path).cache
    local key = next(good) == "length" and next(good, "length") or next(good)
    local function fails(text, changes, changed_note)
      local arrays = {}
      for name, array in pairs(good) do arrays[name] = array end
      for name, array in pairs(changes) do arrays[name] = array or nil end
      checkpoint.save_arrays(path, arrays, { texts = { cache = changed_note or note },
        overwrite = true })
      local before = cache.unread
      helper.fails(function() cache:load(path) end,
        ("attention_cache:load: %s: %s"):format(path, text))
      assert.same(lengths, cache:lengths())
      assert.equal(before, cache.unread)
    end
    fails("it must be what cache:save wrote", { length = false })
    for _, bad in ipairs { "", "{", "7", "{}", '{"unread":5}' } do
      fails("it must be what cache:save wrote", {}, bad)
    end
    for _, bad in ipairs { "5", "[-1]", "[0.5]", '["a"]' } do
      bad = ('{"unread":[%s]}'):format(bad)
      fails("what sequence 1 has not read must be whole numbers, got", {}, bad)
    end
    fails("length must be int64 (1), got float32 (1)", { length = nd.ones { 1 } })
    fails("length must be int64 (1), got int64 (1, 1)", { length = nd.ones({ 1, 1 }, "int64") })
    fails("no sequence can have -3 positions", { length = nd.full({ 1 }, -3, "int64") })
    fails("it must have 1 sequences of at most 40 positions", {
      length = nd.full({ 1 }, 1e15, "int64") })
    fails(key .. " must have 1 sequences of", { [key] = nd.ones { 2 } })
    fails(key .. " must have 1 sequences of", { [key] = nd.ones { 1, 1, 1, 1 } })
    fails("is that another model's? it has " .. key .. " of int32", {
      [key] = good[key]:astype "int32" })
  end)

  it("gives its memory back", function()
    open()
    local cache = flow.layers.attention_cache(40, { name = "talk" })
    local first = greedy(PROMPT, { cache = cache })
    local function variables() return table.concat(require("jfl.core").variables(), " ") end
    assert.is_truthy(variables():find("talk-", 1, true))
    cache:drop()
    assert.is_nil(variables():find("talk-", 1, true))
    assert.same(first, greedy(PROMPT, { cache = cache }))
  end)

  it("is no part of what the network saves", function()
    open()
    greedy(PROMPT)
    net:save(directory .. "/a")
    for name in pairs(flow.checkpoint.get(directory .. "/a")) do
      assert.is_nil(name:find "cache", name)
    end
    assert.same(greedy(PROMPT), (function()
      net = flow.models.load(directory .. "/a", { name = "again" })
      return greedy(PROMPT)
    end)())
  end)

  it("draws the same for a seed, whatever the other texts are", function()
    open()
    local o = { max = N, temperature = 3, seed = 7 }
    local one = flow.generate(net, PROMPT, o)
    flow.random.seed(99)
    assert.same(one, flow.generate(net, PROMPT, o))
    assert.same(one, flow.generate(net, { PROMPT, { 4, 5 } }, o)[1])
    o.seed = 8
    assert.not_same(one, flow.generate(net, PROMPT, o))
    o.top_k = 1
    assert.same(greedy(PROMPT), flow.generate(net, PROMPT, o))
    o.top_k, o.temperature = nil, 0
    assert.same(greedy(PROMPT), flow.generate(net, PROMPT, o))
  end)

  it("draws each id as often as its probability says", function()
    local choice = require "jfl.nd.choice"
    local logits = flow.math.log(nd.array { { 0.5, 0, 0.2, 0.3 } })
    local function at(share, o) return choice.at_shares(o or { temperature = 1 }, logits,
      { share }):totable()[1] end
    assert.same({ 0, 0, 2, 2, 3, 3 }, { at(0), at(0.49), at(0.51), at(0.69), at(0.71),
      at(1 - 1e-12) })
    assert.equal(3, at(0.7, { temperature = 1, top_k = 2 }))
    assert.equal(0, at(0.6, { temperature = 1, top_k = 2 }))
  end)

  -- The best text of so many ids by looking at all of them.
  local function best_of_all(prompt, n, classes)
    local best = { score = -math.huge }
    local function go(ids, drawn, score)
      if #drawn == n then
        if score > best.score then best = { score = score, ids = drawn } end
        return
      end
      local chances = flow.math.log(flow.nn.softmax(following(ids):reshape { 1, -1 })):totable()[1]
      for id = 0, classes - 1 do
        local more, longer = { unpack(ids) }, { unpack(drawn) }
        more[#more + 1], longer[#longer + 1] = id, id
        go(more, longer, score + chances[id + 1])
      end
    end
    go(prompt, {}, 0)
    return best.ids
  end

  it("finds it without being waited for, and ends where it is cancelled", function()
    open()
    local want = flow.generate(net, { 1, 2, 3 }, { beams = 3, max = 6 })
    local got, message
    local options = { beams = 3, max = 6, on_end = function(...) got, message = ... end }
    local handle = flow.generate(net, { 1, 2, 3 }, options)
    assert.is_false(handle.done)
    handle:wait()
    assert.same(want, got)
    assert.is_nil(message)
    got = nil
    handle = flow.generate(net, { 1, 2, 3 }, options)
    handle:cancel()
    handle:wait()
    assert.is_true(#got < #want)
    assert.same(want, flow.generate(net, { 1, 2, 3 }, { beams = 3, max = 6 }))
  end)

  it("holds nothing of a call that has ended", function()
    open()
    local held = setmetatable({}, { __mode = "k" })
    -- Options that a call holds while it goes on.
    local function options(beams, waits)
      local stop = { 9999 }
      held[stop] = true
      return { beams = beams, max = 4, stop = stop, on_end = not waits and function() end or nil }
    end
    for _, beams in ipairs { false, 3 } do
      for _, waits in ipairs { true, false } do
        local ended = flow.generate(net, { 1, 2, 3 }, options(beams or nil, waits))
        if not waits then ended:wait() end
        ended = nil                                              -- luacheck: ignore
        collectgarbage()
        collectgarbage()
        assert.is_nil(next(held), ("beams %s, waits %s"):format(tostring(beams), tostring(waits)))
      end
    end
  end)

  it("finds the most probable text by beams", function()
    for seed = 1, 3 do
      flow.clear_default_session()
      flow.random.seed(seed)
      net = flow.models.gpt2 { vocab_size = 5, n_positions = 16, n_embd = 16, n_layer = 1,
        n_head = 2 }
      net:predict { name = "make", inputs = { flow.int32 { 1, 2 } } } ({ { 1, 2 } })
      local wide = {}
      for name, array in pairs(net:variables()) do wide[name] = array * 12 end
      net:load(wide)
      assert.same(best_of_all({ 1, 2, 3 }, 3, 5), flow.generate(net, { 1, 2, 3 },
        { beams = 25, max = 3 }))
    end
    local all = flow.generate(net, { { 1, 2, 3 } }, { beams = 2, max = 6 })
    assert.equal(6, #all[1])
    local stop = all[1][3]
    local short = flow.generate(net, { 1, 2, 3 }, { beams = 2, max = 6, stop = stop })
    assert.equal(stop, short[#short])
  end)

  it("runs in the background", function()
    open()
    local want, said, ended = greedy(PROMPT), {}, nil
    local handle = greedy(PROMPT, { on_token = function(id) said[#said + 1] = id end,
      on_end = function(ids) ended = ids end })
    handle:wait()
    assert.same(want, ended)
    assert.same(want, said)
  end)

  it("leaves its cache to the next call when it is cancelled", function()
    open()
    local want, ended, also = greedy(PROMPT), 0, nil
    local cache = flow.layers.attention_cache(40)
    local function behind(on_end) return greedy(PROMPT, { cache = cache, on_end = on_end }) end
    local handle = behind(function() ended = ended + 1 end)
    helper.fails(function() behind(print) end,
      "cache 'cache' serves a call that goes on; its cancel() ends that, or wait()")
    handle:cancel()
    local next_one = behind(function(ids) also = ids end)
    next_one:wait()
    assert.is_true(handle.done)
    assert.same({ 1, want }, { ended, also })
    assert.same(want, greedy(PROMPT, { cache = cache }))
  end)

  it("tells of another network of the same name", function()
    open()
    local cache = flow.layers.attention_cache(40)
    local want = greedy(PROMPT, { cache = cache })
    local other = flow.models.llama({ vocab_size = 322, hidden_size = 8, intermediate_size = 8,
      num_hidden_layers = 1, num_attention_heads = 2 }, { name = "llama" })
    local function goes_on(options)
      return function() flow.generate(other, { 1 }, options) end
    end
    helper.fails(goes_on { cache = cache, keep = true, max = 1 }, "cache 'cache' has what another "
      .. "model 'llama' has read, so that this one cannot go on there")
    helper.fails(goes_on { cache = cache, max = 1 },
      "variable 'llama-embed_tokens-weight' must be float16 (322, 32) as job")
    local more = greedy({ 5 }, { cache = cache, keep = true })
    assert.same(want, greedy(PROMPT, { cache = cache }))
    assert.same(more, greedy({ 5 }, { cache = cache, keep = true }))
  end)

  it("tells what is wrong", function()
    open()
    local function fails(text, prompt, options)
      helper.fails(function() greedy(prompt, options) end, text)
    end
    fails("prompt[3] must be from 0 to 321, the ids that the model knows, got 322", { 1, 2, 322 })
    fails("prompt[2][1] must be from 0 to 321", { { 1, 2 }, { 900 } })
    fails("prompt must have a list of ids for each of the 1 sequences, got string 'abc'", "abc")
    fails("the prompt's 7 ids and max 100 must fit the cache 'llama-cache-1x64' behind its 0 "
      .. "positions of 64, got 106", PROMPT, { max = 100 })
    local cache = flow.layers.attention_cache(100)
    fails("cache 'cache' must have at most the 64 positions that the model knows, got 100", PROMPT,
      { cache = cache })
    cache = flow.layers.attention_cache(20, { name = "small" })
    greedy(PROMPT, { cache = cache })
    fails("behind its 18 positions of 20, got 31", { 1 }, { cache = cache, keep = true })
    fails("beams must be a whole number of at least 2, got number 1", PROMPT, { beams = 1 })
    fails("prompt must be one where there are beams, got 2", { { 1 }, { 2 } }, { beams = 2 })
    fails("keep must be left out where there are beams", PROMPT, { beams = 2, keep = true })
    fails("cache must be of 3 sequences, one for each beam, got 1", PROMPT,
      { beams = 3, cache = cache })
    local first = net
    net = flow.models.load(CASES .. "llama.gguf", { name = "other" })
    fails("cache 'small' has what model 'llama' has read, so that model 'other' cannot go on "
      .. "there; cache:clear() forgets it", { 1 }, { cache = cache, keep = true, max = 1 })
    cache:clear()
    greedy({ 1 }, { cache = cache, max = 1 })
    net = flow.models.resnet()
    fails("step must be a network of flow.models.gpt2 or llama, or a job, got model", { 1 })
    net = first
    assert.equal(N, #greedy(PROMPT))
  end)
end)
