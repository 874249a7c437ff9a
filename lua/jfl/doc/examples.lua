-- Examples of the names of flow, for flow.help and the reference; the specs run them all. They are
-- kept as text, in the files of the folder examples: "## nn.relu, nn.relu6" begins one, which is of
-- both names (after a comma the next line goes on), and what a line prints stands behind "-->".

local index = require "jfl.doc.index"

-- What an example begins with where it uses the short names.
local SHORT = { nd = "flow.ndarray", tp = "flow.typing" }

local function complete(code)
  local names, values = {}, {}
  for _, name in ipairs { "nd", "tp" } do
    if code:find("%f[%w_]" .. name .. "%.") then
      names[#names + 1], values[#values + 1] = name, SHORT[name]
    end
  end
  if #names == 0 then return code end
  return ("local %s = %s\n%s"):format(table.concat(names, ", "), table.concat(values, ", "), code)
end

local examples = {
  --- The code of each by path, such as "nn.relu"; it needs `flow` alone.
  by_path = {},
}

for name in pairs(package.preload) do
  if name:find("^jfl%.doc%.examples%.") then
    local text = require(name):gsub(",\n## ", ", ")
    for paths, code in text:gmatch("## ([^\n]+)\n(.-)\n%f[#%z]") do
      code = complete((code:gsub("\n+$", "")))
      for path in paths:gmatch("[^, ]+") do examples.by_path[path] = code end
    end
  end
end

--- The example of a name, whose entry in the index is e: its own, that of what it is another name
-- of, or that of the function which it is as a method; nil without one.
function examples.of(path, e)
  local by_path = examples.by_path
  local name = path:match("^NdArray:(.*)$")
  if by_path[path] then return by_path[path] end
  if name then return by_path["ndarray." .. name] end
  if e and e.same_as then return examples.of(e.same_as, index.entries()[e.same_as] or nil) end
  for other in (e and e.op and e.op.path or ""):gmatch("%S+") do
    if by_path[other] then return by_path[other] end
  end
end

return examples
