-- flow.generate: sequences continued id by id, by a job that keeps what it has seen in a cache.
---@flow generate
local args = require "jfl.base.args"
local cache = require "jfl.layers.cache"
local choice = require "jfl.nd.choice"
local core = require "jfl.core"
local job = require "jfl.job.job"
local queue = require "jfl.job.queue"

local generate = {}

local WHO = "generate"

-- How many positions a call gets, of those that are known: a plan is made for each that occurs.
local CHUNKS = { 256, 64, 16, 4, 1 }

-- ---- what is asked for ----

local function check_ids(what, ids)
  if type(ids) ~= "table" or #ids == 0 then
    core.fail("%s: %s must be a list of one or more ids, got %s", WHO, what, args.describe(ids))
  end
  for i, id in ipairs(ids) do args.integer(WHO, ("%s[%d]"):format(what, i), id, 0) end
end

local function read_prompts(o)
  local is_one = type(o.prompt) == "table" and type(o.prompt[1]) ~= "table"
  local prompts = is_one and { o.prompt } or o.prompt
  if type(prompts) ~= "table" or #prompts ~= o.cache.sequences then
    core.fail("%s: prompt must have a list of ids for each of the %d sequences, got %s", WHO,
      o.cache.sequences, type(prompts) == "table" and #prompts or args.describe(prompts))
  end
  for s, ids in ipairs(prompts) do
    check_ids(is_one and "prompt" or ("prompt[%d]"):format(s), ids)
  end
  return prompts, is_one
end

local function check(o)
  if type(o.step) ~= "table" or not o.step.compile then
    core.fail("%s: step must be a job, got %s", WHO, args.describe(o.step))
  end
  if not cache.is(o.cache) then
    core.fail("%s: cache must be what flow.layers.attention_cache gives, got %s", WHO,
      args.describe(o.cache))
  end
  args.integer(WHO, "max", o.max, 1)
  args.expect(WHO, "keep", o.keep, "boolean")
  for _, name in ipairs { "on_token", "on_end" } do
    if o[name] ~= nil then args.expect(WHO, name, o[name], "function") end
  end
  if o.stop ~= nil then check_ids("stop", type(o.stop) == "table" and o.stop or { o.stop }) end
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

-- Sequence s: ids[s] are those that the job reads, of which it has read run.read; drawn[s] are
-- those that were drawn; ended[s] is how many it is to have read in the end.
local function start(o)
  local prompts, is_one = read_prompts(o)
  local run = { o = o, is_one = is_one, ids = {}, drawn = {}, ended = {}, read = 0, open = 0,
    stops = {} }
  local longest = 0
  if not o.keep then o.cache:clear() end
  local unread = o.keep and o.cache.unread or {}
  for s, prompt in ipairs(prompts) do
    local ids = {}
    for _, id in ipairs(unread[s] or {}) do ids[#ids + 1] = id end
    for _, id in ipairs(prompt) do ids[#ids + 1] = id end
    run.ids[s], run.drawn[s], run.open = ids, {}, run.open + 1
    longest = math.max(longest, #ids)
  end
  run.lengths = o.cache:lengths()
  check_room(o, longest, run.lengths)
  for _, id in ipairs(type(o.stop) == "table" and o.stop or { o.stop }) do run.stops[id] = true end
  return run
end

-- The ids that the job reads next, (n, sequences): of sequences that have ended anything.
local function next_ids(run)
  local known, rows = math.huge, {}
  for s, ids in ipairs(run.ids) do
    if not run.ended[s] then known = math.min(known, #ids - run.read) end
  end
  local n = 1
  for i = #CHUNKS, 1, -1 do
    if CHUNKS[i] <= known then n = CHUNKS[i] end
  end
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

-- Draws what follows where all that was known has been read. Whether sequences go on.
local function advance(run, logits)
  local o = run.o
  check_logits(run, logits)
  local drawn = choice.choice(logits, { logits = true, temperature = o.temperature,
    top_k = o.top_k, top_p = o.top_p }):totable()
  for s, ids in ipairs(run.ids) do
    if not run.ended[s] and #ids == run.read then take(run, s, drawn[s]) end
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
  o.cache:rewind(lengths)
  o.cache.unread = unread
  return run.is_one and run.drawn[1] or run.drawn
end

-- ---- at once, and in the background ----

local function value_of(step, value) return step._async and queue.value(value) or value end

local function generate_now(run)
  local goes_on
  repeat goes_on = advance(run, value_of(run.o.step, run.o.step(next_ids(run)))) until not goes_on
  return finish(run)
end

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

--- Continues sequences of ids. The job reads ids (n, sequences), some at once of the prompt and
-- then one by one, through layers that have the cache, and gives logits (sequences, classes) of
-- what follows the last. What follows is drawn as flow.random.choice draws. It gives the ids drawn,
-- the last of which the job has not read: a list for each sequence, or one list for a prompt that
-- is one. The cache begins empty, or with keep = true where the call before ended.
--
-- With on_end it returns at once, and the functions are called as flow.poll does others: then it
-- gives an object with cancel(), wait() and done.
generate.generate = args.define(WHO, "Continues sequences id by id.", {
  { "step", "a predict job of ids (n, sequences) that gives logits (sequences, classes)",
    type = "Job" },
  { "prompt", "a list of ids, or one for each sequence", type = "integer[]|integer[][]" },
  { "cache", "the cache that the job's layers have", type = "AttentionCache" },
  { "max", "how many ids of each sequence are drawn at most", 100 },
  { "temperature", "what logits are divided by; 0: the most probable", 1.0, type = "number" },
  { "top_k", "how many of the most probable can be drawn; all", args.none, type = "integer" },
  { "top_p", "the share of the most probable that can be drawn; all", args.none, type = "number" },
  { "stop", "an id with which a sequence ends, or a list of such", args.none,
    type = "integer|integer[]" },
  { "keep", "whether to go on behind what the cache has", false },
  { "on_token", "called with each id and the number of its sequence", args.none,
    type = "fun(id: integer, sequence: integer)" },
  { "on_end", "called with the ids, or with nil and the message of an error", args.none,
    type = "fun(ids?: table, message?: string)" },
  returns = "integer[]|integer[][]|table",
}, function(o)
  check(o)
  local run = start(o)
  if o.on_end then return generate_behind(run) end
  return generate_now(run)
end)

return generate
