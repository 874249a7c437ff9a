-- job:summary(): what the body describes as a table, a line for each op with how many numbers its
-- variables have.
local core = require "jfl.core"

local WIDEST = 40                -- columns of a name

local function cut(name) return #name > WIDEST and name:sub(1, WIDEST - 3) .. "..." or name end

-- Reads a node's line, "y: float32 (2) = relu(x) {...}": its row, and in counts what is left of
-- its variables.
local function node_row(line, counts)
  local name, kind, op, inputs = line:match("^  (%S+): (%S+ %b()).- = ([%w_]+)(%b())")
  if not name then return nil end
  local n = 0
  for input in inputs:sub(2, -2):gmatch("[^, ]+") do
    n, counts[input] = n + (counts[input] or 0), nil
  end
  return { cut(name), op, kind, n > 0 and ("%d"):format(n) or "" }
end

-- The rows of a graph's text, how many variables there are and numbers in them, what is returned,
-- and what is minimized.
local function read(text)
  local rows, counts, n, total, returned, minimized = {}, {}, 0, 0, {}, {}
  for line in text:gmatch("[^\n]+") do
    local what, name, kind = line:match("^  (%l+) (%S+): (.*)$")
    if what == "variable" then
      local count = 1
      for extent in kind:match("%((.*)%)"):gmatch("%d+") do count = count * tonumber(extent) end
      counts[name], n, total = count, n + 1, total + count
    elseif what == "input" then
      rows[#rows + 1] = { cut(name), "input", kind, "" }
    else
      rows[#rows + 1] = node_row(line, counts)
      returned[#returned + 1] = line:match("^  return (.*)$")
      minimized[#minimized + 1] = line:match("^  minimize (%S+ by %S+)")
    end
  end
  return rows, n, total, returned, minimized
end

local function aligned(rows)
  local widths, lines = { 0, 0, 0, 0 }, {}
  for _, row in ipairs(rows) do
    for k = 1, 4 do widths[k] = math.max(widths[k], #row[k]) end
  end
  local form = ("%%-%ds  %%-%ds  %%-%ds  %%%ds"):format(unpack(widths))
  for i, row in ipairs(rows) do lines[i] = form:format(unpack(row)):gsub("%s+$", "") end
  return lines
end

--- The text about a job with a graph.
return function(job, graph)
  local rows, n, total, returned, minimized = read(core.graph_text(graph, true))
  local lines = aligned(rows)
  table.insert(lines, 1, tostring(job))
  for _, text in ipairs(minimized) do lines[#lines + 1] = "minimizes " .. text end
  lines[#lines + 1] = "gives " .. (#returned > 0 and table.concat(returned, ", ") or "nothing")
  lines[#lines + 1] = ("%d numbers in %d variable%s"):format(total, n, n == 1 and "" or "s")
  return table.concat(lines, "\n")
end
