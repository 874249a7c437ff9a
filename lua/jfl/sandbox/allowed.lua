-- What a restricted script may use of flow, and of the objects that it gets. Of flow that is what
-- the front end's files mark by ---@box, and what the core has a record of. All else is not there:
-- names with processes, devices, other threads or the host's settings behind them. Those with files
-- behind them are there where a script with folders has use for them; which files they open is
-- decided where these are opened (src/system/reach.c).
local core = require "jfl.core"
local registry = require "jfl.base.registry"

local allowed = {}

--- The words of a text as a set.
function allowed.set_of(text)
  local set = {}
  for word in text:gmatch("%S+") do set[word] = true end
  return set
end
local set_of = allowed.set_of

--- Whether a path such as "nn.relu" may be used, and whether one is a namespace. The core's ops,
-- optimizers and schedules do no more than compute.
allowed.paths, allowed.spaces = {}, { [""] = true }
registry.each_in_box(function(path) allowed.paths[path] = true end)
for _, paths in pairs(core.op_paths()) do
  for path in paths:gmatch("%S+") do allowed.paths[path] = true end
end
require("jfl.op.ops").each_shared(function(_, name, other)
  allowed.paths[other .. "." .. name] = true
end)
for _, info in ipairs(core.optimizers()) do allowed.paths["optimizer." .. info.name] = true end
for _, info in ipairs(core.schedules()) do allowed.paths["optimizer." .. info.schedule] = true end
for path in pairs(allowed.paths) do
  for at in path:gmatch("()%.") do allowed.spaces[path:sub(1, at - 1)] = true end
end

--- The fields and methods of objects by their kind, as core.type() names it, or as the field `box`
-- of a class does; "table" stands for all that are tables but these and models: jobs, types,
-- optimizers, schedules. Arrays and blobs have the
-- functions of flow besides that may be used.
allowed.fields = {
  array = set_of [[
    shape dtype size all any argmax argmin astype assign copy digits eq fill free ge get gt item le
    lt matmul max mean min ne reshape set slice std sum take totable transpose
  ]],
  blob = set_of [[
    shape dtype name argmax argmin reshape slice take transpose astype eq ge gt le lt ne
  ]],
  model = set_of "freeze load name predict save summary train unfreeze variables",
  report = set_of [[
    inputs ir_version opset ops outputs path patterns producer unsupported weights
  ]],
  request = set_of "busy cancel done get wait",
  table = set_of "Placeholder minimize compile graph plan summary name shape dtype",
  tokenizer = set_of "batch decode encode id save size token",
}

return allowed
