-- Networks that others trained: what transformers gives for random weights in small configurations,
-- made by scripts/oracles/models.py.
local core = require "jfl.core"
local flow = require "jfl"
local helper = require "spec.lua.helper"
local plain = require "jfl.base.plain"

local CASES = "spec/lua/models/cases/"
local OWN = { qwen2 = "llama", mistral = "llama" }       -- what they are here

-- What config.json of the first published ones says, or transformers where that is silent.
local PUBLISHED = {
  gpt2 = { vocab_size = 50257, n_positions = 1024, n_embd = 768, n_layer = 12, n_head = 12,
    n_inner = false, layer_norm_epsilon = 1e-5, activation_function = "gelu_new" },
  bert = { vocab_size = 30522, hidden_size = 768, num_hidden_layers = 12, num_attention_heads = 12,
    intermediate_size = 3072, hidden_act = "gelu", max_position_embeddings = 512,
    type_vocab_size = 2, layer_norm_eps = 1e-12 },
  llama = { vocab_size = 32000, hidden_size = 4096, intermediate_size = 11008,
    num_hidden_layers = 32, num_attention_heads = 32, num_key_value_heads = false,
    rms_norm_eps = 1e-6, rope_theta = 10000, hidden_act = "silu", attention_bias = false,
    mlp_bias = false, tie_word_embeddings = false },
  resnet = { num_channels = 3, embedding_size = 64, hidden_sizes = { 256, 512, 1024, 2048 },
    depths = { 3, 4, 6, 3 }, layer_type = "bottleneck", hidden_act = "relu", num_labels = 1000,
    downsample_in_first_stage = false, downsample_in_bottleneck = false },
}

