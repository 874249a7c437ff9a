-- ONNX's ops of detectors: which boxes are kept, and what lies in them.
local call = require "jfl.op.call"
local counted = require "jfl.onnx.counted"
local values = require "jfl.onnx.values"

local op, cast, reshape, slice = call.op, values.cast, values.reshape, values.slice

local ops = {}

-- Boxes that are a middle and a size as two corners.
local function corners(boxes)
  local middle, half = slice(boxes, 2, 0, 2), op.multiply(slice(boxes, 2, 2, 2), 0.5)
  return values.concat({ op.subtract(middle, half), op.add(middle, half) }, 2)
end

-- The rows (batch, class, box) of what is kept.
ops.NonMaxSuppression = { function(n, boxes, scores, most, overlap, score)
  local batch, classes, count = unpack(scores.shape, 1, 3)
  most = math.max(0, math.min(n:number(most, "max_output_boxes_per_class") or 0, count))
  local total = batch * classes * most
  if total == 0 then return values.array({}, "int64", { 0, 3 }) end
  if n:attr("center_point_box", 0) == 1 then boxes = corners(boxes) end
  local y = op.non_max_suppression(boxes, counted.scores(scores), { max_output = most,
    iou_threshold = n:number(overlap, "iou_threshold") or 0,
    score_threshold = n:number(score, "score_threshold") or -math.huge })
  local flat = reshape(y, { total })
  local kept, order = counted.places(op.greater_equal(flat, 0))
  local at = cast(order, "float64")
  local line = op.floor(op.divide(at, most))
  local sample = op.floor(op.divide(line, classes))
  local parts = { sample, op.subtract(line, op.multiply(sample, classes)),
    op.maximum(op.gather(flat, order, { axis = 0 }), 0) }
  for i, part in ipairs(parts) do parts[i] = reshape(cast(part, "int64"), { total, 1 }) end
  return counted.make(values.concat(parts, 1), 0, kept)
end, static = { 3, 4, 5 } }

-- ---- what lies in boxes ----

-- Where the samples of one axis read: for each a list of two { places, shares } (boxes, cells).
-- first and last: where boxes begin and end (boxes, 1).
local function samples_of(first, last, cells, count, extent, aligned)
  local size = op.subtract(last, first)
  if not aligned then size = op.maximum(size, 1) end
  local cell, list = op.divide(size, cells), {}
  local numbers = values.array(values.steps(cells), first.dtype, { 1, cells })
  for i = 1, count do
    local at = op.add(first, op.multiply(cell, op.add(numbers, (i - 0.5) / count)))
    local inside = cast(op.logical_and(op.greater_equal(at, -1), op.less_equal(at, extent)),
      first.dtype)
    at = op.clip_by_value(at, { min_value = 0, max_value = extent - 1 })
    local low = op.floor(at)
    local share = op.subtract(at, low)
    list[i] = { { low, op.multiply(inside, op.add(op.negative(share), 1)) },
      { op.minimum(op.add(low, 1), extent - 1), op.multiply(inside, share) } }
  end
  return list
end

-- The mean, or the largest part, of what samples of the cells of boxes read by bilinear shares.
function ops.RoiAlign(n, x, boxes, sample)
  local s, count, rows = x.shape, boxes.shape[1], n:attr("output_height", 1)
  local columns, per_axis = n:attr("output_width", 1), n:attr("sampling_ratio", 0)
  n:check(per_axis >= 1, "sampling_ratio must be above 0, as it else depends on numbers, got %d",
    per_axis)
  n:times(per_axis, "sampling_ratio", 64)
  n:times(math.max(rows, columns), "output_height and output_width", 4096)
  local how = n:attr("coordinate_transformation_mode", n.opset < 16 and "output_half_pixel"
    or "half_pixel")
  local aligned, takes_most = how == "half_pixel", n:attr("mode", "avg") == "max"
  local places = op.subtract(op.multiply(boxes, n:attr("spatial_scale", 1)), aligned and 0.5 or 0)
  local function side(k) return slice(places, 1, k, 1) end
  local down = samples_of(side(1), side(3), rows, per_axis, s[3], aligned)
  local across = samples_of(side(0), side(2), columns, per_axis, s[4], aligned)
  local pixels = reshape(values.transpose(x, { 0, 2, 3, 1 }), { s[1] * s[3] * s[4], s[2] })
  local start = op.multiply(reshape(cast(sample, "int64"), { count, 1, 1 }), s[3] * s[4])
  local y
  local function add(v, h)
    local at = op.add(op.multiply(reshape(v[1], { count, rows, 1 }), s[4]),
      reshape(h[1], { count, 1, columns }))
    local share = op.multiply(reshape(v[2], { count, rows, 1, 1 }),
      reshape(h[2], { count, 1, columns, 1 }))
    local part = op.multiply(op.gather(pixels, op.add(cast(at, "int64"), start), { axis = 0 }),
      share)
    y = not y and part or takes_most and op.maximum(y, part) or op.add(y, part)
  end
  for _, vertical in ipairs(down) do
    for _, horizontal in ipairs(across) do
      for _, v in ipairs(vertical) do
        for _, h in ipairs(horizontal) do add(v, h) end
      end
    end
  end
  if not takes_most then y = op.divide(y, per_axis * per_axis) end
  return values.transpose(y, { 0, 3, 1, 2 })
end

return ops
