-- Orders of items that lie in several files.
local loop = require "jfl.data.loop"

local orders = {}

-- The items of the files, of which file i has counts[i], in this order of the files.
local function one_after_another(counts, files)
  local firsts, n, list = {}, 0, {}
  for i, count in ipairs(counts) do firsts[i], n = n, n + count end
  for _, file in ipairs(files) do
    for i = 1, counts[file] do list[#list + 1] = firsts[file] + i end
  end
  return list
end

--- The items in the order of these files, but each drawn at random, as the seed decides, out of a
-- buffer of so many: those that are read one after another lie close together.
function orders.buffered(counts, files, buffer, seed)
  local list = one_after_another(counts, files)
  local n, order, held = #list, {}, {}
  local places = loop.shuffled(n, seed)
  for i = 1, n + math.min(buffer, n) - 1 do
    held[#held + 1] = list[i]
    if #held >= buffer or i >= n then
      local at = places[(i - 1) % n + 1] % #held + 1
      order[#order + 1], held[at] = held[at], held[#held]
      held[#held] = nil
    end
  end
  return order
end

return orders
