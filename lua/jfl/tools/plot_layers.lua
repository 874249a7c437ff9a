-- Places the nodes of a graph in rows, so that edges lead down and cross seldom: Sugiyama's method,
-- with rows by the longest way, points where edges pass rows, and orders by neighbours' means.
local layers = {}

local SWEEPS = 12
local POINT = 14                 -- pixels of an edge that passes a row

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

local function mean(list, field, otherwise)
  if #list == 0 then return otherwise end
  local sum = 0
  for _, item in ipairs(list) do sum = sum + item[field] end
  return sum / #list
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

-- Moves the items of a row as near to where they want to be as their order and room allow: the mean
-- of what they need if they are pushed from the left and from the right.
local function settle(row, room)
  local left, right = {}, {}
  local edge = -math.huge
  for i = 1, #row do
    left[i] = math.max(row[i].wish, edge + half(row[i]))
    edge = left[i] + half(row[i]) + room
  end
  edge = math.huge
  for i = #row, 1, -1 do
    right[i] = math.min(row[i].wish, edge - half(row[i]))
    edge = right[i] - half(row[i]) - room
  end
  for i, item in ipairs(row) do item.x = (left[i] + right[i]) / 2 end
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
