-- Errors for misspelled names, which suggest what was meant.
--[==[ guide 15: Errors
Whatever goes wrong raises a Lua error with a message that names the thing and says what was
expected and found, at the line of the script that did it. Nothing ends the process, and the session
can be used after it.

```lua
local ok, message = pcall(function() return flow.nn.rellu end)
print(message:match("did you mean .*"))          --> did you mean flow.nn.relu?

ok, message = pcall(function() return flow.layers.dense({ 1 }, 10) end)
print(message:match("layers%.dense: .*"))        --> must be called inside a job function's body

local job = flow.global_function {
  name = "job",
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  returns = tp.Numpy,
  body = function(x) return x end,
}
ok, message = pcall(job, { 1, 2, 3 })
print(ok, message)                               --> false
print(job({ 1, 2 }))                             --> [1. 2.]
```

A loss that becomes `nan` or `inf` is no error by itself: nothing is looked at that costs time.
After `flow.config.check_finite(true)` each run looks at every value as soon as it is computed. The
first one that is not finite fails the call, with its name and the number of the step; variables,
the optimizer's too, are as they were before it.

```lua
local train = flow.global_function {
  name = "train",
  type = "train",
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  returns = tp.Numpy,
  body = function(x)
    local w = flow.get_variable("w", { 2 }, { initializer = flow.ones_initializer() })
    local loss = flow.math.log(x * w, { name = "logarithm" })
    flow.optimizer.SGD(0.1):minimize(loss)
    return loss
  end,
}
flow.config.check_finite(true)
local ok, message = pcall(train, { 1, 0 })
print(ok, message:match("'.-;"))     --> 'logarithm' must be finite in step 1, got -inf in 1 of 2
print(train({ 1, 2 })[1])                        --> 0
```

Then look at what that value is made of: a logarithm or a division of 0 wants a small number added,
an exponential that overflows wants `flow.nn.softmax`'s kin, which keep their sums in range, and a
gradient that grows from step to step wants a lower rate, a `flow.optimizer.warmup` or
`flow.optimizer.grad_clipping.by_global_norm(1)`. Set before the first call, it also keeps each op a
step of its own; a job that is compiled already may have fused several, and then the value named is
the last of them.

Errors that are found while a body runs name its job; what fails while a plan runs (a label out of
range, no memory) is raised by the call, or goes to the second function of an asynchronous one, and
ends with the line of the body that asked for it, or for that whose gradient it computes:
`train.lua:20: train: gather_1: index at position 2 must be from 0 to 9, got 30; all count from 0;
see layers.lua:5`. Calls that fail leave variables as they were.

A finalizer of your own (`__gc`, `ffi.gc`) must not raise: LuaJIT itself crashes if an error leaves
one just as a compiled loop is left. `pcall` what it does. Those of jfl raise nothing.

Memory that runs out is an error too, wherever jfl itself asks for it. oneDNN and OpenBLAS end the
process, or wait for ever, where memory fails within them. So jfl does without them where a process
may have less memory than the machine (`ulimit -v`, `-d`), and elsewhere opens them and lets them
make kernels only while enough is free, and keeps some memory aside for what oneDNN takes while a
plan runs. Without them its own kernels serve, which are slower and may differ in the last digits,
and `job:plan()` says so. `JFL_LIBRARIES=all` uses both under a limit too.
]==]
local core = require "jfl.core"

local names = {
  -- The module jfl sets these four when it is loaded, since it knows all others.

  --- Its own table.
  root = {},
  --- A function that returns the set of all paths in it, such as "nn.relu".
  paths = function() return {} end,
  --- A function that tells whether help says something of a word that is no name.
  topic = function() return false end,
  --- A function(path, name) that returns what a name of the original stands for in the namespace at
  -- that path, or nil. Help does not list such names.
  older = function() end,
}

local MANY = 3                   -- suggestions in one message
local FEW = 3                    -- letters that say too little
local LISTED = 12                -- names of a namespace in one message

-- Names of options in other libraries, and what they are called here.
local ALIASES = {
  lr = "lr_scheduler", learning_rate = "lr_scheduler", dim = "axis", keepdim = "keepdims",
  p = "rate", kernel_size = "ksize", pool_size = "ksize", stride = "strides", bias = "use_bias",
  out_features = "units", out_channels = "filters", dilation = "dilation_rate", input = "inputs",
  dims = "perm", size = "shape", params = "variables", axes = "axis",
  eps = "epsilon", hidden_size = "units", embedding_dim = "units", num_embeddings = "vocabulary",
  betas = "beta1", num_features = "inputs", embed_dim = "inputs", is_causal = "causal",
}

