-- ONNX's Fourier transforms: DFT, and STFT of frames. Each is a product with a matrix of cosines
-- and sines, so that it has gradients; a fast transform would cost less where places are thousands.
local call = require "jfl.op.call"
local values = require "jfl.onnx.values"

local op = call.op

local ops = {}

local MOST = 2 ^ 23              -- numbers of a matrix

-- The matrix that makes `to` places of `from`, of lines where real and imaginary parts lie side by
-- side; real parts alone where `is_real` or `gives_real`. weight: of each place in the sums.
local function matrix(n, o)
  local rows, columns = o.is_real and 1 or 2, o.gives_real and 1 or 2
  n:times(o.from * rows * o.to * columns, "the product of both lengths", MOST)
  local list, turn = {}, (o.inverse and 2 or -2) * math.pi / o.length
  for i = 0, o.from - 1 do
    local weight = o.weight and o.weight(i) or 1
    if o.inverse then weight = weight / o.length end
    for part = 1, rows do                          -- of i times (re, im): the imaginary one turned
      for k = 0, o.to - 1 do
        local angle = i * k % o.length * turn
        local re, im = weight * math.cos(angle), weight * math.sin(angle)
        if part == 2 then re, im = -im, re end
        list[#list + 1] = re
        if columns == 2 then list[#list + 1] = im end
      end
    end
  end
  return values.array(list, o.dtype, { o.from * rows, o.to * columns })
end

-- Transforms the axis before the last of x, which has one part or two of each number.
local function transform(n, x, o)
  local s, parts = x.shape, x.shape[#x.shape]
  o.dtype, o.is_real = x.dtype, parts == 1
  if parts > 2 then n:fail("the last extent must be 1 or 2, got %d", parts) end
  o.from = math.min(o.from or o.length, s[#s - 1])
  x = values.slice(x, #s - 2, 0, o.from)
  local rows = values.count(s, 1, #s - 2)
  local y = op.matmul(values.reshape(x, { rows, o.from * parts }), matrix(n, o))
  local shape = { unpack(s) }
  shape[#s - 1], shape[#s] = o.to, o.gives_real and 1 or 2
  return values.reshape(y, shape)
end

-- An axis and the one before the last change places.
local function swapped(x, axis)
  local perm = values.steps(#x.shape)
  perm[axis + 1], perm[#perm - 1] = #perm - 2, axis
  return values.transpose(x, perm)
end

local function half(length) return math.floor(length / 2) + 1 end

ops.DFT = { function(n, x, length, axis)
  local rank = #x.shape
  axis = n:axis(axis and n:number(axis, "axis") or n:attr("axis", n.opset < 20 and 1 or -2), rank)
  if axis == rank - 1 then n:fail("axis must not be the last, which has the parts of numbers") end
  local inverse, onesided = n:flag "inverse", n:flag "onesided"
  x = swapped(x, axis)
  local extent = x.shape[rank - 1]
  local o = { inverse = inverse,
    length = length and n:number(length, "dft_length")
      or inverse and onesided and 2 * (extent - 1) or extent }
  if o.length < 1 then n:fail("dft_length must be at least 1, got %g", o.length) end
  o.to = onesided and not inverse and half(o.length) or o.length
  if inverse and onesided then                     -- the half that is left out is as what is there
    o.gives_real, o.from = true, half(o.length)
    o.weight = function(k) return (k == 0 or 2 * k == o.length) and 1 or 2 end
  end
  return swapped(transform(n, x, o), axis)
end, static = { 2, 3 } }

ops.STFT = { function(n, signal, step, window, length)
  local s = signal.shape
  step = n:number(step, "frame_step")
  length = length and n:number(length, "frame_length") or window and window.shape[1]
  if not length then n:fail("it must have a window or a frame_length") end
  local count = math.floor((s[2] - length) / step) + 1
  n:check(step >= 1 and length >= 1 and count >= 1, "frames of %g must fit into a signal of %d, "
    .. "got steps of %g", length, s[2], step)
  local places = {}
  n:times(count * length, "frames times their length")
  for i = 0, count - 1 do
    for k = 0, length - 1 do places[#places + 1] = i * step + k end
  end
  local parts = s[3] or 1
  local x = op.gather(values.reshape(signal, { s[1], s[2], parts }),
    values.array(places, "int32", { count, length }), { axis = 1 })
  if window then x = op.multiply(x, values.reshape(window, { 1, 1, length, 1 })) end
  return transform(n, x, { length = length,
    to = n:flag("onesided", true) and half(length) or length })
end, static = { 2, 4 } }

return ops
