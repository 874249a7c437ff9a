-- What loops and batches give, for many numbers of samples, sizes of batches and seeds: each sample
-- once an epoch, at any place, in batches that divide the samples or do not, and on from any step.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local loop = require "jfl.data.loop"

local nd = flow.ndarray

-- The steps of a loop over the samples 1 to n: { epoch, number, { samples } } each.
local function take(source, most)
  local steps = {}
  while #steps < (most or math.huge) do
    local epoch, i, x = source()
    if not epoch then break end
    steps[#steps + 1] = { epoch, i, helper.list(x) }
  end
  return steps
end

local function samples(n) return nd.arange(1, n + 1, 1, "int32") end

-- The samples of each epoch, in their order.
local function by_epoch(steps)
  local epochs = {}
  for _, step in ipairs(steps) do
    epochs[step[1]] = epochs[step[1]] or {}
    for _, value in ipairs(step[3]) do table.insert(epochs[step[1]], value) end
  end
  return epochs
end

local function each_once(list, n)
  local seen = {}
  for _, value in ipairs(list) do
    assert(value >= 1 and value <= n and not seen[value])
    seen[value] = true
  end
end

describe("a shuffled order", function()
  before_each(flow.clear_default_session)
  after_each(flow.clear_default_session)

  it("brings every sample to every place", function()
    for n = 2, 9 do
      local at, epochs = {}, 40 * n
      local o = { shuffle = true, epochs = epochs, seed = n, batch_size = n }
      for _, step in ipairs(take(flow.data.batches(samples(n), o))) do
        each_once(step[3], n)
        assert.equal(n, #step[3])
        for place, value in ipairs(step[3]) do
          local key = (place - 1) * n + value
          at[key] = (at[key] or 0) + 1
        end
      end
      for key = 1, n * n do          -- 40 are to be expected, give or take 6
        assert(at[key] and at[key] > 12 and at[key] < 80, ("%d samples: %d is %s times at %d")
          :format(n, (key - 1) % n + 1, tostring(at[key]), math.ceil(key / n)))
      end
    end
  end)

  it("is any of all orders, one as often as another", function()
    local count, different = {}, 0
    for seed = 1, 1200 do
      local order = table.concat(loop.order({ items = 4, name = "train" }, 1, seed))
      if not count[order] then different = different + 1 end
      count[order] = (count[order] or 0) + 1
    end
    assert.equal(24, different)
    for order, times in pairs(count) do          -- 50, give or take 7
      assert(times > 15 and times < 100, ("%s: %d times"):format(order, times))
    end
  end)

  it("differs from epoch to epoch and from seed to seed", function()
    local seen, n = {}, 0
    for _, seed in ipairs { 0, 1, 2 ^ 31, 2 ^ 32, 2 ^ 32 + 1, 2 ^ 47 - 1 } do
      for epoch = 1, 20 do
        local order = loop.order({ items = 30, name = "train" }, epoch, seed)
        each_once(order, 30)
        order = table.concat(order, " ")
        assert.is_nil(seen[order])
        seen[order], n = true, n + 1
      end
    end
    assert.equal(120, n)
  end)
end)

describe("batches", function()
  before_each(flow.clear_default_session)
  after_each(flow.clear_default_session)

  -- Calls f(n, options) for numbers of samples, sizes of batches, with and without the rest.
  local function each_shape(f)
    for _, n in ipairs { 1, 2, 3, 4, 6, 7 } do
      for size = 1, n + 1 do
        for _, drop_last in ipairs { false, true } do
          if size <= n or not drop_last then
            for _, shuffle in ipairs { false, true } do
              flow.clear_default_session()
              f(n, { batch_size = size, drop_last = drop_last, shuffle = shuffle, epochs = 3,
                seed = 5 })
            end
          end
        end
      end
    end
  end

  local function count_of(n, o)
    return o.drop_last and math.floor(n / o.batch_size) or math.ceil(n / o.batch_size)
  end

  it("have the samples of an epoch once, all but the last batch full", function()
    each_shape(function(n, o)
      local source, count = flow.data.batches(samples(n), o), count_of(n, o)
      assert.equal(3 * count, source.n)
      local steps = take(source)
      assert.equal(3 * count, #steps)
      for k, step in ipairs(steps) do
        local i = (k - 1) % count + 1
        assert.same({ math.ceil(k / count), i }, { step[1], step[2] })
        local left = n - (i - 1) * o.batch_size
        assert.equal(math.min(o.batch_size, left), #step[3])
      end
      for epoch, list in ipairs(by_epoch(steps)) do
        each_once(list, n)
        assert.equal(o.drop_last and count * o.batch_size or n, #list)
        if o.shuffle then
          local order = loop.order({ items = n, name = "train" }, epoch, 5)
          assert.same({ unpack(order, 1, #list) }, list)
        else
          for i, value in ipairs(list) do assert.equal(i, value) end
        end
      end
    end)
  end)

  it("go on after any batch as if there had been no break", function()
    each_shape(function(n, o)
      local whole = take(flow.data.batches(samples(n), o))
      for done = 1, #whole - 1 do
        flow.clear_default_session()
        local steps = take(flow.data.batches(samples(n), o), done)
        local texts = loop.save()
        flow.clear_default_session()
        assert(loop.restorer(texts))()
        local again = flow.data.batches(samples(n), o)
        assert.equal(#whole - done, again.n)
        for _, step in ipairs(take(again)) do steps[#steps + 1] = step end
        assert.same(whole, steps)
      end
    end)
  end)

  it("are split over ranks without a gap, and as evenly as can be", function()
    for n = 1, 12 do
      for ranks = 1, n do
        local at, least, most = 5, n, 0
        for rank = 0, ranks - 1 do
          local step = { epoch = 1, first = 5, last = 4 + n }
          local part = loop.part({ ranks = ranks, rank = rank }, step)
          local size = part.last - part.first + 1
          assert.equal(at, part.first)
          assert.is_true(size <= most or rank == 0)        -- the first have more
          at, least, most = part.last + 1, math.min(least, size), math.max(most, size)
        end
        assert.equal(5 + n, at)
        assert.is_true(most - least <= 1)
      end
    end
  end)
end)

describe("pictures in batches", function()
  local directory, set

  -- Pictures of one pixel, of which each has a brightness of its own.
  before_each(function()
    flow.clear_default_session()
    directory = helper.directory()
    local paths = {}
    for i = 1, 7 do
      paths[i] = ("%s/%d.png"):format(directory, i)
      flow.data.save_image(paths[i], nd.full({ 1, 1 }, 10 * i, flow.uint8))
    end
    set = { { "pixels", flow.data.pictures(paths, { size = 1, channels = 1 }) },
      { "number", samples(7) } }
  end)

  after_each(function()
    flow.clear_default_session()
    helper.remove(directory)
  end)

  -- Goes through all pictures; calls at(step) after each step. Gives how many steps there were.
  local function walk(o, at)
    local source, steps, seen = flow.data.batches(set, o), 0, {}
    for epoch, _, pixels, number in source do
      steps = steps + 1
      assert.same({ #number, 1, 1, 1 }, pixels.shape)
      for k = 1, #number do
        assert.equal(10 * number[k], pixels:get(k, 1, 1, 1))
        seen[epoch] = seen[epoch] or {}
        table.insert(seen[epoch], number[k])
      end
      if at then at(steps, source) end
    end
    return steps, seen
  end

  -- The same, where all is gone through.
  local function walk_all(o, at)
    local steps, seen = walk(o, at)
    local each = o.drop_last and math.floor(7 / o.batch_size) or math.ceil(7 / o.batch_size)
    assert.equal(o.epochs * each, steps)
    assert.equal(o.epochs, #seen)
    for _, list in ipairs(seen) do
      each_once(list, 7)
      assert.equal(math.min(7, each * o.batch_size), #list)
    end
  end

  -- Calls f(options, steps) for sizes of batches around what is decoded ahead.
  local function each_way(f)
    for _, size in ipairs { 1, 2, 3, 6, 7, 8 } do
      for workers = 0, 3 do
        for _, epochs in ipairs { 1, 3 } do
          flow.clear_default_session()
          f({ batch_size = size, workers = workers, epochs = epochs, shuffle = epochs == 3,
            drop_last = size < 7 and workers % 2 == 1 })
        end
      end
    end
  end

  it("are those of their samples, through the end of each epoch", function()
    each_way(function(o) walk_all(o) end)
  end)

  it("are decoded ahead, two batches of them where there are threads", function()
    local core = require "jfl.core"
    local want, take_one, wanted, most = core.loader_want, core.loader_take, 0, 0
    core.loader_want = function(...)
      wanted = wanted + 1
      most = math.max(most, wanted)
      return want(...)
    end
    core.loader_take = function(...)
      wanted = wanted - 1
      return take_one(...)
    end
    finally(function() core.loader_want, core.loader_take = want, take_one end)
    for workers = 0, 2 do
      for size = 1, 7 do
        flow.clear_default_session()
        wanted, most = 0, 0
        walk_all { batch_size = size, workers = workers, epochs = 2, shuffle = true }
        local steps = 2 * math.ceil(7 / size)
        assert.equal(math.min(steps, workers > 0 and 3 or 1), most)
        assert.equal(0, wanted)
      end
    end
  end)

  it("are so where another seed makes what was decoded ahead wrong", function()
    each_way(function(o) walk_all(o, function(step) flow.random.seed(step) end) end)
  end)

  it("are so after a loop that ended at any step", function()
    each_way(function(o)
      for last = 1, 5 do
        local steps, seen = walk(o, function(step, source)
          if step == last then source:close() end
        end)
        assert.is_true(steps <= last)
        for _, list in ipairs(seen) do each_once(list, 7) end
      end
    end)
  end)
end)
