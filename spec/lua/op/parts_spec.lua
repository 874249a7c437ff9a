-- x[{ 1, {2, 5} }]: parts of blobs and arrays, beside a walk over all elements in plain Lua.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd = flow.ndarray

-- The elements of nested tables that a key takes, by the meaning of its entries alone.
local function walk(t, shape, key, axis)
  axis = axis or 1
  if axis > #shape then return t end
  local entry, n = key[axis] or {}, shape[axis]
  local function at(i) return i < 0 and n + i + 1 or i end
  if type(entry) == "number" then return walk(t[at(entry)], shape, key, axis + 1) end
  local step, list = entry[3] or 1, {}
  local first, last = at(entry[1] or (step > 0 and 1 or -1)), at(entry[2] or (step > 0 and -1 or 1))
  for i = first, last, step do list[#list + 1] = walk(t[i], shape, key, axis + 1) end
  return list
end

local SHAPE = { 4, 3, 5 }
local A = nd.arange(60):reshape(SHAPE)

local KEYS = {
  {}, { 2 }, { -1 }, { 1, 3 }, { {}, 2 }, { {}, {}, -5 }, { { 2, 3 } }, { { 2 } }, { { nil, 2 } },
  { 1, { 2, 3 }, { 1, 5, 2 } }, { {}, -1, { nil, nil, -1 } }, { { -1, 1, -2 }, { 1, 1 }, 4 },
  { { 4, 4 }, { -2, -1 } },
}

describe("a part", function()
  after_each(flow.clear_default_session)

  it("of an array is what its key says", function()
    for _, key in ipairs(KEYS) do
      assert.same(walk(A:totable(), SHAPE, key), A[key]:totable())
    end
    assert.equal(8, A[{ 1, 2, 4 }])
    assert.equal(59, A[{ -1, -1, -1 }])
    assert.equal("int32", A:astype("int32")[{ 1 }].dtype)
  end)

  it("of a blob is the same, with one element in the shape (1)", function()
    for i, key in ipairs(KEYS) do
      local job = helper.predict("job" .. i, SHAPE, function(x) return x[key] end)
      assert.same(walk(A:totable(), SHAPE, key), job(A):totable())
    end
    local job = helper.predict("one", SHAPE, function(x)
      return x[{ 1, 2, 4 }] + x[3][2][{ -1 }]
    end)
    assert.same({ 8 + 39 }, job(A):totable())
    local rows = helper.predict("rows", { -1, 3 }, function(x) return x[{ {}, 2 }] - x[1][2] end)
    assert.same({ 0, 3, 6 }, rows(nd.arange(9):reshape(3, 3)):totable())
  end)

  it("has a gradient where it was taken from, and none elsewhere", function()
    local job = helper.train("train", { body = function(x)
      local w = flow.get_variable("w", { 3, 4 }, { initializer = flow.zeros_initializer() })
      local loss = (w[{ { nil, nil, -2 }, 2 }] * x):sum() + w[2][{ 4 }] * 5
        + w[{ {}, { 1, 2 } }]:sum()
      flow.optimizer.SGD(1, { momentum = 0 }):minimize(loss)
      return loss
    end })
    job({ 10, 20 })
    assert.same({ { -1, -21, 0, 0 }, { -1, -1, 0, -5 }, { -1, -11, 0, 0 } },
      flow.get_all_variables().w:totable())
  end)

  it("of an array is a copy, and is set by an assignment", function()
    local a = A:copy()
    local row = a[{ 2 }]
    row:fill(-1)
    assert.is_true(a:eq(A):all())
    a[{ 2, {}, 3 }] = { 100, 200, 300 }
    a[{ { 3, 4 }, 1, { nil, nil, -4 } }] = nd.array { { 1, 2 }, { 3, 4 } }
    a[{ 1, 1, 1 }] = 7
    a[{ 1, 2 }] = 9
    local t = A:totable()
    t[2][1][3], t[2][2][3], t[2][3][3] = 100, 200, 300
    t[3][1][5], t[3][1][1], t[4][1][5], t[4][1][1] = 1, 2, 3, 4
    t[1][1][1] = 7
    for i = 1, 5 do t[1][2][i] = 9 end
    assert.same(t, a:totable())
    a[{}] = 0
    assert.equal(0, a:sum())
    local scalar = nd.full({}, 2)
    scalar[{}] = 5
    assert.equal(5, scalar[{}]:item())
  end)

  it("of an axis of no elements is empty", function()
    assert.same({ 0, 2 }, nd.zeros({ 0, 3 })[{ {}, { 2, 3 } }].shape)
    helper.fails(function() return nd.zeros({ 0, 3 })[{ 1 }] end, "an index from 1 to 0")
  end)

  it("is taken by slice and take from blobs as from arrays", function()
    local job = helper.predict("job", SHAPE, function(x)
      local each = x:slice(2, -1, { axis = 2, step = 2 })
      return x:slice(2, 3):sum() + each:take({ 3, 1 }, { axis = 1 }):sum() * 100
    end)
    local each = A:slice(2, -1, { axis = 2, step = 2 })
    assert.equal(A:slice(2, 3):sum() + 100 * each:take({ 3, 1 }, { axis = 1 }):sum(), job(A):item())
  end)

  it("says which axis and extent do not have what is asked for", function()
    local function says(text, key) helper.fails(function() return A[key] end, text) end
    says("array[{...}]: axis 1 of (4, 3, 5) must have an index from 1 to 3, or negative from the "
      .. "end, got 4", { 1, 4 })
    says("got 0; indices count from 1, axes from 0", { 0 })
    says("axis 2 of (4, 3, 5) must have a last from 1 to 5", { 1, 1, { 2, 6 } })
    says("must have a list whose last is not before its first, got { 3, 2, 1 }; a step of -1 goes "
      .. "backwards", { { 3, 2 } })
    says("last is not behind its first, got { 2, 3, -1 }", { { 2, 3, -1 } })
    says("an entry for each of the axes of (4, 3, 5) at most, got 4", { 1, 1, 1, 1 })
    says("at most, got 'axis' as a name", { axis = 1 })
    says("must have a list { first, last, step }, got 'last' as a name", { { 1, last = 2 } })
    says("must have a list { first, last, step }, got more", { { 1, 2, 1, 1 } })
    says("a number, or a list such as {2, 5} or {}, got nil", { nil, 2 })
    says("got string 'x'", { "x" })
    says("got an NdArray (2); flow.gather takes a list of places", { nd.ones(2) })
    says("a whole number as its index, got number 1.5", { 1.5 })
    says("a whole number as its first, got string 'a'", { { "a" } })
    says("a whole number other than 0 as its step, got number 0", { { 1, 2, 0 } })
    helper.fails(function() return nd.arange(5)[{ 2, 4 }] end,
      "got 2; elements a to b are x[{ {a, b} }]")
    helper.fails(function() A[{ 1, {}, 2 }] = { 1, 2 } end,
      "array: value must be of shape (3), got (2)")
    helper.fails(function() return A[-1] end, "got -1; a[{ -1 }] counts from the end")
    local gone = nd.ones(3)
    gone:free()
    helper.fails(function() return gone[{ 1 }] end, "freed")
    helper.fails(function() gone[{ 1 }] = 1 end, "freed")
    local job = helper.predict("job", SHAPE, function(x)
      helper.fails(function() return x[{ 1, 9 }] end, "blob 'x'[{...}]: axis 1 of (4, 3, 5) must")
      helper.fails(function() return x[5] end, "blob 'x': index must be from 1 to 4, got 5")
      helper.fails(function() return x[0] end, "got 0; indices count from 1")
      helper.fails(function() return x[-1] end, "got -1; x[{ -1 }] counts from the end")
      helper.fails(function() return x[1.5] end, "index must be a whole number from 1 to 4")
      helper.fails(function() x[{ 1 }] = 2 end, "no part of it is set; flow.slice_update")
      return x
    end)
    job(A)
  end)
end)
