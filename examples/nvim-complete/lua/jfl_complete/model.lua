-- What is learnt: which words follow which three. It knows nothing of the editor.
local flow = require "jfl"
local tp = flow.typing

local WORDS = 2048               -- number 0 stands for those that have none
local LETTERS = 32768            -- bytes of all words, with a line's end after each
local CONTEXT, FEATURES, UNITS, BATCH = 3, 32, 64, 64
local LONGEST = 40               -- bytes of a word

local model = {
  steps = 0, loss = nil,         -- made so far, in this process
  words = {},                    -- by number
  numbers = {},                  -- by word
}

local used = 0                   -- bytes of the words

-- ---- the jobs ----

local function network(ids, rows)
  local features = flow.get_variable("features", { shape = { WORDS, FEATURES },
    initializer = flow.random_normal_initializer(0, 0.3) })
  local x = flow.reshape(flow.gather(features, ids), { rows, CONTEXT * FEATURES })
  x = flow.layers.dense(x, UNITS, { activation = flow.math.tanh, name = "hidden" })
  return flow.layers.dense(x, WORDS, { name = "next" })
end

local train = flow.global_function {
  name = "jfl_complete_train", type = "train", returns = tp.Callback(tp.Numpy),
  inputs = {
    { "ids", tp.Numpy.Placeholder({ BATCH, CONTEXT }, { dtype = flow.int32 }) },
    { "following", tp.Numpy.Placeholder({ BATCH }, { dtype = flow.int32 }) },
  },
  body = function(ids, following)
    -- The words are saved with the weights that belong to them.
    flow.get_variable("letters", { shape = { LETTERS }, dtype = flow.uint8, trainable = false,
      initializer = flow.zeros_initializer() })
    local logits = network(ids, BATCH)
    local loss = flow.math.reduce_mean(
      flow.nn.sparse_softmax_cross_entropy_with_logits(following, logits))
    flow.optimizer.Adam(0.003):minimize(loss)
    return loss
  end,
}

local predict = flow.global_function {
  name = "jfl_complete_predict", returns = tp.Callback(tp.Numpy),
  inputs = { { "ids", tp.Numpy.Placeholder({ 1, CONTEXT }, { dtype = flow.int32 }) } },
  body = function(ids) return flow.nn.softmax(network(ids, 1)) end,
}

-- ---- words ----

--- The number of a word, which it gets when it is met first while there is room; 0 without one.
function model.number_of(word)
  local number = model.numbers[word]
  if number then return number end
  if #model.words == WORDS - 1 or #word > LONGEST or used + #word + 1 > LETTERS then return 0 end
  number = #model.words + 1
  model.words[number], model.numbers[word], used = word, number, used + #word + 1
  return number
end

--- Adds the numbers of a line's words to a list.
function model.read(line, list)
  for word in line:gmatch("[%w_\128-\255]+") do list[#list + 1] = model.number_of(word) end
end

--- The numbers of the last words of a text, as many as the network looks at.
function model.context(text)
  local list, ids = {}, {}
  for word in text:gmatch("[%w_\128-\255]+") do list[#list + 1] = model.numbers[word] or 0 end
  for i = 1, CONTEXT do ids[i] = list[#list - CONTEXT + i] or 0 end
  return ids
end

-- ---- training ----

local ids = flow.ndarray.zeros({ BATCH, CONTEXT }, flow.int32)
local following = flow.ndarray.zeros({ BATCH }, flow.int32)
local given, wanted = ids:pointer(), following:pointer()

--- Queues a step on places drawn from a text, a list of numbers. done() and failed(message) are
-- called in a later flow.poll.
function model.train(text, done, failed)
  for i = 0, BATCH - 1 do
    local at = math.random(#text)
    for k = 1, CONTEXT do given[CONTEXT * i + k - 1] = text[at - CONTEXT + k - 1] or 0 end
    wanted[i] = text[at]
  end
  train(ids, following)(function(loss)
    model.steps, model.loss = model.steps + 1, loss:item()
    done()
  end, failed)
end

-- ---- guesses ----

-- Puts { word, p } where it belongs in a list of at most `count`, the likeliest first.
local function insert(list, count, word, p)
  local at = #list
  if at == count then
    if list[at][2] >= p then return end
    list[at], at = nil, at - 1
  end
  while at > 0 and list[at][2] < p do at = at - 1 end
  table.insert(list, at + 1, { word, p })
end

--- Asks for what follows a context; found gets a list of { word, p }, of the words that begin with
-- `start` the `count` likeliest, in a later flow.poll.
function model.guess(context, start, count, found, failed)
  predict(flow.ndarray.array({ context }, flow.int32))(function(value)
    local p, list = value:pointer(), {}
    for number, word in ipairs(model.words) do
      if #word > #start and word:sub(1, #start) == start then
        insert(list, count, word, p[number])
      end
    end
    found(list)
  end, failed)
end

-- ---- keeping ----

--- Saves words and weights together; what is there is replaced once the new file is whole.
function model.save(path)
  local letters = flow.ndarray.zeros({ LETTERS }, flow.uint8)
  local p, at = letters:pointer(), 0
  for _, word in ipairs(model.words) do
    for i = 1, #word do p[at + i - 1] = word:byte(i) end
    p[at + #word] = 10
    at = at + #word + 1
  end
  flow.load_variables { letters = letters }
  flow.train.CheckPoint():save(path, { overwrite = true })
end

--- Goes on with what was saved. An error changes nothing.
function model.restore(path)
  flow.train.CheckPoint():load(path, { strict = true })
  local text = require("ffi").string(flow.get_all_variables().letters:pointer(), LETTERS)
  model.words, model.numbers, used = {}, {}, 0
  for word in text:gmatch("([^\n%z]+)\n") do model.number_of(word) end
end

--- Forgets all.
function model.forget()
  flow.drop_variables { "features", "hidden", "next" }
  model.words, model.numbers, used, model.steps, model.loss = {}, {}, 0, 0, nil
  model.wake()
end

--- Compiles the jobs, before they are needed.
function model.wake()
  flow.config.background(true)           -- the editor comes first
  train:compile()
  predict:compile()
end

return model
