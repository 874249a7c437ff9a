local flow = require "jfl"
local helper = require "spec.lua.helper"

local batches, nd = flow.data.batches, flow.ndarray

describe("data.batches", function()
  before_each(function() flow.clear_default_session() end)
  after_each(function() flow.clear_default_session() end)

  local function text_of(value)
    if type(value) == "table" then return "{" .. table.concat(value, " ") .. "}" end
    return table.concat(value:reshape({ -1 }):totable(), " ")
  end

  -- The batches as "epoch.number: values | values", at most n of them.
  local function take(source, n)
    local seen = {}
    while #seen < (n or math.huge) do
      local got = { source() }
      if not got[1] then break end
      local parts = {}
      for k = 3, #got do parts[#parts + 1] = text_of(got[k]) end
      seen[#seen + 1] = ("%d.%d: %s"):format(got[1], got[2], table.concat(parts, " | "))
    end
    return seen
  end

  local X = nd.array({ 1, 2, 3, 4, 5 })
  local PAIRS = { { "z", X }, { "a", nd.array({ 10, 20, 30, 40, 50 }, flow.int32) } }

  it("goes through the rows of an array, the last batch being smaller", function()
    assert.same({ "1.1: 1 2", "1.2: 3 4", "1.3: 5", "2.1: 1 2", "2.2: 3 4", "2.3: 5" },
      take(batches(X, { batch_size = 2, epochs = 2 })))
    assert.same({ "1.1: 1 2", "1.2: 3 4" }, take(batches(X, { batch_size = 2, drop_last = true })))
    assert.same({ "1.1: 1 2 3 4 5" }, take(batches(X, { batch_size = 9 })))
  end)

  it("shares the memory of an array that it does not shuffle", function()
    local a = nd.array({ { 1, 2 }, { 3, 4 } })
    local _, _, rows = batches(a, { batch_size = 2 })()
    rows:set(9, 1, 2)
    assert.equal(9, a:get(1, 2))
  end)

  it("gives columns in the order that is written", function()
    assert.same({ "1.1: 1 2 3 | 10 20 30", "1.2: 4 5 | 40 50" },
      take(batches(PAIRS, { batch_size = 3 })))
    local named = { z = X, a = PAIRS[2][2] }
    assert.same({ "1.1: 1 2 3 4 5 | 10 20 30 40 50" },
      take(batches(named, { batch_size = 5, columns = { "z", "a" } })))
    assert.same({ "1.1: 1 2 3 4 5" }, take(batches({ z = X }, { batch_size = 5 })))
    assert.same({ "1.1: 1", "1.2: 2" }, take(batches({ z = X }), 2))
    flow.data.close_loop()
    assert.same({ "1.1: 1 2 3 4 5 | 10 20 30 40 50" },
      take(batches({ X, PAIRS[2][2] }, { batch_size = 5 })))
    helper.fails(function() batches(named, { batch_size = 2 }) end, "data.batches: source is a "
      .. "table with names, which Lua keeps in no order; say in which they come: {columns = "
      .. "{\"a\", \"z\"}}")
  end)

  it("keeps a sample's columns together when it shuffles, each sample once an epoch", function()
    local orders = {}
    for epoch = 1, 2 do orders[epoch] = {} end
    for epoch, _, x, y in batches(PAIRS, { batch_size = 2, shuffle = true, epochs = 2 }) do
      assert.same((x * 10):totable(), y:totable())
      for i = 1, #x do table.insert(orders[epoch], x[i]) end
    end
    for epoch = 1, 2 do
      table.sort(orders[epoch])
      assert.same({ 1, 2, 3, 4, 5 }, orders[epoch])
    end
  end)

  it("has an order that its seed, or else the session's, decides", function()
    local function order(seed, own)
      flow.random.seed(seed)
      local o = { batch_size = 40, shuffle = true, seed = own }
      return take(batches(nd.arange(40), o))[1]
    end
    assert.equal(order(1), order(1))
    assert.are_not.equal(order(1), order(2))
    assert.equal(order(1, 5), order(2, 5))
    assert.are_not.equal(order(1, 5), order(1, 6))
  end)

  it("puts single samples together", function()
    local rows = { { 1, nd.array({ 1, 2 }), "a", { 7, 8 } },
      { 2, nd.array({ 3, 4 }), "b", { 9, 0 } }, { 3, nd.array({ 5, 6 }), "c", { 1, 1 } } }
    local want = { "1.1: 1 2 | 1 2 3 4 | {a b} | 7 8 9 0", "1.2: 3 | 5 6 | {c} | 1 1" }
    assert.same(want, take(batches(rows, { batch_size = 2, rows = true })))
    local function sample(i) return unpack(rows[i]) end
    assert.same(want, take(batches(sample, { batch_size = 2, n = 3 })))
    local _, _, numbers, arrays = batches(sample, { batch_size = 2, n = 3 })()
    assert.same({ { 2 }, { 2, 2 } }, { numbers.shape, arrays.shape })
    local named = { { y = 1, x = 2 }, { y = 3, x = 4 } }
    assert.same({ "1.1: 2 4 | 1 3" },
      take(batches(named, { batch_size = 2, rows = true, columns = { "x", "y" }, name = "b" })))
    assert.same({ "1.1: 1 3" },
      take(batches({ 1, 3 }, { batch_size = 2, rows = true, name = "c" })))
    assert.same({ "1.1: 1 3 | {u v}" },
      take(batches({ { 1, 3 }, { "u", "v" } }, { batch_size = 2, name = "d" })))
  end)

  it("trains a job whose batch size it does not divide", function()
    local tp = flow.typing
    local job = flow.global_function {
      name = "sum", returns = tp.Numpy, inputs = { { "x", tp.Numpy.Placeholder({ -1 }) } },
      body = function(x) return flow.math.reduce_sum(x) end,
    }
    local sums = {}
    for _, _, x in batches(X, { batch_size = 2 }) do sums[#sums + 1] = job(x):item() end
    assert.same({ 3, 7, 5 }, sums)
  end)

  describe("with a checkpoint", function()
    local directory, path, check_point

    before_each(function()
      directory = helper.directory()
      path, check_point = directory .. "/model", flow.train.CheckPoint()
    end)

    after_each(function() helper.remove(directory) end)

    local function made(size)
      return batches(PAIRS, { batch_size = size or 2, epochs = 3, shuffle = true })
    end

    it("continues after the batch that was handed out last, in every epoch's order", function()
      flow.random.seed(4)
      local whole = take(made())
      assert.equal(9, #whole)
      for done = 1, 8 do
        flow.clear_default_session()
        flow.random.seed(4)
        local seen = take(made(), done)
        check_point:save(path, { overwrite = true })
        flow.clear_default_session()
        check_point:load(path, { resume = true })
        for _, text in ipairs(take(made())) do seen[#seen + 1] = text end
        assert.same(whole, seen)
      end
    end)

    it("continues after the same sample with batches of another size", function()
      take(made(2), 1)
      check_point:save(path)
      flow.clear_default_session()
      check_point:load(path, { resume = true })
      local rest = batches(PAIRS, { batch_size = 3, epochs = 1, shuffle = true })
      assert.equal(1, rest.n)
      local _, i, x = rest()
      assert.same({ 2, 3 }, { i, #x })
      assert.is_nil(rest())
    end)
  end)

  it("tells flow.progress how many batches are left", function()
    local source = batches(X, { batch_size = 2, epochs = 2 })
    assert.equal(6, source.n)
    take(source, 4)
    assert.equal(2, source.n)
    flow.data.close_loop()
    assert.equal(4, batches(X, { batch_size = 2, epochs = 2, drop_last = true }).n)
  end)

  it("names what is wrong", function()
    local function fails(text, ...)
      local given, n = { ... }, select("#", ...)
      helper.fails(function() batches(unpack(given, 1, n)) end, text)
    end
    fails("data.batches: argument 1 'samples' is missing")
    fails("batch_size must be a whole number of at least 1, got number 0", X, { batch_size = 0 })
    fails("workers must be a whole number from 0 to 64", X, { workers = -1 })
    fails("workers must be a whole number from 0 to 64, got 65", X, { workers = 65 })
    assert.equal(3, #take(batches(X, { batch_size = 2, workers = 64 })))
    fails("shuffle must be a boolean, got number 1", X, { shuffle = 1 })
    fails("drop_last must be a boolean", X, { drop_last = 1 })
    fails("seed must be a whole number of at least 0", X, { seed = -1 })
    fails("batch_size must be at most the number of samples, 5, where drop_last is true, got 6", X,
      { batch_size = 6, drop_last = true })
    fails("n must be a whole number of at least 1, got nil", function() end)
    fails("n is given with a function, and only then", X, { n = 3 })
    fails("samples must be a list of samples, got none", {}, { rows = true })
    fails("array 2 must be as long as array 1, 5, got 3", { X, { 1, 2, 3 } })
    fails("columns: source has no column 'w'", PAIRS, { columns = { "w" } })
    fails("unknown option 'batchsize'", X, { batchsize = 2 })
  end)

  it("names a sample that does not fit the others", function()
    local function fails(text, samples, o)
      o = o or {}
      o.batch_size, o.rows = 3, true
      helper.fails(function() batches(samples, o)() end, text)
      flow.data.close_loop()
    end
    fails("value 2 must be of one kind in all samples of a batch, got number 5 and string 'x'",
      { { 1, 5 }, { 1, "x" } })
    fails("value 1 must have one shape in all samples of a batch, got (2) and (3)",
      { { nd.ones({ 2 }) }, { nd.ones({ 3 }) } })
    fails("sample 2 must have as many values as those before it, and one at least, got 1",
      { { 1, 2 }, { 3 } })
    fails("value 1 must be a number, a text, an NdArray or a table in each sample, got a function",
      { { print } })
    fails("sample 1 must have what columns names, got none for string 'y'", { { x = 1 } },
      { columns = { "x", "y" } })
  end)
end)
