-- Calls of the original about sessions as a whole, and about the job whose body runs.
local args = require "jfl.base.args"
local core = require "jfl.core"
local trace = require "jfl.job.trace"

local session = {}

local STRATEGIES = { reuse_mem_priority = true, parallelism_priority = true,
  custom_parallelism = true }

session.inter_job_reuse_mem_strategy = args.define("inter_job_reuse_mem_strategy",
  "Does nothing: jobs run one after another and share their memory for temporaries.", {
    { "strategy", "\"reuse_mem_priority\", \"parallelism_priority\" or \"custom_parallelism\"" },
    { "job_set", "ignored", args.none },
    { "job_name_groups", "ignored", args.none },
  }, function(o)
    if STRATEGIES[o.strategy] then return end
    core.fail("inter_job_reuse_mem_strategy: strategy must be one of %s, got %s",
      args.names_of(STRATEGIES), args.describe(o.strategy))
  end)

session.enable_eager_execution = args.define("enable_eager_execution",
  "Fails unless it is turned off: a job is compiled, and ops on NdArrays run at once.", {
    { "val", "whether bodies run op by op", true },
  }, function(o)
    if not args.expect("enable_eager_execution", "val", o.val, "boolean") then return end
    core.fail("enable_eager_execution: jobs are always compiled; outside of bodies every op runs "
      .. "at once on NdArrays, as in flow.nn.relu(flow.ndarray.ones({2}))")
  end)

session.eager_execution_enabled = args.define("eager_execution_enabled",
  "Whether bodies run op by op, which they never do.", {}, function() return false end)

session.current_global_function_desc = args.define("current_global_function_desc",
  "The job whose body runs.", {}, function()
    return trace.need("current_global_function_desc").job
  end)

session.find_or_create_module = args.define("find_or_create_module",
  "What create gave the first time that the body asked for a module of this name.", {
    { "module_name", "its name in the job" },
    { "create", "a function that makes it" },
    { "reuse", "whether it may exist already", false },
  }, function(o)
    local who = "find_or_create_module"
    local modules = trace.need(who).modules
    args.expect(who, "module_name", o.module_name, "string")
    args.expect(who, "create", o.create, "function")
    if modules[o.module_name] == nil then
      modules[o.module_name] = o.create()
    elseif not o.reuse then
      core.fail("%s: '%s' exists in this job already and reuse is false", who, o.module_name)
    end
    return modules[o.module_name]
  end)

return session
