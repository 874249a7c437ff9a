-- flow.config (the session's settings) and flow.function_config() (a job's).
---@space config=session
---@box config.check_finite function_config
local args = require "jfl.base.args"
local core = require "jfl.core"
local devices = require "jfl.job.devices"
local names = require "jfl.base.names"
local options = require "jfl.job.options"
local warn = require "jfl.base.warn"

local config = {
  --- Settings that the front end itself reads.
  values = {},
}

local defaults = { max_plans = 8, strict_placement = false, enable_auto_mixed_precision = false,
  when_full = "wait", when_new = "wait" }

-- ---- what settings take: a check gives the value, or fails ----

local function whole(least)
  return function(who, n) return args.integer(who, "value", n, least) end
end

local function seconds(who, s)
  return args.number(who, "value", s, "a number of at least 0 or math.huge")
end

local function flag(who, on) return args.expect(who, "value", on, "boolean") end

local function one_of(...)
  local list = { ... }
  return function(who, which) return args.one_of(who, "value", which, list) end
end

-- ---- settings: functions that set a value if they get one, and give what it is ----

-- One that is kept here. on_set(value), or nil, is called with each that is set.
local function here(name, check, on_set)
  return function(value)
    if value ~= nil then config.values[name] = check("config." .. name, value) end
    if value ~= nil and on_set then on_set(value) end
    return config.values[name]
  end
end

local function in_core(name, check)
  return function(value)
    if value ~= nil then core.set(name, check("config." .. name, value)) end
    return core.get(name)
  end
end

local function flag_in_core(name)
  local set = in_core(name, function(who, on) return flag(who, on) and 1 or 0 end)
  return function(on) return set(on) == 1 end
end

local settings = {
  threads = in_core("threads", whole(1)),
  background = flag_in_core("background"),
  callback_seconds = in_core("callback_seconds", seconds),
  check_finite = flag_in_core("check_finite"),
  max_inflight = in_core("max_inflight", whole(1)),
  memory_limit = in_core("memory_limit", whole(0)),
  max_plans = here("max_plans", whole(1)),
  strict_placement = here("strict_placement", flag),
  enable_tensor_float_32_compute = flag_in_core("tf32"),
  enable_auto_mixed_precision = here("enable_auto_mixed_precision", options.mixed),
  -- Whether a call for which the queue has no room waits for it, or says that it is "busy".
  when_full = here("when_full", one_of("wait", "busy"),
    function(which) core.never_wait(which == "busy") end),
  -- Whether an asynchronous call of a new shape makes its plan itself, queues the making before its
  -- run, or says that it is "busy" until the plan is there.
  when_new = here("when_new", one_of("wait", "queue", "busy"),
    function(which) core.never_new(which == "busy") end),
}

-- A function that gets the text of each warning; false: they go to stderr.
function settings.on_warning(handler)
  args.must(handler == nil or handler == false or type(handler) == "function", handler,
    "config.on_warning: value must be a function, or false for stderr")
  if handler ~= nil then warn.handler = handler end
  return warn.handler
end

local KERNELS = { "fast", "direct", "reference" }

-- "direct" leaves out convolutions by transforms, whose sums are less exact; "reference" uses only
-- the plain kernels.
function settings.kernels(which)
  if which == nil then return KERNELS[core.get("kernels") + 1] end
  core.set("kernels", args.one_of("config.kernels", "value", which, KERNELS))
end

function settings.cpu_device_num(n) return devices.cpu(n) end

function settings.gpu_device_num(n)
  local before = config.values.gpu_device_num or 0
  if n == nil then return before end
  devices.gpu(n, config.values.strict_placement, before)
  config.values.gpu_device_num = n
  return n
end

-- The devices of whatever has no placement, in jobs that are compiled from now on: "cpu:0".
function settings.device(name)
  if name ~= nil then core.set("device", args.expect("config.device", "value", name, "string")) end
  return core.device()
end

local function check_pass(name, passes)
  for _, pass in ipairs(passes) do
    if name == "-" .. pass then return end
  end
  args.check(name:sub(1, 1) == "-", "config.passes: what is left out must begin with -, as in "
    .. "\"-cse\", got '%s'", name)
  local set = {}
  for _, pass in ipairs(passes) do set[pass] = true end
  core.fail("config.passes: unknown pass '%s'; passes are %s%s", name:sub(2),
    table.concat(passes, ", "), names.suggest(name:sub(2), set))
end

-- Sets the passes that are left out of jobs compiled later, as in "-fold -cse"; "" leaves out none.
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

--- Each setting is a function: with a value it sets, without one it returns the present value.
config.session = setmetatable({}, {
  __names = settings,            -- for completion
  __index = function(_, name)
    local set = settings[name] or names.older("flow.config", tostring(name))
    if set then return set end
    core.fail("config: unknown option '%s'%s; options are %s", tostring(name),
      names.suggest(tostring(name), settings), args.names_of(settings))
  end,
  __newindex = function(_, name)
    core.fail("config: options are functions: flow.config.%s(value)", tostring(name))
  end,
})

--- Gives all settings the values of a new session.
function config.reset()
  for name in pairs(config.values) do config.values[name] = defaults[name] end
  for name, value in pairs(defaults) do config.values[name] = value end
  core.never_wait(false)
  core.never_new(false)
  warn.handler = false
end
config.reset()

local kept = setmetatable({}, { __mode = "k" })

local function setter(object, values, name, check)
  return function(first, second)
    local value = first
    if first == object then value = second end
    values[name] = check(value)
  end
end

-- An object with a setter for each of the checks, called with a dot or a colon. What the original
-- has under a name comes first: another option, a group of options, or more forms of a value.
local function setters(who, checks, values)
  local made = {}
  local function make(object, name)
    local check = names.older(who, tostring(name)) or checks[name]
    if type(check) == "function" then return setter(object, values, name, check) end
    if check then
      values[name] = {}
      return setters(who .. "." .. name, check, values[name])
    end
    core.fail("%s: unknown option '%s'%s; options are %s", who, tostring(name),
      names.suggest(tostring(name), checks), args.names_of(checks))
  end
  return setmetatable({}, {
    __names = checks,
    __index = function(object, name)
      if made[name] == nil then made[name] = make(object, name) end
      return made[name]
    end,
    __newindex = function(object, name, value)
      local set = object[name]
      if type(set) == "function" then return set(value) end
      core.fail("%s: %s is a group of options, which are set one by one", who, tostring(name))
    end,
    __tostring = function() return who end,
  })
end

--- Creates options of a job.
function config.function_config()
  local values = {}
  local object = setters("function_config", options, values)
  kept[object] = values
  return object
end

-- Tables are copied, objects are not.
local function copy_of(value)
  if not args.is_plain(value) then return value end
  local copy = {}
  for key, part in pairs(value) do copy[key] = copy_of(part) end
  return copy
end

--- A copy of the options set so far in an object of function_config(); nil for another value.
function config.snapshot(value)
  return copy_of(kept[value])
end

return config
