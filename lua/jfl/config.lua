-- flow.config (the session's settings) and flow.function_config() (a job's).
--[==[ guide 10: Placement, settings, sessions
`flow.scope.placement("cpu", "0:0", fn)` runs a part of a body with its ops on a device and gives
what it returns. Without a usable GPU, `"gpu"` runs on the CPU after one warning, and is an error
after `flow.config.strict_placement(true)`. `flow.scope.namespace(name, fn)` puts `name-` before the
names of what is made in it.

```lua
local job = flow.global_function {
  name = "job",
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }) } },
  returns = tp.Numpy,
  body = function(x)
    return flow.scope.placement("cpu", "0:0", function()
      return flow.scope.namespace("head", function()
        return flow.layers.dense(x, 1, { name = "out" })
      end)
    end)
  end,
}
job({ { 1, 2 } })
print(flow.get_all_variables()["head-out-bias"])         --> [0.]
```

Settings of the session are functions: with a value they set, without one they tell.

```lua
flow.config.threads(1)
print(flow.config.threads(), flow.config.max_inflight())         --> 1	2
flow.config.passes("-fuse -cse")         -- leaves passes out, to see what they do
flow.config.kernels("reference")         -- "fast", "direct" or "reference"
print(flow.config.passes(), flow.config.kernels())       --> -cse -fuse	reference
```

`kernels("direct")` keeps the fast kernels but for convolutions by transforms, whose sums are less
exact; `"reference"` runs everything on the plain ones. `flow.config.memory_limit(bytes)` makes a
job that would need more fail when it is compiled. `flow.help("config")` lists all.

A job's own settings are in a config: `flow.function_config()`, whose options are calls.

```lua
local config = flow.function_config()
config.default_data_type(flow.double)
local job = flow.global_function {
  name = "double_job",
  function_config = config,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }, flow.double) } },
  returns = tp.Numpy,
  body = function(x)
    return x * flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
  end,
}
print(job({ 1, 2 }).dtype)                       --> float64
```

`flow.random.seed(n)` makes all that is drawn the same in every run. `flow.clear_default_session()`
drops jobs, variables and settings. `flow.profile(function() ... end)` prints where the time of the
jobs run in it goes.
]==]
local args = require "jfl.args"
local core = require "jfl.core"
local names = require "jfl.names"

local config = {
  --- Settings that the front end itself reads.
  values = {},
}

local defaults = { max_plans = 8, strict_placement = false, gpu_device_num = 0, cpu_device_num = 1 }

local function count(name, least)
  return function(n)
    if n ~= nil then config.values[name] = args.integer("config." .. name, "value", n, least) end
    return config.values[name]
  end
end

local function in_core(name, least)
  return function(n)
    if n ~= nil then core.set(name, args.integer("config." .. name, "value", n, least)) end
    return core.get(name)
  end
end

-- Settings of the original that concern other machines, its memory pools or its logs: what they
-- ask for either holds here anyway or means nothing.
local function accepted() end

local settings = {
  threads = in_core("threads", 1),
  max_inflight = in_core("max_inflight", 1),
  memory_limit = in_core("memory_limit", 0),
  max_plans = count("max_plans", 1),
  gpu_device_num = count("gpu_device_num", 0),
  cpu_device_num = count("cpu_device_num", 1),
  enable_debug_mode = accepted,
  enable_legacy_model_io = accepted,
  reserved_device_mem_mbyte = accepted,
  reserved_host_mem_mbyte = accepted,
}

function settings.strict_placement(on)
  if on ~= nil then
    config.values.strict_placement = args.expect("config.strict_placement", "value", on, "boolean")
  end
  return config.values.strict_placement
end

local KERNELS = { "fast", "direct", "reference" }

-- "direct": without convolutions by transforms, which are farther from exact sums; "reference": the
-- plain ones alone.
function settings.kernels(which)
  if which == nil then return KERNELS[core.get("kernels") + 1] end
  for _, name in ipairs(KERNELS) do
    if which == name then return core.set("kernels", which) end
  end
  core.fail("config.kernels: expected \"fast\", \"direct\" or \"reference\", got %s",
    args.describe(which))
end

local function check_pass(name, passes)
  for _, pass in ipairs(passes) do
    if name == "-" .. pass then return end
  end
  if name:sub(1, 1) ~= "-" then
    core.fail("config.passes: expected passes to leave out, as in \"-cse\", got '%s'", name)
  end
  local set = {}
  for _, pass in ipairs(passes) do set[pass] = true end
  core.fail("config.passes: unknown pass '%s'; passes are %s%s", name:sub(2),
    table.concat(passes, ", "), names.suggest(name:sub(2), set))
