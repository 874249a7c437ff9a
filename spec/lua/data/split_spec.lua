-- flow.data.split: every item is in one part, in shares that are asked for.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local nd = flow.ndarray

local split = flow.data.split

describe("data.split", function()
  local function set(n)
    local texts, classes = {}, {}
    for i = 1, n do texts[i], classes[i] = "t" .. i, i % 4 == 0 and 1 or 0 end
    return { { "x", nd.arange(n) }, { "text", texts }, { "labels", nd.array(classes, flow.int32) } }
  end

  it("has every item once, with all its columns, in the order of the set", function()
    local seen = {}
    for _, part in ipairs { split(set(20), { 0.5, 0.3, 0.2 }) } do
      local before = -1
      for epoch, i, x, text, label in flow.data.loop(part) do
        assert.equal("t" .. x + 1, text)
        assert.equal((x + 1) % 4 == 0 and 1 or 0, label)
        assert.is_true(x > before and not seen[x], epoch .. i)
        seen[x], before = true, x
      end
    end
    assert.equal(20, #seen + 1)
  end)

  it("has the shares that are asked for, also of each class", function()
    local a, b, c = split(set(20), { 0.5, 0.3, 0.2 })
    assert.same({ 10, 6, 4 }, { #a.x, #b.x, #c.x })
    for _, o in ipairs { { 0.8, 0.2, by_class = true }, { 0.8, 0.2, by_class = "labels" } } do
      a, b = split(set(40), o)
      assert.same({ 32, 8, 8, 2 }, { #a.x, #b.x, a.labels:sum(), b.labels:sum() })
    end
    a, b = split({ { "x", nd.arange(4) }, { "kind", { "p", "q", "p", "q" } } },
      { 0.5, 0.5, by_class = "kind" })
    assert.same({ { "p", "q" }, { "p", "q" } }, { a.kind, b.kind })
  end)

  it("is the same in each run, and another with another seed", function()
    local first = (split(set(50), { 0.5, 0.5 })).x:totable()
    flow.random.seed(99)
    assert.same(first, (split(set(50), { 0.5, 0.5 })).x:totable())
    assert.same(first, (split(set(50), { 0.5, 0.5, seed = 1 })).x:totable())
    assert.not_same(first, (split(set(50), { 0.5, 0.5, seed = 2 })).x:totable())
  end)

  it("keeps what kind of set it is, and what else that has", function()
    local a, b = split(nd.arange(10):reshape({ 5, 2 }), { 0.6, 0.4 })
    assert.same({ { 3, 2 }, { 2, 2 } }, { a.shape, b.shape })
    a = split({ nd.arange(4), { "a", "b", "c", "d" } }, { 0.5, 0.5 })
    assert.same({ 2, 2 }, { #a[1], #a[2] })
    a = split({ y = nd.arange(4), x = { 1, 2, 3, 4 } }, { 0.5, 0.5 })
    assert.same({ 2, 2 }, { #a.x, #a.y })
    helper.fails(function() flow.data.loop(a) end, "Lua keeps in no order")
    local path = helper.write(os.tmpname(), "city,n\nRome,1\nOslo,2\nRome,3\n")
    a = split(flow.data.csv(path, { categories = true }), { 0.7, 0.3 })
    os.remove(path)
    assert.same({ city = { "Rome", "Oslo" } }, a.categories)
    assert.equal("data set: city (2), n (2)", tostring(a))
  end)

  it("names what is wrong", function()
    local function fails(parts, text) helper.fails(function() split(set(8), parts) end, text) end
    fails({ 0.8, 0.3 }, "data.split: the shares of the parts must add up to 1, as in "
      .. "flow.data.split(set, { 0.8, 0.2, seed = 1 }), got 1.1")
    fails({ 0.8, 20 }, "parts[2] must be a share between 0 and 1, as in "
      .. "flow.data.split(set, { 0.8, 0.2, seed = 1 }), got number 20")
    fails({ 0.5, 0.5, seeed = 1 }, "unknown option 'seeed'; options are seed, by_class")
    fails({ 0.5, 0.5, seed = -1 }, "seed must be a whole number of at least 0")
    fails({ 0.5, 0.5, by_class = "kind" }, "by_class: there is no column 'kind'")
    fails({ 0.99, 0.01 }, "part 2 must get an item at least, and 0.01 of 8 items is none")
    helper.fails(function() split({ nd.arange(4) }, { 0.5, 0.5, by_class = true }) end,
      "no column 'labels' with a class for each item; by_class = \"NAME\" says which it is")
    helper.fails(function() split(3, { 0.5, 0.5 }) end, "source must be a data set")
    for _, parts in ipairs { 0.8, "half" } do
      fails(parts, "parts must be a list of shares, as in "
        .. "flow.data.split(set, { 0.8, 0.2, seed = 1 }), got " .. type(parts))
    end
    fails(nil, "data.split: parts must be a list of shares, as in flow.data.split")
  end)
end)
