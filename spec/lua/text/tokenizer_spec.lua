--- flow.text: tokenizers learn, are saved and read, and give back the texts that they were given.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local TEXTS = { "the lower, the better", "newer and wider: the lowest of the low",
  "größer, 更大, больше", "a\tb\n\n  c  ", "the end<|end|>" }

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
