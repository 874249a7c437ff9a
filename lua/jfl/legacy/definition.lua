-- Definitions of jobs as the original has them: the configuration comes first, and makes a train
-- job where it says how to train.
local args = require "jfl.base.args"
local config = require "jfl.job.config"

--- The table that defines a job, from what global_function was given. The user's is not changed.
return function(first, second)
  local t = second == nil and first or second
  if type(t) ~= "table" or config.snapshot(t) then return t end
  local made = {}
  for key, value in pairs(t) do made[key] = value end
  if second ~= nil then
    args.check(t.function_config == nil, "%s: function_config is given twice: before the table and "
      .. "in it", tostring(t.name))
    made.function_config = first
  end
  local options = config.snapshot(made.function_config)
  if made.type == nil and options and options.train and next(options.train) ~= nil then
    made.type = "train"
  end
  return made
end
