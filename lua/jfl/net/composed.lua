-- Functions that are made of ops, by the modules that define them. Each is loaded when its path,
-- such as flow.slice_v2, is read for the first time; one with the path of an op takes its place.
local args = require "jfl.base.args"

local paths = {
  ["jfl.net.arrays"] = {
    "dim_gather", "dim_scatter_add",
  },
  ["jfl.net.norms"] = {
    "nn.batch_normalization",
  },
}

local composed = {
  --- The name of the module that defines a path.
  module_of = {},
}

for module, list in pairs(paths) do
  for _, path in ipairs(list) do composed.module_of[path] = module end
end

--- The function that a path stands for.
function composed.load(path)
  require(composed.module_of[path])
  return args.defined[path].fn
end

return setmetatable(composed, { __index = function(_, path)
  return composed.module_of[path] and composed.load(path)
end })
