-- Networks that others trained: what transformers gives for random weights in small configurations,
-- made by scripts/oracles/models.py.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local CASES = "spec/lua/models/cases/"

describe("models", function()
  local directory

  before_each(function()
    flow.clear_default_session()
    directory = helper.directory()
  end)

  after_each(function() helper.remove(directory) end)

  -- What a network gives for the inputs of a case, and what it is to give.
  local function run(net, case)
    local c = flow.checkpoint.get(CASES .. case .. "/case.safetensors")
    local types, inputs = { flow.int32 { 2, 5 } }, { c.ids }
    if c.x then types, inputs = { flow.float32(c.x.shape) }, { c.x } end
    if case == "bert" then types[2], inputs[2] = flow.int32 { 2, 5 }, c.mask end
    return net:predict { name = "case", inputs = types }(unpack(inputs)), c.out
  end

  local function check(net, case)
    local got, want = run(net, case)
    assert.same(want.shape, got.shape)
    got, want = helper.list(got), helper.list(want)
    for i = 1, #want do
      assert.near(want[i], got[i], 1e-4 * math.max(1, math.abs(want[i])), case .. " " .. i)
    end
  end

  for _, case in ipairs { "gpt2", "llama", "bert", "resnet", "resnet_basic" } do
    it(case .. " gives what it gives where it comes from", function()
      check(flow.models.load(CASES .. case), case)
    end)

    it(case .. " is known from what jfl saved, also in shards", function()
      local net = flow.models.load(CASES .. case)
      net:save(directory .. "/a")
      net:save(directory .. "/b", { shard_bytes = 500 })
      for _, name in ipairs { "a", "b" } do
        flow.clear_default_session()
        net = flow.models.load(directory .. "/" .. name)
        assert.equal(case:match("^%w+"), net.name)
        check(net, case)
      end
    end)
  end

  it("are trained further, and saved", function()
    local net = flow.models.load(CASES .. "gpt2", { name = "writer" })
    net:freeze("^wpe")
    local train = net:train {
      inputs = { flow.int32 { 2, 5 }, flow.int32 { 10 } },
      loss = function(logits, labels)
        return flow.nn.cross_entropy(flow.reshape(logits, { 10, 13 }), labels)
      end,
      optimizer = flow.optimizer.Adam(0.01),
    }
    local ids = flow.ndarray.array({ { 1, 2, 3, 4, 5 }, { 6, 7, 8, 9, 10 } }, "int32")
    local labels = flow.ndarray.array({ 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 }, "int32")
    local first, last
    for _ = 1, 20 do
      last = train(ids, labels):mean()
      first = first or last
    end
    assert.truthy(last < first / 2, first .. " " .. last)
    net:save(directory .. "/a")
    assert.equal("gpt2", flow.models.load(directory .. "/a").name)
  end)

  it("are made of a configuration, without weights", function()
    local net = flow.models.llama { vocab_size = 9, hidden_size = 8, num_hidden_layers = 1,
      num_attention_heads = 2, intermediate_size = 4, tie_word_embeddings = true }
    local job = net:predict { inputs = { flow.int32 { -1, 3 } } }
    assert.same({ 2, 3, 9 }, job({ { 1, 2, 3 }, { 4, 5, 6 } }).shape)
    helper.fails(function() flow.models.gpt2 { n_layers = 2 } end,
      "models.gpt2: config has no 'n_layers'; did you mean")
    helper.fails(function() flow.models.gpt2 { n_layer = "2" } end,
      "models.gpt2: n_layer must be a number, got string '2'")
    helper.fails(function() flow.models.gpt2 { n_layer = 1.5 } end, "n_layer must be")
    helper.fails(function() flow.models.bert { hidden_act = "gelo" } end,
      "there is no activation 'gelo'; did you mean")
  end)

  it("are refused where it is not known which they are", function()
    local function with(config, text)
      os.execute(("rm -rf %s/m && cp -r %sgpt2 %s/m"):format(directory, CASES, directory))
      if config then helper.write(directory .. "/m/config.json", config)
      else os.remove(directory .. "/m/config.json") end
      helper.fails(function() flow.models.load(directory .. "/m") end, text)
    end
    with(nil, "neither the checkpoint nor a config.json beside says which network it is")
    with("{", "m/config.json: it must be an object in JSON")
    with('{"model_type":"gpt5"}', "there is no network of type 'gpt5'; there are bert, gpt2, llama")
    with("{}", "there is no network of type unknown")
    with('{"model_type":"gpt2","vocab_size":13,"n_embd":8,"n_layer":3,"n_head":2,"n_positions":7}',
      "is that another model's? it lacks h.2.")
    with('{"model_type":"gpt2","n_layer":1000000000}', "n_layer must be at most 10000, got 1e+09")
    with('{"model_type":"resnet","depths":[3,1e9,1,1]}', "depths must be at most 10000, got 1e+09")
    with('{"model_type":"llama","rope_scaling":{"type":"linear","factor":2}}',
      'rope_type must be "default", got "linear"')
  end)
end)
