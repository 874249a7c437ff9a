-- flow.models: networks that others trained, each a function of its configuration.
---@space models
---@box models.bert models.gpt2 models.llama models.load models.mobilenet_v2 models.mobilenet_v3
---@box models.resnet models.vit models.whisper
local args = require "jfl.base.args"
local checkpoint = require "jfl.checkpoint.checkpoint"
local core = require "jfl.core"
local gguf = require "jfl.gguf.network"
local header = require "jfl.gguf.header"
local job = require "jfl.job.job"
local stored = require "jfl.onnx.stored"
local model = require "jfl.net.model"
local names = require "jfl.base.names"
local plain = require "jfl.base.plain"
local quantize = require "jfl.net.quantize"
local variable = require "jfl.net.variable"
local variables = require "jfl.checkpoint.variables"
local weights = require "jfl.net.weights"

local models = {}

local MOST_CONFIG = 2 ^ 20       -- bytes
local LAID = { rename = function(name) return name end }      -- of weights as jfl has them
local MOST_LAYERS = 10000
local KINDS, ALSO = {}, {}
for _, kind in ipairs {
  require "jfl.models.bert", require "jfl.models.gpt2", require "jfl.models.llama",
  require "jfl.models.mobilenet_v2", require "jfl.models.mobilenet_v3",
  require "jfl.models.resnet", require "jfl.models.vit", require "jfl.models.whisper",
} do
  KINDS[kind.type] = kind
  for also, adapt in pairs(kind.also or {}) do ALSO[also] = { kind = kind, adapt = adapt } end
end

-- ---- configurations ----

-- Fails where a configuration, which may be a stranger's, asks for more layers than `most`.
local function check_layers(kind, c, most)
  for _, name in ipairs { "n_layer", "num_hidden_layers", "encoder_layers", "depths" } do
    local list, sum = type(c[name]) == "table" and c[name] or { c[name] }, 0
    for _, n in ipairs(list) do sum = sum + args.integer("models." .. kind.type, name, n, 1) end
    args.check(sum <= most, "models.%s: %s must be at most %d, got %g", kind.type, name, most, sum)
  end
end

-- Fails unless a value is of the kind of a default: false stands for what may be left out, or for a
-- flag.
local function check_value(kind, key, value, default)
  local optional = (kind.optional or {})[key]
  if optional and value == false then return end
  local want = optional or type(default)
  args.expect("models." .. kind.type, key, value, want)
  if want == "number" and (optional or default >= 1) and not (kind.factors or {})[key] then
    args.integer("models." .. kind.type, key, value, 1)
  end
end

-- A configuration with the defaults of its kind. What a file says besides is of no matter; a table
-- of the caller's must not have other names.
local function complete(kind, given, is_file)
  local c = {}
  for key, default in pairs(kind.config) do
    local value = given[key]
    if value == nil then value = default end
    check_value(kind, key, value, default)
    c[key] = value
  end
  for key in pairs(given) do
    if not is_file and kind.config[key] == nil and key ~= "model_type" then
      core.fail("models.%s: config has no '%s'%s", kind.type, tostring(key),
        names.suggest(tostring(key), kind.config))
    end
  end
  check_layers(kind, c, MOST_LAYERS)
  return c
end

-- A network of a kind, whose checkpoints say which it is.
local function make(kind, config, name)
  local net = model.model(name or kind.type, kind.body(names.root(), config))
  model.describe(net, plain.write({ type = kind.type, config = config }, "config"))
  return net
end

for type_name, kind in pairs(KINDS) do
  models[type_name] = args.define("models." .. type_name, kind.doc, {
    { "config", ("what config.json of such networks has, such as { %s }; the rest is that of the "
      .. "first published one"):format(kind.example), args.none, keyed = true, type = "table" },
    { "name", "of the model; the kind's", args.none, type = "string" },
    returns = "Model",
  }, function(o)
    local config = o.config == nil and {} or args.expect("models." .. type_name, "config", o.config,
      "table")
    return make(kind, complete(kind, config), o.name)
  end)
end

-- ---- loading ----