end

-- The passes that jobs compiled later do without: "-fold -cse"; "" leaves out none.
function settings.passes(list)
  if list ~= nil then
    args.expect("config.passes", "value", list, "string")
    for name in list:gmatch("[^%s,]+") do check_pass(name, (core.passes())) end
    core.set("passes", list)
  end
  local passes, off = core.passes()
  local left_out = {}
  for _, pass in ipairs(passes) do
    if off[pass] then left_out[#left_out + 1] = "-" .. pass end
  end
  return table.concat(left_out, " ")
end

--- Each setting is a function: with a value it sets, without one it gives the present value.
config.session = setmetatable({}, {
  __names = settings,            -- for completion
  __index = function(_, name)
    local set = settings[name]
    if set then return set end
    core.fail("config: unknown option '%s'; options are %s", tostring(name),
      args.names_of(settings))
  end,
  __newindex = function(_, name)
    core.fail("config: options are functions: flow.config.%s(value)", tostring(name))
  end,
})

--- All settings of a new session.
function config.reset()
  for name, value in pairs(defaults) do config.values[name] = value end
end
config.reset()

-- Checks of a job's options: each gives the value to keep.

local function flag(name)
  return function(on) return args.expect(name, "value", on, "boolean") end
end

local function number(name)
  return function(x) return args.expect(name, "value", x, "number") end
end

local function object(name, what)
  return function(value)
    local meta = getmetatable(value)
    if type(meta) == "table" and meta.scope_kind == what then return value end
    core.fail("%s: expected what flow.scope.%s(...) gives, got %s", name, what,
      args.describe(value))
  end
end

local function view(value)
  local meta = getmetatable(value)
  if type(meta) == "table" and meta.scope_kind == "view" then return value end
  core.fail("default_logical_view: expected flow.scope.consistent_view() or mirrored_view(), "
    .. "got %s", args.describe(value))
end

local job_options = {
  default_data_type = function(dtype) return args.dtype("default_data_type", "value", dtype) end,
  default_placement_scope = object("default_placement_scope", "placement"),
  default_logical_view = view,
  enable_auto_mixed_precision = flag("enable_auto_mixed_precision"),
  concurrency_width = number("concurrency_width"),
}
job_options.default_distribute_strategy = view

-- Hints about how to compile; the results they leave unchanged are the same here without them.
for _, name in ipairs {
  "allow_cpu_return_op", "cudnn_conv_enable_pseudo_half", "cudnn_conv_heuristic_search_algo",
  "cudnn_conv_use_deterministic_algo_only", "enable_cudnn", "enable_cudnn_conv_pseudo_half",
  "enable_fuse_add_to_output", "enable_fuse_cast_scale", "enable_fuse_model_update_ops",
  "enable_inplace", "enable_reused_mem", "prune_parallel_cast_ops",
} do
  job_options[name] = flag(name)
end

local train_options = {
  primary_lr = number("train.primary_lr"),
  secondary_lr = number("train.secondary_lr"),
  loss_scale_factor = number("train.loss_scale_factor"),
  model_update_conf = function(t)
    if type(t) == "table" and next(t) ~= nil then return t end
    core.fail("train.model_update_conf: expected a table such as {naive_conf = {}}, got %s",
      args.describe(t))
  end,
}

local kept = setmetatable({}, { __mode = "k" })

-- An object with a setter for each option, called with a dot or a colon. parts: objects in it.
local function setters(who, options, values, parts)
  local object_, methods = {}, parts or {}
  for name, check in pairs(options) do
    methods[name] = function(first, second)
      local value = first
      if first == object_ then value = second end
      if value == nil then value = true end
      values[name] = check(value)
    end
  end
  return setmetatable(object_, {
    __names = methods,
    __index = function(_, name)
      if methods[name] then return methods[name] end
      core.fail("%s: unknown option '%s'; options are %s", who, tostring(name),
        args.names_of(options))
    end,
    __newindex = function(_, name)
      core.fail("%s: options are set by calls: config.%s(value)", who, tostring(name))
    end,
  })
end

--- New options of a job.
function config.function_config()
  local values = { train = {} }
  local train = setters("function_config.train", train_options, values.train)
  local object_ = setters("function_config", job_options, values, { train = train })
  kept[object_] = values
  return object_
end

-- Tables are copied, objects are not.
local function copy_of(value)
  if type(value) ~= "table" or getmetatable(value) ~= nil then return value end
  local copy = {}
  for key, part in pairs(value) do copy[key] = copy_of(part) end
  return copy
end

--- A copy of the options that function_config() holds now; nil where `value` is none.
function config.snapshot(value)
  return copy_of(kept[value])
end

return config
