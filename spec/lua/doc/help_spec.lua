local flow = require "jfl"
local helper = require "spec.lua.helper"

local help = require "jfl.doc.help"
local index = require "jfl.doc.index"
local topics = require "jfl.doc.topics"

describe("help", function()
  local function holds(text, part)
    assert.truthy(text:find(part, 1, true), ("no '%s' in:\n%s"):format(part, text))
  end

  it("tells of ops by name or path", function()
    local text = help.text("softmax")
    holds(text, "flow.nn.softmax(")
    holds(text, "axis=-1")
    assert.equal(text, help.text("nn.softmax"))
    assert.equal(text, help.text("flow.nn.softmax"))
  end)

  it("tells of functions as methods of arrays and blobs", function()
    local text = help.text("Blob:softmax")
    assert.equal("Blob:softmax(axis=-1, name) -> y", text:match("^[^\n]*"))
    holds(text, "\n  same as            flow.nn.softmax, with it as logits")
    assert.equal("NdArray:gelu(approximate=none, name)", help.text("NdArray:gelu"):match("^[^\n]*"))
    assert.falsy(help.text("NdArray:gelu"):find("\n  x  ", 1, true))
    holds(help.text("Blob"), "softmax_cross")
    assert.falsy(help.text():find("\n  abs acos acosh adaptive", 1, true))
    for _, m in ipairs(require("jfl.doc.methods").all()) do
      local path = m.class .. ":" .. m.name
      assert.equal(path, help.text(path):match("^[%w:_]+"))
    end
  end)

  it("tells of functions written in Lua", function()
    local text = help.text("dense")
    holds(text, "flow.layers.dense(inputs, units, activation, use_bias=true, ")
    holds(text, "of the layer; dense_1, dense_2")
    holds(help.text("dropout"), "flow.nn.dropout(x, rate, noise_shape, {training, name})")
    holds(help.text("truncated_normal"), "stddev=1")
  end)

  it("tells of every function of the API, and of types", function()
    for _, space in ipairs { "", "layers.", "train.", "data." } do
      local at = space == "" and flow or flow[space:sub(1, -2)]
      for name, value in pairs(at) do
        if type(value) == "function" then assert.truthy(help.text(space .. name)) end
      end
    end
    holds(help.text("global_function"), "inputs")
    holds(help.text("Callback"), "flow.typing.Callback(type)")
    holds(help.text("typing.Numpy.Placeholder"), "dtype=float32")
  end)

  it("fits a terminal, but for long signatures", function()
    for _, path in ipairs { "ndarray.load", "checkpoint.load", "config.passes", "plot" } do
      for line in help.text(path):gmatch("\n(  [^\n]*)") do assert.truthy(#line <= 78, line) end
    end
  end)

  -- What tostring gives for a value without a text of its own.
  local function addresses(text)
    return text:match("%w+[^%s:]*: 0x%x+") or text:match("function: builtin")
  end

  it("shows no address in place of a value, and neither does the reference", function()
    for path in pairs(index.entries()) do assert.is_nil(addresses(help.text(path) or ""), path) end
    assert.is_nil(addresses(require "scripts.doc.stubs" ()))
    local pages, count = require "scripts.doc.pages" ({}), 0
    for name, text in pairs(pages) do
      assert.is_nil(addresses(text), name)
      count = count + 1
    end
    assert.is_true(count > 60)
    holds(help.text("data.csv"), "types={}, missing={ \"\", \"NA\", ")
  end)

  it("lists everything without a name", function()
    local text = help.text()
    holds(text, "flow.nn\n")
    holds(text, "relu")
    holds(text, "SGD")
  end)

  it("tells what is in a group, and which passes there are", function()
    holds(help.text("grad_clipping"), "flow.optimizer.grad_clipping\n  by_global_norm")
    assert.equal(help.text("flow.nn"), help.text("nn"))
    holds(help.text("nn"), "max_pool2d")
    holds(help.text("config.passes"), "There are delay_relu, classes, lengths, ")
  end)

  it("knows every op that has a path", function()
    for _, info in pairs(require("jfl.core").ops()) do
      for path in (info.path or ""):gmatch("%S+") do assert.truthy(help.text(path)) end
    end
  end)

  it("tells of functions, modules and objects themselves", function()
    assert.equal(help.text("nn.relu"), help.text(flow.nn.relu))
    assert.equal(help.text("layers.dense"), help.text(flow.layers.dense))
    assert.equal(help.text("nn"), help.text(flow.nn))
    assert.equal(help.text(), help.text(flow))
    assert.equal(help.text("ndarray"), help.text(flow.ndarray.zeros { 1 }))
    helper.fails(function() flow.help(print) end, "help: this function is none of flow's")
    helper.fails(function() flow.help(3) end, "help: name must be")
  end)

  it("leaves out the names and arguments of the original, which work", function()
    for path in pairs(require "jfl.legacy.names") do
      local name = path:match("^flow%.(.*)$")
      if name and not name:find("*", 1, true) then
        assert.falsy(index.paths()[name], name)
        local at = flow
        for part in name:gmatch("[^.]+") do at = at[part] end
        assert.truthy(at, path)
      end
    end
    assert.falsy(help.text():find("reserved_host_mem_mbyte", 1, true))
    assert.falsy(help.text("get_variable"):find("model_name", 1, true))
  end)

  it("shows an example of each name, complete", function()
    local text = help.text("nn.relu")
    holds(text, "  Example:\n    local nd = flow.ndarray\n    local x = nd.array({ -1, 3, 9 })\n"
      .. "    print(flow.nn.relu(x), flow.nn.relu6(x))")
    holds(help.text("xavier_normal_initializer"), "flow.glorot_normal_initializer()")
    holds(help.text("NdArray:sum"), "a:sum()")
  end)

  it("tells of topics, alone or after the names that are so called", function()
    for word, part in pairs { initializer = "flow.truncated_normal(0.1)", gpu = "flow.scope",
      optimizer = "flow.optimizer.SGD(0.1, { momentum = 0.9 }):minimize", loss = "cross_entropy(",
      callback = "flow.poll()", async = "flow.sync()", dtype = "comparisons give int8",
      save = "flow.train.CheckPoint()", ["learning rate"] = "optimizer.lr reads it",
      LSTM = "flow.layers.lstm", nan = "check_finite" } do
      holds(help.text(word), part)
      for line in help.text(word):match("About.*"):gmatch("[^\n]+") do
        assert.truthy(#line <= 100, line)
      end
    end
    holds(help.text("save"), "flow.ndarray.save(path, value)")
  end)

  it("shows the guide's chapters by number or title", function()
    local list = help.text("guide")
    holds(list, "   6  Arrays")
    for number, title in list:gmatch("(%d+)  (%u[^\n]+)") do
      holds(help.text("guide " .. number), number .. ". " .. title .. "\n")
      assert.truthy(#help.text("guide " .. number) > 300, title)
    end
    for word in ("guide manual tutorial documentation docs doc book Guide"):gmatch "%a+" do
      assert.equal(list, help.text(word))
    end
    assert.equal(help.text("guide 5"), help.text("blobs and ops"))
    local number = help.text("errors"):match("on it: flow.help%(\"guide (%d+)\"%)%.$")
    assert.truthy(help.text("guide " .. number):find("^%d+%. Errors\n"))
    holds(help.text("data"), "flow.data\n")
  end)

  it("tells of topics what is there", function()
    local text = {}
    for _, word in ipairs { "initializer", "optimizer", "loss", "save", "gpu", "async", "threads",
      "dtype", "tensor", "layers", "variable", "data", "gradient", "lr", "nan", "error", "speed",
      "memory", "random", "plot", "distributed", "keep_prob", "nesterov", "einsum", "eye",
      "amp", "convolution", "ema",
      "batch_norm", "rnn", "attention", "embedding", "conv1d", "k-fold", "missing",
      "reinforcement", "hyperparameter", "server", "python", "wordpiece", "view", "quantize", "svd",
      "kmeans", "lora", "residual", "audio", "time series", "rmse", "perplexity", "underfitting",
      "policy gradient", "cluster", "siamese", "recommendation", "sinusoidal" } do
      text[#text + 1] = help.text(word)
    end
    for path in table.concat(text, "\n"):gmatch("%f[%w]flow%.([%w_.]*[%w_])") do
      assert.truthy(path == "typing" or pcall(help.text, path), path)
    end
  end)

  it("tells how work is shared", function()
    for _, word in ipairs { "distributed", "DDP", "mpi", "ranks" } do
      holds(help.text(word), "jfl --ranks 2 script.lua")
    end
  end)

  it("tells how gradients are accumulated, and how a series is cut to windows", function()
    for _, word in ipairs { "accumulate", "accumulation", "gradient accumulation" } do
      holds(help.text(word), "gradient_accumulation_steps = 4")
    end
    for _, word in ipairs { "windows", "sliding window", "forecast" } do
      holds(help.text(word), "flow.ndarray.stack of x:slice(i, i + n - 1)")
    end
  end)

  it("says of nothing that is there that it is absent", function()
    local last = {}
    for path in pairs(index.paths()) do last[path:match("[%w_]+$"):lower()] = path end
    for _, topic in ipairs(topics.absent) do
      for word in topic[1]:gmatch("%S+") do assert.is_nil(last[word], word) end
    end
  end)

  it("finds names by any part, in any case, and by their descriptions", function()
    holds(help.text("conv"), "Names with 'conv':\n  flow.layers.conv1d: A one-dimensional")
    assert.equal(help.text("nn.softmax"), help.text("Softmax"))
    assert.equal(help.text("optimizer.SGD"), help.text("sgd"))
    holds(help.text("overflow"), "Descriptions with 'overflow':")
    holds(help.text("array of"), "flow.ndarray")
    holds(help.text("one hot"), "flow.one_hot(")
    holds(help.text("clip gradients"), "Descriptions with 'clip gradients':\n  flow.optimizer.")
    holds(help.text("adaptive max"), "Names with 'adaptive max':\n  flow.nn.adaptive_max_")
  end)

  it("has something on every common word of the trade", function()
    local none = {}
    for word in ([[matrix factorization; one hot; positional encoding; recommendation;
      replay buffer; siamese; sinusoidal; mean squared error; cosine similarity; time embedding;
      acc; all reduce; beam search; c++; class weight; cross-validation; detection;
      dilation; dqn; fully connected; gan; glorot; gradient accumulation; grid search; he; http;
      imbalance;
      k-fold; kl divergence; kmeans; latency; license; lora; lr finder; missing; outlier; pca;
      permute; pip; pipeline; pruning; python; quantize; regression; reinforcement; replay;
      sample weight; segmentation; standardize; svd; topk; train test split; transfer; unet; view;
      vit; wordpiece; xavier;
      accuracy; activation; adam; attention; auc; augmentation; autograd; backprop;
      backpropagation; batch; batch norm; batch size; bias; checkpoint; class weights; classifier;
      confusion matrix; convolution; cross entropy; cuda; data loader; dataset; deterministic;
      dropout; dropout rate; early stopping; embedding; epoch; epochs; evaluate; f1; fine-tune;
      finetune; fit; freeze; gpu; gradient; gradient clipping; hidden layer; inference; initializer;
      kernel; label; label smoothing; learning rate; linear; logits; loss;
      lstm; matmul; mean absolute error; metrics; mini-batch; mixed precision; model; momentum; nan;
      normalization; numpy; optimizer; overfitting; padding; parameters; patience; pooling; predict;
      pretrained; regularization; relu; reproducible; reshape; save; scheduler; seed; sequential;
      sgd; shape; shuffle; softmax; step; summary; tensor; tensorboard; test; top-k; train; training
      loop; transfer learning; transformer; tune; validation; weight decay; weights]] .. ";"
      ):gmatch("%s*(.-);") do
      local ok, text = pcall(help.text, (word:gsub("%s+", " ")))
      if not ok or text:find("^Descriptions with") then none[#none + 1] = word end
    end
    assert.same({}, none)
  end)

  it("says of what only the original has what it is here", function()
    holds(help.text("use_rdma"), "flow.config.use_rdma has no effect")
    holds(help.text("FixedTensorDef"), "is flow.typing.Numpy.Placeholder")
    holds(help.text("mirrored_strategy"), "is flow.scope.mirrored_view")
  end)

  it("is pointed to for what other libraries have, unless one name does it here", function()
    for name, text in pairs {
      LSTM = "there is no flow.nn.LSTM; did you mean flow.layers.lstm?",
      BatchNorm2d = "did you mean flow.layers.batch_normalization?",
      torchscript = "flow.help('torchscript') tells what there is instead",
      CrossEntropyLoss = "did you mean flow.nn.cross_entropy?",
      Embedding = "did you mean flow.layers.embedding?",
    } do
      helper.fails(function() return flow.nn[name] end, text)
      assert.truthy(text:find("mean") or help.text(name))
    end
    helper.fails(function() return flow.cat end, "did you mean flow.concat?")
    helper.fails(function() return flow.data.load_wav end, "did you mean flow.data.load_sound?")
    helper.fails(function() return flow.sum end, "did you mean flow.math.reduce_sum?")
  end)

  it("is given in the error where it is one line", function()
    local x = flow.ndarray.rand { 2, 2 }
    local env = { flow = flow, x = x, y = x, n = 2, list = { x, x }, perm = { 1, 0 } }
    for _, name in ipairs { "eye", "tensordot", "vstack", "hstack", "ravel", "movedim",
      "random_normal", "savetxt", "imshow", "power" } do
      local _, message = pcall(function() return flow[name] end)
      local line = message:match("did you mean (.*)%?$"):gsub("abc,cd", "ab,bc"):gsub("abd", "ac")
      assert.is_not_nil(setfenv(assert(loadstring("return " .. line)), env)(), name)
    end
    helper.fails(function() flow.help("hstack") end, "did you mean flow.concat(list, 1)?")
  end)

  it("suggests names near a wrong one", function()
    helper.fails(function() flow.help("softmaxx") end,
      "help: there is nothing named 'softmaxx'; did you mean nn.softmax?")
    helper.fails(function() flow.help("xyzzy") end, "nothing named 'xyzzy'")
  end)
end)
