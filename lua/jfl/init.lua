-- The module `jfl`: names and what loads them at their first use.
local core = require "jfl.core"
local wrong = require "jfl.names"

local flow = {
  version = core.version,
  float = "float32", float32 = "float32", double = "float64", float64 = "float64",
  float16 = "float16", bfloat16 = "bfloat16",
  int8 = "int8", uint8 = "uint8", int32 = "int32", int64 = "int64",
}

-- A name is a module, or "module.field".
local names = {
  config = "jfl.config.session",
  data = "jfl.data",
  layers = "jfl.layers",
  losses = "jfl.optimizer.losses",
  ndarray = "jfl.ndarray",
  optimizer = "jfl.optimizer",
  random = "jfl.random",
  scope = "jfl.scope",
  train = "jfl.checkpoint.train",
  checkpoint = "jfl.checkpoint.checkpoint",
  typing = "jfl.typing",
  global_function = "jfl.job.global_function",
  clear_default_session = "jfl.job.clear_default_session",
  function_config = "jfl.config.function_config",
  FunctionConfig = "jfl.config.function_config",
  FixedTensorDef = "jfl.typing.FixedTensorDef",
  MirroredTensorDef = "jfl.typing.MirroredTensorDef",
  MirroredTensorListDef = "jfl.typing.MirroredTensorListDef",
  get_variable = "jfl.variable.get_variable",
  get_all_variables = "jfl.checkpoint.get_all_variables",
  load_variables = "jfl.checkpoint.load_variables",
  variable_scope = "jfl.scope.namespace",
  poll = "jfl.async.poll",
  profile = "jfl.profile.profile",
  sync = "jfl.async.sync",
  sync_default_session = "jfl.async.sync",
  help = "jfl.help.help",
  progress = "jfl.progress.progress",
  watch = "jfl.watch.watch",
  watch_diff = "jfl.watch.watch_diff",
  zip = "jfl.zip.zip",
  fd = "jfl.core.fd",
}

for _, name in ipairs {
  "truncated_normal", "truncated_normal_initializer", "constant_initializer", "zeros_initializer",
  "ones_initializer", "random_uniform_initializer", "random_normal_initializer",
  "variance_scaling_initializer", "glorot_uniform_initializer", "glorot_normal_initializer",
  "xavier_uniform_initializer", "xavier_normal_initializer", "kaiming_initializer",
} do
  names[name] = "jfl.initializer." .. name
end

local installed = false

-- Ops come all at once, when the first name is asked that is none of the above.
local function install()
  if installed then return end
  installed = true
  require("jfl.ops").install(flow, names)
end

local function load(name, where)
  local module, field = where:match("^(jfl%.%w+)%.?([%w_]*)$")
  local value = require(module)
  if field ~= "" then value = value[field] end
  if type(value) == "table" then wrong.guard("flow." .. name, value) end
  rawset(flow, name, value)
  return value
end

return setmetatable(flow, {
  __names = names,               -- for completion
  __index = function(_, name)
    if names[name] then return load(name, names[name]) end
    install()
    local value = rawget(flow, name)
    if value == nil and type(name) == "string" and name:match("^%a") then
      wrong.fail("flow", flow, name, names)
    end
    return value
  end,
})
