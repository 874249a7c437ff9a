--- Attention with a cache: jobs that get new positions alone give what a job gives that gets all.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local nd, tp = flow.ndarray, flow.typing

local SEQUENCES, LENGTH, SIZE = 2, 11, 8

local function network(x, cache, rotary)
  for i = 1, 2 do
    x = x + flow.layers.multi_head_attention(x, 4, { causal = true, cache = cache, rotary = rotary,
      num_kv_heads = i, name = "heads" .. i })
  end
  return x
end

local function job(name, shape, body)
  return flow.global_function { name = name, returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder(shape) } }, body = body }
end

local function largest(x) return flow.math.reduce_max(flow.math.abs(x)):item() end

describe("an attention cache", function()
  local cache, x
  before_each(function()
    flow.clear_default_session()
    flow.random.seed(5)
    cache, x = flow.layers.attention_cache(16, SEQUENCES), nd.rand { SEQUENCES, LENGTH, SIZE }
  end)
  after_each(flow.clear_default_session)

  local function stepper(rotary)
    return job("step", { -1, SEQUENCES, SIZE }, function(some)
      return network(flow.transpose(some, { 1, 0, 2 }), cache, rotary)
    end)
  end

  local function some_of(from, n)
    return flow.slice(flow.transpose(x, { 1, 0, 2 }), { from, 0, 0 }, { n, SEQUENCES, SIZE })
  end

  for _, rotary in ipairs { false, true } do
    it("serves as if all were given at once" .. (rotary and ", rotary" or ""), function()
      local whole = job("whole", { SEQUENCES, LENGTH, SIZE }, function(all)
        return network(all, nil, rotary)
      end)
      local step, at, want = stepper(rotary), 0, whole(x)
      for _, n in ipairs { 4, 1, 1, 3, 2 } do
        assert.same({ at, at }, cache:lengths())
        local part = flow.slice(want, { 0, at, 0 }, { SEQUENCES, n, SIZE })
        assert.is_true(largest(step(some_of(at, n)) - part) < 1e-5)
        at = at + n
      end
      cache:rewind { 9, 9 }
      local last = flow.slice(want, { 0, 9, 0 }, { SEQUENCES, 2, SIZE })
      assert.is_true(largest(step(some_of(9, 2)) - last) < 1e-5)
      cache:clear()
      local first = flow.slice(want, { 0, 0, 0 }, { SEQUENCES, 3, SIZE })
      assert.is_true(largest(step(some_of(0, 3)) - first) < 1e-5)
    end)
  end

  for dtype, most in pairs { float16 = 1e-3, bfloat16 = 1e-2 } do
    it("keeps numbers as " .. dtype, function()
      cache = flow.layers.attention_cache(16, SEQUENCES, { dtype = dtype })
      local want = job("whole", { SEQUENCES, LENGTH, SIZE }, function(all)
        return network(all, nil, true)
      end)(x)
      local step, at = stepper(true), 0
      for _, n in ipairs { 5, 1, 3, 2 } do
        local part = flow.slice(want, { 0, at, 0 }, { SEQUENCES, n, SIZE })
        local off = largest(step(some_of(at, n)) - part)
        assert.is_true(off < most, off)
        assert.equal(at == 0, off < 1e-6)                    -- new ones are not rounded yet
        at = at + n
      end
      assert.is_nil(step:plan():match "%scast%s[^\n]*%[variable%]")    -- it is read as it lies
      cache:reorder { 2, 1 }
      for name, array in pairs(flow.get_all_variables()) do
        if name:match "^cache%-heads" then assert.equal(dtype, array.dtype) end
      end
    end)
  end

  it("says what it can keep numbers as", function()
    helper.fails(function() flow.layers.attention_cache(16, { dtype = "int8" }) end,
      'layers.attention_cache: dtype must be "float16" or "bfloat16", got string \'int8\'')
  end)

  it("has lengths of its own for each sequence", function()
    local step = stepper(true)
    step(some_of(0, 6))
    cache:rewind { 6, 2 }
    step(some_of(2, 1))
    assert.same({ 7, 3 }, cache:lengths())
    local late = stepper(true)(some_of(3, 1))
    cache:clear()
    step(some_of(0, 3))
    local early = step(some_of(3, 1))
    assert.is_true(largest(flow.slice(early - late, { 1, 0, 0 }, { 1, 1, SIZE })) < 1e-5)
    assert.is_true(largest(flow.slice(early - late, { 0, 0, 0 }, { 1, 1, SIZE })) > 1e-3)
  end)

  it("gives the numbers of new positions", function()
    local step = flow.global_function { name = "count", returns = tp.Numpy, inputs = {},
      body = function() return cache:positions(3) end }
    assert.same({ { 0, 1, 2 }, { 0, 1, 2 } }, step():totable())
    assert.same({ { 3, 4, 5 }, { 3, 4, 5 } }, step():totable())
  end)

  it("that is full is an error, which changes nothing", function()
    local step = stepper(false)
    for at = 0, 9, 3 do step(some_of(at % 6, 3)) end
    step(some_of(0, 3))
    assert.same({ 15, 15 }, cache:lengths())
    local before = flow.get_all_variables()
    helper.fails(function() step(some_of(0, 2)) end,
      "length at position 0 must be from 0 to 14, got 15")
    for name, value in pairs(flow.get_all_variables()) do
      assert.same(before[name]:totable(), value:totable(), name)
    end
    step(some_of(0, 1))
    assert.same({ 16, 16 }, cache:lengths())
  end)

  it("is saved and loaded as other variables are", function()
    local step, folder = stepper(true), os.tmpname()
    os.remove(folder)
    step(some_of(0, 5))
    flow.checkpoint.save(folder)
    local want = step(some_of(5, 1)):totable()
    cache:clear()
    flow.checkpoint.load(folder)
    assert.same({ 5, 5 }, cache:lengths())
    assert.same(want, step(some_of(5, 1)):totable())
    helper.remove(folder)
  end)

  describe("that was saved", function()
    local folder
    before_each(function()
      folder = os.tmpname()
      os.remove(folder)
    end)
    after_each(function() helper.remove(folder) end)

    -- What five positions give behind the first four, each alone.
    local function rest(step)
      local list = {}
      for i = 4, 8 do list[#list + 1] = step(some_of(i, 1)):totable() end
      return list
    end

    -- The cache of a new session, which has read what was saved.
    local function loaded(options)
      flow.clear_default_session()
      flow.random.seed(5)
      options.sequences = SEQUENCES
      local again = flow.layers.attention_cache(16, options)
      again:load(folder)
      cache = again
    end

    for _, dtype in ipairs { "float32", "float16", "bfloat16" } do
      it("goes on where it was, also where no job is there yet, " .. dtype, function()
        local options = { sequences = SEQUENCES, dtype = dtype ~= "float32" and dtype or nil }
        cache = flow.layers.attention_cache(16, options)
        local step = stepper(true)
        step(some_of(0, 6))
        cache:save(folder)
        cache:rewind(4)
        local want = rest(step)
        loaded(options)
        assert.same({ 6, 6 }, cache:lengths())
        cache:rewind { 4, 4 }
        assert.same({ 4, 4 }, cache:lengths())
        assert.same(want, rest(stepper(true)))
        assert.same({ 9, 9 }, cache:lengths())
        loaded(options)
        cache:reorder { 2, 1 }
        cache:rewind(5)
        cache:save(folder, { overwrite = true })
        loaded(options)
        cache:reorder { 2, 1 }
        cache:rewind(4)
        assert.same(want, rest(stepper(true)))
      end)
    end

    it("fails each call of a job that it does not fit, until it is cleared", function()
      stepper(true)(some_of(0, 4))
      cache:save(folder)
      loaded { dtype = "float16" }
      local step = stepper(true)
      for _ = 1, 2 do
        helper.fails(function() step(some_of(4, 1)) end, "is that another model's? it has ")
      end
      assert.same({ 4, 4 }, cache:lengths())
      cache:clear()
      step(some_of(0, 1))
      assert.same({ 1, 1 }, cache:lengths())
    end)

    it("is no part of one that another network has, whichever has more layers", function()
      job("one", { 1, SEQUENCES, SIZE }, function(some)
        return flow.layers.multi_head_attention(flow.transpose(some, { 1, 0, 2 }), 4,
          { causal = true, cache = cache, name = "heads1", num_kv_heads = 1 })
      end)(some_of(0, 1))
      cache:save(folder)
      loaded {}
      helper.fails(function() stepper(true)(some_of(4, 1)) end,
        "is that another model's? it has no heads2-")
    end)

    it("is what it was where another is not loaded over it", function()
      local step = stepper(true)
      step(some_of(0, 4))
      cache:save(folder)
      local other = os.tmpname()
      os.remove(other)
      nd.save(other, { length = nd.ones { 2 } })
      local want = rest(step)
      loaded {}
      assert.is_false(pcall(cache.load, cache, other))
      assert.same(want, rest(stepper(true)))
      helper.remove(other)
    end)
  end)

  it("has no part of one whose name begins with its own", function()
    local other = flow.layers.attention_cache(8, { name = "cache-b" })
    job("other", { 1, 1, SIZE }, function(some) return network(some, other) end)(nd.ones {
      1, 1, SIZE })
    stepper()(some_of(0, 3))
    cache:reorder { 2, 1 }
    local folder = os.tmpname()
    os.remove(folder)
    cache:save(folder)
    for name in pairs(flow.checkpoint.get(folder)) do assert.is_nil(name:match "^b%-", name) end
    cache:drop()
    assert.same({ 1 }, other:lengths())
    assert.same({ 0, 0 }, cache:lengths())
    helper.remove(folder)
  end)

  it("is put in another order before there are jobs, and after it was dropped", function()
    cache:reorder { 2, 1 }
    local step = stepper(true)
    step(some_of(0, 3))
    cache:reorder { 2, 1 }
    cache:drop()
    cache = flow.layers.attention_cache(16, { sequences = SEQUENCES, dtype = "float16" })
    local again = job("again", { 1, SEQUENCES, SIZE }, function(some)
      return network(flow.transpose(some, { 1, 0, 2 }), cache, true)
    end)
    again(some_of(0, 1))
    local want = again(some_of(1, 1)):totable()
    cache:clear()
    again(some_of(0, 1))
    cache:reorder { 2, 1 }
    cache:reorder { 2, 1 }
    assert.same(want, again(some_of(1, 1)):totable())
    cache:clear()
    again(some_of(0, 1))
    cache:reorder { 2, 1 }
    assert.not_same(want, again(some_of(1, 1)):totable())
    for _, bad in ipairs { { 1 }, { 0, 1 }, { 3, 1 }, { 0 / 0, 1 }, { 1.5, 1 } } do
      assert.is_false(pcall(cache.reorder, cache, bad))
    end
  end)

  it("is refused where it makes no sense", function()
    local function layer(options, shape)
      options.name = "a"
      return function()
        job("bad", shape or { SEQUENCES, 3, SIZE }, function(all)
          if options.mask == true then options.mask = all end
          return flow.layers.multi_head_attention(all, 2, options)
        end):compile()
      end
    end
    helper.fails(layer { causal = true, cache = 3 },
      "cache must be what flow.layers.attention_cache gives")
    helper.fails(layer { cache = cache }, "causal must be true where there is a cache")
    helper.fails(layer { causal = true, cache = cache, mask = true },
      "mask must be left out where there is a cache")
    helper.fails(layer({ causal = true, cache = cache }, { 3, 3, SIZE }),
      "inputs must be of 2 sequences, as the cache 'cache' is, got 3")
    helper.fails(layer({ causal = true, cache = cache }, { SEQUENCES, 17, SIZE }),
      "inputs must have at most as many positions as the cache 'cache', 16, got 17")
    helper.fails(function() cache:rewind(1) end, "must be at most its length 0, got 1")
    local train = flow.global_function { name = "train", type = "train", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder { SEQUENCES, 3, SIZE } } },
      body = function(all)
        local loss = network(all, cache)
        flow.optimizer.SGD(0.1):minimize(loss)
        return loss
      end }
    helper.fails(function() train:compile() end, "cache must be left out in a train job")
  end)
end)
