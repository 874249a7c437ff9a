--- flow.text: tokenizers learn, are saved and read, and give back the texts that they were given.
local draws = require "spec.draws"
local flow = require "jfl"
local helper = require "spec.lua.helper"

local TEXTS = { "the lower, the better", "newer and wider: the lowest of the low",
  "größer, 更大, больше", "a\tb\n\n  c  ", "the end<|end|>" }

-- What learning must give, in the plainest way: pairs are counted anew before each merge.
local Plain = {}

-- The pair of most places; of pairs with as many the one with the smaller numbers.
function Plain.best(words)
  local counts, best, most = {}, nil, 0
  for _, word in ipairs(words) do
    for i = 1, #word - 1 do
      local pair = word[i] * 10000 + word[i + 1]
      counts[pair] = (counts[pair] or 0) + 1
    end
  end
  for pair, n in pairs(counts) do
    if n > most or n == most and pair < best then best, most = pair, n end
  end
  return best, most
end

function Plain.join(word, a, b, joined)
  local list = {}
  for _, part in ipairs(word) do
    if part == b and list[#list] == a then list[#list] = joined
    else list[#list + 1] = part end
  end
  return list
end

-- The merges of words of ASCII letters, each as two texts.
function Plain.learn(texts, n, least)
  local words, names, number_of, merges = {}, {}, {}, {}
  for byte = 33, 126 do number_of[string.char(byte)], names[byte] = byte, string.char(byte) end
  for i, text in ipairs(texts) do words[i] = { text:byte(1, -1) } end
  local last = 300
  while n > 0 do
    local best, most = Plain.best(words)
    if not best or most < least then break end
    local a, b = math.floor(best / 10000), best % 10000
    local text = names[a] .. names[b]
    if not number_of[text] then
      last, n = last + 1, n - 1
      number_of[text], names[last] = last, text
    end
    merges[#merges + 1] = names[a] .. " " .. names[b]
    for i, word in ipairs(words) do words[i] = Plain.join(word, a, b, number_of[text]) end
  end
  return merges
end

local function random_words(random, n, letters, longest)
  local list = {}
  for i = 1, n do
    local word = {}
    for k = 1, random(longest) do
      local at = random(#letters)
      word[k] = letters:sub(at, at)
    end
    list[i] = table.concat(word)
  end
  return list
end

local function merges_of(tokenizer, path)
  tokenizer:save(path)
  local list = {}
  for a, b in helper.read(path):match('"merges": (%b[])'):gmatch('%["(%a+)", "(%a+)"%]') do
    list[#list + 1] = a .. " " .. b
  end
  return list
end

describe("flow.text", function()
  local folder, tokenizer
  before_each(function()
    folder = helper.directory()
    tokenizer = flow.text.train(TEXTS, { size = 300, special_tokens = { "<|end|>" } })
  end)
  after_each(function() helper.remove(folder) end)

  it("gives back each text", function()
    for _, text in ipairs(TEXTS) do
      assert.equal(text, tokenizer:decode(tokenizer:encode(text), { skip_special = false }))
    end
    assert.equal("the end", tokenizer:decode(tokenizer:encode(TEXTS[5])))
    assert.equal("", tokenizer:decode(tokenizer:encode("")))
  end)

  it("makes tokens of what occurs often", function()
    local the = tokenizer:encode(" the")
    assert.equal(1, #the)
    assert.equal(the[1], tokenizer:id("Ġthe"))
    assert.equal("Ġthe", tokenizer:token(the[1]))
    assert.equal(0, tokenizer:id("<|end|>"))
    assert.is_true(tokenizer.size > 257 and tokenizer.size <= 300)
  end)

  it("learns the pairs that occur most, one after another", function()
    local random = draws.from(5)
    local function compare(texts, n, least)
      local made = flow.text.train(texts, { size = 256 + n, min_frequency = least })
      assert.same(Plain.learn(texts, n, least), merges_of(made, folder .. "/learned.json"))
    end
    for _ = 1, 30 do
      local letters = ("abcdef"):sub(1, 1 + random(5))
      compare(random_words(random, random(40), letters, random(12)), random(60), random(3))
    end
    local many = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    compare(random_words(random, 5000, many, 8), 12, 2)
    compare({ ("a"):rep(50), ("ab"):rep(30), "b" }, 9, 1)
  end)

  it("has each token of a large vocabulary once", function()
    local texts = random_words(draws.from(7), 3000, "abcdefghijklmnop", 10)
    local made = flow.text.train(texts, { size = 3000, special_tokens = { "<a>", "<b>" },
      min_frequency = 1 })
    assert.equal(3000, made.size)
    for id = 0, made.size - 1 do assert.equal(id, made:id(made:token(id))) end
    assert.is_nil(made:token(3000))
    for i = 1, #texts, 50 do
      assert.equal(texts[i], made:decode(made:encode(texts[i])))
    end
  end)

  it("is the same when it was saved and read", function()
    tokenizer:save(folder .. "/tokenizer.json")
    for _, path in ipairs { folder, folder .. "/tokenizer.json" } do
      local same = flow.text.tokenizer(path)
      for _, text in ipairs(TEXTS) do
        assert.same(tokenizer:encode(text), same:encode(text))
      end
    end
  end)

  it("makes batches, with a mask where texts end", function()
    local made = tokenizer:batch({ "the lower", "the" }, { pad = "right" })
    local long, short = tokenizer:encode("the lower"), tokenizer:encode("the")
    assert.same({ 2, #long }, made.ids.shape)
    for i = 1, #long do
      assert.equal(long[i], made.ids[1][i])
      assert.equal(1, made.mask[1][i])
      assert.equal(i <= #short and 1 or 0, made.mask[2][i])
    end
    made = tokenizer:batch({ "the lower", "the" }, { length = 3, most = 3 })
    assert.same({ 2, 3 }, made.ids.shape)
  end)

  it("says where a token is in its text", function()
    local made = tokenizer:encode("the low", { details = true })
    for i = 1, #made.ids do
      local piece = ("the low"):sub(made.first[i], made.last[i])
      assert.equal(piece, tokenizer:decode { made.ids[i] })
    end
  end)

  it("reads the vocabularies of BERT", function()
    helper.write(folder .. "/vocab.txt",
      "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nlow\n##er\nend\n")
    local bert = flow.text.tokenizer(folder .. "/vocab.txt")
    assert.same({ 2, 5, 6, 7, 1, 3 }, bert:encode("The lower 更"))
    assert.equal("the lower", bert:decode(bert:encode("the lower")))
  end)

  it("names what is wrong", function()
    local path = folder .. "/tokenizer.json"
    local function fails(contents, message)
      helper.write(path, contents)
      helper.fails(function() flow.text.tokenizer(path) end, message)
    end
    fails("{", path)
    fails('{"model":{"type":"Dream"}}', "Dream")
    fails('{"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}}',
      "merge 0: 'b' must be in the vocabulary")
    fails('{"model":{"type":"BPE","vocab":{"a":-1},"merges":[]}}', path)
    helper.fails(function() flow.text.tokenizer(folder .. "/none.json") end, "none.json")
    helper.fails(function() tokenizer:encode(3) end, "text must be a string, got number 3")
    helper.fails(function() tokenizer:decode { 100000 } end, "100000")
    helper.fails(function() flow.text.train({ "a" }, { size = 10 }) end,
      "size must be a whole number of at least 256, got number 10")
  end)
end)