local function kind_of(path, name)
  local known = {}
  for each in pairs(KINDS) do known[each] = true end
  for each in pairs(ALSO) do known[each] = true end
  if KINDS[name] then return KINDS[name] end
  if ALSO[name] then return ALSO[name].kind end
  core.fail("models.load: %s: there is no network of type %s; there are %s%s", path,
    name == nil and "unknown" or ("'%s'"):format(tostring(name)), args.names_of(known),
    names.suggest(tostring(name), known))
end

-- The table that a text in JSON is; `path` is what has it.
local function read_json(path, text)
  local t = plain.read(text)
  if type(t) == "table" then return t end
  core.fail("models.load: %s: it must be an object in JSON", path)
end

-- What config.json leaves out has another default there than here: two classes.
local function with_labels(kind, c)
  if kind.config.num_labels and not c.id2label and not c.num_labels then c.num_labels = 2 end
  return c
end

-- config.json of the folder that the path is or is in.
local function read_config(path)
  local folder = core.is_file(path) and (path:match("^(.*)/[^/]*$") or ".") or path
  local where = folder .. "/config.json"
  local file, err = core.file_open(where)
  args.check(file, "models.load: %s: neither the checkpoint nor a config.json beside says which "
    .. "network it is (%s); flow.models.gpt2 { ... } and the like make one, and net:load loads it",
    path, err)
  local text = (core.file_size(file) or math.huge) <= MOST_CONFIG and core.file_read(file) or ""
  core.file_close(file)
  local c = read_json(where, text)
  return with_labels(kind_of(path, c.model_type), c)
end

-- What names of a file become for a kind, nil for what is left out.
local function renamer(kind)
  return function(name)
    for _, pattern in ipairs(kind.left_out) do
      if name:find(pattern) then return nil end
    end
    for _, pair in ipairs(kind.rename) do name = name:gsub(pair[1], pair[2]) end
    return name
  end
end

local function transposer(kind)
  return function(name)
    for _, pattern in ipairs(kind.transpose or {}) do
      if name:find(pattern) then return true end
    end
  end
end

-- A configuration with another number of classes.
local function with_classes(kind, c, path, n)
  if n == nil then return c end
  args.integer("models.load", "num_labels", n, 1)
  args.check(kind.head, "models.load: %s: num_labels: a network of type %s has no classes", path,
    kind.type)
  c.num_labels, c.id2label = n, false
  return c
end

-- The inputs of the smallest job of a network of a kind.
local function smallest(kind, config)
  local list, typing = {}, names.root()
  for i, dtype in ipairs(kind.inputs) do
    list[i] = typing[dtype](kind.shape and kind.shape(config) or { 1, 1 })
  end
  return list
end

-- Calls fn, which gives a network its weights by a job "load". Where that fails both are gone
-- again, with variables that may be as large as a stranger liked, before any value is drawn.
local function filled(net, fn)
  variables.settle()
  local name, before = net.name .. "-load", variables.dtypes()
  local had = job.named(name)
  return variables.deferred(function()
    local ok, result = pcall(fn)
    if ok then return result end
    if not had then
      local new, made = {}, job.named(name)
      if made then job.forget(made) end
      for each in pairs(variables.dtypes()) do new[each] = not before[each] or nil end
      job.drop_variables(new)
      model.leave(net)
    end
    error(result, 0)
  end)
end

-- The network that a script described and jfl saved, with its weights.
local function load_kept(o, t, file)
  if o.num_labels then
    core.fail("models.load: %s: num_labels: which layer tells classes apart is known of the "
      .. "networks of flow.models alone", o.path)
  end
  local net, inputs = stored.read(o.path, t, o.name)
  local list = {}
  for i, input in ipairs(inputs) do
    local shape = {}
    for k, extent in ipairs(input.shape) do shape[k] = tonumber(extent) or 1 end
    list[i] = names.root()[input.dtype](shape)
  end
  return filled(net, function()
    net:predict { name = "load", inputs = list }:compile()
    weights.load_open(net, file, o.path, LAID)
    return net
  end)
end

-- Has matrices that a file has in few bits stay so, unless float32 is asked for.
local function store(net, forms)
  for name, form in pairs(forms) do variable.stored[net.name .. "-" .. name] = form end
  return net
end

