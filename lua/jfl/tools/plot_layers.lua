-- Places the nodes of a graph in rows, so that edges lead down and cross seldom: Sugiyama's method,
-- with rows by the longest way, points where edges pass rows, and orders by neighbours' means.
local layers = {}

local SWEEPS = 12
local POINT = 14                 -- pixels of an edge that passes a row
local BESIDE = 0.001             -- how much what stands beside counts

-- The row of each node: one below the lowest of those it reads. What reads nothing stands right
-- above the first that reads it.
local function ranks_of(nodes)
  local rank, first = {}, {}
  for _, node in ipairs(nodes) do
    rank[node] = 1
    for _, from in ipairs(node.from) do rank[node] = math.max(rank[node], rank[from] + 1) end
  end
  for _, node in ipairs(nodes) do
    for _, from in ipairs(node.from) do
      first[from] = math.min(first[from] or math.huge, rank[node])
    end
  end
  for _, node in ipairs(nodes) do
    if #node.from == 0 and first[node] then rank[node] = first[node] - 1 end
  end
  return rank
end

-- Rows of nodes and points, each with the lists above and below of its neighbours; and each edge as
-- a list of what it leads through.
local function rows_of(nodes)
  local rank, rows, edges = ranks_of(nodes), {}, {}
  local function put(item, i)
    rows[i] = rows[i] or {}
    table.insert(rows[i], item)
    item.above, item.below = {}, {}
  end
  for _, node in ipairs(nodes) do
    for i = #rows + 1, rank[node] do rows[i] = {} end
    put(node, rank[node])
  end
  for _, node in ipairs(nodes) do
    local done = {}
    for _, from in ipairs(node.from) do
      local points = { from }
      for i = rank[from] + 1, rank[node] - 1 do
        points[#points + 1] = {}
        put(points[#points], i)
      end
      points[#points + 1] = node
      for k = 2, done[from] and 0 or #points do
        table.insert(points[k].above, points[k - 1])
        table.insert(points[k - 1].below, points[k])
      end
      if not done[from] then edges[#edges + 1] = points end
      done[from] = true
    end
  end
  return rows, edges
end

-- What reads nothing and has one reader, as weights do, counts little: it stands beside the
-- straight line of the others.
local function weight_of(item) return #item.above == 0 and #item.below == 1 and BESIDE or 1 end

-- The mean of a field over a list of neighbours.
local function mean(list, field, otherwise)
  local sum, weights = 0, 0
  for _, item in ipairs(list) do
    local weight = weight_of(item)
    sum, weights = sum + weight * item[field], weights + weight
  end
  return weights > 0 and sum / weights or otherwise
end

local function number(row)
  for i, item in ipairs(row) do item.at = i end
end

-- Orders a row by the mean place of the neighbours on one side.
local function order(row, side)
  for _, item in ipairs(row) do item.key = mean(item[side], "at", item.at) end
  table.sort(row, function(a, b)
    if a.key ~= b.key then return a.key < b.key end
    return a.at < b.at
  end)
  number(row)
end

local function half(item) return (item.width or POINT) / 2 end

-- Moves the items of a row as near to where they wish to be as their order and room allow, by least
-- squares: items that would overlap become a block, whose place is the mean of theirs.
local function settle(row, room)
  local blocks, offset = {}, 0
  for i, item in ipairs(row) do
    if i > 1 then offset = offset + half(row[i - 1]) + half(item) + room end
    item.offset = offset
    local weight = weight_of(item)
    local block = { first = i, weight = weight, sum = weight * (item.wish - offset) }
    while #blocks > 0 and blocks[#blocks].sum / blocks[#blocks].weight > block.sum / block.weight do
      local last = table.remove(blocks)
      block.first, block.weight = last.first, block.weight + last.weight
      block.sum = block.sum + last.sum
    end
    blocks[#blocks + 1] = block
  end
  for k, block in ipairs(blocks) do
    for i = block.first, (blocks[k + 1] and blocks[k + 1].first or #row + 1) - 1 do
      row[i].x = block.sum / block.weight + row[i].offset
    end
  end
end

--- Gives each node an x, its middle; returns the rows from the top, in which edges that pass have
-- points { x }, and the edges as lists of nodes and points. A node has from and width; those that
-- it reads stand before it in the list.
function layers.place(nodes, room)
  local rows, edges = rows_of(nodes)
  for _, row in ipairs(rows) do
    number(row)
    for _, item in ipairs(row) do item.x = 0 end
  end
  for sweep = 1, SWEEPS do
    local down = sweep % 2 == 1
    for i = down and 2 or #rows - 1, down and #rows or 1, down and 1 or -1 do
      order(rows[i], down and "above" or "below")
    end
  end
  for sweep = 1, SWEEPS do
    local down = sweep % 2 == 1
    for i = down and 1 or #rows, down and #rows or 1, down and 1 or -1 do
      for _, item in ipairs(rows[i]) do
        item.wish = mean(item[down and "above" or "below"], "x", item.x)
      end
      settle(rows[i], room)
    end
  end
  return rows, edges
end

return layers
