-- The original's views of several devices: a job runs on one, of which both say the same. What a
-- call takes and gives is said by the job's types.
local args = require "jfl.base.args"

local views = {}

for _, name in ipairs { "consistent_view", "mirrored_view" } do
  local object = setmetatable({}, { scope_kind = "view",
    __tostring = function() return name .. "()" end })
  views[name] = function(fn)
    if fn == nil then return object end
    return args.expect(name, "fn", fn, "function")()
  end
end

return views
