--- flow.text: tokenizers learn, are saved and read, and give back the texts that they were given.
local draws = require "spec.draws"
local flow = require "jfl"           -- in a stock LuaJIT it brings the module that follows
local files = require "jfl.text.files"
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

  it("takes options, together and one by one", function()
    helper.write(folder .. "/vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\nd\ne\n")
    local bert = flow.text.tokenizer(folder)
    local function gives(want, text, options) assert.same(want, bert:encode(text, options)) end
    gives({ 2, 4, 5, 3 }, "a b")
    gives({ 4, 5 }, "a b", { special = false })
    gives({ 2, 3, 3 }, "[SEP]")
    gives({ 2, 1, 1, 1, 3 }, "[SEP]", { literal = true })
    gives({ 2, 4, 5, 3 }, "a b c d", { most = 4 })
    gives({ 2, 6, 7, 3 }, "a b c d", { most = 4, cut = "left" })
    gives({ 2, 4, 5, 6, 7, 3 }, "a b c d", { most = false })
    gives({ 4, 5, 6 }, "a b c d", { most = 3, special = false })
    gives({ 2, 4, 3, 5, 6, 3 }, "a b c", { pair = "b c d", most = 6 })
    local function batch(options, ids, mask, types)
      local made = bert:batch({ "a", "b c" }, options)
      assert.same(ids, made.ids:totable())
      assert.same(mask, made.mask:totable())
      if types then assert.same(types, made.types:totable()) end
    end
    batch({ pad = "right" }, { { 2, 4, 3, 0 }, { 2, 5, 6, 3 } }, { { 1, 1, 1, 0 }, { 1, 1, 1, 1 } })
    batch({ pad = "left" }, { { 0, 2, 4, 3 }, { 2, 5, 6, 3 } }, { { 0, 1, 1, 1 }, { 1, 1, 1, 1 } })
    batch({ length = 5, special = false }, { { 4, 0, 0, 0, 0 }, { 5, 6, 0, 0, 0 } },
      { { 1, 0, 0, 0, 0 }, { 1, 1, 0, 0, 0 } })
    batch({ most = 3, length = false }, { { 2, 4, 3 }, { 2, 5, 3 } }, { { 1, 1, 1 }, { 1, 1, 1 } })
    batch({ pairs = { "d", "" } }, { { 2, 4, 3, 7, 3 }, { 2, 5, 6, 3, 3 } },
      { { 1, 1, 1, 1, 1 }, { 1, 1, 1, 1, 1 } }, { { 0, 0, 0, 1, 1 }, { 0, 0, 0, 0, 1 } })
    assert.same({ "a", "b c" }, bert:decode(bert:batch({ "a", "b c" }).ids))
    assert.same({ "a", "b c" }, bert:decode({ { 4 }, { 5, 6 } }))
    assert.equal("[CLS] a", bert:decode({ 2, 4 }, { skip_special = false }))
    assert.equal("", bert:decode {})
    assert.equal("tokenizer of 9 tokens", tostring(bert))
  end)

  it("refuses options that are none", function()
    local function refuses(options, message)
      helper.fails(function() tokenizer:encode("a", options) end, message)
      options.pair, options.details = nil, nil
      if next(options) then
        helper.fails(function() tokenizer:batch({ "a" }, options) end, message)
      end
    end
    for _, side in ipairs { "cut", "pad" } do
      refuses({ [side] = "up" }, ('%s must be "left" or "right", got string \'up\''):format(side))
    end
    for _, size in ipairs { "most", "length" } do
      refuses({ [size] = 0 }, size .. " must be a whole number of at least 1")
      refuses({ [size] = true }, size .. " must be a whole number of at least 1")
    end
    for _, flag in ipairs { "special", "literal", "details" } do
      refuses({ [flag] = "yes" }, flag .. " must be a boolean, got string 'yes'")
    end
    refuses({ pair = 3 }, "pair must be a string, got number 3")
    refuses({ odd = 3 }, "odd")
    helper.fails(function() tokenizer:batch("a") end, "texts must be a table, got string 'a'")
    helper.fails(function() tokenizer:batch {} end, "texts must be a list of one string or more")
    helper.fails(function() tokenizer:batch { "a", 2 } end, "texts[2] must be a string")
    helper.fails(function() tokenizer:batch({ "a" }, { pairs = { "a", "b" } }) end,
      "pairs must be as many as texts, got 2 for 1")
    helper.fails(function() tokenizer:batch({ "a" }, { pairs = { 7 } }) end, "pairs[1] must be")
    helper.fails(function() tokenizer:decode("a") end, "ids must be a table")
    helper.fails(function() tokenizer:decode({ 1 }, { skip_special = 7 }) end,
      "skip_special must be a boolean")
    helper.fails(function() tokenizer:token(-1) end, "id must be a whole number of at least 0")
    helper.fails(function() tokenizer:id(7) end, "token must be a string, got number 7")
    helper.fails(function() tokenizer.encode("a") end,
      "call it with a colon: tokenizer:encode(...)")
    helper.fails(function() flow.text.train {} end, "texts must be a list of strings, or files one")
    helper.fails(function() flow.text.train { 3 } end, "texts[1] must be a string, got number 3")
    helper.fails(function() flow.text.train({ "a" }, { min_frequency = 0 }) end,
      "min_frequency must be")
    helper.fails(function() flow.text.train({ "a" }, { pattern = 3 }) end,
      "pattern must be a string")
    helper.fails(function() flow.text.train({ "a" }, { size = 256, special_tokens = { "x" } }) end,
      "size must be a whole number of at least 257")
  end)

  it("learns from files, cut by a pattern of one's own", function()
    helper.write(folder .. "/a.txt", "ab ab cd\nab")
    local made = flow.text.train({ "cd" }, { files = { folder .. "/a.txt" }, size = 260 })
    assert.equal(258, made.size)
    assert.is_truthy(made:id "ab" and made:id "cd")
    made = flow.text.train({ "ab-ab-ab" }, { size = 260, pattern = "[^-]+" })
    assert.equal(257, made.size)
    assert.equal("ab", made:token(256))
  end)

  it("reads vocab.json with merges.txt, by folder and by file", function()
    helper.write(folder .. "/vocab.json", '{"a":0,"b":1,"ab":2,"\196\160":3,"<|endoftext|>": 4}')
    helper.write(folder .. "/merges.txt", "#version: 0.2\na b\n")
    for _, name in ipairs { "", "/", "/vocab.json", "/merges.txt" } do
      local gpt2 = flow.text.tokenizer(folder .. name)
      assert.same({ 2, 3, 0, 4 }, gpt2:encode("ab a<|endoftext|>"))
      assert.equal("ab a", gpt2:decode({ 2, 3, 0, 4 }))
    end
    helper.fails(function() flow.text.tokenizer(folder .. "/none") end,
      "it must be a tokenizer.json, or a folder that has one, or vocab.json and merges.txt")
    os.remove(folder .. "/merges.txt")
    helper.fails(function() flow.text.tokenizer(folder) end,
      "got a folder without them, or nothing")
  end)

  it("writes texts as JSON has them, whatever characters they have", function()
    for c = 0, 127 do
      local want = string.char(c)
      if c == 34 or c == 92 then want = "\\" .. want
      elseif c < 32 or c == 127 then want = ("\\u00%02x"):format(c) end
      assert.equal('"a' .. want .. 'b"', files.quote("a" .. string.char(c) .. "b"))
    end
  end)

  it("lowers what it reads of BERT's unless a file beside says not to", function()
    helper.write(folder .. "/vocab.txt", "[UNK]\r\n[CLS]\r\n[SEP]\r\na\r\nA\r\n\"\r\n")
    assert.same({ 1, 3, 5, 2 }, flow.text.tokenizer(folder .. "/vocab.txt"):encode('A"'))
    helper.write(folder .. "/tokenizer_config.json", '{"do_lower_case": false}')
    assert.same({ 1, 4, 5, 2 }, flow.text.tokenizer(folder):encode('A"'))
    helper.write(folder .. "/vocab.txt", "[UNK]\n[CLS]\n")
    helper.fails(function() flow.text.tokenizer(folder) end, "it must have a line '[SEP]'")
  end)

  it("says where a token is in its text", function()
    local made = tokenizer:encode("the low", { details = true })
    for i = 1, #made.ids do
      local piece = ("the low"):sub(made.first[i], made.last[i])
      assert.equal(piece, tokenizer:decode { made.ids[i] })
    end
  end)

  it("leaves spaces out of the places of added tokens that take them", function()
    local path = folder .. "/added.json"
    helper.write(path, [[{ "added_tokens": [{ "id": 2, "content": "<mask>", "lstrip": true,
      "rstrip": true, "single_word": false, "normalized": false, "special": true }],
      "pre_tokenizer": { "type": "ByteLevel", "add_prefix_space": false },
      "post_processor": { "type": "ByteLevel", "trim_offsets": true },
      "model": { "type": "BPE", "vocab": { "x": 0, "\u0120": 1 }, "merges": [] } }]])
    local got = flow.text.tokenizer(path):encode("x  <mask> x", { details = true })
    assert.same({ 0, 2, 0 }, got.ids)
    assert.same({ 1, 4, 11 }, got.first)         -- as Hugging Face's tokenizers 0.21 and 0.23
    assert.same({ 1, 9, 11 }, got.last)
  end)

  it("looks for added tokens as they are normalized, and for none that is empty then", function()
    local path = folder .. "/added.json"
    helper.write(path, [[{ "added_tokens": [
      { "id": 2, "content": "  ", "normalized": true }, { "id": 3, "content": " y ",
        "normalized": true }],
      "normalizer": { "type": "Strip", "strip_left": true, "strip_right": true },
      "model": { "type": "BPE", "vocab": { "x": 0, " ": 1 }, "merges": [] } }]])
    assert.same({ 0, 1, 1, 0, 3, 0 }, flow.text.tokenizer(path):encode("x  xyx"))
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
