-- flow.generate: sequences continued id by id, by a job that keeps what it has seen in a cache.
---@flow generate
local args = require "jfl.base.args"
local beams = require "jfl.tools.beams"
local cache = require "jfl.layers.cache"
local choice = require "jfl.nd.choice"
local core = require "jfl.core"
local job = require "jfl.job.job"
local model = require "jfl.net.model"
local queue = require "jfl.job.queue"
local step = require "jfl.models.step"

local generate = {}

local WHO = "generate"

-- ---- what is asked for ----

local function check_ids(what, ids)
  args.must(type(ids) == "table" and #ids > 0, ids, "%s: %s must be a list of one or more ids", WHO,
    what)
  for i, id in ipairs(ids) do args.integer(WHO, ("%s[%d]"):format(what, i), id, 0) end
end

local function read_prompts(o)
  local is_one = type(o.prompt) == "table" and type(o.prompt[1]) ~= "table"
  local prompts = is_one and { o.prompt } or o.prompt
  if type(prompts) ~= "table" or o.cache and #prompts ~= o.cache.sequences and not o.beams then
    core.fail("%s: prompt must have a list of ids for each of the %d sequences, got %s", WHO,
      o.cache and o.cache.sequences or 1,
      type(prompts) == "table" and #prompts or args.describe(prompts))
  end
  for s, ids in ipairs(prompts) do
    check_ids(is_one and "prompt" or ("prompt[%d]"):format(s), ids)
  end
  return prompts, is_one
end

local function check(o)
  args.must(o.cache == nil or cache.is(o.cache), o.cache,
    "%s: cache must be what flow.layers.attention_cache gives", WHO)
  for _, name in ipairs { "on_token", "on_end" } do
    if o[name] ~= nil then args.expect(WHO, name, o[name], "function") end
  end
  if o.stop ~= nil then check_ids("stop", type(o.stop) == "table" and o.stop or { o.stop }) end
  if o.beams == nil then return end
  for _, name in ipairs { "keep", "seed", "on_token" } do
    if o[name] then core.fail("%s: %s must be left out where there are beams", WHO, name) end
  end
end

-- Ids that a network does not know are told before anything runs.
local function check_vocabulary(prompts, is_one, size)
  for s, ids in ipairs(prompts) do
    for i, id in ipairs(ids) do
      if id >= size then
        core.fail("%s: prompt%s[%d] must be from 0 to %d, the ids that the model knows, got %d",
          WHO, is_one and "" or ("[%d]"):format(s), i, size - 1, id)
      end
    end
  end
end

local function longest_of(lists)
  local longest = 0
  for _, list in ipairs(lists) do longest = math.max(longest, #list) end
  return longest
end

-- The job and the cache of a network of flow.models, which has a cache of its own where none is
-- given.
local function of_network(o, prompts, is_one)
  local net, facts = o.step, step.facts(WHO, o.step)
  check_vocabulary(prompts, is_one, facts.vocabulary)
  local sequences = o.beams or #prompts
  local need = longest_of(prompts) + o.max - 1
  if not o.cache then
    local held = step.cache(net, sequences, need, facts.most)
    local before = o.keep and math.max(unpack(held:lengths())) or 0
    o.cache = before == 0 and held or step.cache(net, sequences, need + before, facts.most)
  end
  args.check(o.cache.length <= facts.most, "%s: cache '%s' must have at most the %d positions that "
    .. "the model knows, got %d", WHO, o.cache.name, facts.most, o.cache.length)
  step.check_reader(WHO, net, o.cache, o.keep)
  o.step = step.job(net, o.cache)
  step.note_reader(net, o.cache)
end

-- The cache has room for all that may come, so that it is not full in the midst of a text.
local function check_room(o, longest, lengths)
  local before = math.max(unpack(lengths))
  local most = before + longest + o.max - 1        -- the last id is drawn and not read
  if most <= o.cache.length then return end
  core.fail("%s: the prompt's %d ids and max %d must fit the cache '%s' behind its %d positions of "
    .. "%d, got %d; flow.layers.attention_cache(%d) has room", WHO, longest, o.max, o.cache.name,
    before, o.cache.length, most, most)
end

-- ---- a run ----

-- The state of a generator of random numbers for a sequence (Park and Miller, 1988), so that its
-- draws do not depend on the others.
local MODULUS = 2147483647

local function state_of(seed, s)
  local state = (seed * 69621 + s * 40014) % (MODULUS - 1) + 1
  for _ = 1, 8 do state = state * 16807 % MODULUS end
  return state
end

-- Whether an id of a sequence is drawn now.
local function is_due(run, s) return not run.ended[s] and #run.ids[s] == run.read end

-- A share of 1 for each sequence; states go on of those that are due.
local function shares(run)
  local list = {}
  for s, state in ipairs(run.states) do
    if is_due(run, s) then run.states[s] = state * 16807 % MODULUS end
    list[s] = run.states[s] / MODULUS
  end
  return list
end

-- Of sequence s, ids[s] are the tokens that the job reads, of which it has read run.read; drawn[s]
-- the tokens that were drawn; ended[s] is how many it is to have read in the end.
-- A cache serves one call at a time; one that was cancelled leaves it to the next.
local function take_cache(run)
  local held = run.o.cache
  local before = held.run and held.run.handle
  if before and not before.done and not before.cancelled then
    core.fail("%s: cache '%s' serves a call that goes on; its cancel() ends that, or wait()", WHO,
      held.name)
  end
  held.run = run
end

local function start(o)
  local prompts, is_one = read_prompts(o)
  if model.is(o.step) then of_network(o, prompts, is_one) end
  local run = { o = o, is_one = is_one, ids = {}, drawn = {}, ended = {}, read = 0, open = 0,
    stops = {}, states = {} }
  take_cache(run)
  if not o.keep then o.cache:clear() end
  run.lengths = o.cache:lengths()
  local unread = o.keep and o.cache.unread or {}
  for s, prompt in ipairs(prompts) do
    local ids = {}
    for _, id in ipairs(unread[s] or {}) do ids[#ids + 1] = id end
    for _, id in ipairs(prompt) do ids[#ids + 1] = id end
    run.ids[s], run.drawn[s], run.open = ids, {}, run.open + 1
    run.states[s] = o.seed and state_of(o.seed, s)
  end
  check_room(o, longest_of(run.ids), run.lengths)
  for _, id in ipairs(type(o.stop) == "table" and o.stop or { o.stop }) do run.stops[id] = true end
  return run
end

-- The ids that the job reads next, (n, sequences): of sequences that have ended anything.
local function next_ids(run)
  local known, rows = math.huge, {}
  for s, ids in ipairs(run.ids) do
    if not run.ended[s] then known = math.min(known, #ids - run.read) end
  end
  local n = beams.chunk(known)
  for i = 1, n do
    rows[i] = {}
    for s, ids in ipairs(run.ids) do rows[i][s] = ids[run.read + i] or ids[#ids] end
  end
  run.read = run.read + n
  return rows
end

local function take(run, s, id)
  local drawn, o = run.drawn[s], run.o
  run.ids[s][#run.ids[s] + 1], drawn[#drawn + 1] = id, id
  if run.stops[id] or #drawn == o.max then
    run.ended[s], run.open = #run.ids[s] - 1, run.open - 1
  end
  if o.on_token then o.on_token(id, s) end
end

local function check_logits(run, logits)
  if core.type(logits) == "array" and #logits.shape == 2 and logits.shape[1] == #run.ids then
    return
  end
  core.fail("%s: step must give logits (%d, classes), of what follows the last position of each "
    .. "sequence, got %s", WHO, #run.ids, args.describe(logits))
end

-- An id for each sequence.
local function draw(run, logits)
  local o = run.o
  if o.seed and o.temperature > 0 then return choice.at_shares(o, logits, shares(run)):totable() end
  return choice.choice(logits, { logits = true, temperature = o.temperature, top_k = o.top_k,
    top_p = o.top_p }):totable()
end

-- Draws what follows where all that was known has been read. Whether sequences go on.
local function advance(run, logits)
  check_logits(run, logits)
  local drawn = draw(run, logits)
  for s in ipairs(run.ids) do
    if is_due(run, s) then take(run, s, drawn[s]) end
  end
  return run.open > 0
end

-- Leaves in the cache what sequences have read up to their own ends.
local function finish(run)
  local o, lengths, unread = run.o, {}, {}
  for s, ids in ipairs(run.ids) do
    local read = math.min(run.ended[s] or run.read, run.read)
    lengths[s], unread[s] = run.lengths[s] + read, {}
    for i = read + 1, #ids do table.insert(unread[s], ids[i]) end
  end
  if o.cache.run == run then
    o.cache:rewind(lengths)
    o.cache.unread, o.cache.run = unread, nil
  end
  return run.is_one and run.drawn[1] or run.drawn
end

-- ---- at once, and in the background ----

local function value_of(reader, value) return reader._async and queue.value(value) or value end

local Handle = {}
Handle.__index = Handle

--- Ends after the call that is under way.
function Handle:cancel() self.cancelled = true end

--- Waits for the end.
function Handle:wait()
  while not self.done do queue.sync() end
end

local function generate_behind(run)
  local handle, o = setmetatable({ done = false }, Handle), run.o
  run.handle = handle
  local function close(ids, message)
    handle.done = true
    o.on_end(ids, message)
  end
  local function go_on()
    core.register(job.submit(o.step, next_ids(run)), function(logits)
      local ok, more = true, false
      if not handle.cancelled then ok, more = pcall(advance, run, logits) end
      if not ok then return close(nil, more) end
      if more then return go_on() end
      return close(finish(run))
    end, function(message) close(nil, message) end)
  end
  go_on()
  return handle
end

-- Has search(read) read by calls that nobody waits for.
local function search_behind(run, search)
  local handle, o = setmetatable({ done = false }, Handle), run.o
  local routine = coroutine.create(function() return search(coroutine.yield) end)
  run.handle = handle
  local function close(ids, message)
    handle.done = true
    o.on_end(ids, message)
  end
  local function go_on(logits)
    local ok, value = coroutine.resume(routine, logits)
    if ok and coroutine.status(routine) ~= "dead" then
      return core.register(job.submit(o.step, value), function(read)
        go_on(not handle.cancelled and read or nil)
      end, function(message) close(nil, message) end)
    end
    if ok then close(value) else close(nil, value) end
  end
  go_on()
  return handle
end

-- What follows a prompt by several beams.
local function generate_by_beams(o)
  local prompts, is_one = read_prompts(o)
  args.check(#prompts == 1, "%s: prompt must be one where there are beams, got %d", WHO, #prompts)
  if model.is(o.step) then of_network(o, prompts, is_one) end
  args.check(o.cache and o.cache.sequences == o.beams, "%s: cache must be of %d sequences, one for "
    .. "each beam, got %s", WHO, o.beams, o.cache and o.cache.sequences or "none")
  local run, stops = { o = o }, {}
  take_cache(run)
  o.cache:clear()
  check_room(o, #prompts[1], { 0 })
  for _, id in ipairs(type(o.stop) == "table" and o.stop or { o.stop }) do stops[id] = true end
  local function search(read)
    local drawn = beams.search(o, prompts[1], stops, read)
    if o.cache.run == run then
      o.cache:clear()
      o.cache.run = nil
    end
    return is_one and drawn or { drawn }
  end
  if o.on_end then return search_behind(run, search) end
  return search(function(ids) return value_of(o.step, o.step(ids)) end)
end

--- Continues sequences of ids, by a network of flow.models or a job. The job reads ids (n,
-- sequences), some at once of the prompt and then one by one, through layers that have the cache,
-- and gives logits (sequences, classes) of what follows the last. What follows is drawn as
-- flow.random.choice draws. It gives the ids drawn, the last of which the job has not read: a list
-- for each sequence, or one list for a prompt that is one. The cache begins empty, or with keep =
-- true where the call before ended. The same seed draws the same for a sequence, whatever the
-- others are; without, draws go on as flow.random.seed says. With beams the most probable text is
-- looked for, among so many at a time, and nothing is drawn: the sum of logarithms counts, divided
-- by the length to the power of length_penalty.
--
-- With on_end it returns at once, and the functions are called as flow.poll does others: then it
-- gives an object with cancel(), wait() and done.
generate.generate = args.define(WHO, "Continues sequences id by id.", {
  { "step", "a network of flow.models.gpt2 or llama, or a predict job of ids (n, sequences) that "
    .. "gives logits (sequences, classes)", type = "Model|Job" },
  { "prompt", "a list of ids, or one for each sequence", type = "integer[]|integer[][]" },
  { "cache", "the cache that the job's layers have; a network has its own", args.none,
    type = "AttentionCache" },
  { "max", "how many ids of each sequence are drawn at most", 100, type = "integer", least = 1 },
  { "temperature", "what logits are divided by; 0: the most probable", 1.0, type = "number" },
  { "top_k", "how many of the most probable can be drawn; all", args.none, type = "integer" },
  { "top_p", "the share of the most probable that can be drawn; all", args.none, type = "number" },
  { "stop", "an id with which a sequence ends, or a list of such", args.none,
    type = "integer|integer[]" },
  { "keep", "whether to go on behind what the cache has", false, type = "boolean" },
  { "seed", "of what is drawn; that of flow.random.seed", args.none, type = "integer", least = 0 },
  { "beams", "how many texts are looked at, to find the most probable; none", args.none,
    type = "integer", least = 2 },
  { "length_penalty", "above 0: longer texts count more than their probability says", 1.0,
    type = "number" },
  { "on_token", "called with each id and the number of its sequence", args.none,
    type = "fun(id: integer, sequence: integer)" },
  { "on_end", "called with the ids, or with nil and the message of an error", args.none,
    type = "fun(ids?: table, message?: string)" },
  returns = "integer[]|integer[][]|table",
}, function(o)
  local is_job = type(o.step) == "table" and not model.is(o.step) and o.step.compile
  if not is_job and not model.is(o.step) then step.facts(WHO, o.step) end
  if is_job and o.cache == nil then
    core.fail("%s: cache must be that of the job's layers, got nil", WHO)
  end
  check(o)
  if o.beams then return generate_by_beams(o) end
  local run = start(o)
  if o.on_end then return generate_behind(run) end
  local goes_on
  repeat goes_on = advance(run, value_of(run.o.step, run.o.step(next_ids(run)))) until not goes_on
  return finish(run)
end)

return generate
