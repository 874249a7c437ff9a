-- flow.layers.attention_cache: keys and values that attention keeps from call to call, so that a
-- job which continues sequences computes new positions alone.
---@box layers.attention_cache
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local call = require "jfl.op.call"
local checkpoint = require "jfl.checkpoint.checkpoint"
local common = require "jfl.layers.common"
local core = require "jfl.core"
local job = require "jfl.job.job"
local names = require "jfl.base.names"
local plain = require "jfl.base.plain"
local trace = require "jfl.job.trace"
local typing = require "jfl.job.typing"
local variable = require "jfl.net.variable"
local variables = require "jfl.checkpoint.variables"

local append, assign, op = core.op "cache_append", core.op "assign", call.op

local WHO = "layers.attention_cache"
local NOTE = "cache"             -- of files: what else is to be known
local HALVES = { "float16", "bfloat16" }

local cache = {}

local Cache = {}
Cache.__index = Cache
Cache.__name = "attention cache"

function Cache:__tostring()
  return ("attention_cache '%s' of %d positions, %d sequence%s"):format(self.name, self.length,
    self.sequences, self.sequences == 1 and "" or "s")
end

--- Whether a value is a cache.
function cache.is(value) return metatable(value) == Cache end

-- ---- in a body ----

-- By variable, the name of the cache that it is a part of: one name may begin with another.
local owners = {}

local put

local function make(self, context, part, dtype, shape)
  local name = self.name .. "-" .. part
  owners[name] = self.name
  return variable.of_layer(WHO, context, { name = name, dtype = dtype, shape = shape,
    initializer = common.zeros, trainable = false, reuse = true, apart = true })
end

-- What the body that runs has of the cache: how many positions it adds to each sequence, and the
-- sequences' lengths before and after it.
local function state_of(self, who, n)
  local context = trace.need(who)
  args.check(context.mode ~= "train", "%s: cache must be left out in a train job: it has no "
    .. "gradients", who)
  context.caches = context.caches or {}
  local state = context.caches[self]
  if state and state.n ~= n then
    core.fail("%s: inputs must have %d positions, as the cache '%s' got before in this body, "
      .. "got %d", who, state.n, self.name, n)
  end
  if state then return state end
  args.check(n <= self.length, "%s: inputs must have at most as many positions as the cache '%s', "
    .. "%d, got %d", who, self.name, self.length, n)
  local length = make(self, context, "length", "int64", { self.sequences })
  state = { n = n, before = length, after = length + n, turns = {} }
  assign(length, state.after)
  context.assigns, context.caches[self] = true, state
  if rawget(self, "_loaded") then
    context.when_made = context.when_made or {}
    table.insert(context.when_made, function() put(self, self._loaded) end)
  end
  return state
end

--- In a body: the positions of n new elements of each sequence, an int64 blob (sequences, n).
function Cache:positions(n)
  local who = "attention_cache:positions"
  local state = state_of(self, who, args.integer(who, "n", n, 1))
  local steps = {}
  for i = 1, n do steps[i] = i - 1 end
  local before = op.reshape(state.before, { self.sequences, 1 })
  return before + op.array { value = core.from_table({ steps }, "int64") }
end

-- The frequencies of pairs of numbers where nothing else is said.
local DEFAULT = { base = 10000 }

-- Numbers of pairs, each for both numbers of its pair: of the first half and the second one, or of
-- neighbours.
local function for_both(first, second, rotary)
  if not rotary.interleaved then return op.concat({ first, second }, { axis = 3 }) end
  return op.stack({ first, second }, { axis = 4 })
end

