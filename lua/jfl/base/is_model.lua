-- is_model(value): whether a value is a model, for modules below jfl.net too.
local metatable = require "jfl.base.metatable"

return function(value)
  local class = metatable(value)
  return type(class) == "table" and class.class == "Model"
end
