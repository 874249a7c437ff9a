--- What scripts rely on: which functions there are, in which order they take what, and what an
-- option is that is left out.
local api = require "scripts.doc.api"
local golden = require "spec.golden"

local function shown(param)
  local default = param.default
  if default then return param.name .. " = " .. default end
  return param.name .. (param.optional and " = nil" or "")
end

-- The semicolon stands before what can be given by its name alone.
local function signature(f)
  local parts = {}
  for i, param in ipairs(f.params) do
    local separator = i == 1 and "" or i == f.positional + 1 and "; " or ", "
    parts[i] = separator .. shown(param)
  end
  return f.written .. "(" .. table.concat(parts) .. ")"
end

it("functions take what they took, and leave out what they left out", function()
  local lines = {}
  for _, f in ipairs(api.names()) do
    if f.params then lines[#lines + 1] = signature(f) end
  end
  golden.check("signatures", table.concat(lines, "\n") .. "\n")
end)
