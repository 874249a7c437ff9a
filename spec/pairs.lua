--- Combinations of options that hold every pair of two options' values at least once, which is far
-- fewer than all combinations.
local pairs_of = {}

-- Numbers of a fixed sequence, from 0 to n - 1.
local function numbers(seed)
  local state = seed
  return function(n)
    state = (state * 1103515245 + 12345) % 2 ^ 31
    return math.floor(state / 2 ^ 16) % n
  end
end

local function key(a, i, b, j)
  if a > b then a, i, b, j = b, j, a, i end
  return ("%d=%d %d=%d"):format(a, i, b, j)
end

-- All pairs of the factors' levels, as a set, and their number.
local function all_pairs(sizes)
  local left, n = {}, 0
  for a = 1, #sizes do
    for b = a + 1, #sizes do
      for i = 1, sizes[a] do
        for j = 1, sizes[b] do left[key(a, i, b, j)], n = true, n + 1 end
      end
    end
  end
  return left, n
end

-- How many pairs that are left a row gets by level i of factor a.
local function gain(left, row, a, i)
  local n = 0
  for b, j in pairs(row) do
    if left[key(a, i, b, j)] then n = n + 1 end
  end
  return n
end

-- A row that begins with a pair which is left, and takes for each other factor, from one drawn on,
-- the level that gets most pairs.
local function row_of(left, sizes, draw)
  local first
  for each in pairs(left) do
    if not first or each < first then first = each end
  end
  local a, i, b, j = first:match("(%d+)=(%d+) (%d+)=(%d+)")
  local row, start = { [tonumber(a)] = tonumber(i), [tonumber(b)] = tonumber(j) }, draw(#sizes)
  for k = 1, #sizes do
    local factor = (start + k) % #sizes + 1
    if not row[factor] then
      local most, best, shift = -1, nil, draw(sizes[factor])
      for l = 1, sizes[factor] do
        local level = (shift + l) % sizes[factor] + 1
        local n = gain(left, row, factor, level)
        if n > most then most, best = n, level end
      end
      row[factor] = best
    end
  end
  return row
end

--- Rows such as { clip = "norm", nesterov = true } of factors such as { { "clip", { "none", "norm"
-- } }, { "nesterov", { false, true } } }. Every two levels
-- of two factors stand together in one of the rows.
function pairs_of.rows(factors)
  local sizes, rows, draw = {}, {}, numbers(7)
  for a, factor in ipairs(factors) do sizes[a] = #factor[2] end
  local left, n = all_pairs(sizes)
  while n > 0 do
    local row, named = row_of(left, sizes, draw), {}
    for a = 1, #sizes do
      for b = a + 1, #sizes do
        local each = key(a, row[a], b, row[b])
        if left[each] then left[each], n = nil, n - 1 end
      end
      named[factors[a][1]] = factors[a][2][row[a]]
    end
    rows[#rows + 1] = named
  end
  return rows
end

--- A row as text: "clip=norm nesterov=true", in the factors' order.
function pairs_of.text(factors, row)
  local parts = {}
  for i, factor in ipairs(factors) do
    parts[i] = ("%s=%s"):format(factor[1], tostring(row[factor[1]]))
  end
  return table.concat(parts, " ")
end

return pairs_of