-- The network of flow.models that jfl saved; and how its weights are loaded.
local function read_own(o, t, file)
  local kind = kind_of(o.path, t.type)
  local c = with_classes(kind, type(t.config) == "table" and t.config or {}, o.path, o.num_labels)
  return store(make(kind, complete(kind, c, true), o.name), checkpoint.stored_of(file)),
    { rename = LAID.rename }
end

-- The network that a config.json tells, or in its place a table of the caller's.
local function read_others(o)
  local c = o.config or read_config(o.path)
  local kind = kind_of(o.path, c.model_type)
  if ALSO[c.model_type] then ALSO[c.model_type].adapt(c) end
  local leaves_head = kind.config.tie_word_embeddings ~= nil and c.tie_word_embeddings
  local rename = renamer(kind)
  c = complete(kind, c, not o.config)
  return make(kind, with_classes(kind, c, o.path, o.num_labels), o.name),
    { transpose = transposer(kind), rename = function(each)
      if leaves_head and each == "lm_head.weight" then return nil end
      return rename(each)
    end }
end

-- The network in a GGUF file.
local function read_gguf(o)
  local kind, c, rename, dtypes = gguf.read("models.load", o.path)
  kind = KINDS[kind]
  c = complete(kind, with_classes(kind, c, o.path, o.num_labels), true)
  local forms = {}
  for name, dtype in pairs(o.dtype ~= "float32" and dtypes or {}) do
    forms[name] = { dtype = dtype }
  end
  return store(make(kind, c, o.name), forms), { rename = rename }
end

-- Loads all but the last layer, which stays as it begins.
local function load_body(net, file, path, options, head)
  local rename = options.rename
  options.rename = function(name)
    local new = rename(name)
    return new and not new:find(head) and new or nil
  end
  options.strict = false
  local lacking = {}
  for _, name in ipairs(weights.load_open(net, file, path, options).missing) do
    if not name:find(head) then lacking[#lacking + 1] = name end
  end
  if #lacking > 0 then
    core.fail("models.load: %s: is that another model's? it lacks %s", path, args.listed(lacking))
  end
end

-- The network that an open checkpoint has.
local function load_open(o, file, about)
  local net, options
  if header.is(o.path) and not o.config then
    net, options = read_gguf(o)
  else
    local text = not o.config and about.notes[weights.NOTE]
    local t = text and read_json(o.path, text)
    if t and (t.type == "graph" or t.type == "unknown") then return load_kept(o, t, file) end
    if t then net, options = read_own(o, t, file)
    else net, options = read_others(o) end
  end
  return filled(net, function()
    local own = plain.read(net._description)
    local kind = KINDS[own.type]
    check_layers(kind, own.config, checkpoint.count(file))     -- each has a tensor and more
    net:predict { name = "load", inputs = smallest(kind, own.config) }:compile()
    if o.num_labels then
      load_body(net, file, o.path, options, kind.head)
    else
      weights.load_open(net, file, o.path, options)
    end
    if o.dtype == "float32" then quantize.restore(net) end
    return net
  end)
end

models.load = args.define("models.load", "A network with its weights: one that net:save wrote, a "
  .. "folder of Hugging Face's with config.json, or a GGUF file. net:predict and net:train make "
  .. "jobs of it. Of a model that a script described it has what that predicts, without dropout, "
  .. "for inputs of the extents that it had, but for the batch.", {
    { "path", "the folder, or the file of weights in it", type = "string" },
    { "name", "of the model; the kind's", args.none, type = "string" },
    { "config", "what stands in for config.json, such as { model_type = \"resnet\", depths = { 2, "
      .. "2, 2, 2 } }, where there is none, as beside torchvision's weights", args.none,
      type = "table" },
    { "num_labels", "how many classes a new last layer tells apart, in place of the one that is "
      .. "there, to train it on other pictures", args.none, type = "integer" },
    { "dtype", "\"float32\": weights that the file has in few bits, and matrices that a GGUF file "
      .. "has in 16, become float32, to train them; else they stay as they are", args.none,
      type = "string" },
    returns = "Model",
  }, function(o)
    args.must(o.dtype == nil or o.dtype == "float32", o.dtype,
      "models.load: dtype must be \"float32\"")
    return checkpoint.with_open(o.path, function(file, about) return load_open(o, file, about) end)
  end)

return models
