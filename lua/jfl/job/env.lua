-- flow.env: the processes that run a script together, its ranks.
---@space env
local args = require "jfl.base.args"
local core = require "jfl.core"

local env = {}

local machines = {}     -- addresses, as the script named them
local port = 0          -- where the first of them listens; 0: the usual one

--- Which of the processes that run this script this is: 0 is the first, 1 the next. Alone it is 0.
-- The first call waits until all of them are there.
env.rank = args.define("env.rank", "Which of the processes that run the script this is, from 0.", {
  returns = "integer",
}, function() return (core.world()) end)

--- How many processes run this script together; 1 where none but this one does. The first call
-- waits until all of them are there.
env.size = args.define("env.size", "How many processes run the script.", {
  returns = "integer",
}, function() return (select(2, core.world())) end)

--- The name of the host that a rank runs on.
env.host = args.define("env.host", "The name of the host that a rank runs on.", {
  { "rank", "which, from 0; else this one", args.none, type = "integer" },
  returns = "string",
}, function(o)
  local rank, size = core.world()
  if o.rank ~= nil then rank = args.integer("env.host", "rank", o.rank, 0) end
  if rank >= size then core.fail("env.host: rank must be below %d, got %d", size, rank) end
  local name = core.world_host(rank)
  return name ~= "" and name or select(2, core.process())
end)

local function address(value)
  if type(value) == "table" then value = value.addr end
  if type(value) == "string" and value ~= "" then return value end
  core.fail("env.machine: a machine must be an address such as \"127.0.0.1\" or "
    .. "{ addr = \"127.0.0.1\" }, got %s", args.describe(value))
end

--- Names the machines on which this script was started by hand, the first one first: the same
-- script with the same list on each. Processes that jfl --ranks, mpirun or srun started need none.
function env.machine(...)
  local first, count = (...), select("#", ...)
  local is_list = type(first) == "table" and first.addr == nil
  local list = is_list and count == 1 and first or { ... }
  local n = list == first and #list or count
  if n == 0 then core.fail("env.machine: takes at least one address, got none") end
  local hosts, seen = {}, {}
  for i = 1, n do
    hosts[i] = address(list[i])
    if seen[hosts[i]] and not os.getenv "JFL_RANK" then
      core.fail("env.machine: %s must be named once, got it twice; of several processes on one "
        .. "machine each needs its number in JFL_RANK", hosts[i])
    end
    seen[hosts[i]] = true
  end
  if #hosts > 1 then core.world_set(hosts, port, nil) end
  machines = hosts
end

--- The port at which the first machine waits for the others; without a value, what it is.
env.ctrl_port = args.define("env.ctrl_port", "Where the first machine waits for the others.", {
  { "value", "from 1 to 65535", args.none, type = "integer",
    range = "a whole number from 1 to 65535" },
  returns = "integer?",
}, function(o)
  if o.value == nil then return port > 0 and port or nil end
  if #machines > 1 then core.world_set(machines, o.value, nil) end
  port = o.value
  return port
end)

return env
