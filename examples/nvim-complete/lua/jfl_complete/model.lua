-- What is learnt: which words follow which three. It knows nothing of the editor.
local flow = require "jfl"
local tp = flow.typing

local WORDS = 2048               -- number 0 stands for those that have none
local CONTEXT, FEATURES, UNITS, BATCH = 3, 32, 64, 64
local LONGEST = 40               -- bytes of a word

local model = {
  steps = 0, loss = nil,         -- made so far, in this process
  words = {},                    -- by number
  numbers = {},                  -- by word
}

-- ---- the jobs ----

local net = flow.model("jfl_complete", function(ids)
  local features = flow.get_variable("features", { shape = { WORDS, FEATURES },
    initializer = flow.random_normal_initializer(0, 0.3) })
  local x = flow.gather(features, ids):reshape { ids.shape[1], CONTEXT * FEATURES }
  x = flow.layers.dense(x, UNITS, { activation = flow.math.tanh, name = "hidden" })
  return flow.layers.dense(x, WORDS, { name = "next" })
end)

local train = net:train {
  inputs = { ids = flow.int32 { BATCH, CONTEXT }, following = flow.int32 { BATCH } },
  loss = flow.nn.cross_entropy, optimizer = flow.optimizer.Adam(0.003),
  returns = tp.Callback(tp.Numpy),
}

local predict = net:predict { inputs = { flow.int32 { 1, CONTEXT } }, output = flow.nn.softmax,
  returns = tp.Callback(tp.Numpy) }

-- ---- words ----

--- The number of a word, which it gets when it is met first while there is room; 0 without one.
function model.number_of(word)
  local number = model.numbers[word]
  if number then return number end
  if #model.words == WORDS - 1 or #word > LONGEST then return 0 end
  number = #model.words + 1
  model.words[number], model.numbers[word] = word, number
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
  flow.checkpoint.save(path, { overwrite = true, notes = { words = model.words } })
end

--- Goes on with what was saved. An error changes nothing.
function model.restore(path)
  local words = flow.checkpoint.notes(path).words
  flow.checkpoint.load(path, { strict = true })
  model.words, model.numbers = {}, {}
  for _, word in ipairs(words) do model.number_of(word) end
end

--- Forgets all.
function model.forget()
  flow.drop_variables(net)
  model.words, model.numbers, model.steps, model.loss = {}, {}, 0, nil
  model.wake()
end

--- Compiles the jobs, before they are needed.
function model.wake()
  flow.config.background(true)           -- the editor comes first
  train:compile()
  predict:compile()
end

return model
