-- Jobs that continue texts by networks of flow.models.
local args = require "jfl.base.args"
local cache = require "jfl.layers.cache"
local core = require "jfl.core"
local job = require "jfl.job.job"
local model = require "jfl.net.model"
local names = require "jfl.base.names"
local parts = require "jfl.models.parts"
local plain = require "jfl.base.plain"
local typing = require "jfl.job.typing"
local variables = require "jfl.checkpoint.variables"

local step = {}

local SHORT = 2048               -- positions of a cache that nobody has given, where that is enough
local NARROW = { float16 = true, bfloat16 = true, q8_0 = true, q4_0 = true, q4_k = true,
  q6_k = true }
local KINDS = { gpt2 = require "jfl.models.gpt2", llama = require "jfl.models.llama" }

-- By network, its caches by their number of sequences and length; by cache, the network that has
-- read what is in it; by job, its cache and network.
local own, reader, made = setmetatable({}, { __mode = "k" }), setmetatable({}, { __mode = "k" }),
  setmetatable({}, { __mode = "k" })

--- What is known of a network: its vocabulary, and how many positions its texts have.
function step.facts(who, net)
  local told = model.is(net) and net._description and plain.read(net._description)
  local kind = told and KINDS[told.type]
  if kind then return { vocabulary = told.config.vocab_size, most = kind.most(told.config) } end
  core.fail("%s: step must be a network of flow.models.gpt2 or llama, or a job, got %s", who,
    args.describe(net))
end

-- Whether a network has weights of 16 bits or less.
local function is_narrow(net)
  for name, dtype in pairs(variables.dtypes()) do
    if name:sub(1, #net.name + 1) == net.name .. "-" and NARROW[dtype] then return true end
  end
  return false
end

--- A cache of the network's own for so many sequences of that length: with numbers of 16 bits where
-- weights have no more.
function step.cache(net, sequences, length, most)
  length = length <= SHORT and math.min(SHORT, most) or most
  local name = ("%s-cache-%dx%d"):format(net.name, sequences, length)
  own[net] = own[net] or {}
  own[net][name] = own[net][name]
    or cache.attention_cache(length, { sequences = sequences, name = name,
      dtype = is_narrow(net) and "float16" or nil })
  return own[net][name]
end

--- The job that reads ids (n, sequences) behind those that the cache has, and gives logits
-- (sequences, vocabulary).
function step.job(net, held)
  local name = ("%s-continue-%s"):format(net.name, held.name:gsub("^.*%-cache%-", ""))
  local there = job.named(name)
  local of = there and made[there]
  if of and of.held == held and of.net == net then return there end
  local new = job.global_function { name = name, returns = typing.any,
    inputs = { { "ids", names.root().int32 { -1, held.sequences } } },
    body = function(ids) return parts.continue(net, held, ids:transpose { 1, 0 }) end }
  made[new] = { held = held, net = net }
  return new
end

--- Fails where a cache is to be kept that has what another network has read.
function step.check_reader(who, net, held, keeps)
  if keeps and reader[held] and reader[held] ~= net then
    local same = reader[held].name == net.name
    core.fail("%s: cache '%s' has what %s '%s' has read, so that %s cannot go on there; "
      .. "cache:clear() forgets it", who, held.name, same and "another model" or "model",
      reader[held].name, same and "this one" or ("model '%s'"):format(net.name))
  end
end

--- Notes which network reads into a cache.
function step.note_reader(net, held) reader[held] = net end

return step
