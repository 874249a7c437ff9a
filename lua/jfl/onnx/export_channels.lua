-- Tensors whose channels come last: ONNX has them at axis 1.
local channels = {}

--- A list of so many numbers: the one given for all, or the default where there is none.
function channels.numbers(list, count, default)
  local out = {}
  for i = 1, count do out[i] = #list == 0 and default or list[#list == 1 and 1 or i] end
  return out
end

--- Permutations that bring the channels of a tensor with so many axes to axis 1, and back.
function channels.orders(rank)
  local first, last = { 0, rank - 1 }, { 0 }
  for i = 1, rank - 2 do first[i + 2], last[i + 1] = i, i + 1 end
  last[rank] = 1
  return first, last
end

--- Calls fn with a tensor whose channels are at axis 1 and with a function that writes the node of
-- fn's result, turned back to the order of axes that the node has.
function channels.first(b, n, x, value, fn)
  if not n.is_last then return fn(x, function(...) b:out(value, ...) end) end
  local first, last = channels.orders(#n.out.shape)
  return fn(b:transpose(x, first), function(...)
    b:out(value, "Transpose", { b:op(...) }, { perm = last })
  end)
end

--- The extents of a tensor's axes between images and channels.
function channels.inner(shape, is_last)
  local out = {}
  for i = 1, #shape - 2 do out[i] = shape[i + (is_last and 1 or 2)] end
  return out
end

--- Whether a node's channels come last.
function channels.is_last(n) return n.attributes.data_format:sub(-1) == "C" end

return channels
