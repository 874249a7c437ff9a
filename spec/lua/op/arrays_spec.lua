--- Functions on shapes, slices and indices: what they give, and what they say of arguments that do
--- not fit.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local nd = flow.ndarray

teardown(flow.clear_default_session)

local function values(x) return nd.copy(x):reshape(-1):totable() end
local x234 = nd.arange(24):reshape(2, 3, 4)
local x23 = nd.array { { 1, 2, 3 }, { 4, 5, 6 } }
local function ids(list) return nd.array(list, flow.int32) end

describe("a slice with steps", function()
  -- Python's rule for one axis, index by index
  local function picked(n, start, stop, step)
    local list = {}
    local i = start
    if i == nil then i = step > 0 and 0 or n - 1 elseif i < 0 then i = i + n end
    if step < 0 then i = math.min(i, n - 1) end
    local last = stop
    if last == nil then last = step > 0 and n or -1 elseif last < 0 then last = last + n end
    while (step > 0 and i < last) or (step < 0 and i > last) do
      if i >= 0 and i < n then list[#list + 1] = i end
      i = i + step
    end
    return list
  end

  it("takes what Python's slices take", function()
    local x = nd.arange(6)
    for _, step in ipairs { 1, 2, 5, -1, -2, -7 } do
      for start = -7, 7 do
        for stop = -7, 7 do
          local want = picked(6, start ~= 7 and math.max(start, -6 - (step < 0 and 1 or 0)) or nil,
            stop ~= 7 and math.max(stop, -6 - (step < 0 and 1 or 0)) or nil, step)
          local got = flow.slice_v2(x, { { start ~= 7 and start or nil, stop ~= 7 and stop or nil,
            step } })
          assert.same(want, values(got), ("%s:%s:%d"):format(start, stop, step))
        end
      end
    end
  end)

  it("leaves axes whole that it does not name", function()
    assert.same({ 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23 },
      values(flow.slice_v2(x234, { { 1 } })))
    assert.same({ 3, 1, 15, 13 }, values(flow.slice_v2(x234, { {}, { 0, 1 }, { nil, nil, -2 } })))
  end)

  it("is the part that slice_update replaces", function()
    local part = { {}, { nil, nil, -2 }, { 1, 3 } }
    local y = flow.slice_update(x234, flow.slice_v2(x234, part) * 0 - 1, part)
    assert.equal(-8, flow.slice_v2(y, part):sum())
    assert.equal(x234:sum() - flow.slice_v2(x234, part):sum() - 8, y:sum())
  end)
end)

it("logical_slice_assign changes a part of a variable, at the end of a call", function()
  local job = flow.global_function { name = "assigned", returns = flow.typing.Numpy,
    inputs = { { "x", flow.typing.Numpy.Placeholder { 2, 1 } } },
    body = function(x)
      local w = flow.get_variable("assigned_w", { shape = { 2, 3 },
        initializer = flow.ones_initializer() })
      flow.experimental.logical_slice_assign(w, x, { {}, { 1, 2 } })
      return w * 1
    end }
  assert.same({ 1, 1, 1, 1, 1, 1 }, values(job(nd.array { { 5 }, { 6 } })))
  assert.same({ 1, 5, 1, 1, 6, 1 }, values(job(nd.zeros { 2, 1 })))
  assert.same({ 1, 0, 1, 1, 0, 1 }, values(flow.get_all_variables().assigned_w))
end)

it("reverse, roll, tile and repeat_interleave agree with indices", function()
  assert.same({ 6, 5, 4, 3, 2, 1 }, values(flow.reverse(x23, { 0, 1 })))
  assert.same(values(flow.reverse(x234, 1)), values(flow.gather(x234, ids { 2, 1, 0 }, 1)))
  assert.same({ 5, 6, 1, 2, 3, 4 }, values(flow.roll(x23, 2)))
  assert.same({ 6, 4, 5, 3, 1, 2 }, values(flow.roll(x23, { 1, -2 }, { 0, 1 })))
  assert.same(values(x23), values(flow.roll(x23, { 4, -3 }, { 0, 1 })))
  assert.same(values(flow.concat({ x23, x23, x23 }, 1)), values(flow.tile(x23, 3)))
  assert.same({ 2, 2, 3 }, flow.tile(x23, { 2, 1, 1 }).shape)
  assert.same({ 0, 3 }, flow.tile(x23, { 0, 1 }).shape)
  assert.same({ 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6 }, values(flow.repeat_interleave(x23, 2, -1)))
  assert.same({ 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6 }, values(flow.repeat_interleave(x23, 2, 0)))
  assert.same(values(flow.repeat_interleave(x23, 2, -1)), values(flow.repeat_interleave(x23, 2)))
end)

-- Calls fn with each list of so many numbers that are each one of the given ones.
local function each_list(n, numbers, fn, list)
  list = list or {}
  if #list == n then return fn(list) end
  for _, number in ipairs(numbers) do
    list[#list + 1] = number
    each_list(n, numbers, fn, list)
    list[#list] = nil
  end
end

it("tile joins copies along each axis, also where an extent or a count is one", function()
  each_list(3, { 1, 2 }, function(shape)
    local x = nd.arange(shape[1] * shape[2] * shape[3]):reshape(shape)
    each_list(3, { 1, 3 }, function(reps)
      local expected = x
      for axis = 3, 1, -1 do
        local copies = {}
        for i = 1, reps[axis] do copies[i] = expected end
        expected = flow.concat(copies, axis - 1)
      end
      local y = flow.tile(x, reps)
      assert.same(expected.shape, y.shape)
      assert.same(values(expected), values(y))
    end)
  end)
end)

it("einsum without a result names the letters that stand once, in their order", function()
  local y = flow.reshape(x23, { 3, 2 })
  assert.same(values(flow.matmul(x23, y)), values(flow.einsum("ij,jk", { x23, y })))
  assert.same(values(flow.transpose(x23, { 1, 0 })), values(flow.einsum("ba", { x23 })))
  assert.same({ 21 }, values(flow.einsum("ab,ab", { x23, flow.ones_like(x23) })))
  assert.same({ 2, 4, 3 }, flow.einsum("...ji", { x234:transpose(0, 1, 2) }).shape)
end)

it("diagonals are those of each matrix", function()
  assert.same({ 0, 5, 10, 12, 17, 22 }, values(flow.diagonal(x234, 0, 1, 2)))
  assert.same({ 4, 9, 16, 21 }, values(flow.diagonal(x234, -1, -2, -1)))
  assert.same({ 0, 16, 1, 17, 2, 18, 3, 19 }, values(flow.diagonal(x234)))
  assert.same({ 0 }, flow.diagonal(x23, 5).shape)
end)

it("axes are moved as they are named", function()
  assert.same({ 3, 4, 2 }, flow.moveaxis(x234, 0, -1).shape)
  assert.same({ 4, 3, 2 }, flow.moveaxis(x234, { 0, 2 }, { 2, 0 }).shape)
  assert.same({ 4, 3, 2 }, flow.swapaxes(x234, 0, 2).shape)
  assert.same(values(flow.transpose(x234, { 2, 1, 0 })), values(flow.swapaxes(x234, 0, -1)))
end)

it("grids have the shapes of both orders", function()
  local a, b = nd.arange(2), nd.arange(3)
  local ij, xy = flow.meshgrid { a, b }, flow.meshgrid({ a, b }, "xy")
  assert.same({ 0, 0, 0, 1, 1, 1 }, values(ij[1]))
  assert.same({ 0, 1, 0, 1, 0, 1 }, values(xy[1]))
  assert.same({ 0, 0, 1, 1, 2, 2 }, values(xy[2]))
end)

it("borders go where their names say", function()
  local image = nd.arange(1, 5):reshape(1, 1, 2, 2)
  local y = flow.constant_pad2d(image, { 1, 0, 0, 2 }, { constant_value = 9 })
  assert.same({ 9, 1, 2, 9, 3, 4, 9, 9, 9, 9, 9, 9 }, values(y))
  assert.same({ 1, 4, 4, 1 }, flow.constant_pad2d(image:reshape(1, 2, 2, 1), 1,
    { data_format = "NHWC" }).shape)
  assert.same({ 4, 3, 4, 2, 1, 2, 4, 3, 4 }, values(flow.reflection_pad2d(image, { 1, 0, 1, 0 })))
  assert.same({ 1, 1, 2, 3, 3, 4 }, values(flow.replication_pad2d(image, { 1, 0, 0, 0 })))
end)

it("same_padding lets a convolution without padding give what SAME gives", function()
  local x, w = nd.rand { 1, 2, 7, 6 }, nd.rand { 3, 2, 4, 3 }
  for _, word in ipairs { "SAME_LOWER", "SAME_UPPER" } do
    local want = flow.nn.conv2d(x, w, { strides = { 2, 1 }, padding = word })
    local padded = flow.same_padding(x, word, "NCHW", { 4, 3 }, { 2, 1 })
    local got = flow.nn.conv2d(padded, w, { strides = { 2, 1 }, padding = "VALID" })
    assert.same(want.shape, got.shape)
    assert.truthy((want - got):reshape(-1):max() < 1e-5)
  end
end)

it("constants and counts are of the shape and dtype asked for", function()
  assert.same({ "int64", 4 }, { flow.range(0, 4, 1, flow.int64).dtype, #flow.range(4) })
  assert.same({ 0 }, flow.range(3, 3).shape)
  assert.same({ 5, 3, 1 }, values(flow.range(5, 0, -2)))
  assert.same({ 2, 2, 2 }, values(flow.linspace(2, 2, 3)))
  assert.equal("int8", flow.constant_like(x23, 1, flow.int8).dtype)
  assert.equal(6, flow.elem_cnt(x23):item())
  assert.equal(12, flow.math.reduced_shape_elem_cnt(x234, { 1, -1 }):item())
  local odd = nd.array { 1, 1 / 0, -1 / 0, 0 / 0 }
  assert.same({ 3, 6 }, { flow.count_not_finite(odd):item(),
    flow.multi_count_not_finite({ odd, x23, odd }):item() })
end)

it("in_top_k counts ties as in and what is not finite as out", function()
  local p = nd.array { { 1, 3, 2 }, { 2, 2, 1 }, { 1 / 0, 1, 2 }, { 0 / 0, 1, 2 } }
  assert.same({ 0, 1, 0, 0 }, values(flow.math.in_top_k(ids { 2, 1, 0, 0 }, p, 1)))
  assert.same({ 1, 1, 0, 1 }, values(flow.math.in_top_k(ids { 2, 1, 0, 2 }, p, 2)))
end)

it("top_k gives the positions whose elements sort puts last", function()
  local x = nd.rand { 5, 40 }
  local best = flow.dim_gather(x, 1, flow.math.top_k(x, { k = 7 }))
  local last = flow.slice_v2(flow.sort(x, { direction = "DESCENDING" }), { {}, { 0, 7 } })
  assert.same(values(last), values(best))
end)

describe("matmul", function()
  it("broadcasts its batches", function()
    local a, b = nd.rand { 2, 1, 3, 4 }, nd.rand { 5, 4, 2 }
    local y = flow.matmul(a, b)
    assert.same({ 2, 5, 3, 2 }, y.shape)
    for i = 1, 2 do
      for j = 1, 5 do
        assert.same(values(flow.matmul(a[i][1], b[j])), values(y[i][j]))
      end
    end
  end)

  it("takes one matrix for a batch", function()
    local a, b = nd.rand { 2, 5, 3 }, nd.rand { 4, 3 }
    assert.same(values(flow.matmul(a[2], b, { transpose_b = true })),
      values(flow.matmul(a, b, { transpose_b = true })[2]))
    local c = flow.matmul(a, nd.rand { 5, 4 }, { transpose_a = true })
    assert.same({ 2, 3, 4 }, c.shape)
  end)

  it("has the gradients of sums over what was repeated", function()
    local x = nd.rand { 2, 5, 3 }
    local job = flow.global_function { name = "broadcast_product", type = "train",
      inputs = { { "x", flow.typing.Numpy.Placeholder { 2, 5, 3 } } },
      returns = flow.typing.Numpy,
      body = function(input)
        local w = flow.get_variable("broadcast_w", { shape = { 3, 4 },
          initializer = flow.zeros_initializer() })
        local y = flow.math.reduce_sum(flow.matmul(input, w))
        flow.optimizer.SGD(1, { momentum = 0 }):minimize(y)
        return y
      end }
    job(x)
    local w = flow.get_all_variables().broadcast_w
    local sums = x:sum({ 0, 1 })
    for i = 1, 3 do assert.truthy(math.abs(w:get(i, 2) + sums[i]) < 1e-5) end
  end)
end)

describe("einsum", function()
  -- sums over all indices of all letters
  local function plainly(equation, inputs)
    local left, right = equation:match("^(.-)%->(.*)$")
    local terms, letters, extent = {}, {}, {}
    for part in (left .. ","):gmatch("(%a*),") do
      terms[#terms + 1] = part
      for i = 1, #part do
        local l = part:sub(i, i)
        if not extent[l] then letters[#letters + 1] = l end
        extent[l] = inputs[#terms].shape[i]
      end
    end
    local sums = {}
    local at = {}
    local function visit(k)
      if k <= #letters then
        for i = 1, extent[letters[k]] do
          at[letters[k]] = i
          visit(k + 1)
        end
        return
      end
      local product, where = 1, 0
      for t, part in ipairs(terms) do
        local index = {}
        for i = 1, #part do index[i] = at[part:sub(i, i)] end
        product = product * (#index > 0 and inputs[t]:get(unpack(index)) or inputs[t]:item())
      end
      for i = 1, #right do
        local l = right:sub(i, i)
        where = where * extent[l] + at[l] - 1
      end
      sums[where + 1] = (sums[where + 1] or 0) + product
    end
    visit(1)
    return sums
  end

  local extents = { a = 2, b = 3, c = 4, d = 2, e = 3, h = 2, i = 3, j = 4, k = 5, l = 3 }

  for _, equation in ipairs { "ij->ji", "ij->i", "ij->", "ii->i", "ii->", "iij->j", "ij,jk->ik",
    "ij,kj->ik", "ji,jk->ki", "bij,bjk->bik", "bij,bkj->bik", "bij,jk->bik", "i,i->", "i,j->ij",
    "i,j->ji", "ij,ij->ij", "ij,ij->", "ij,j->i", "bhid,bhjd->bhij", "bhij,bhjd->bihd",
    "ij,jk,kl->il", "ij,jk,kl->li", "ai,bi,ci->abc", "ijk,ikj->i", "abc,cd->abd", "abc,bad->cd",
    "ij,kl->ik", "ab,ab,b->a", "iij,jk->ik", ",ij->ij" } do
    it("agrees with sums over all indices: " .. equation, function()
      local inputs, n = {}, 0
      for part in (equation:match("^(.-)%->") .. ","):gmatch("(%a*),") do
        local shape = {}
        for i = 1, #part do shape[i] = extents[part:sub(i, i)] end
        n = n + 1
        inputs[n] = nd.rand(shape, flow.float64)
      end
      local got, want = values(flow.einsum(equation, inputs)), plainly(equation, inputs)
      assert.equal(#want, #got)
      for i = 1, #want do assert.truthy(math.abs(want[i] - got[i]) < 1e-12) end
    end)
  end

  it("lets '...' stand for axes that broadcast", function()
    local a, b = nd.rand { 2, 1, 3, 4 }, nd.rand { 5, 4, 2 }
    assert.same(values(flow.matmul(a, b)), values(flow.einsum("...ij,...jk->...ik", { a, b })))
    assert.same({ 2, 1, 4, 3 }, flow.einsum("...ij->...ji", { a }).shape)
    assert.same({ 3, 4 }, flow.einsum("...ij->ij", { a }).shape)
  end)

  it("gives without '->' the letters that stand once, in their order", function()
    assert.same(values(flow.einsum("ij,jk->ik", { x23, x23:transpose() })),
      values(flow.einsum("ij, jk", { x23, x23:transpose() })))
    assert.same({ 3, 2 }, flow.einsum("ba", { x23 }).shape)
  end)
end)

describe("a mistake is named:", function()
  local function says(path, message, ...)
    local given, n = { ... }, select("#", ...)
    it(path .. " says: " .. message, function()
      local f = flow
      for part in path:gmatch("[^.]+") do f = f[part] end
      helper.fails(function() f(unpack(given, 1, n)) end, message)
    end)
  end
  says("slice_v2", "x must be a blob or an NdArray, got number 3", 3, {})
  says("slice_v2", "slice_tup_list must be a list such as {{0, 2}, {nil, nil, -1}}, got number 3",
    x23, 3)
  says("slice_v2", "slice_tup_list must have an entry for each of 2 axes at most, got 3", x23,
    { {}, {}, {} })
  says("slice_v2", "step of axis 1 must be a whole number other than 0, got number 0", x23,
    { {}, { 0, 1, 0 } })
  says("slice_v2", "start of axis 0 must be a whole number, got string 'a'", x23, { { "a" } })
  says("experimental.logical_slice", "step of axis 0 must be at least 1, got -1", x23,
    { { nil, nil, -1 } })
  says("slice_update", "update must have the shape (2, 1) of the part, got (2, 3)", x23, x23,
    { {}, { 0, 1 } })
  says("slice_update", "update must be a blob or an NdArray, got string 'a'", x23, "a", {})
  says("experimental.logical_slice_assign", "value must be a blob or an NdArray, got string 'a'",
    x23, "a", {})
  says("reverse", "axis must be from -2 to 1, got 2; axes count from 0", x23, 2)
  says("reverse", "axis must name each axis once, got 1 twice", x23, { 1, -1 })
  says("roll", "shifts must be one number without dims, got 2", x23, { 1, 2 })
  says("roll", "shifts must be a number for each of 2 dims, got 1", x23, 1, { 0, 1 })
  says("diagonal", "dim2 must differ from dim1, got 0 twice", x23, { dim2 = 0 })
  says("moveaxis", "destination must have 1 axes like source, got 2", x234, 0, { 1, 2 })
  says("swapaxes", "dim1 must be from -2 to 1, got 5; axes count from 0", x23, 0, 5)
  says("tile", "reps must be a whole number of at least 0, got number -1", x23, -1)
  says("repeat_interleave", "repeats must be a whole number of at least 0, got number 0.5", x23,
    0.5)
  says("broadcast_like", "broadcast_axes must name the 1 axes of like that x (2, 3) lacks, got 2",
    x23, x234, { 0, 1 })
  says("math.broadcast_to_compatible_with", "shapes (2, 3) and (4) do not broadcast", x23,
    { nd.zeros { 4 } })
  says("meshgrid", "tensors[1] must have one axis, got (2, 3)", { x23 })
  says("meshgrid", "indexing must be \"ij\" or \"xy\", got string 'ji'", { nd.ones { 2 } }, "ji")
  says("range", "delta must lead from 0 to 3 in less than 2^31 steps, got -1", 0, 3, -1)
  says("range", "delta must lead from 0 to 3 in less than 2^31 steps, got 0", 0, 3, 0)
  says("linspace", "num must be a whole number of at least 1, got number 0", 0, 1, 0)
  says("nn.embedding", "weight must have two axes (rows, width), got shape (2, 3, 4)", ids { 0 },
    x234)
  says("nn.embedding", "padding_idx must be a whole number of at least 0, got number -1", ids { 0 },
    x23, -1)
  says("nn.embedding", "padding_idx must be -1 or an index of axis 0 of extent 2, got 2", ids { 0 },
    x23, 2)
  says("math.in_top_k", "targets must have shape (n) and predictions (n, classes), got (1) and "
    .. "(2, 3)", ids { 0 }, x23, 1)
  says("constant_pad2d", "x must have four axes, got shape (2, 3)", x23, 1)
  says("reflection_pad2d", "padding must be a number or { left, right, top, bottom }, got {1, 2}",
    nd.ones { 1, 1, 2, 2 }, { 1, 2 })
  says("same_padding", "padding must be SAME_LOWER or SAME_UPPER, got string 'VALID'",
    nd.ones { 1, 1, 2, 2 }, "VALID", "NCHW", 3, 1)
  says("matmul", "a (2, 3, 4) has 4 columns, but b (5, 2) has 5 rows", x234, nd.ones { 5, 2 })
  says("matmul", "a (2, 3, 4) and b (3, 4, 5) must agree in all but the last two dimensions, or "
    .. "have 1 there", x234, nd.ones { 3, 4, 5 })
  says("einsum", "equation 'ij,jk' names 2 inputs, got 1", "ij,jk", { x23 })
  says("einsum", "must have a letter for each axis of its inputs, got 'ijk' for 2 axes", "ijk->i",
    { x23 })
  says("einsum", "must give 'j' one extent, got 3 and 2", "ij,jk->ik", { x23, x23 })
  says("einsum", "must not have 'k' in the result alone", "ij->ik", { x23 })
  says("einsum", "must not have 'i' twice in the result", "ij->ii", { x23 })
  says("einsum", "must consist of letters, '...', commas and '->', got 'i?'", "i?->i", { x23 })
end)
