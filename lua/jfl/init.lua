-- The module `jfl`: its names, and the modules that they load at their first use.
---@box has version
local core = require "jfl.core"
local lazy = require "jfl.base.lazy"
local names = require "jfl.base.names"
local original = require "jfl.base.original"

local flow = { version = core.version }

-- Loaded at the first name that is asked for.
local function registry() return require "jfl.base.registry" end

local sources                    -- by name, where each comes from that is none of those

local function all_sources()
  if sources then return sources end
  local found = {}
  for _, entries in ipairs { registry().names(""), registry().tables() } do
    for name, where in pairs(entries) do found[name] = where end
  end
  sources = found                  -- once it is whole: memory may run out before
  return sources
end

local installed = false

-- Installs all ops at once, when a name is asked for the first time that is none of the above.
local function install()
  if installed then return end
  installed = true                 -- what is installed asks for names itself
  local ok, why = pcall(function() require("jfl.op.ops").install(flow) end)
  if not ok then
    installed = false
    error(why, 0)
  end
end

local function load(name)
  local where = registry().tables()[name]
  local value
  if where then
    value = registry().source(where)
    registry().fill(name, value)
    names.guard("flow." .. name, value)
  else
    value = registry().value(name)
  end
  rawset(flow, name, value)
  return value
end

names.attach(flow, function() return require("jfl.doc.index").paths() end,
  function(word) return require("jfl.doc.topics").text(word) ~= nil end)
original.attach("jfl.legacy.answers")
lazy.attach("network", "onnx.stored")

--- Whether there is a name such as "nn.relu" in flow. Anything else is not there: this never fails.
function flow.has(path) return names.has(path) end

local meta = {
  __names = all_sources,           -- for completion
  __tostring = function() return require("jfl.doc.overview")() end,
}

return names.guarded(flow, "flow", meta, function(name)
  if all_sources()[name] then return load(name) end
  install()
  local value = rawget(flow, name)
  if value == nil and type(name) == "string" and name:find("^%a") then
    return names.older("flow", name)
  end
  return value
end)
