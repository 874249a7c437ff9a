-- ONNX's pools and convolutions beside their definitions, in pairs of all that a node may ask for.
local combine = require "spec.pairs"
local flow = require "jfl"
local ops = require "jfl.onnx.ops_nn"

local BATCH, CHANNELS, UNITS = 2, 4, 6
local FLAG = { false, true }

-- ---- places ----

-- Calls fn(place) for each place of a box of extents, whose places count from 0; the last axis goes
-- fastest.
local function each_place(extents, fn, place, axis)
  place, axis = place or {}, axis or 1
  if axis > #extents then return fn(place) end
  for i = 0, extents[axis] - 1 do
    place[axis] = i
    each_place(extents, fn, place, axis + 1)
  end
end

-- The element of nested lists at a place behind `first` ones, nil beside what there is.
local function at(list, first, place)
  for _, i in ipairs(first) do list = list[i] end
  for _, i in ipairs(place) do
    list = list[i + 1]
    if list == nil then return nil end
  end
  return list
end

-- What a row says of axis i, others for each.
local function window_of(row, axes)
  local w = { kernel = {}, strides = {}, dilations = {}, before = {}, after = {} }
  for i = 1, axes do
    w.kernel[i] = (row.kernel + i) % 3 + 1
    w.strides[i] = row.strides and (i + row.kernel) % 3 + 1 or 1
    w.dilations[i] = row.dilations and i % 2 + 1 or 1
    w.before[i], w.after[i] = 0, 0
    if row.pads and row.auto == "NOTSET" then
      w.before[i], w.after[i] = (w.kernel[i] - 1) % 2, w.kernel[i] - 1
    end
  end
  return w
end

