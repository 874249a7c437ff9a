-- Errors for misspelled names, which suggest what was meant.
local metatable = require "jfl.base.metatable"
local core = require "jfl.core"
local original = require "jfl.base.original"

local names = {}

-- What the module jfl, which knows all others, says of itself.
local root = {}
local function all_paths() return {} end
local function has_topic() return false end

--- Tells of flow: the table itself, a function that gives the set of all paths in it, such as
-- "nn.relu", and one that tells whether help says something of a word that is no name.
function names.attach(flow, paths, topic) root, all_paths, has_topic = flow, paths, topic end

--- The table flow; an empty one until jfl is loaded.
function names.root() return root end

--- The set of all paths in flow, such as "nn.relu".
function names.paths() return all_paths() end

--- What a name of the original stands for in the namespace at that path, or nil. Help does not list
-- such names.
function names.older(path, name) return original.ask("name", path, name) end

--- A pattern of Lua that finds at the beginning of a text the name in which * stands for any
-- letters.
function names.pattern(name)
  return "^" .. name:gsub("%p", function(c) return c == "*" and ".*" or "%" .. c end)
end

local MANY = 3                   -- suggestions in one message
local FEW = 3                    -- letters that say too little, if they are not a word
local LISTED = 12                -- names of a namespace in one message

-- Names of options in other libraries or guessed, and what they are called here: the first of these
-- names that there is.
local ALIASES = {
  lr = "lr_scheduler", learning_rate = "lr_scheduler", dim = "axis", keepdim = "keepdims",
  p = "rate", kernel_size = "ksize", pool_size = "ksize", stride = "strides", bias = "use_bias",
  out_features = "units", out_channels = "filters", dilation = "dilation_rate", input = "inputs",
  dims = "perm", size = "shape", params = "variables", axes = "axis",
  eps = "epsilon", hidden_size = "units", embedding_dim = "units", num_embeddings = "vocabulary",
  betas = "beta1", num_features = "inputs", embed_dim = "inputs", is_causal = "causal",
  negative_slope = "alpha", num_classes = "depth",
  path = "svg directory", file = "svg path directory", filename = "svg path directory",
  fname = "svg path directory", save_path = "svg path directory", filepath = "directory path svg",
  out = "svg", output = "svg", to = "svg", png = "svg", save = "svg directory",
  dir = "directory path", folder = "directory path", save_dir = "directory path",
  checkpoint = "directory", checkpoint_dir = "directory", output_dir = "directory",
  verbose = "show", root = "path", delimiter = "separator", sep = "separator",
  na_values = "missing", legend = "labels", class_names = "labels", names = "labels",
  ncols = "columns", cols = "columns", nrow = "columns",
  low = "minval", high = "maxval", min = "minval min_value", max = "maxval max_value",
  loc = "mean", scale = "stddev", std = "stddev", sigma = "stddev",
}