-- By what n new rows are multiplied, and by what the rows in which the numbers of each pair have
-- changed places, so that the sum is turned: cosines, and sines of which the first of a pair is
-- negative, as (sequences, 1, n, size), made once in a body for all layers. rotary: { base or
-- frequencies, scale, interleaved }.
local function turns_of(self, n, pairs_of, rotary, dtype)
  local steps = op.cast(self:positions(n), { dtype = "float64" })
  local turns = state_of(self, WHO, n).turns
  turns[rotary] = turns[rotary] or {}
  if turns[rotary][pairs_of] then return unpack(turns[rotary][pairs_of]) end
  local frequencies = rotary.frequencies or {}
  for i = #frequencies + 1, pairs_of do
    frequencies[i] = rotary.base ^ (-(i - 1) / pairs_of)
  end
  local angle = op.reshape(steps, { self.sequences, 1, n, 1 })
    * op.array { value = core.from_table(frequencies, "float64") }
  local function of(f) return op.cast(f(angle) * (rotary.scale or 1), { dtype = dtype }) end
  local c, s = of(op.cos), of(op.sin)
  turns[rotary][pairs_of] = { for_both(c, c, rotary), for_both(-s, s, rotary) }
  return unpack(turns[rotary][pairs_of])
end

--- x (batch, heads, n, size) with rows turned by their positions, as nn.rotary_embedding does for
-- positions from 0 on. rotary: its options base or frequencies, scale and interleaved, in one table
-- for all layers.
function cache.rotated(self, x, rotary)
  local batch, heads, n, size = unpack(x.shape)
  args.check(size % 2 ~= 1, "%s: rotary must be false where the size of a head is odd, got %d", WHO,
    size)
  rotary = rotary or DEFAULT
  local c, s = turns_of(self, n, size / 2, rotary, x.dtype)
  if not rotary.interleaved then return x * c + op.roll(x, { shift = size / 2, axis = 3 }) * s end
  local pairs_of = op.reshape(x, { batch, heads, n, size / 2, 2 })
  local turned = pairs_of * c + op.roll(pairs_of, { shift = 1, axis = 4 }) * s
  return op.reshape(turned, x.shape)
end

--- What queries (batch, heads, n, size) see in the cache and in new keys and values, which go into
-- the cache at the end of the call. name: of the layer, which has a part of the cache.
function cache.attend(self, who, name, q, k, v)
  local context, shape = trace.need(who), k.shape
  if shape[1] ~= self.sequences then
    core.fail("%s: inputs must be of %d sequence%s, as the cache '%s' is, got %d", who,
      self.sequences, self.sequences == 1 and "" or "s", self.name, shape[1])
  end
  local state = state_of(self, who, shape[3])
  local lies = { shape[1], shape[2], self.length, shape[4] }
  local past_k = make(self, context, name .. "-key", self.dtype or k.dtype, lies)
  local past_v = make(self, context, name .. "-value", self.dtype or v.dtype, lies)
  local y = op.cached_attention(q, k, v, past_k, past_v, state.before)
  append(past_k, k, state.after)
  append(past_v, v, state.after)
  return y
end

-- ---- in a program ----

