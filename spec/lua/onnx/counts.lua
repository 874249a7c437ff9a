--- How often each op is among some nodes: "add 5, matmul 2".
local counts = {}

--- The text for nodes that have their op under a key.
function counts.text(nodes, key)
  local names, times = {}, {}
  for _, node in ipairs(nodes) do
    local name = node[key]
    if not times[name] then names[#names + 1], times[name] = name, 0 end
    times[name] = times[name] + 1
  end
  table.sort(names)
  for i, name in ipairs(names) do names[i] = name .. " " .. times[name] end
  return table.concat(names, ", ")
end

return counts
