-- Guesses the next word of a text: learns from the buffer, in the background, which words follow
-- which. jfl.so must be on package.cpath.
local flow = require "jfl"
local tp = flow.typing
local uv = vim.loop

local WORDS, FEATURES, BATCH = 1024, 24, 64      -- word 0 stands for all that are not known
local SLICE = 0.004                              -- seconds that callbacks may take at a time

-- This file may be loaded again while it trains: what was before ends first.
local older = package.loaded["guess.running"]
if older then older.stop() end

flow.config.background(true)                     -- the editor comes first

local guess = { steps = 0, wanted = 0, loss = nil, error = nil }
package.loaded["guess.running"] = guess

local numbers, words = {}, {}                    -- of words, and the other way round
local pairs_seen = {}                            -- { word, next word }, as numbers

-- ---- the jobs ----

local function network(ids)
  local features = flow.get_variable("guess-features", { shape = { WORDS, FEATURES },
    initializer = flow.random_normal_initializer(0, 0.5) })
  return flow.layers.dense(flow.gather(features, ids), WORDS, { name = "guess-next" })
end

local train = flow.global_function {
  name = "guess_train",
  type = "train",
  inputs = {
    { "ids", tp.Numpy.Placeholder({ BATCH }, { dtype = flow.int32 }) },
    { "following", tp.Numpy.Placeholder({ BATCH }, { dtype = flow.int32 }) },
  },
  returns = tp.Callback(tp.Numpy),
  body = function(ids, following)
    local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(following, network(ids))
    flow.optimizer.Adam(0.02):minimize(loss)
    return loss
  end,
}

local predict = flow.global_function {
  name = "guess_predict",
  inputs = { { "ids", tp.Numpy.Placeholder({ 1 }, { dtype = flow.int32 }) } },
  returns = tp.Numpy,
  body = function(ids) return flow.nn.softmax(network(ids)) end,
}

-- ---- the text ----

local function number_of(word)
  if not numbers[word] and #words < WORDS - 1 then
    words[#words + 1] = word
    numbers[word] = #words
  end
  return numbers[word] or 0
end

local function read_buffer()
  local before
  pairs_seen = {}
  for _, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    for word in line:gmatch("[%w_']+") do
      local number = number_of(word:lower())
      if before then pairs_seen[#pairs_seen + 1] = { before, number } end
      before = number
    end
  end
  return #pairs_seen
end

-- ---- training, in slices between the editor's own work ----

local function batch()
  local ids = flow.ndarray.zeros({ BATCH }, flow.int32)
  local following = flow.ndarray.zeros({ BATCH }, flow.int32)
  for i = 1, BATCH do
    local pair = pairs_seen[math.random(#pairs_seen)]
    ids[i], following[i] = pair[1], pair[2]
  end
  return ids, following
end

local function submit()
  train(batch())(function(loss)
    guess.steps, guess.loss = guess.steps + 1, loss:mean()
    if guess.steps < guess.wanted then submit() end
  end, function(message)
    guess.error, guess.wanted = message, guess.steps
  end)
end

local watcher

-- libuv tells when a callback is due. This runs on the editor's thread, as all Lua of the editor
-- does, and jfl computes on others meanwhile.
local function watch()
  if watcher then return end
  watcher = uv.new_poll(flow.fd())
  watcher:start("r", function() flow.poll(SLICE) end)
end

--- Learns from the current buffer for so many steps more, and returns at once.
function guess.train(steps)
  if read_buffer() == 0 then return vim.notify("guess: the buffer has no words") end
  local idle = guess.steps >= guess.wanted
  guess.wanted = guess.steps + (steps or 500)
  watch()
  if idle then submit() end
end

--- Ends training after the step that runs.
function guess.stop()
  guess.wanted = guess.steps
  if watcher then watcher:close() end
  watcher = nil
  flow.sync()
end

--- The likeliest words after a word, the best first.
function guess.after(word, count)
  local ids = flow.ndarray.array({ numbers[word:lower()] or 0 }, flow.int32)
  local p, list = predict(ids)[1], {}
  for number, each in ipairs(words) do list[number] = { word = each, p = p[number + 1] } end
  table.sort(list, function(a, b) return a.p > b.p end)
  local best = {}
  for i = 1, math.min(count or 5, #list) do best[i] = list[i].word end
  return best
end

--- For 'completefunc': CTRL-X CTRL-U after a word and a blank.
function guess.complete(find_start, base)
  local line, column = vim.api.nvim_get_current_line(), vim.api.nvim_win_get_cursor(0)[2]
  local before = line:sub(1, column)
  if find_start == 1 then return #before:match("^(.-)[%w_']*$") end
  local list, word = {}, before:match("([%w_']+)[^%w_']+[%w_']*$") or ""
  for _, each in ipairs(guess.after(word, 20)) do
    if each:find(base:lower(), 1, true) == 1 then list[#list + 1] = each end
  end
  return list
end

return guess
