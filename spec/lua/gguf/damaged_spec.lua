--- GGUF files that are damaged, or have what jfl lacks: errors name the tensor or the key.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local function whole(n, width)
  local bytes = {}
  for i = 1, width do
    bytes[i] = string.char(n % 256)
    n = math.floor(n / 256)
  end
  return table.concat(bytes)
end

local function text(s) return whole(#s, 8) .. s end
local function pair(key, type, value) return text(key) .. whole(type, 4) .. value end
local U32, F32, TEXT, LIST = 4, 6, 8, 9

local function tensor(name, dims, type, offset)
  local parts = { text(name), whole(#dims, 4) }
  for _, d in ipairs(dims) do parts[#parts + 1] = type == "huge" and d or whole(d, 8) end
  return table.concat(parts) .. whole(type, 4) .. whole(offset, 8)
end

-- A file: o = { version, tensors, pairs, n_tensors, n_pairs, data }.
local function file(o)
  local pairs_of, tensors = o.pairs or {}, o.tensors or {}
  local head = "GGUF" .. whole(o.version or 3, 4) .. (o.n_tensors or whole(#tensors, 8))
    .. (o.n_pairs or whole(#pairs_of, 8)) .. table.concat(pairs_of) .. table.concat(tensors)
  return head .. ("\0"):rep(-#head % (o.align or 32)) .. (o.data or "")
end

local X = tensor("x", { 2, 3 }, 0, 0)

describe("a GGUF file", function()
  local directory, path
  before_each(function()
    flow.clear_default_session()
    directory = helper.directory()
    path = directory .. "/a.gguf"
  end)
  after_each(function() helper.remove(directory) end)

  local function get(contents)
    helper.write(path, contents)
    return flow.checkpoint.get(path)
  end

  local function fails(message, contents)
    helper.fails(function() get(contents) end, message)
    helper.fails(function() get(contents) end, path)
  end

  it("of small size is read", function()
    local all = get(file { version = 2, tensors = { X }, data = ("\0\0\128\63"):rep(6) })
    assert.same({ { 1, 1 }, { 1, 1 }, { 1, 1 } }, all.x:totable())
    assert.same({}, get(file {}))
  end)

  it("that is cut or of another kind is told", function()
    fails("no GGUF file: it must begin with \"GGUF\"", "GGU")
    fails("no GGUF file", "")
    fails("no GGUF file", "PK\3\4xxxxxxxxxxxxxxxxxxxxxxxx")
    fails("must be of version 2 or 3 of GGUF, got 1", file { version = 1 })
    fails("got one with big endian numbers", "GGUF\0\0\0\3" .. ("\0"):rep(16))
    local good = file { pairs = { pair("k", TEXT, text "abc"), pair("l", LIST,
      whole(U32, 4) .. whole(2, 8) .. whole(1, 4) .. whole(2, 4)) }, tensors = { X },
      data = ("\0"):rep(24) }
    get(good)
    for size = 4, #good - 1 do
      local ok, said = pcall(get, good:sub(1, size))
      assert.is_false(ok, size)
      assert.is_truthy(said:find(path, 1, true), said)
    end
  end)

  it("that says more than it has is told", function()
    local most = whole(0, 7) .. "\16"                    -- 2^60
    fails("tensors do not fit", file { n_tensors = most })
    fails("keys do not fit", file { n_pairs = most })
    fails("bytes of a text do not fit", file { pairs = { most .. ("\0"):rep(20) } })
    fails("key k: 1152921504606846976 bytes of a text do not fit", file {
      pairs = { pair("k", TEXT, most) } })
    fails("key k: 1152921504606846976 items do not fit", file {
      pairs = { pair("k", LIST, whole(U32, 4) .. most) } })
    local deep = ""
    for _ = 1, 20 do deep = deep .. whole(LIST, 4) .. whole(1, 8) end
    fails("key k: lists nest too deep", file { pairs = { pair("k", LIST, deep) },
      data = ("\0"):rep(100) })
    fails("key k: there is no type 13 of values", file { pairs = { pair("k", 13, "") } })
    fails("key k: there is no type 77 of values", file { pairs = { pair("k", LIST, whole(77, 4)
      .. whole(1, 8)) } })
    fails("the name of a key is no UTF-8", file { pairs = { pair("\255", TEXT, text "") } })
    fails("the name of a key must have 1 to 255 bytes, got 256", file {
      pairs = { pair(("k"):rep(256), TEXT, text "") } })
  end)

  it("with tensors that cannot be is told", function()
    local function one(message, t, o)
      o = o or {}
      o.tensors, o.data = { t, o.more }, o.data or ("\0"):rep(24)
      fails("tensor x: " .. message, file(o))
    end
    one("its 24 bytes do not lie within the file", X, { data = ("\0"):rep(23) })
    one("its 24 bytes do not lie within the file", tensor("x", { 2, 3 }, 0, 32))
    one("its 24 bytes do not lie within the file", tensor("x", { 2, 3 }, 0, 2 ^ 40))
    for type, bytes in pairs { [13] = 1476395008, [19] = 419430400, [25] = 2 ^ 32 } do  -- not jfl's
      one(("its %.0f bytes do not lie within the file"):format(bytes),
        tensor("x", { 2 ^ 15, 2 ^ 16 }, type, 0))
    end
    one("a dimension must be from 1 to 2^63, got 0", tensor("x", { 2, 0 }, 0, 0))
    one("it must have at most 2^47 elements", tensor("x", { 2 ^ 30, 2 ^ 30 }, 0, 0))
    one("it must have at most 8 dimensions, got 9", tensor("x", { 1, 1, 1, 1, 1, 1, 1, 1, 1 }, 0,
      0))
    one("there is no type 99 of tensors", tensor("x", { 2 }, 99, 0))
    one("there is no type 4 of tensors", tensor("x", { 2 }, 4, 0))
    one("rows of Q8_0 must be a multiple of 32, got 33", tensor("x", { 33 }, 8, 0))
    one("its offset must be a multiple of the alignment 32, got 8", tensor("x", { 2 }, 0, 8))
    fails("tensor y: it overlaps the one before", file { tensors = { X, tensor("y", { 2 }, 0, 0) },
      data = ("\0"):rep(64) })
    fails("tensor x occurs twice", file { tensors = { X, tensor("x", { 2 }, 0, 32) },
      data = ("\0"):rep(64) })
  end)

  it("has an alignment that is a power of two", function()
    local function aligned(n, type)
      return file { pairs = { pair("general.alignment", type or U32, whole(n, 4)) }, align = n > 0
        and n or 32, tensors = { X }, data = ("\0"):rep(24) }
    end
    for _, n in ipairs { 1, 8, 64, 4096 } do get(aligned(n)) end
    for _, n in ipairs { 0, 3, 2 ^ 31 } do
      fails("key general.alignment: it must be a power of two from 1 to 1048576, got "
        .. ("%.0f"):format(n), file { pairs = { pair("general.alignment", U32, whole(n, 4)) },
          tensors = { X } })
    end
    fails("key general.alignment: it must be a power of two", aligned(32, F32))
  end)

  -- A file with metadata alone, as models.load and text.tokenizer read it.
  local function says(message, list, read)
    helper.write(path, file { pairs = list })
    helper.fails(function() (read or flow.models.load)(path) end, path .. ": " .. message)
  end

  it("of another network is told", function()
    local arch = pair("general.architecture", TEXT, text "llama")
    says("general.architecture must be a string, got nil", {})
    says("general.architecture must be one of gpt2, llama and qwen2, got \"lama\"; did you mean "
      .. "llama?", { pair("general.architecture", TEXT, text "lama") })
    says("llama.embedding_length must be a number, got nil", { arch })
    local function number(key, n) return pair("llama." .. key, U32, whole(n, 4)) end
    says("llama.attention.head_count must be a whole number above 0, got number 0", { arch,
      number("embedding_length", 8), number("attention.head_count", 0) })
    local list = { arch, number("embedding_length", 8), number("attention.head_count", 2) }
    says("tensor token_embd.weight must be there", list)
    list[4] = number("expert_count", 8)
    says("llama.expert_count must be 0, got number 8", list)
    list[4] = number("rope.dimension_count", 2)
    says("llama.rope.dimension_count must be 4, got number 2", list)
  end)

  it("whose tensors are not what keys say is told", function()
    local bytes = helper.read "spec/lua/gguf/cases/llama.gguf"
    local function changed(message, key, from, to)
      local put = text("llama." .. key) .. whole(U32, 4)
      local at = assert(bytes:find(put .. whole(from, 4), 1, true), key)
      helper.write(path, bytes:sub(1, at + #put - 1) .. whole(to, 4) .. bytes:sub(at + #put + 4))
      helper.fails(function() flow.models.load(path) end, path .. ": " .. message)
    end
    changed("tensor blk.0.ffn_up.weight must be (1073741824, 32), as keys say, got (64, 32)",
      "feed_forward_length", 64, 2 ^ 30)
    changed("block_count must be as many as blk.N.attn_norm.weight, 2, got 1000000", "block_count",
      2, 1000000)
    changed("tensor blk.0.attn_k.weight must be (8, 32), as keys say, got (16, 32)",
      "attention.head_count_kv", 2, 1)
  end)

  it("that lacks matrices of later blocks is told", function()
    local bytes = helper.read "spec/lua/gguf/cases/llama.gguf"
    helper.write(path, (bytes:gsub("blk%.1%.ffn_up", "blk.7.ffn_up")))
    helper.fails(function() flow.models.load(path) end,
      path .. ": tensor blk.1.ffn_up.weight must be (64, 32), as keys say, got none")
  end)

  it("with numbers in a form that jfl lacks is told", function()
    local bytes = helper.read "spec/lua/gguf/cases/llama.gguf"
    local head = text "blk.0.ffn_up.weight" .. whole(2, 4) .. whole(32, 8) .. whole(64, 8)
    local at = assert(bytes:find(head .. whole(1, 4), 1, true))
    helper.write(path, bytes:sub(1, at + #head - 1) .. whole(13, 4) .. bytes:sub(at + #head + 4))
    helper.fails(function() flow.models.load(path) end, "layers.0.mlp.up_proj-weight")
    helper.fails(function() flow.models.load(path) end, "Q5_K")
  end)

  it("with a tokenizer that cannot be is told", function()
    local function words(message, list) says(message, list, flow.text.tokenizer) end
    local function key(name, ...) return pair("tokenizer.ggml." .. name, ...) end
    local function texts_of(...)
      local list = { whole(TEXT, 4), whole(select("#", ...), 8) }
      for _, each in ipairs { ... } do list[#list + 1] = text(each) end
      return table.concat(list)
    end
    local function numbers(type, ...)
      local list = { whole(type, 4), whole(select("#", ...), 8) }
      for _, each in ipairs { ... } do list[#list + 1] = whole(each, 4) end
      return table.concat(list)
    end
    words("tokenizer.ggml.model must be a string, got nil", {})
    words('tokenizer.ggml.model must be "gpt2" or "llama", got "bert"', { key("model", TEXT,
      text "bert") })
    local bpe, tokens = key("model", TEXT, text "gpt2"), key("tokens", LIST, texts_of("a", "b"))
    words("tokenizer.ggml.tokens must be a table, got nil", { bpe })
    words("tokenizer.ggml.tokens[0] must be a string, got number 1", { bpe,
      key("tokens", LIST, numbers(U32, 1)) })
    words("tokenizer.ggml.tokens must be UTF-8 at 1", { bpe,
      key("tokens", LIST, texts_of("a", "\255")) })
    words('tokenizer.ggml.pre: "qwen" is not known; did you mean qwen2?', { bpe, tokens,
      key("pre", TEXT, text "qwen") })
    words("tokenizer.ggml.token_type must be a list of 2", { bpe, tokens,
      key("token_type", LIST, numbers(5, 1)) })
    words("tokenizer.ggml.bos_token_id must be a number of a token, below 2, got number 2", { bpe,
      tokens, key("merges", LIST, texts_of()), key("bos_token_id", U32, whole(2, 4)) })
    words("tokenizer.ggml.scores must be a list of 2", { key("model", TEXT, text "llama"), tokens,
      key("scores", LIST, numbers(F32, 0)) })
  end)
end)