local function attributes_of(row, w)
  local list = { kernel_shape = w.kernel, auto_pad = row.auto ~= "NOTSET" and row.auto or nil,
    strides = row.strides and w.strides or nil, dilations = row.dilations and w.dilations or nil }
  if row.pads then                        -- which only NOTSET reads
    list.pads = { unpack(w.before) }
    for _, n in ipairs(w.after) do list.pads[#list.pads + 1] = n end
  end
  return list
end

-- Sets the cells before and after each axis by auto_pad.
local function pad_same(row, w, extents)
  for i, extent in ipairs(extents) do
    if row.auto:find "^SAME" then
      local cells = math.ceil(extent / w.strides[i])
      local reach = (w.kernel[i] - 1) * w.dilations[i] + 1
      local all = math.max(0, (cells - 1) * w.strides[i] + reach - extent)
      local less, more = math.floor(all / 2), math.ceil(all / 2)
      w.before[i] = row.auto == "SAME_UPPER" and less or more
      w.after[i] = all - w.before[i]
    end
  end
end

-- How many windows each axis has; the last one of a ceil may end behind what there is, not begin.
local function cells_of(w, extents, ceil)
  local cells = {}
  for i, extent in ipairs(extents) do
    local n = 0
    local reach = (w.kernel[i] - 1) * w.dilations[i] + 1
    local limit = extent + w.before[i] + w.after[i]
    while n * w.strides[i] + reach <= limit do n = n + 1 end
    local begins, ends = n * w.strides[i], (n - 1) * w.strides[i] + reach
    if ceil and ends < limit and begins < extent + w.before[i] then n = n + 1 end
    cells[i] = n
  end
  return cells
end

-- ---- nodes ----

local function node_with(attributes)
  return {
    attr = function(_, name, default)
      if attributes[name] == nil then return default end
      return attributes[name]
    end,
    need = function(self, name) return assert(self:attr(name), name) end,
    flag = function(self, name) return self:attr(name, 0) ~= 0 end,
    wants = function() return false end,
    times = function(_, n) return n end,
    fail = function(_, ...) error(string.format(...)) end,
  }
end

local function run(op, attributes, arrays)
  flow.clear_default_session()
  local inputs = {}
  for i, a in ipairs(arrays) do inputs[i] = flow[a.dtype](a.shape) end
  local job = flow.global_function { name = "windows", inputs = inputs, body = function(...)
    return ops[op](node_with(attributes), ...)
  end }
  return job(unpack(arrays))
end

local function compare(got, extents, channels, value_of, what)
  assert.same({ BATCH, channels, unpack(extents) }, got.shape, what)
  local list = got:totable()
  for n = 1, BATCH do
    for c = 1, channels do
      each_place(extents, function(place)
        local want, is = value_of(n, c, place), at(list, { n, c }, place)
        if not (math.abs(want - is) <= 1e-4 * math.max(1, math.abs(want))) then
          error(("%s: [%d, %d, %s] is %g, not %g"):format(what, n, c, table.concat(place, ", "), is,
            want))
        end
      end)
    end
  end
end

local EXTENTS = { 7, 6, 5 }

local function array_of(shape, dtype)
  if dtype == "int8" then return flow.ndarray.array(flow.random.randint(-9, 9, shape), "int8") end
  return flow.random.normal(shape):astype(dtype)
end

-- ---- pools ----

local POOLS = {
  { "kind", { "MaxPool", "AveragePool", "LpPool" } }, { "axes", { 1, 2, 3 } },
  { "kernel", { 0, 1, 2 } }, { "strides", FLAG }, { "dilations", FLAG }, { "pads", FLAG },
  { "auto", { "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID" } }, { "ceil", FLAG },
  { "inside", FLAG }, { "p", { 1, 2, 3 } }, { "whole", FLAG },
}

-- The pool of the window at a place: what is taken of elements, how much cells beside them count.
local function pool_of(row, w, x, n, c, place, extents)
  local sum, most, count = 0, -math.huge, 0
  each_place(w.kernel, function(cell)
    local p, is_inside = {}, true
    for i, k in ipairs(cell) do
      p[i] = place[i] * w.strides[i] - w.before[i] + k * w.dilations[i]
      is_inside = is_inside and p[i] < extents[i] + w.after[i]
    end
    local v = at(x, { n, c }, p)
    if v then
      sum = sum + (row.kind == "LpPool" and math.abs(v) ^ row.p or v)
      most = math.max(most, v)
    end
    if v or row.inside and is_inside then count = count + 1 end
  end)
  return row.kind == "MaxPool" and most or row.kind == "LpPool" and sum ^ (1 / row.p)
    or sum / count
end

describe("a pool of ONNX", function()
  before_each(function() flow.random.seed(11) end)

  it("gives what its definition says", function()
    for _, row in ipairs(combine.rows(POOLS)) do
      local what, extents = combine.text(POOLS, row), { unpack(EXTENTS, 1, row.axes) }
      local w = window_of(row, row.axes)
      local attributes = attributes_of(row, w)
      attributes.ceil_mode = row.ceil and 1 or nil
      attributes.count_include_pad = row.inside and 1 or nil
      attributes.p = row.p ~= 2 and row.p or nil
      pad_same(row, w, extents)
      local is_whole = row.whole and row.kind == "MaxPool"
      local x = array_of({ BATCH, CHANNELS, unpack(extents) }, is_whole and "int8" or "float32")
      local got, list = run(row.kind, attributes, { x }), x:totable()
      assert.equal(x.dtype, got.dtype)
      compare(got, cells_of(w, extents, row.ceil), CHANNELS, function(n, c, place)
        return pool_of(row, w, list, n, c, place, extents)
      end, what)
    end
  end)
end)

-- ---- convolutions ----

local CONVOLUTIONS = {
  { "kind", { "Conv", "ConvTranspose" } }, { "axes", { 1, 2, 3 } }, { "kernel", { 0, 1, 2 } },
  { "strides", FLAG }, { "dilations", FLAG }, { "pads", FLAG }, { "group", { 1, 2 } },
  { "auto", { "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID" } }, { "bias", FLAG },
  { "more", FLAG }, { "shape", { "none", "less", "odd" } }, { "named", FLAG },
}

local function conv_at(row, w, lists, n, o, place)
  local sum, in_group = row.bias and lists[3][o] or 0, CHANNELS / row.group
  local first = math.floor((o - 1) / (UNITS / row.group)) * in_group
  each_place(w.kernel, function(cell)
    local p = {}
    for i, k in ipairs(cell) do
      p[i] = place[i] * w.strides[i] - w.before[i] + k * w.dilations[i]
    end
    for c = 1, in_group do
      sum = sum + (at(lists[1], { n, first + c }, p) or 0) * at(lists[2], { o, c }, cell)
    end
  end)
  return sum
end

-- Sets the cells that are cut before and after each axis of a transposed convolution; gives the
-- extents that are left, and what output_padding adds to them.
local function cut_of(row, w, extents, attributes)
  local left, more = {}, {}
  for i, extent in ipairs(extents) do
    more[i] = row.more and math.min(w.strides[i], w.dilations[i] + 1) - 1 or 0
    local all = (extent - 1) * w.strides[i] + more[i] + (w.kernel[i] - 1) * w.dilations[i] + 1
    local size = all - w.before[i] - w.after[i]
    if row.shape ~= "none" then size = math.max(1, all - (row.shape == "odd" and 3 or 2))
    elseif row.auto:find "^SAME" then size = extent * w.strides[i] end
    if row.shape ~= "none" or row.auto:find "^SAME" then
      local cut = all - size
      local half = row.auto:find "^SAME_LOWER" and math.ceil(cut / 2) or math.floor(cut / 2)
      if row.auto == "VALID" then half = math.ceil(cut / 2) end
      w.before[i] = math.max(0, half)
    end
    left[i] = size
  end
  attributes.output_padding = row.more and more or nil
  attributes.output_shape = row.shape ~= "none" and left or nil
  return left, more
end

local function transposed_at(row, w, lists, n, o, place)
  local in_group, out_group = CHANNELS / row.group, UNITS / row.group
  local sum, group = row.bias and lists[3][o] or 0, math.floor((o - 1) / out_group)
  each_place(w.kernel, function(cell)
    local p = {}
    for i, k in ipairs(cell) do
      p[i] = (place[i] + w.before[i] - k * w.dilations[i]) / w.strides[i]
    end
    for c = 1, in_group do
      local channel = group * in_group + c
      sum = sum + (at(lists[1], { n, channel }, p) or 0)
        * at(lists[2], { channel, o - group * out_group }, cell)
    end
  end)
  return sum
end

describe("a convolution of ONNX", function()
  before_each(function() flow.random.seed(11) end)

  it("gives what its definition says", function()
    for _, row in ipairs(combine.rows(CONVOLUTIONS)) do
      local what, extents = combine.text(CONVOLUTIONS, row), { unpack(EXTENTS, 1, row.axes) }
      local w, is_conv = window_of(row, row.axes), row.kind == "Conv"
      local attributes = attributes_of(row, w)
      attributes.group = row.group > 1 and row.group or nil
      if not row.named then attributes.kernel_shape = nil end
      local shape = is_conv and { UNITS, CHANNELS / row.group } or { CHANNELS, UNITS / row.group }
      for _, k in ipairs(w.kernel) do shape[#shape + 1] = k end
      local arrays = { array_of({ BATCH, CHANNELS, unpack(extents) }, "float32"),
        array_of(shape, "float32"), row.bias and array_of({ UNITS }, "float32") or nil }
      local lists, value_of, left = {}, conv_at
      for i, a in ipairs(arrays) do lists[i] = a:totable() end
      if is_conv then
        pad_same(row, w, extents)
        left = cells_of(w, extents, false)
      else
        left, value_of = cut_of(row, w, extents, attributes), transposed_at
      end
      compare(run(row.kind, attributes, arrays), left, UNITS, function(n, o, place)
        return value_of(row, w, lists, n, o, place)
      end, what)
    end
  end)
end)

describe("a window of ONNX", function()
  it("has one to three axes", function()
    for _, op in ipairs { "Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool" } do
      for _, rank in ipairs { 2, 6 } do
        local shape, kernel = {}, {}
        for i = 1, rank do shape[i], kernel[i - 2] = 2, 1 end
        local x = array_of(shape, "float32")
        assert.error_matches(function() run(op, { kernel_shape = kernel }, { x, x }) end,
          "x must have three to five axes, got shape")
      end
    end
  end)
end)
