-- Convolutions and their gradients by jfl's own loops, in the process without libraries that
-- own_spec.lua starts: for many geometries they are near those of the plain kernels, and the same
-- on any number of threads.
local core = require "jfl.core"
local support = require "spec.op.support"

--- Numbers that look random, the same in each run.
local state = 1
local function pick(list)
  state = (state * 16807) % 2147483647
  return list[state % #list + 1]
end

local function upto(n)
  local list = {}
  for i = 1, n do list[i] = i end
  return pick(list)
end

--- A geometry that has a result, or nil.
local function geometry()
  local groups, last = pick { 1, 1, 1, 2, 4, 16, 24, 32 }, pick { false, false, true }
  local axes = pick { 2, 2, 2, 1, 3 }
  local from, to = groups * pick { 1, 3, 8, 16, 20 }, groups * pick { 1, 5, 16, 20, 48 }
  if groups > 4 then from, to = groups, groups * pick { 1, 1, 2 } end
  local o = { strides = {}, dilations = {}, padding = { 0, 0 }, groups = groups,
    data_format = (last and "N%sC" or "NC%s"):format(({ "W", "HW", "DHW" })[axes]) }
  local x, w, pads = {}, {}, {}
  for i = 1, axes do
    x[i], w[i] = upto(axes == 2 and 17 or 7), upto(axes == 2 and 5 or 3)
    o.strides[i], o.dilations[i] = pick { 1, 1, 2, 3, 30 }, pick { 1, 1, 2 }
    local before, after = pick { 0, 1, 2, 5 }, pick { 0, 1, 2 }
    pads[#pads + 1], pads[#pads + 2] = before, after
    if x[i] + before + after < (w[i] - 1) * o.dilations[i] + 1 then return nil end
  end
  o.padding = last and { 0, 0 } or { 0, 0, 0, 0 }
  for _, p in ipairs(pads) do o.padding[#o.padding + 1] = p end
  if last then o.padding[#o.padding + 1], o.padding[#o.padding + 2] = 0, 0 end
  local function shape(n, channels, size)
    local s = { n, unpack(size) }
    table.insert(s, last and #s + 1 or 2, channels)
    return s
  end
  return { op = ("conv%dd"):format(axes), options = o, x = shape(upto(3), from, x),
    w = shape(to, from / groups, w), depth = from / groups, act = pick { false, "relu", "relu6" } }
end

--- The results of a convolution and of its gradients, in one list.
local function outcome(case, kernels, threads)
  core.set("kernels", kernels)
  core.set("threads", threads)
  local inputs = {}
  for i, s in ipairs { case.x, case.w } do inputs[i] = support.filled("float32", s, -0.3, 0.31) end
  local specs = {}
  for i, x in ipairs(inputs) do specs[i] = { dtype = "float32", shape = x.shape } end
  local plan = support.plan(specs, function(g, v)
    local y = core.op(case.op)(v[1], v[2], case.options)
    if case.act then y = core.op(case.act)(y) end
    local loss = core.op "reduce_sum" (core.op "square" (y))
    local dx, dw = unpack(core.gradients(g, loss, nil, { v[1], v[2] }))
    return { y, dx, dw }
  end)
  local all = {}
  for _, y in ipairs { core.run(plan, unpack(inputs)) } do
    for _, number in ipairs(support.flat(y)) do all[#all + 1] = number end
  end
  core.set("kernels", "fast")
  return all
end

local function text(case)
  local function list(t)
    return type(t) == "table" and "(" .. table.concat(t, ", ") .. ")" or tostring(t)
  end
  local o = case.options
  return ("%s of %s by %s, strides %s, dilations %s, padding %s, %d groups, %s, %s"):format(case.op,
    list(case.x), list(case.w), list(o.strides), list(o.dilations), list(o.padding), o.groups,
    o.data_format, case.act or "no activation")
end

local function check(case)
  local one, two = outcome(case, "direct", 1), outcome(case, "direct", 2)
  local ok, message = support.close(one, outcome(case, "reference", 2), 1e-4)
  assert.truthy(ok, text(case) .. ": " .. tostring(message))
  for i = 1, #one do assert.equal(one[i], two[i]) end
end

--- A convolution of two images by filters of side x side cells.
local function plain(height, width, from, to, side, groups)
  local p = (side - 1) / 2
  return { op = "conv2d", x = { 2, from, height, width }, w = { to, from / groups, side, side },
    options = { strides = { 1, 1 }, dilations = { 1, 1 }, padding = { 0, 0, 0, 0, p, p, p, p },
      groups = groups, data_format = "NCHW" } }
end

describe("convolutions by own loops", function()
  teardown(core.reset)

  -- of tiles of 14 places and 16 filters, in blocks of 256 steps and, of filters, 192 cells
  it("are so around tiles and blocks", function()
    for _, width in ipairs { 1, 13, 14, 15, 28, 29 } do check(plain(3, width, 3, 5, 3, 1)) end
    for _, n in ipairs { 15, 16, 17, 32, 33 } do
      check(plain(4, 5, 3, n, 3, 1))
      check(plain(4, 5, n, 3, 3, 1))
      check(plain(5, 6, n, n, 3, n))
    end
    for _, n in ipairs { 28, 29 } do check(plain(4, 5, n, 5, 3, 1)) end
    for _, n in ipairs { 191, 192, 193, 255, 256, 257 } do check(plain(2, 3, n, 5, 1, 1)) end
  end)

  it("are so one channel at a time, whose cells lie apart", function()
    for _, format in ipairs { "NCHW", "NHWC" } do
      for _, n in ipairs { 2, 5, 16, 17, 40 } do
        for stride = 1, 3 do
          local last = format == "NHWC"
          check { op = "conv2d", x = last and { 2, 9, 11, n } or { 2, n, 9, 11 },
            w = last and { n, 3, 3, 1 } or { n, 1, 3, 3 }, options = { strides = stride,
              padding = "SAME", groups = n, data_format = format } }
        end
      end
    end
  end)

  it("are as exact as float32 sums, in any geometry", function()
    local tried = 0
    while tried < 80 do
      local case = geometry()
      if case then
        tried = tried + 1
        check(case)
      end
    end
  end)
end)
