--- flow.gguf.save: what it writes gives the same here, and is what Python's gguf makes of it.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local nd = flow.ndarray

local CASES = "spec/lua/gguf/cases/"

describe("flow.gguf.save", function()
  local directory
  before_each(function()
    flow.clear_default_session()
    flow.random.seed(3)
    directory = helper.directory()
  end)
  after_each(function()
    flow.clear_default_session()
    helper.remove(directory)
  end)

  local ids = nd.array({ { 1, 5, 12, 0, 7, 33, 2, 9 } }, "int32")
  local function logits(net)
    return net:predict { inputs = { flow.int32 { 1, 8 } } }(ids)
  end

  local function largest(x) return flow.math.reduce_max(flow.math.abs(x)):item() end

  -- The largest difference of logits after a network went through a file.
  local function lost(net, options)
    local want, path = logits(net), directory .. "/a.gguf"
    flow.gguf.save(net, path, options)
    local again = flow.models.load(path, { name = "again-" .. (options and options.dtype or "") })
    return largest(logits(again) - want) / largest(want)
  end

  local SIZES = { vocab_size = 40, hidden_size = 64, num_hidden_layers = 2, num_attention_heads = 4,
    num_key_value_heads = 2, intermediate_size = 96 }

  local function llama(more)
    local config = {}
    for _, t in ipairs { SIZES, more or {} } do
      for key, value in pairs(t) do config[key] = value end
    end
    return flow.models.llama(config)
  end

  it("keeps a network like Llama, whichever rotary pairs it has", function()
    for _, more in ipairs { {}, { rope_interleaved = true }, { tie_word_embeddings = true },
      { attention_bias = true, output_bias = false }, { attention_bias = true },
      { head_dim = 8 }, { rope_theta = 500 },
      { rope_parameters = { rope_type = "linear", factor = 4 } },
      { rope_parameters = { rope_type = "yarn", factor = 4 }, max_position_embeddings = 64 },
      { rope_parameters = { rope_type = "llama3", factor = 8, low_freq_factor = 1,
        high_freq_factor = 4, original_max_position_embeddings = 16 } } } do
      flow.clear_default_session()
      assert.is_true(lost(llama(more), { dtype = "float32" }) < 1e-5)
    end
    assert.equal("llama", flow.gguf.read(directory .. "/a.gguf").metadata["general.architecture"])
  end)

  it("keeps GPT-2", function()
    local net = flow.models.gpt2 { vocab_size = 40, n_positions = 16, n_embd = 32, n_layer = 2,
      n_head = 4 }
    assert.is_true(lost(net, { dtype = "float32" }) < 1e-6)
    assert.equal(40, flow.gguf.read(directory .. "/a.gguf").metadata["gpt2.vocab_size"])
  end)

  it("keeps tensors that it writes in several parts", function()
    for _, form in ipairs { "float32", "q8_0" } do
      flow.clear_default_session()
      local net, path = llama { vocab_size = 4097 }, directory .. "/a.gguf"   -- 2^18 + 64 numbers
      logits(net)
      local embedding = flow.get_all_variables()["llama-embed_tokens-weight"]
      flow.gguf.save(net, path, { dtype = form })
      local read = flow.checkpoint.get(path)["token_embd.weight"]
      assert.is_true(largest(read:astype "float32" - embedding) <= (form == "q8_0" and 1e-3 or 0))
    end
  end)

  it("loses what a form loses", function()
    local net = llama()
    assert.is_true(lost(net) < 2e-3)
    assert.equal("F16", flow.gguf.read(directory .. "/a.gguf").tensors[1].type)
    for form, most in pairs { bfloat16 = 0.02, q8_0 = 0.02, q4_0 = 0.5 } do
      local part = lost(net, { dtype = form })
      assert.is_true(part > most / 100 and part < most, form .. " " .. part)
    end
  end)

  it("writes blocks as Python's gguf does", function()
    local x = flow.checkpoint.get(CASES .. "types.safetensors")
    local pack = require "jfl.gguf.pack"
    local bytes = helper.read(CASES .. "types.gguf")
    for _, form in ipairs { "q8_0", "q4_0" } do
      local core = require "jfl.core"
      local text = pack.forms[form].bytes(core.reshape(x.f32, { -1 }))
      assert.equal(pack.size(pack.forms[form], x.f32.size), #text)
      assert.is_truthy(bytes:find(text, 1, true), form)
    end
  end)

  for form, most in pairs { q8_0 = 0.02, q4_0 = 0.02, float16 = 1e-5, bfloat16 = 1e-5 } do
    it("keeps matrices as they are unless float32 is asked for: " .. form, function()
      local path, own = directory .. "/a.gguf", directory .. "/own"
      local made = flow.models.llama(SIZES)
      logits(made)
      flow.gguf.save(made, path, { dtype = form })
      local few = flow.models.load(path, { name = "few" })
      local exact = flow.models.load(path, { name = "exact", dtype = "float32" })
      local want = logits(exact)
      assert.is_true(largest(logits(few) - want) < most * largest(want))
      few:save(own)
      local again = flow.models.load(own, { name = "again" })
      assert.is_true(largest(logits(few) - logits(again)) <= 1e-5 * largest(want))
      local all = flow.get_all_variables()
      for _, name in ipairs { "embed_tokens-weight", "layers.1.mlp.down_proj-weight" } do
        assert.equal(form, all["few-" .. name].dtype)
        assert.equal(form:find "float" and "float32" or form, all["again-" .. name].dtype)
        assert.equal("float32", all["exact-" .. name].dtype)
        assert.same(all["exact-" .. name]:totable(),
          all["few-" .. name]:astype("float32"):totable())
      end
      flow.gguf.save(few, directory .. "/b.gguf", { dtype = form })
      assert.equal(helper.read(path), helper.read(directory .. "/b.gguf"))
      helper.fails(function() flow.models.load(path, { dtype = "float16" }) end,
        'dtype must be "float32"')
    end)
  end

  for _, case in ipairs { "llama", "llama3", "qwen2", "gpt2" } do
    it("keeps the tokenizer of " .. case, function()
      local net = flow.models.load(CASES .. case .. ".gguf")
      local t, path = flow.text.tokenizer(CASES .. case .. ".gguf"), directory .. "/a.gguf"
      flow.gguf.save(net, path, { tokenizer = t, dtype = "q8_0",
        metadata = { ["general.name"] = "owl", ["a.list"] = { "x", "y" }, ["a.number"] = -3,
          ["a.share"] = 0.5, ["a.flag"] = false } })
      local again = flow.text.tokenizer(path)
      for _, text in ipairs { "Hello, lowest world! 123", "  n\195\175ve\n x's", "<s>a</s>" } do
        assert.same(t:encode(text), again:encode(text))
        assert.equal(t:decode(t:encode(text)), again:decode(t:encode(text)))
      end
      local m = flow.gguf.read(path).metadata
      local was = flow.gguf.read(CASES .. case .. ".gguf").metadata
      for key, value in pairs(was) do
        if key:find("%.pre$") or key:find("_id$") or key:find("tokens$") or key:find("type$") then
          assert.same(value, m[key], key)
        end
      end
      assert.same({ "owl", { "x", "y" }, -3, 0.5, false },
        { m["general.name"], m["a.list"], m["a.number"], m["a.share"], m["a.flag"] })
    end)
  end

  it("keeps what users say, in place of what it says itself", function()
    local net, path = llama(), directory .. "/a.gguf"
    logits(net)
    local given = { ["general.name"] = "owl", ["b.flag"] = true, ["b.list"] = { "one" } }
    local numbers = { 0, 1, -1, 2 ^ 32 - 1, 2 ^ 32, -2 ^ 31, -2 ^ 32, 0.5, -2.5 }
    for i, number in ipairs(numbers) do given["a." .. i] = number end
    flow.gguf.save(net, path, { metadata = given })
    local m = flow.gguf.read(path).metadata
    for i, number in ipairs(numbers) do         -- of float32 what tells it from others is read
      assert.near(number, m["a." .. i], math.abs(number) == 2 ^ 32 and 5 or 0)
    end
    assert.same({ "owl", true, { "one" } }, { m["general.name"], m["b.flag"], m["b.list"] })
    assert.equal("llama", m["general.architecture"])
    helper.fails(function() flow.gguf.save(net, path, { metadata = { "x" } }) end,
      "metadata: a key must be a string, got number 1")
    helper.fails(function() flow.gguf.save(net, path, { metadata = { a = { "x", 2 } } }) end,
      "metadata['a'][2] must be a string, got number 2")
  end)

  it("keeps byte pairs that were learned here", function()
    local t = flow.text.train({ "low lower lowest", "new newer newest" }, { size = 264,
      special_tokens = { "<|endoftext|>" } })
    local net, path = llama { vocab_size = 264, tie_word_embeddings = true }, directory .. "/a.gguf"
    logits(net)
    flow.gguf.save(net, path, { tokenizer = t })
    assert.same(t:encode("lower <|endoftext|>"), flow.text.tokenizer(path):encode(
      "lower <|endoftext|>"))
    assert.equal(0, flow.gguf.read(path).metadata["tokenizer.ggml.eos_token_id"])
  end)

  it("tells what is wrong", function()
    local path = directory .. "/a.gguf"
    local function fails(text, net, options)
      helper.fails(function() flow.gguf.save(net, path, options or {}) end, text)
    end
    fails("net must be a network of flow.models, got number 3", 3)
    fails("net must be a network of flow.models, got model", flow.model("m", function(x)
      return x
    end))
    fails("net must be a network of the type gpt2 or llama, got one of type resnet",
      (function()
        local net = flow.models.resnet { embedding_size = 4, hidden_sizes = { 8 }, depths = { 1 } }
        net:predict { inputs = { flow.float32 { 1, 3, 32, 32 } } }
        return net
      end)())
    local net = llama { intermediate_size = 40 }
    logits(net)
    fails("tensor blk.0.ffn_down.weight: rows of q8_0 must be a multiple of 32, got 40", net,
      { dtype = "q8_0" })
    fails("dtype must be", net, { dtype = "q5_0" })
    fails("tokenizer must be what flow.text gives, got number 3", net, { tokenizer = 3 })
    fails("'a' must be a string, number, boolean or a list of strings, got an empty table", net,
      { metadata = { a = {} } })
    flow.clear_default_session()
    net = llama { hidden_act = "relu" }
    logits(net)
    fails("hidden_act must be \"silu\", got \"relu\"", net)
    assert.is_nil(io.open(path))
  end)
end)
