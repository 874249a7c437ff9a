-- Calls of the original about sessions as a whole, and about the job whose body runs.
local args = require "jfl.base.args"
local core = require "jfl.core"
local trace = require "jfl.job.trace"

local session = {}

local STRATEGIES = { reuse_mem_priority = true, parallelism_priority = true,
  custom_parallelism = true }

--- Does nothing: jobs run one after another and share their memory for temporaries anyway.
session.inter_job_reuse_mem_strategy = args.unlisted("inter_job_reuse_mem_strategy",
  { { "strategy" }, { "job_set", "", args.none }, { "job_name_groups", "", args.none } },
  function(o)
    if STRATEGIES[o.strategy] then return end
    core.fail("inter_job_reuse_mem_strategy: strategy must be one of %s, got %s",
      args.names_of(STRATEGIES), args.describe(o.strategy))
  end)

--- Fails unless it is turned off.
session.enable_eager_execution = args.unlisted("enable_eager_execution", { { "val", "", true } },
  function(o)
    if not o.val then return end
    core.fail("enable_eager_execution: jobs are always compiled; outside of bodies every op runs "
      .. "at once on NdArrays, as in flow.nn.relu(flow.ndarray.ones({2}))")
  end)

--- Whether bodies run op by op, which they never do.
session.eager_execution_enabled = args.unlisted("eager_execution_enabled", {},
  function() return false end)

--- The job whose body runs.
session.current_global_function_desc = args.unlisted("current_global_function_desc", {},
  function() return trace.need("current_global_function_desc").job end)

session.experimental_scope = {}

--- Runs fn, of which with checkpointing the gradients compute values again.
session.experimental_scope.config = args.unlisted("experimental.scope.config",
  { { "checkpointing", "", false }, { "fn", type = "function" } }, function(o)
    if not o.checkpointing then return o.fn() end
    return require("jfl.net.scope").recompute(o.fn)
  end)

local made = setmetatable({}, { __mode = "k" })      -- modules by name, for each context

--- What create gave the first time that the body asked for a module of this name.
session.find_or_create_module = args.unlisted("find_or_create_module",
  { { "module_name" }, { "create", type = "function" }, { "reuse", "", false } }, function(o, who)
    local context = trace.need(who)
    made[context] = made[context] or {}
    local modules, name = made[context], args.expect(who, "module_name", o.module_name, "string")
    if modules[name] == nil then
      modules[name] = o.create()
    elseif not o.reuse then
      core.fail("%s: '%s' exists in this job already and reuse is false", who, name)
    end
    return modules[name]
  end)

return session