-- The variables of a cache that there are, { part, name, dtype, shape } by part, such as "length",
-- and how many.
local function parts_here(self)
  local parts, n = {}, 0
  for _, name in ipairs(core.variables()) do
    if owners[name] == self.name then
      local part = name:sub(#self.name + 2)
      local dtype, shape = core.variable_info(name)
      parts[part], n = { part = part, name = name, dtype = dtype, shape = shape }, n + 1
    end
  end
  return parts, n
end

local function parts_of(self)
  variables.settle()
  return parts_here(self)
end

-- What a loaded part is as the variable that there is.
local function fitted(loaded, part, there)
  local array = loaded.arrays[part]
  local function fail(form, ...)
    core.fail("attention_cache:load: %s: is that another model's? " .. form, loaded.path, ...)
  end
  if not array then fail("it has no %s", part) end
  if there and there.dtype ~= array.dtype then
    fail("it has %s of %s, and here it is of %s", part, array.dtype, there.dtype)
  end
  if there and part ~= "length" then
    local room = there.shape[3] - array.shape[3]
    array = op.pad(array, { paddings = { 0, 0, 0, 0, 0, room, 0, 0 } })
  end
  local shape = args.shape_text(array.shape)
  if not there or shape ~= args.shape_text(there.shape) then
    fail("it has %s %s, and here is %s", part, shape,
      there and args.shape_text(there.shape) or "none")
  end
  return array
end

-- Gives the variables that there are what was loaded.
function put(self, loaded)
  local parts, arrays = parts_here(self), {}
  for part in pairs(loaded.arrays) do parts[part] = parts[part] or false end
  for part, there in pairs(parts) do
    local array = fitted(loaded, part, there)      -- fails where there is none
    arrays[there.name] = array
  end
  for name, array in pairs(arrays) do core.variable_set(name, array) end
  rawset(self, "_loaded", false)
end

-- What was loaded and waits for a job that has the cache, by part.
local function waiting(self)
  local loaded = rawget(self, "_loaded")
  return loaded and loaded.arrays
end

--- How many positions of each sequence the cache has.
function Cache:lengths()
  local arrays = waiting(self)
  if arrays then return arrays.length:totable() end
  local length, list = parts_of(self).length, {}
  if length then return core.variable_get(length.name):totable() end
  for i = 1, self.sequences do list[i] = 0 end
  return list
end

--- Forgets what is behind the first n positions of each sequence, a number or one for each.
function Cache:rewind(n)
  local lengths, list = self:lengths(), {}
  for i, length in ipairs(lengths) do
    local to = type(n) == "table" and n[i] or n
    args.integer("attention_cache:rewind", ("n of sequence %d"):format(i), to, 0)
    args.check(to <= length, "attention_cache:rewind: n of sequence %d must be at most its length "
      .. "%d, got %d", i, length, to)
    list[i] = to
  end
  self.unread = nil
  local name, arrays = self.name .. "-length", waiting(self)
  if arrays then arrays.length = core.from_table(list, "int64")
  elseif variables.dtypes()[name] then core.variable_set(name, core.from_table(list, "int64")) end
end

--- Forgets all.
function Cache:clear()
  rawset(self, "_loaded", false)
  self:rewind(0)
end

--- Gives back its memory; the next call of a job that has it begins anew.
function Cache:drop()
  self.unread = nil
  rawset(self, "_loaded", false)
  local list = {}
  for _, each in pairs(parts_of(self)) do list[#list + 1] = each.name end
  if #list > 0 then variables.drop_variables(list) end
end

--- Puts sequences in another order: sequence i becomes what order[i] was, from 1 on.
function Cache:reorder(order)
  local list, arrays = {}, waiting(self)
  for i, from in ipairs(order) do list[i] = from - 1 end
  list = core.from_table(list, "int32")
  if arrays then
    for part, array in pairs(arrays) do arrays[part] = op.gather(array, list) end
    return
  end
  if select(2, parts_of(self)) == 0 then return end
  local name = self.name .. "-reorder"
  local mover = job.named(name) or job.global_function { name = name, returns = typing.any,
    inputs = { { "order", names.root().int32 { self.sequences } } },
    body = function(from)
      local context = trace.need(WHO)
      context.assigns = true
      for part, each in pairs(parts_here(self)) do
        local there = make(self, context, part, each.dtype, each.shape)
        assign(there, op.gather(there, from))
      end
      return from
    end }
  mover(list)
end

--- Writes what it has to a directory.
function Cache:save(path, options)
  args.expect("attention_cache:save", "path", path, "string")
  local arrays, lengths, most = {}, self:lengths(), 0
  for _, length in ipairs(lengths) do most = math.max(most, length) end
  args.check(most ~= 0, "attention_cache:save: the cache '%s' must have read something, got "
    .. "nothing", self.name)
  local all = waiting(self)
  if not all then
    all = {}
    for part, each in pairs(parts_of(self)) do all[part] = core.variable_get(each.name) end
  end
  for part, array in pairs(all) do
    arrays[part] = part == "length" and array
      or op.slice(array, { 0, 0, 0, 0 }, { -1, -1, most, -1 })
  end
  local note = plain.write({ unread = self.unread or {} }, "unread")
  checkpoint.save_arrays(path, arrays, { texts = { [NOTE] = note },
    overwrite = (options or {}).overwrite })
end

-- What of a list is no whole number from 0 on, or what is no list; or nil.
local function wrong_id(ids)
  if type(ids) ~= "table" then return ids end
  for _, id in pairs(ids) do
    if type(id) ~= "number" or id < 0 or id % 1 ~= 0 then return id end
  end
end

-- What is wrong with what a file has of a cache, or nil: in each array but the lengths are as many
-- positions as the longest sequence.
local function flaw_of(self, arrays, note)
  local length = type(arrays) == "table" and arrays.length
  local unread = type(note) == "table" and note.unread
  if not length or type(unread) ~= "table" then return "it must be what cache:save wrote" end
  if length.dtype ~= "int64" or #length.shape ~= 1 then
    return ("length must be int64 (%d), got %s %s"):format(self.sequences, length.dtype,
      args.shape_text(length.shape))
  end
  local least, most = length:min(), length:max()
  if length.shape[1] ~= self.sequences or most > self.length then
    return ("it must have %d sequences of at most %d positions, as the cache '%s', got %d of %d")
      :format(self.sequences, self.length, self.name, length.shape[1], most)
  end
  if least < 0 then return ("no sequence can have %d positions"):format(least) end
  for part, array in pairs(arrays) do
    local shape = array.shape
    if part ~= "length" and (#shape ~= 4 or shape[1] ~= self.sequences or shape[3] ~= most) then
      return ("%s must have %d sequences of %d positions, got %s"):format(part, self.sequences,
        most, args.shape_text(shape))
    end
  end
  for s, ids in pairs(unread) do
    local id = wrong_id(ids)
    if id ~= nil then
      return ("what sequence %s has not read must be whole numbers, got %s"):format(tostring(s),
        args.describe(id))
    end
  end
end

--- Reads what save wrote, for the same model: the next call that keeps it goes on there. Nothing
-- changes where that is damaged.
function Cache:load(path)
  args.expect("attention_cache:load", "path", path, "string")
  local text = checkpoint.texts_of(path)[NOTE]
  local arrays, note = checkpoint.checkpoint.get(path), text and plain.read(text)
  local flaw = flaw_of(self, arrays, note)
  if flaw then core.fail("attention_cache:load: %s: %s", path, flaw) end
  local before, loaded = rawget(self, "_loaded"), { path = path, arrays = arrays }
  rawset(self, "_loaded", false)
  if select(2, parts_of(self)) == 0 then
    rawset(self, "_loaded", loaded)
  else
    local ok, err = pcall(put, self, loaded)
    if not ok and before then pcall(put, self, before) end
    if not ok then error(err, 0) end
  end
  self.unread = note.unread
end

--- A cache for jobs that continue sequences: attention that has it sees what earlier calls got.
cache.attention_cache = args.define(WHO,
  "What attention keeps from call to call, so that a predict job which continues sequences gets "
  .. "their new positions alone. Layers take it as their option cache; it holds their keys and "
  .. "values in variables of the session. cache:positions(n) gives a body the numbers of the n new "
  .. "positions; cache:lengths(), cache:rewind(n), cache:clear(), cache:drop(), "
  .. "cache:reorder(order), cache:save(path) and cache:load(path) are for the program.", {
    { "length", "how many positions a sequence can have", type = "integer", least = 1 },
    { "sequences", "how many there are, the batch of the jobs", 1, least = 1 },
    { "name", "which its variables begin with; jobs share a cache by its name", "cache" },
    { "dtype", "of keys and values in it: float16 or bfloat16 where they are float32, which takes "
      .. "half the memory and time; what they are", args.none, words = HALVES },
    returns = "AttentionCache",
  }, function(o)
    return setmetatable({ length = o.length, sequences = o.sequences,
      name = args.name(WHO, "name", o.name), dtype = o.dtype or false }, Cache)
  end)

return cache
