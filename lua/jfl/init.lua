-- The module `jfl`: its names, and the modules that they load at their first use.
--[==[ guide 1: First steps
If you have never trained a network, begin with
[the tutorial](tutorial-pictures-are-numbers.md): it explains what this guide takes for granted.

jfl turns a Lua function that describes a computation, a *job function*, into a static plan and runs
it. What a script needs is one module:

```lua
local flow = require "jfl"
local tp = flow.typing

local double = flow.global_function {
  name = "double",
  inputs = { { "x", tp.Numpy.Placeholder({ 3 }) } },
  returns = tp.Numpy,
  body = function(x) return x * 2 end,
}

print(double({ 1, 2, 3 }))                       --> [2. 4. 6.]
```

The other examples of this guide begin with the same two lines. Run it with `jfl script.lua`, with
`luajit` where `jfl.so` is on `package.cpath`, or type it at the prompt that `jfl` alone opens.

Calls take positional arguments first; everything else goes, by name, into **one options table,
last**. An option that does not exist, or one given both ways, is an error that names the valid
ones.

```lua
local a = flow.ndarray.array({ { 1, 2 }, { 3, 4 } })
print(flow.nn.softmax(a, -1):get(1, 1) == flow.nn.softmax(a, { axis = -1 }):get(1, 1))  --> true
print(flow.nn.softmax({ logits = a }):sum())     --> 2
```

Numbers that mean data count from 0: axes (negative from the end), class labels, results of
`argmax`. Lua containers count from 1: `x.shape[1]` is the batch, `a[1]` the first row.

`flow.help("softmax")` tells what a name does, `flow.help("nn")` what a namespace holds,
`flow.help()` all there is. A misspelled name is an error with the nearest one;
`flow.has("nn.gelu")` asks whether a name is there, and never fails.
]==]
local core = require "jfl.core"
local names = require "jfl.base.names"

local flow = {
  version = core.version,
  float = "float32", float32 = "float32", double = "float64", float64 = "float64",
  float16 = "float16", bfloat16 = "bfloat16",
  int8 = "int8", uint8 = "uint8", int32 = "int32", int64 = "int64",
}

-- What each name loads at its first use: a module, or "module:field".
local sources = {
  config = "jfl.job.config:session",
  data = "jfl.data.sets",
  env = "jfl.job.env",
  layers = "jfl.net.layers",
  ndarray = "jfl.nd.array",
  optimizer = "jfl.net.optimizers",
  regularizers = "jfl.net.regularizers",
  random = "jfl.nd.random",
  scope = "jfl.net.scope",
  train = "jfl.checkpoint.manager",
  checkpoint = "jfl.checkpoint.checkpoint:checkpoint",
  typing = "jfl.job.typing",
  cancel = "jfl.job.job:cancel",
  global_function = "jfl.job.job:global_function",
  clear_default_session = "jfl.job.job:clear_default_session",
  function_config = "jfl.job.config:function_config",
  assign = "jfl.net.variable:assign",
  get_variable = "jfl.net.variable:get_variable",
  get_all_variables = "jfl.checkpoint.variables:get_all_variables",
  load_variables = "jfl.checkpoint.variables:load_variables",
  drop_variables = "jfl.checkpoint.variables:drop_variables",
  variable_info = "jfl.checkpoint.variables:variable_info",
  poll = "jfl.job.queue:poll",
  profile = "jfl.tools.profile:profile",
  sandbox = "jfl.sandbox.sandbox:sandbox",
  bundle = "jfl.tools.bundled:space",
  sync = "jfl.job.queue:sync",
  help = "jfl.doc.help:help",
  plot = "jfl.tools.plot:plot",
  plot_graph = "jfl.tools.plot_graph:plot_graph",
  plot_images = "jfl.tools.plot_images:plot_images",
  plot_matrix = "jfl.tools.plot_matrix:plot_matrix",
  progress = "jfl.tools.progress:progress",
  watch = "jfl.job.watch:watch",
  watch_diff = "jfl.job.watch:watch_diff",
  summary = "jfl.tools.summary",
  zip = "jfl.data.zip:zip",
  fd = "jfl.job.queue:fd",
}

for _, name in ipairs {
  "truncated_normal", "truncated_normal_initializer", "constant_initializer", "zeros_initializer",
  "ones_initializer", "random_uniform_initializer", "random_normal_initializer",
  "variance_scaling_initializer", "glorot_uniform_initializer", "glorot_normal_initializer",
  "xavier_uniform_initializer", "xavier_normal_initializer", "kaiming_initializer",
  "orthogonal_initializer",
} do
  sources[name] = "jfl.net.initializers:" .. name
end

local installed = false

-- Installs all ops at once, when a name is asked for the first time that is none of the above.
local function install()
  if installed then return end
  installed = true                 -- what is installed asks for names itself
  local ok, why = pcall(function() require("jfl.net.ops").install(flow, sources) end)
  if not ok then
    installed = false
    error(why, 0)
  end
end

local function source(where)
  local module, fields = where:match("^([%w_.]+):?(.*)$")
  local value = require(module)
  for field in fields:gmatch("[^.]+") do value = value[field] end
  return value
end

local function load(name)
  local value = source(sources[name])
  if type(value) == "table" then
    for each, f in pairs(require("jfl.net.composed").spaces[name] or {}) do value[each] = f end
    names.guard("flow." .. name, value)
  end
  rawset(flow, name, value)
  return value
end

names.root = flow
function names.paths() return require("jfl.doc.index").paths() end
function names.topic(word) return require("jfl.doc.topics").text(word) ~= nil end

function names.older(path, name)
  local older = require("jfl.legacy.names")
  local where, space = older[path .. "." .. name], older[path .. ".*"]
  if where then return source(where) end
  return space and source(space)[name]
end

--- Whether there is a name such as "nn.relu" in flow. Anything else is not there: this never fails.
function flow.has(path) return names.has(path) end

local meta = {
  __names = sources,               -- for completion
  __tostring = function() return require("jfl.doc.overview")() end,
}

return names.guarded(flow, "flow", meta, function(name)
  if sources[name] then return load(name) end
  install()
  if sources[name] then return load(name) end
  local value = rawget(flow, name)
  if value == nil and type(name) == "string" and name:find("^%a") then
    return names.older("flow", name)
  end
  return value
end, sources)