-- Names of functions and classes in other libraries, in lower case, and what they are called here.
local FOREIGN = {
  linear = "flow.layers.dense", fc = "flow.layers.dense", embedding = "flow.layers.embedding",
  mse_loss = "flow.nn.MSELoss", l1_loss = "flow.nn.L1Loss", kl_div = "flow.nn.KLDivLoss",
  binary_cross_entropy = "flow.nn.BCELoss", nllloss = "flow.nn.nll_loss",
  binary_cross_entropy_with_logits = "flow.nn.BCEWithLogitsLoss",
  crossentropyloss = "flow.nn.cross_entropy", ctcloss = "flow.ctc_loss",
  batchnorm1d = "flow.layers.batch_normalization", batchnorm2d = "flow.layers.batch_normalization",
  batch_norm = "flow.layers.batch_normalization", layernorm = "flow.layers.layer_norm",
  rmsnorm = "flow.layers.rms_norm", multiheadattention = "flow.layers.multi_head_attention",
  convtranspose2d = "flow.layers.conv2d_transpose", detach = "flow.stop_gradient",
  sum = "flow.math.reduce_sum", mean = "flow.math.reduce_mean", max = "flow.math.reduce_max",
  min = "flow.math.reduce_min", prod = "flow.math.reduce_prod", all = "flow.math.reduce_all",
  any = "flow.math.reduce_any", cat = "flow.concat", unsqueeze = "flow.expand_dims",
  scatter_add = "flow.dim_scatter_add", take_along_axis = "flow.dim_gather",
  index_select = "flow.gather", narrow = "flow.slice", full = "flow.constant",
  full_like = "flow.constant_like", std = "flow.math.reduce_std",
  var = "flow.math.reduce_variance", logsumexp = "flow.math.reduce_logsumexp",
  outer = "flow.einsum(\"i,j->ij\", {x, y})", trace = "flow.diagonal, and flow.math.reduce_sum",
  embedding_bag = "flow.layers.embedding, and flow.math.reduce_mean(x, 1)",
  dropout2d = "flow.nn.dropout(x, rate, { noise_shape = { n, channels, 1, 1 } })",
  kaiming_normal = "flow.kaiming_initializer(shape)", he_normal = "flow.kaiming_initializer(shape)",
  kaiming_normal_initializer = "flow.kaiming_initializer(shape)",
  he_normal_initializer = "flow.kaiming_initializer(shape)",
  kaiming_uniform_initializer = "flow.kaiming_initializer(shape, \"random_uniform\")",
  he_uniform_initializer = "flow.kaiming_initializer(shape, \"random_uniform\")",
  lecun_normal_initializer = "flow.variance_scaling_initializer(1, \"fan_in\")",
  norm = "flow.math.reduce_euclidean_norm", normalize = "flow.math.l2_normalize",
  arange = "flow.range",
  mm = "flow.matmul", bmm = "flow.matmul", dot = "flow.matmul",
  dataloader = "flow.data.batches", imagefolder = "flow.data.folder",
  topk = "flow.math.top_k", maxpool2d = "flow.nn.max_pool2d", avgpool2d = "flow.nn.avg_pool2d",
  tensor = "flow.ndarray.array",
  from_numpy = "flow.ndarray.array", manual_seed = "flow.random.seed",
  bool = "flow.int8", int16 = "flow.int32", int = "flow.int32", long = "flow.int64",
  half = "flow.float16", placeholder = "flow.typing.Numpy.Placeholder",
  view = "flow.reshape(x, shape)", flatten = "flow.flatten",
  permute = "flow.transpose(x, perm)", size = "x.shape", dim = "#x.shape", t = "flow.transpose",
  backward = "flow.optimizer.SGD(rate):minimize(loss)",
  step = "minimize, which trains at every call of the job",
  steplr = "flow.optimizer.PiecewiseScalingScheduler",
  multisteplr = "flow.optimizer.PiecewiseScalingScheduler",
  exponentiallr = "flow.optimizer.ExponentialScheduler",
  cosineannealinglr = "flow.optimizer.CosineScheduler",
  onecyclelr = "flow.optimizer.OneCycleScheduler",
  lambdalr = "a function of the step in place of the rate",
  reducelronplateau = "optimizer:set_lr(rate), between calls of the job",
  clip_grad_norm_ = "flow.optimizer.grad_clipping.by_global_norm",
  clip_grad_norm = "flow.optimizer.grad_clipping.by_global_norm",
  clip_grad_value_ = "flow.optimizer.grad_clipping.by_value",
  zero_grad = "minimize, which trains at every call of the job",
}

