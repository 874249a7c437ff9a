-- losses.lua SCRIPT STEPS PLACE DTYPE [ARGUMENT...]: runs an example from one seed and prints the
-- mean loss of each of so many training steps. PLACE is "as said", or a kind of devices and how
-- many, "sim 2", on which the example then runs instead of GPUs.
local script, steps, place, dtype = ...
local flow = require "jfl"

flow.random.seed(11)
if dtype == "float64" then flow.float, flow.float32 = dtype, dtype end

local kind, devices = place:match "^(%w+) (%d+)$"
if kind ~= "as" and kind then
  flow.config.device(tonumber(devices) > 1 and ("%s 0:0-%d"):format(kind, devices - 1)
    or kind .. ":0")
  local on = flow.scope.placement
  function flow.scope.placement(_, ids, fn) return on(kind, ids, fn) end
end

-- The mean of an array, or of those of all devices.
local function mean(result)
  if type(result) ~= "table" then return result:mean() end
  return flow.ndarray.concat(result, 0):mean()
end

local make, count = flow.global_function, 0
function flow.global_function(t)
  local job = make(t)
  local function call(_, ...)
    local result = job(...)
    count = count + 1
    print(("\nloss %d %.17g"):format(count, mean(result)))
    if count == tonumber(steps) then os.exit(0) end
    return result
  end
  return setmetatable({}, { __call = call, __index = function(_, name)
    return function(_, ...) return job[name](job, ...) end
  end })
end
rawset(_G, "arg", { [0] = script, select(5, ...) })
assert(loadfile(script))()