-- Names of functions and classes in other libraries, in lower case, and what they are called here.
local FOREIGN = {
  module = "flow.model", sequential = "flow.model",
  conv1d = "flow.layers.conv1d", conv2d = "flow.layers.conv2d", conv3d = "flow.layers.conv3d",
  read_csv = "flow.data.csv", from_table = "flow.ndarray.array",
  find_learning_rate = "flow.find_rate", lr_find = "flow.find_rate", lr_finder = "flow.find_rate",
  lr_scheduler = "flow.optimizer.CosineScheduler and its like",
  reducelronplateau = "flow.fit with { reduce_rate = true }",
  eval = "net:predict, whose jobs are not in training", compile = "job:compile()",
  linear = "flow.layers.dense", fc = "flow.layers.dense", embedding = "flow.layers.embedding",
  nllloss = "flow.nn.nll_loss",
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
  full_like = "flow.constant_like", eye = "flow.one_hot(flow.range(n), n)",
  tensordot = "flow.einsum(\"abc,cd->abd\", {x, y})", vstack = "flow.concat(list, 0)",
  hstack = "flow.concat(list, 1)", ravel = "flow.reshape(x, {-1})", power = "flow.math.pow",
  absolute = "flow.math.abs", movedim = "flow.transpose(x, perm)",
  masked_select = "x:boolean_mask(mask)", imshow = "flow.plot_images", figure = "flow.plot",
  random_normal = "flow.random.normal", random_uniform = "flow.random.uniform",
  save_model = "net:save(path)", load_model = "net:load(path)", savetxt = "flow.ndarray.save",
  loadtxt = "flow.data.csv", std = "flow.math.reduce_std",
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
  dataloader = "flow.data.batches", imagefolder = "flow.data.image_folder",
  imread = "flow.data.load_image", read_image = "flow.data.load_image",
  load_wav = "flow.data.load_sound", read_wav = "flow.data.load_sound",
  load_text = "io.open(path):read \"*a\", and flow.text.tokenizer",
  topk = "flow.math.top_k", maxpool2d = "flow.nn.max_pool2d", avgpool2d = "flow.nn.avg_pool2d",
  tensor = "flow.ndarray.array",
  new = "flow.ndarray.array for an array, or flow.model for a network",
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
  clip_grad_norm_ = "flow.optimizer.grad_clipping.by_global_norm",
  clip_grad_norm = "flow.optimizer.grad_clipping.by_global_norm",
  clip_grad_value_ = "flow.optimizer.grad_clipping.by_value",
  zero_grad = "minimize, which trains at every call of the job",
}

-- The first of the names that an option of that name has here and that are among the paths, or nil.
local function alias(name, paths)
  for here in (ALIASES[name] or ""):gmatch "%S+" do
    if paths[here] then return here end
  end
end

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
  if #short >= FEW and ("_" .. long .. "_"):find("_" .. short .. "_", 1, true) then
    return limit + 1
  end
  if #short <= FEW or 3 * #short <= #long then return nil end
  return long:find(short, 1, true) and limit + 1 or nil
end

--- The end of a message that suggests the paths most similar to a wrong name; "" when there are
-- none. Paths that start with `home` count as more similar.
function names.suggest(name, paths, home)
  local known = home and FOREIGN[name:lower()] or alias(name, paths)
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
  return has_topic(word) and ("; flow.help('%s') tells what there is instead"):format(word) or ""
end

--- Fails because the namespace t at this path lacks a name.
function names.fail(path, t, name)
  local paths = {}
  for other in pairs(names.paths()) do paths["flow." .. other] = true end
  for other in pairs(t) do
    if type(other) == "string" then paths[path .. "." .. other] = true end
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
    if type(value) == "table" and metatable(value) == nil then
      names.guard(path .. "." .. tostring(name), value)
    end
  end
  local meta = metatable(t) or {}
  local index = meta.__index
  return names.guarded(t, path, meta, function(name)
    local value = index and index(t, name)
    if value == nil and is_name(name) then return names.older(path, name) end
    return value
  end)
end

--- Gives t a metatable whose __index fails for names that look(name) does not find; and so does a
-- call of t.
function names.guarded(t, path, meta, look)
  meta.namespace, meta.look = path, look
  meta.__call = meta.__call or function()
    core.fail("%s is no function%s", path, contents(path))
  end
  function meta.__index(_, name)
    local value = meta.look(name)
    if value == nil and is_name(name) then names.fail(path, t, name) end
    return value
  end
  return setmetatable(t, meta)
end

local function read(t, name)
  local meta = metatable(t)
  local value = rawget(t, name)
  if value == nil and type(meta) == "table" and meta.look then return meta.look(name) end
  return value == nil and t[name] or value
end

--- Whether there is something at a path such as "nn.relu" or "flow.nn.relu".
function names.has(path)
  if type(path) ~= "string" or ("." .. path):gsub("%.[%a_][%w_]*", "") ~= "" then return false end
  local at = root
  for name in path:gsub("^flow%.", ""):gmatch("[^.]+") do
    if type(at) ~= "table" then return false end
    local ok, value = pcall(read, at, name)
    if not ok or value == nil then return false end
    at = value
  end
  return true
end

return names
