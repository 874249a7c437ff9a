-- Products of matrices and tensors: matmul on operands that broadcast, and einsum.
---@box einsum linalg.matmul=matmul matmul
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local core = require "jfl.core"
local tensors = require "jfl.op.tensors"

local op, define = call.op, tensors.define

-- ---- matmul ----

-- Whether the op takes the operands as they are; if they do not fit at all, it says why.
local function fits(a, b)
  if #a ~= #b or #a < 2 then return false end
  for i = 1, #a - 2 do
    if a[i] ~= b[i] then return false end
  end
  return true
end

-- What the two batches broadcast to.
local function batch_of(a, b)
  local batch, n = {}, math.max(#a, #b) - 2
  for i = 1, n do
    local p, q = a[i - n + #a - 2] or 1, b[i - n + #b - 2] or 1
    if p ~= q and p ~= 1 and q ~= 1 then
      core.fail("matmul: a %s and b %s must agree in all but the last two dimensions, or have 1 "
        .. "there", args.shape_text(a), args.shape_text(b))
    end
    batch[i] = p == 1 and q or p
  end
  return batch
end

-- The extents of a batch and then the last two of s.
local function with_batch(batch, s)
  local shape = { unpack(batch) }
  shape[#shape + 1], shape[#shape + 2] = s[#s - 1], s[#s]
  return shape
end

-- Operands of other ranks or with other batches than each other.
local function product(o, a, b)
  local flags = { transpose_a = o.transpose_a, transpose_b = o.transpose_b, name = o.name }
  local columns, rows = a[o.transpose_a and #a - 1 or #a], b[o.transpose_b and #b or #b - 1]
  if columns ~= rows then
    core.fail("matmul: a %s%s has %d columns, but b %s%s has %d rows", args.shape_text(a),
      o.transpose_a and " transposed" or "", columns, args.shape_text(b),
      o.transpose_b and " transposed" or "", rows)
  end
  if #b == 2 and #a > 2 and not o.transpose_a then      -- one matrix for all of a
    local flat = op.matmul(op.reshape(o.a, { -1, a[#a] }), o.b, flags)
    a[#a] = flat.shape[2]
    return (op.reshape(flat, a))
  end
  local batch = batch_of(a, b)
  return (op.matmul(op.broadcast_to(o.a, with_batch(batch, a)),
    op.broadcast_to(o.b, with_batch(batch, b)), flags))
end

define("matmul", "The matrix product of a and b; further axes in front make a batch, and "
  .. "broadcast.", {
  { "a", "a blob or NdArray of two or more axes", type = "Tensor" },
  { "b", "another; one matrix serves for a whole batch", type = "Tensor" },
  { "transpose_a", "read the last two axes of a in reverse", false },
  { "transpose_b", "the same for b", false },
}, function(o)
  local a, b = o.a.shape, o.b.shape
  if fits(a, b) or #a < 2 or #b < 2 then
    return (op.matmul(o.a, o.b,
      { transpose_a = o.transpose_a, transpose_b = o.transpose_b, name = o.name }))
  end
  return product(o, a, b)
end)

-- ---- einsum ----

local WHO = "einsum"

local function bad(equation, why, ...)
  core.fail("%s: equation '%s' %s", WHO, equation, why:format(...))
end

-- The labels of one term, one letter for each axis of a tensor of that rank; "..." stands for as
-- many axes as are left, which get the labels "1", "2", ... from the right.
local function labels_of(equation, term, rank)
  local before, after = term:match("^(%a*)%.%.%.(%a*)$")
  if not before and not term:match("^%a*$") then
    bad(equation, "must consist of letters, '...', commas and '->', got '%s'", term)
  end
  local labels, left = {}, rank
  for letter in (before or term):gmatch("%a") do labels[#labels + 1] = letter end
  if before then
    left = rank - #before - #after
    for i = left, 1, -1 do labels[#labels + 1] = tostring(i) end
    for letter in after:gmatch("%a") do labels[#labels + 1] = letter end
  end
  if left < 0 or #labels ~= rank then
    bad(equation, "must have a letter for each axis of its inputs, got '%s' for %d axes", term,
      rank)
  end
  return labels
end

-- The labels of the result where the equation names none: those of "...", then the letters that
-- stand once, in alphabetical order.
local function implied(terms)
  local count, axes, letters = {}, {}, {}
  for _, term in ipairs(terms) do
    for _, label in ipairs(term.labels) do count[label] = (count[label] or 0) + 1 end
  end
  for label, n in pairs(count) do
    if label:match("%d") then axes[#axes + 1] = label
    elseif n == 1 then letters[#letters + 1] = label end
  end
  table.sort(axes, function(a, b) return tonumber(a) > tonumber(b) end)
  table.sort(letters)
  for _, letter in ipairs(letters) do axes[#axes + 1] = letter end
  return axes
end

local function place_of(labels, label)
  for i, other in ipairs(labels) do
    if other == label then return i end
  end
end

-- Reads the equation: its terms { x, labels }, and the labels of the result.
local function parse(equation, inputs)
  local text = args.expect(WHO, "equation", equation, "string"):gsub("%s", "")
  local left, right = text:match("^(.-)%->(.*)$")
  local terms, n = {}, 0
  for part in ((left or text) .. ","):gmatch("([^,]*),") do
    n = n + 1
    if inputs[n] then
      terms[n] = { x = inputs[n], labels = labels_of(equation, part, #inputs[n].shape) }
    end
  end
  if n ~= #inputs then bad(equation, "names %d inputs, got %d", n, #inputs) end
  if not right then return terms, implied(terms) end
  local most = 0
  for _, term in ipairs(terms) do
    for _, label in ipairs(term.labels) do most = math.max(most, tonumber(label) or 0) end
  end
  local dots = right:find("...", 1, true) and most or 0
  local y = labels_of(equation, right, #right:gsub("%.", "") + dots)
  for i, label in ipairs(y) do
    local found = false
    for _, term in ipairs(terms) do found = found or place_of(term.labels, label) end
    if not found then bad(equation, "must not have '%s' in the result alone", label) end
    if place_of(y, label) ~= i then
      bad(equation, "must not have '%s' twice in the result", label)
    end
  end
  return terms, y
end

-- Notes the extents of all labels. An extent of 1 at "..." broadcasts; others must agree.
local function extents_of(equation, terms)
  local extent = {}
  for _, term in ipairs(terms) do
    for i, d in ipairs(term.x.shape) do
      local label = term.labels[i]
      local known = extent[label]
      if known and known ~= d and not (label:match("%d") and (known == 1 or d == 1)) then
        bad(equation, "must give '%s' one extent, got %d and %d", label, known, d)
      end
      if not known or known == 1 then extent[label] = d end
    end
  end
  return extent
end

-- Takes the diagonal where a label stands twice in a term, and sums over axes that `keeps` refuses.
local function simplify(term, keeps)
  local labels = term.labels
  for i = #labels, 1, -1 do
    local first = place_of(labels, labels[i])
    if first < i then
      term.x = args.defined.diagonal.fn(term.x, { dim1 = first - 1, dim2 = i - 1 })
      local label = table.remove(labels, i)
      table.remove(labels, first)
      labels[#labels + 1] = label
      return simplify(term, keeps)
    end
  end
  local gone, left = {}, {}
  for i, label in ipairs(labels) do
    if keeps(label) then left[#left + 1] = label else gone[#gone + 1] = i - 1 end
  end
  if #gone > 0 then
    term.x = op.reduce_sum(term.x, { axis = gone })
    if #left == 0 then term.x = op.reshape(term.x, {}) end
  end
  term.labels = left
end

-- Puts the axes of a term in this order.
local function ordered(term, labels)
  local perm, is_same = {}, true
  for i, label in ipairs(labels) do
    perm[i] = place_of(term.labels, label) - 1
    is_same = is_same and perm[i] == i - 1
  end
  return is_same and term.x or op.transpose(term.x, perm)
end

local function joined(...)
  local list = {}
  for _, part in ipairs { ... } do
    for _, label in ipairs(part) do list[#list + 1] = label end
  end
  return list
end

local function size_of(labels, extent)
  local n = 1
  for _, label in ipairs(labels) do n = n * extent[label] end
  return n
end

-- The term as matrices: its axes in the order batch, rows, columns, each joined to one. Whether
-- they are read transposed is chosen so that axes need not be moved where that is possible.
local function matrices(term, batch, rows, columns, extent)
  local flipped = joined(batch, columns, rows)
  local transposed = table.concat(flipped) == table.concat(term.labels) and #rows > 0
  local x = ordered(term, transposed and flipped or joined(batch, rows, columns))
  local r, c = size_of(rows, extent), size_of(columns, extent)
  if transposed then r, c = c, r end
  return op.reshape(x, { size_of(batch, extent), r, c }), transposed
end

-- A term whose "..." axes of extent 1 are dropped where the other term has more there.
local function squeezed(term, other, extent)
  local labels, shape = {}, {}
  for i, label in ipairs(term.labels) do
    local d = term.x.shape[i]
    if not (d == 1 and extent[label] ~= 1 and place_of(other.labels, label)) then
      labels[#labels + 1], shape[#shape + 1] = label, d
    end
  end
  if #labels == #term.labels then return term end
  return { x = op.reshape(term.x, shape), labels = labels }
end

-- The product of two terms, summed over the labels that both have and `keeps` refuses.
local function contract(a, b, keeps, extent)
  a, b = squeezed(a, b, extent), squeezed(b, a, extent)
  local batch, summed, rows, columns = {}, {}, {}, {}
  for _, label in ipairs(a.labels) do
    local list = not place_of(b.labels, label) and rows or keeps(label) and batch or summed
    list[#list + 1] = label
  end
  for _, label in ipairs(b.labels) do
    if not place_of(a.labels, label) then columns[#columns + 1] = label end
  end
  local x, flip_x = matrices(a, batch, rows, summed, extent)
  local y, flip_y = matrices(b, batch, summed, columns, extent)
  local z
  if #summed == 0 then
    local n = size_of(batch, extent)
    z = op.multiply(op.reshape(x, { n, -1, 1 }), op.reshape(y, { n, 1, -1 }))
  else
    z = op.matmul(x, y, { transpose_a = flip_x, transpose_b = flip_y })
  end
  local labels, shape = joined(batch, rows, columns), {}
  for i, label in ipairs(labels) do shape[i] = extent[label] end
  return { x = op.reshape(z, shape), labels = labels }
end

define("einsum", "Sums of products after Einstein: letters name axes, and those that the "
  .. "result lacks are summed over, as in 'bij,bjk->bik'.", {
  { "equation", "the letters of each input, then '->' and those of the result; '...' stands for "
    .. "further axes", type = "string" },
  { "inputs", "a list of blobs or NdArrays", type = "Tensor[]" },
}, function(o)
  require "jfl.op.slices"
  local terms, result = parse(o.equation, tensors.need_list(WHO, "inputs", o.inputs))
  local extent = extents_of(o.equation, terms)
  local function needed_after(i)
    return function(label)
      if place_of(result, label) then return true end
      for j = i + 1, #terms do
        if place_of(terms[j].labels, label) then return true end
      end
      return false
    end
  end
  local sum = terms[1]
  simplify(sum, needed_after(1))
  for i = 2, #terms do
    local before = sum
    simplify(terms[i], function(label)
      return place_of(before.labels, label) or needed_after(i)(label)
    end)
    sum = contract(sum, terms[i], needed_after(i), extent)
  end
  local y, shape = ordered(sum, result), {}
  for i, label in ipairs(result) do shape[i] = extent[label] end
  if #shape == 0 then shape = { 1 } end
  return op.reshape(y, shape, { name = o.name })
end)