-- How many letters must be added, dropped, replaced or swapped with the next to make b of a.
local function distance(a, b)
  local before, row = {}, {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local next_row = { [0] = i }
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j)
      local least = math.min(row[j] + 1, next_row[j - 1] + 1, row[j - 1] + (same and 0 or 1))
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        least = math.min(least, before[j - 2] + 1)
      end
      next_row[j] = least
    end
    before, row = row, next_row
  end
  return row[#b]
end

-- How much the last name of a path differs from a wrong name, or nil where it is another word.
local function far(name, path)
  local last = path:match("[^.:]+$"):lower()
  local limit = math.max(1, math.floor(#name / 3))
  local d = math.abs(#name - #last)            -- at least, and quicker to tell
  if d <= limit then d = distance(name, last) end
  if d <= limit and d < #name then return d end
  local short, long = name, last
  if #short > #long then short, long = long, short end
  if #short <= FEW or 3 * #short <= #long then return nil end
  return long:find(short, 1, true) and limit + 1 or nil
end

--- The end of a message that suggests the paths most similar to a wrong name; "" when there are
-- none. Paths that start with `home` count as more similar.
function names.suggest(name, paths, home)
  local known = home and FOREIGN[name:lower()]
  if not known and paths[ALIASES[name]] then known = ALIASES[name] end
  if known then return "; did you mean " .. known .. "?" end
  local near, least = {}, math.huge
  for path in pairs(paths) do
    local d = far(name:lower(), path)
    if d and home and path:match("^(.*)[.:]") ~= home then d = d + 0.5 end
    if d and d < least then near, least = {}, d end
    if d == least then near[#near + 1] = path end
  end
  table.sort(near)
  if #near == 0 then return "" end
  return "; did you mean " .. table.concat(near, " or ", 1, math.min(#near, MANY)) .. "?"
end

-- The end of a message that lists what the namespace at this path has.
local function contents(path)
  local list, seen = {}, {}
  for other in pairs(names.paths()) do
    local full = "flow." .. other
    local name = full:sub(1, #path + 1) == path .. "." and full:match("^[^.:]+", #path + 2)
    if name and not seen[name] then list[#list + 1], seen[name] = name, true end
  end
  table.sort(list)
  if #list == 0 then return "" end
  if #list <= LISTED then return ("; %s has %s"):format(path, table.concat(list, ", ")) end
  local group = path:match("^flow%.(.*)$")
  return ("; flow.help(%s) lists what there is"):format(group and ("'%s'"):format(group) or "")
end

--- The end of a message that points to what help says of a word; "" where it says nothing.
function names.pointer(word)
  return names.topic(word) and ("; flow.help('%s') tells what there is instead"):format(word) or ""
end

--- Fails because the namespace t at this path lacks a name. more: further names that it has.
function names.fail(path, t, name, more)
  local paths = {}
  for other in pairs(names.paths()) do paths["flow." .. other] = true end
  for _, of in ipairs { t, more or {} } do
    for other in pairs(of) do
      if type(other) == "string" then paths[path .. "." .. other] = true end
    end
  end
  local suggestion = names.suggest(name, paths, path)
  if suggestion == "" then suggestion = names.pointer(name) end
  core.fail("there is no %s.%s%s", path, name,
    suggestion ~= "" and suggestion or contents(path))
end

-- Whether a key is a name that a namespace might have.
local function is_name(key) return type(key) == "string" and key:match("^%a") ~= nil end

--- Makes reading a missing name of a namespace an error, as it is nearly always misspelled, and nil
-- would only fail later and elsewhere. Names that start with _ and keys that are no names stay nil;
-- names.has tells whether a name is there. Plain tables in t are guarded too. Returns t.
function names.guard(path, t)
  for name, value in pairs(t) do
    if type(value) == "table" and getmetatable(value) == nil then
      names.guard(path .. "." .. tostring(name), value)
    end
  end
  local meta = getmetatable(t) or {}
  local index = meta.__index
  return names.guarded(t, path, meta, function(name)
    local value = index and index(t, name)
    if value == nil and is_name(name) then return names.older(path, name) end
    return value
  end)
end

--- Gives t a metatable whose __index fails for names that look(name) does not find. more: names for
-- suggestions.
function names.guarded(t, path, meta, look, more)
  meta.namespace, meta.look = path, look
  function meta.__index(_, name)
    local value = meta.look(name)
    if value == nil and is_name(name) then names.fail(path, t, name, more) end
    return value
  end
  return setmetatable(t, meta)
end

local function read(t, name)
  local meta = getmetatable(t)
  local value = rawget(t, name)
  if value == nil and type(meta) == "table" and meta.look then return meta.look(name) end
  return value == nil and t[name] or value
end

--- Whether there is something at a path such as "nn.relu" or "flow.nn.relu".
function names.has(path)
  if type(path) ~= "string" or ("." .. path):gsub("%.[%a_][%w_]*", "") ~= "" then return false end
  local at = names.root
  for name in path:gsub("^flow%.", ""):gmatch("[^.]+") do
    if type(at) ~= "table" then return false end
    local ok, value = pcall(read, at, name)
    if not ok or value == nil then return false end
    at = value
  end
  return true
end

return names