describe("models", function()
  local within = helper.folder(before_each, after_each)

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

  for _, case in ipairs { "gpt2", "llama", "bert", "resnet", "resnet_basic", "mobilenet_v2", "vit",
    "whisper", "qwen2", "mistral" } do
    it(case .. " gives what it gives where it comes from", function()
      check(flow.models.load(CASES .. case), case)
    end)

    it(case .. " is known from what jfl saved, also in shards", function()
      local net = flow.models.load(CASES .. case)
      net:save(within("a"))
      net:save(within("b"), { shard_bytes = 500 })
      for _, name in ipairs { "a", "b" } do
        flow.clear_default_session()
        net = flow.models.load(within(name))
        assert.equal(OWN[case] or case:gsub("_basic$", ""), net.name)
        check(net, case)
      end
    end)
  end

  -- The weights of a network of torchvision, as scripts/oracles/models.py fills them.
  local function fill(k, name, shape)
    local n = 1
    for _, extent in ipairs(shape) do n = n * extent end
    local values, scale = {}, #shape > 1 and 5.5 / math.sqrt(n / shape[1]) or 1
    local more = #shape == 1 and (name:find "var$" or name:find "weight$") and 1 or 0
    for i = 0, n - 1 do
      values[i + 1] = ((i * 37 + 11 * k) % 1009 / 1009 - 0.5) * scale + more
    end
    return flow.ndarray.array(values, "float32"):reshape(shape)
  end

  local function torchvision(network)
    local arrays, now = {}, nil
    for line in io.lines(CASES .. "torchvision/names.txt") do
      local k, name, extents = line:match "^  (%d+) (%S+) (.*)"
      if not k then now = line end
      if k and now == network then
        local shape = {}
        for extent in extents:gmatch "%d+" do shape[#shape + 1] = tonumber(extent) end
        arrays[name] = fill(tonumber(k), name, shape)
      end
    end
    flow.checkpoint.save(within("weights"), { var_dict = arrays })
    return within("weights")
  end

  for network, config in pairs {
    resnet = { model_type = "resnet", layer_type = "basic", depths = { 1, 1, 1, 1 },
      hidden_sizes = { 64, 128, 256, 512 }, num_labels = 3 },
    mobilenet_v2 = { model_type = "mobilenet_v2", depth_multiplier = 0.5, tf_padding = false,
      layer_norm_eps = 1e-5, num_labels = 3 },
    mobilenet_v3 = { model_type = "mobilenet_v3", variant = "small", width_mult = 0.125,
      num_labels = 3 },
    mobilenet_v3_large = { model_type = "mobilenet_v3", width_mult = 0.125, num_labels = 3 },
  } do
    it(network .. " is made of torchvision's weights and a configuration", function()
      local c = flow.checkpoint.get(CASES .. "torchvision/case.safetensors")
      local net = flow.models.load(torchvision(network), { config = config })
      local got = net:predict { name = "case", inputs = { flow.float32(c.x.shape) } }(c.x)
      local want = c[network]
      assert.same(want.shape, got.shape)
      assert.is_true(flow.math.abs(got - want):max() <= 1e-4 * flow.math.abs(want):max(),
        network)
    end)
  end

  it("have a new last layer where other classes are asked for", function()
    local function differs(a, b)
      return table.concat(a.shape, " ") ~= table.concat(b.shape, " ")
        or flow.math.abs(a - b):max() > 0
    end
    local function check_new(path)
      local net = flow.models.load(path, { num_labels = 7 })
      assert.same({ 1, 7 }, net:predict { inputs = { flow.float32 { 1, 2, 9, 9 } } }(
        flow.ndarray.ones { 1, 2, 9, 9 }).shape)
      return net:variables()
    end
    local net = flow.models.load(CASES .. "vit")
    local before = net:variables()
    net:save(within("a"))
    for _, path in ipairs { CASES .. "vit", within("a") } do
      flow.clear_default_session()
      local new = check_new(path)
      assert.is_true(flow.math.abs(new["classifier-weight"]):max() > 0)
      for name, now in pairs(new) do
        assert.equal(name:find "^classifier" ~= nil, differs(now, before[name]), name)
      end
    end
    helper.fails(function() flow.models.load(CASES .. "gpt2", { num_labels = 7 }) end,
      "num_labels: a network of type gpt2 has no classes")
    helper.fails(function()
      flow.models.load(CASES .. "vit", { num_labels = 7, config = { model_type = "vit",
        num_channels = 2, image_size = 9, patch_size = 4, hidden_size = 8, num_hidden_layers = 3,
        num_attention_heads = 4, intermediate_size = 12 } })
    end, "is that another model's? it lacks encoder.layer.2.")
  end)

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
    net:save(within("a"))
    assert.equal("gpt2", flow.models.load(within("a")).name)
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

  it("are the first published ones where nothing else is asked for", function()
    for kind, config in pairs(PUBLISHED) do
      local own = plain.read(flow.models[kind]()._description).config
      for name, value in pairs(config) do
        assert.same(value, own[name], kind .. " " .. name)
      end
    end
  end)

  it("refuse configurations that do not fit together", function()
    helper.fails(function() flow.models.resnet { depths = { 1, 1, 1 } } end,
      "depths must have a number for each of the 4 hidden_sizes, got 3")
    helper.fails(function() flow.models.resnet { layer_type = "wide" } end,
      'layer_type must be "basic" or "bottleneck", got "wide"')
    helper.fails(function() flow.models.llama { rope_scaling = { type = "dynamic" } } end,
      'rope_type must be "default", "linear", "llama3" or "yarn", got "dynamic"')
    local net = flow.models.gpt2 { vocab_size = 9, n_positions = 4, n_embd = 8, n_layer = 1,
      n_head = 2 }
    assert.same({ 1, 4, 9 }, net:predict { inputs = { flow.int32 { 1, 4 } } }(
      { { 1, 2, 3, 4 } }).shape)
    local longer = net:predict { name = "longer", inputs = { flow.int32 { 1, 5 } } }
    helper.fails(function() longer { { 1, 2, 3, 4, 5 } } end,
      "the length must be at most 4, for which the network has positions, got 5")
  end)

  it("are refused by what they cannot take", function()
    local function with(kind, config, shape, text)
      helper.fails(function()
        flow.models[kind](config):predict { inputs = { flow.float32(shape) } }(
          flow.ndarray.ones(shape))
      end, text)
    end
    with("vit", { image_size = 8, patch_size = 4, hidden_size = 4, num_hidden_layers = 1,
      num_attention_heads = 1, intermediate_size = 4 }, { 1, 3, 8, 9 },
      "models.vit: pictures must be of 8 x 8 pixels (image_size), got 8 x 9")
    with("whisper", { max_source_positions = 4, num_mel_bins = 2 }, { 1, 2, 9 },
      "models.whisper: there must be at most 8 frames (2 max_source_positions), got 9")
    with("mobilenet_v3", { variant = "tiny" }, { 1, 3, 32, 32 },
      'models.mobilenet_v3: variant must be "large" or "small", got "tiny"')
    helper.fails(function()
      flow.models.load(CASES .. "gpt2", { config = { model_type = "gpt2", n_layers = 2 } })
    end, "models.gpt2: config has no 'n_layers'; did you mean")
  end)

  it("are refused where it is not known which they are", function()
    local function with(config, text)
      os.execute(("rm -rf %s/m && cp -r %sgpt2 %s/m"):format(within(), CASES, within()))
      if config then helper.write(within("m/config.json"), config)
      else os.remove(within("m/config.json")) end
      helper.fails(function() flow.models.load(within("m")) end, text)
    end
    with(nil, "neither the checkpoint nor a config.json beside says which network it is")
    with("{", "m/config.json: it must be an object in JSON")
    with('{"model_type":"gpt5"}', "there is no network of type 'gpt5'; there are bert, gpt2, llama")
    with("{}", "there is no network of type unknown")
    with('{"model_type":"gpt2","vocab_size":13,"n_embd":8,"n_layer":3,"n_head":2,"n_positions":7}',
      "is that another model's? it lacks h.2.")
    with('{"model_type":"gpt2","n_layer":1000000000}', "n_layer must be at most 10000, got 1e+09")
    with('{"model_type":"resnet","depths":[3,1e9,1,1]}', "depths must be at most 10000, got 1e+09")
    with('{"model_type":"mistral","sliding_window":4096}', "sliding_window must be null, got 4096")
    with('{"model_type":"qwen2","use_sliding_window":true}', "use_sliding_window must be false")
    with('{"model_type":"llama","rope_scaling":{"type":"dynamic","factor":2}}',
      'rope_type must be "default", "linear", "llama3" or "yarn", got "dynamic"')
  end)

  -- Each value in the place of each field, which is a network or an error that jfl words.
  it("are told what is wrong with any field of a stranger's configuration", function()
    local VALUES = { "0", "-1", "0.5", "1e300", "true", '"x"', "{}", "[]", '["x"]', "[0]",
      '{"rope_type":[]}', '{"rope_theta":"x"}', '{"rope_type":"linear","factor":"x"}',
      '{"rope_type":"yarn","factor":2,"beta_fast":[]}', '{"rope_type":"factors","factors":[0,1]}' }
    for _, case in ipairs { "gpt2", "llama", "bert", "resnet", "mobilenet_v2", "vit", "whisper" } do
      os.execute(("rm -rf %s/m && cp -r %s%s %s/m"):format(within(), CASES, case, within()))
      local text = helper.read(within("m/config.json"))
      for key in pairs(require("jfl.models." .. case).config) do
        for _, value in ipairs(VALUES) do
          helper.write(within("m/config.json"), (text:gsub('"' .. key .. '": *[^,}]*', "", 1)
            :gsub("^%s*{", ('{"%s":%s,'):format(key, value)):gsub(",%s*,", ","):gsub(",%s*}", "}")))
          flow.clear_default_session()
          local ok, err = pcall(flow.models.load, within("m"))
          assert(ok or not tostring(err):find("attempt to"), ("%s: %s = %s: %s"):format(case, key,
            value, tostring(err)))
        end
      end
    end
  end)

  it("that cannot be loaded leave nothing behind", function()
    local own = flow.model("own", function(x) return flow.layers.dense(x, 2) end)
    own:predict { inputs = { flow.float32 { -1, 3 } } }(flow.ndarray.ones { 1, 3 })
    os.execute(("cp -r %sgpt2 %s/m"):format(CASES, within()))
    local text = helper.read(within("m/config.json"))
    helper.write(within("m/config.json"), '{"model_type":"gpt2","n_layer":2,"n_embd":24}')
    local function names() return table.concat(core.variables(), " ") end
    local before = names()
    local function load()
      local net = flow.models.load(within("m"))
      return net
    end
    helper.fails(load, "is that another model's?")
    assert.equal(before, names())
    helper.write(within("m/config.json"), text)
    check(load(), "gpt2")
    load()                                 -- once more the same network
    helper.write(within("m/config.json"), '{"model_type":"gpt2","n_layer":2,"n_embd":24}')
    helper.fails(load, "")
    assert.truthy(names():find("gpt2%-wte%-weight"))      -- what was there before stays
  end)

  it("have no more layers than the weights have tensors", function()
    os.execute(("cp -r %sgpt2 %s/m"):format(CASES, within()))
    helper.write(within("m/config.json"),
      '{"model_type":"gpt2","n_layer":9999,"n_embd":8,"n_head":2,"vocab_size":13}')
    helper.fails(function() flow.models.load(within("m")) end, "n_layer must be at most ")
  end)
end)
