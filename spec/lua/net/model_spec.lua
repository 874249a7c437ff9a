-- flow.model: namespaces, jobs, variables and files of a network.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd, tp = flow.ndarray, flow.typing

-- A layer and a norm with names of their own, and one that has a name.
local function body(x)
  x = flow.layers.dense(x, 3, { activation = flow.nn.relu })
  x = flow.layers.batch_normalization(x)
  return flow.layers.dense(x, 2, { name = "out" })
end

local X, LABELS = nd.array { { 1, 2, 3 }, { 4, 5, 6 } }, nd.array({ 0, 1 }, "int32")

local function types(rows) return { flow.float32 { rows or -1, 3 }, flow.int32 { rows or -1 } } end

local function trainer(net, more)
  local t = { inputs = types(), loss = flow.nn.cross_entropy,
    optimizer = flow.optimizer.SGD(0.1, { momentum = 0 }) }
  for key, value in pairs(more or {}) do t[key] = value end
  return net:train(t)
end

local function predictor(net, more)
  local t = { inputs = { flow.float32 { -1, 3 } } }
  for key, value in pairs(more or {}) do t[key] = value end
  return net:predict(t)
end

local function sorted_names(t)
  local list = {}
  for name in pairs(t) do list[#list + 1] = name end
  table.sort(list)
  return list
end

local OWN = { "batch_norm_1-beta", "batch_norm_1-gamma", "batch_norm_1-moving_mean",
  "batch_norm_1-moving_variance", "dense_1-bias", "dense_1-weight", "out-bias", "out-weight" }

describe("values that variables begin with", function()
  local directory

  before_each(function()
    flow.clear_default_session()
    flow.random.seed(4)
    directory = helper.directory()
  end)

  after_each(function() helper.remove(directory) end)

  local function made(name)
    local net = flow.model(name, function(x)
      return flow.layers.dense(flow.layers.dense(x, 4, { name = "first",
        bias_initializer = flow.random_uniform_initializer(1, 2) }), 3, { name = "last" })
    end)
    net:predict { inputs = { types()[1] } }
    return net
  end

  local function largest(x) return x:abs():max() end

  -- What of them a load sees that asks for names.
  local function seen_by(load)
    local seen = {}
    load(function(name, all)
      for each, value in pairs(all) do seen[each] = seen[each] or largest(value) end
      return name
    end)
    return seen
  end

  it("are drawn at the end of a load, where that did not give them", function()
    local net = made("net")
    local eager, sevens = net:variables(), {}
    for name, value in pairs(eager) do sevens[name] = value * 0 + 7 end
    net:load(sevens)
    net:save(directory .. "/a")
    flow.clear_default_session()
    flow.random.seed(4)
    net = made("net")
    local seen = seen_by(function(rename)
      net:load(directory .. "/a", { strict = false, rename = function(name)
        return name ~= "last-weight" and rename(name, net:variables()) or nil
      end })
    end)
    assert.same({ 0, 0 }, { seen["first-weight"], seen["first-bias"] })
    local now = net:variables()
    assert.equal(7, largest(now["first-weight"]))
    assert.equal(7, largest(now["first-bias"]))
    assert.equal(0, largest(now["last-weight"] - eager["last-weight"]))
    assert.is_true(largest(now["last-weight"]) > 0)
  end)

  it("are drawn as ever where a load fails, and with a checkpoint of a session", function()
    local eager = made("net"):variables()
    flow.clear_default_session()
    flow.random.seed(4)
    local net = made("net")
    helper.fails(function() net:load(directory .. "/none") end, "none")
    assert.equal(0, largest(net:variables()["first-bias"] - eager["first-bias"]))
    flow.checkpoint.save(directory .. "/a")
    flow.clear_default_session()
    flow.random.seed(5)
    net = made("net")
    local other = made("other")
    helper.stderr_of(function()
      seen_by(function(rename)
        flow.checkpoint.load(directory .. "/a", { rename = function(name)
          return rename(name, other:variables())
        end })
      end)
    end)
    assert.equal(0, largest(net:variables()["first-bias"] - eager["first-bias"]))
    assert.is_true(largest(other:variables()["first-bias"]) >= 1)
  end)
end)

describe("a model", function()
  local directory

  before_each(function()
    flow.clear_default_session()
    flow.random.seed(3)
    directory = helper.directory()
  end)
  after_each(function() helper.remove(directory) end)
  teardown(flow.clear_default_session)

  it("makes a train and a predict job of one body, which share its variables", function()
    local net = flow.model("net", body)
    local train, predict = trainer(net), predictor(net, { output = flow.nn.softmax })
    assert.same({ "net-train", "train", "net-predict", "predict" },
      { train.name, train.type, predict.name, predict.type })
    local first = train(X, LABELS):item()
    for _ = 1, 300 do train(X, LABELS) end
    assert.is_true(train(X, LABELS):item() < first / 2)
    assert.same({ 0, 1 }, predict(X):argmax(1):totable())
    assert.is_near(1, predict(X)[1]:sum(), 1e-6)
    assert.same(OWN, sorted_names(net:variables()))
    local all = {}
    for _, name in ipairs(OWN) do all[#all + 1] = "net-" .. name end
    all[#all + 1] = "System-Train-LearningRate-net-train"
    all[#all + 1] = "System-Train-TrainStep-net-train"
    table.sort(all)
    assert.same(all, sorted_names(flow.get_all_variables()))
  end)

  it("gives blobs in any body, where names without a number begin anew", function()
    local a, b = flow.model("a", body), flow.model("b", body)
    local job = helper.predict("both", { 2, 3 }, function(x)
      return a(x) + b(x) + flow.layers.dense(x, 2)
    end)
    job(X)
    assert.same(OWN, sorted_names(a:variables()))
    assert.same(OWN, sorted_names(b:variables()))
    assert.is_not_nil(flow.get_all_variables()["dense_1-weight"])
    assert.is_false(a:variables()["out-weight"]:eq(b:variables()["out-weight"]):all())
  end)

  it("has the same variables wherever a body calls it, and how often", function()
    local net = flow.model("net", function(x)
      return flow.nn.relu(body(x), { name = "last" })
    end)
    local twice = helper.predict("twice", { 2, 3 }, function(x) return net(x) - net(x) end)
    assert.same({ { 0, 0 }, { 0, 0 } }, twice(X):totable())
    local other = helper.predict("other", { 2, 3 }, function(x)
      local first = net(x)
      return first * 0 + net(x)
    end)
    assert.is_true(other(X):eq(predictor(net)(X)):all())
    assert.same(OWN, sorted_names(net:variables()))
  end)

  it("still refuses two layers of one name within it", function()
    local net = flow.model("net", function(x)
      x = flow.layers.dense(x, 3, { name = "a" })
      return flow.layers.dense(x, 3, { name = "a" })
    end)
    helper.fails(function() predictor(net)(X) end, "'net-a-weight' exists in this job already")
  end)

  it("lends its variables where another is told to share them", function()
    local a = flow.model("a", body)
    local b = flow.model("b", body, { share = a })
    local with, without = predictor(a), predictor(b, { name = "again" })
    assert.is_true(with(X):eq(without(X)):all())
    assert.same({ "a", "a-again" }, { b.name, without.name })
    assert.same(OWN, sorted_names(b:variables()))
  end)

  it("gives the loss the inputs that the model does not take", function()
    local net = flow.model("net", function(x, y)
      return flow.layers.dense(x, 1) + y, x
    end)
    local seen
    local train = net:train {
      inputs = { target = flow.float32 { 1 }, y = flow.float32 { 2, 1 }, x = flow.float32 { 2, 3 },
        scale = flow.float64 { 1 } },
      loss = function(sum, same, scale, target)
        seen = { sum.shape, same.name, scale.dtype, target.shape }
        return flow.math.square(sum - target), flow.math.reduce_sum(sum)
      end,
      optimizer = flow.optimizer.Adam(0.01),
    }
    local loss, sum = train { target = { 1 }, y = { { 1 }, { 2 } }, x = X, scale = { 1 } }
    assert.same({ { 2, 1 }, "x", "float64", { 1 } }, seen)
    assert.same({ 2, 1 }, loss.shape)
    assert.same({ 1 }, sum.shape)
  end)

  it("takes inputs by name with a loss that names none", function()
    local net = flow.model("net", body)
    local train = net:train { inputs = { labels = flow.int32 { -1 }, x = flow.float32 { -1, 3 } },
      loss = flow.nn.cross_entropy, optimizer = flow.optimizer.SGD(0.1) }
    assert.equal(1, train { x = X, labels = LABELS }.size)
    assert.equal(1, train(X, LABELS).size)
  end)

  it("has jobs of other types of results and of other configurations", function()
    local got
    predictor(flow.model("net", body), { returns = tp.Callback(tp.Numpy) })(X)(
      function(y) got = y.shape end)
    flow.sync()
    assert.same({ 2, 2 }, got)
    local config = flow.function_config()
    config.default_data_type(flow.float64)
    local net = flow.model("w", function(x)
      return x * flow.get_variable("w", { 1 }, { initializer = flow.ones_initializer() })
    end)
    net:predict { inputs = { flow.float64 { 1 } }, function_config = config }({ 1 })
    assert.equal("float64", net:variables().w.dtype)
  end)

  it("takes a new body where its file is read again", function()
    local text = "local flow, units = require 'jfl', ...\n"
      .. "return flow.model('net', function(x) return flow.layers.dense(x, 2) * units end)"
    local function run(units)
      return assert(loadstring(text, "@net.lua"))(units):predict {
        inputs = { flow.float32 { -1, 3 } } }
    end
    local job = run(1)
    local before = job(X)
    assert.equal(job, run(2))
    assert.is_true(job(X):eq(before * 2):all())
  end)

  -- ---- models within models ----

  it("has the models that its body calls under its namespace", function()
    local block = flow.model("block", function(x) return flow.layers.dense(x, 3) end)
    local net = flow.model("net", function(x)
      x = block(x)
      for i = 1, 2 do
        x = flow.model("inner" .. i, function(y) return flow.layers.dense(y, 3) end)(x)
      end
      return flow.layers.dense(x, 2)
    end)
    predictor(net)(X)
    predictor(net)(nd.ones({ 5, 3 }))        -- traces the body once more
    assert.same({ "block-dense_1-bias", "block-dense_1-weight", "dense_1-bias", "dense_1-weight",
      "inner1-dense_1-bias", "inner1-dense_1-weight", "inner2-dense_1-bias",
      "inner2-dense_1-weight" }, sorted_names(net:variables()))
    assert.equal("net-block", block.name)
    assert.is_not_nil(flow.get_all_variables()["net-inner2-dense_1-bias"])
  end)

  it("has one set of variables where it is used alone and in another model", function()
    local encoder = flow.model("encoder", function(x) return flow.layers.dense(x, 2) end)
    local encode = predictor(encoder)
    local auto = flow.model("auto", function(x) return flow.layers.dense(encoder(x), 3) end)
    local train = auto:train { inputs = { x = flow.float32 { -1, 3 }, y = flow.float32 { -1, 3 } },
      loss = flow.nn.mse_loss, optimizer = flow.optimizer.Adam(0.1) }
    local before = encode(X)
    train(X, X)
    assert.is_false(before:eq(encode(X)):all())
    assert.same({ "dense_1-bias", "dense_1-weight", "encoder-dense_1-bias",
      "encoder-dense_1-weight" }, sorted_names(auto:variables()))
    assert.same({ "dense_1-bias", "dense_1-weight" }, sorted_names(encoder:variables()))
    auto:save(directory .. "/auto")
    encoder:save(directory .. "/encoder")
    local after = encode(X)
    train(X, X)
    encoder:load(directory .. "/encoder")
    assert.is_true(after:eq(encode(X)):all())
    assert.equal(4, #auto:load(directory .. "/auto").loaded)
  end)

  it("gives its variables as blobs in a body that has called it", function()
    local online, target = flow.model("online", body), flow.model("target", body)
    local before
    local follow = helper.predict("follow", { 2, 3 }, function(x)
      helper.fails(function() online:variables() end,
        "model 'online': variables: it has no variables in this body yet, which has to call it")
      local y = online(x) + target(x)
      local ahead = online:variables()
      assert.same(OWN, sorted_names(ahead))
      for name, variable in pairs(target:variables()) do
        flow.assign(variable, (variable + ahead[name]) / 2)
      end
      return y
    end)
    follow:compile()
    before = target:variables()
    follow(X)
    local own = online:variables()
    for name, value in pairs(target:variables()) do
      assert.is_true(value:eq((before[name] + own[name]) / 2):all(), name)
    end
  end)

  it("is what an optimizer trains that is told so, and nothing else is", function()
    local a, b = flow.model("a", body), flow.model("b", body)
    local inner = flow.model("inner", function(x) return flow.layers.dense(a(x), 2) end)
    local function train(name, which)
      return flow.global_function { name = name, type = "train", inputs = types(),
        body = function(x, labels)
          local loss = flow.nn.cross_entropy(b(x) + inner(x), labels)
          flow.optimizer.SGD(0.1, { momentum = 0, variables = which }):minimize(loss)
          return loss
        end }
    end
    local function changed(job)
      job:compile()
      local before, list = flow.get_all_variables(), {}
      job(X, LABELS)
      for name, value in pairs(flow.get_all_variables()) do
        if name:find "weight$" and not value:eq(before[name]):all() then
          list[#list + 1] = name
        end
      end
      table.sort(list)
      return list
    end
    assert.same({ "b-dense_1-weight", "b-out-weight" }, changed(train("of_b", b)))
    assert.same({ "inner-a-dense_1-weight", "inner-a-out-weight", "inner-dense_1-weight" },
      changed(train("of_both", inner)))
    local alone = flow.model("alone", body)
    helper.fails(function() train("of_none", alone):compile() end,
      "it has no variables in this body yet")
  end)

  -- ---- files ----

  it("saves and loads its variables alone, under any name", function()
    local a, b = flow.model("a", body), flow.model("b", body)
    local run_a, run_b, train = predictor(a), predictor(b), trainer(a)
    train(X, LABELS)
    a:save(directory .. "/a")
    assert.same(OWN, sorted_names(flow.checkpoint.get(directory .. "/a")))
    local report = b:load(directory .. "/a")
    assert.same({ 8, 0, 0 }, { #report.loaded, #report.missing, #report.unexpected })
    assert.is_true(run_a(X):eq(run_b(X)):all())
    helper.fails(function() a:save(directory .. "/a") end, "exists")
    a:save(directory .. "/a", { overwrite = true })
  end)

  it("loads from a checkpoint of a session", function()
    local a, other = flow.model("a", body), flow.model("other", body)
    local run = predictor(a)
    trainer(other)
    local before = run(X)
    flow.train.CheckPoint():save(directory .. "/all")
    trainer(a)(X, LABELS)
    assert.is_false(run(X):eq(before):all())
    a:load(directory .. "/all")
    assert.is_true(run(X):eq(before):all())
  end)

  it("refuses the file of another model and names what is missing", function()
    local a = flow.model("a", body)
    local b = flow.model("b", function(x)
      return flow.layers.dense(body(x), 2, { name = "head" })
    end)
    predictor(a)
    predictor(b)
    a:save(directory .. "/a")
    b:save(directory .. "/b")
    local before = b:variables()
    helper.fails(function() b:load(directory .. "/a") end,
      "it lacks head-bias, head-weight; nothing was set; { strict = false } loads what there is")
    helper.fails(function() a:load(directory .. "/b") end,
      "the model has no head-bias, head-weight")
    for name, value in pairs(b:variables()) do assert.is_true(value:eq(before[name]):all()) end
    local report = b:load(directory .. "/a", { strict = false })
    assert.same({ "head-weight", "head-bias" }, report.missing)
    assert.is_true(a:variables()["out-weight"]:eq(b:variables()["out-weight"]):all())
    local c = flow.model("c", function(x) return flow.layers.dense(x, 7, { name = "out" }) end)
    predictor(c)
    helper.fails(function() c:load(directory .. "/a", { strict = false }) end,
      "c-out-bias must be float32 (7), got float32 (2)")
    helper.fails(function() c:load(directory .. "/a", { only = "dense" }) end,
      "nothing in it is the model's")
  end)

  it("loads from arrays by names, such as another model's", function()
    local a, b = flow.model("a", body), flow.model("b", body)
    local run_a, run_b = predictor(a), predictor(b)
    assert.same({ 8, 0, 0 }, (function(r)
      return { #r.loaded, #r.missing, #r.unexpected }
    end)(b:load(a:variables())))
    assert.is_true(run_a(X):eq(run_b(X)):all())
    trainer(a)(X, LABELS)
    assert.same({ "out-weight", "out-bias" }, b:load(a:variables(), { only = "out" }).loaded)
    helper.fails(function() b:load { ["out-bias"] = nd.zeros(2) } end, "load: the table: is that "
      .. "another model's? it lacks batch_norm_1-beta")
    helper.fails(function() b:load({ ["out-bias"] = nd.zeros(3) }, { strict = false }) end,
      "b-out-bias must be float32 (2), got float32 (3)")
    helper.fails(function() b:load { x = 1 } end,
      "what is given by names must be an NdArray each, got number 1 for string 'x'")
    helper.fails(function() b:load(7) end, "path must be that of a checkpoint, or a table of "
      .. "arrays by names such as net:variables() gives, got number 7")
    helper.fails(function() b:load {} end, "got an empty table")
    helper.fails(function() b:load(a:variables(), { onyl = "out" }) end,
      "unknown option 'onyl'; options are path, strict, only, rename, transpose, skip; "
        .. "did you mean only?")
  end)

  it("loads a part of its variables", function()
    local a = flow.model("a", body)
    local b = flow.model("b", function(x)
      return flow.layers.dense(flow.layers.dense(x, 3), 9, { name = "out" })
    end)
    predictor(a)
    predictor(b)
    a:save(directory .. "/a")
    assert.same({ "dense_1-weight", "dense_1-bias" },
      b:load(directory .. "/a", { only = "dense" }).loaded)
    assert.is_true(a:variables()["dense_1-weight"]:eq(b:variables()["dense_1-weight"]):all())
  end)

  -- ---- what is trained ----

  it("keeps frozen variables as they are, bit for bit, until they are not", function()
    local net = flow.model("net", body)
    local train = trainer(net)
    train(X, LABELS)
    assert.equal(6, net:freeze("_1%-"))
    local function changed()
      local before = net:variables()
      train(X, LABELS)
      local list = {}
      for name, value in pairs(net:variables()) do
        if not value:eq(before[name]):all() then list[#list + 1] = name end
      end
      table.sort(list)
      return list
    end
    assert.same({ "out-bias", "out-weight" }, changed())
    assert.equal(8, net:unfreeze(""))
    assert.same(OWN, changed())
    helper.fails(function() net:freeze("conv") end, "model 'net': freeze: no variable has a name "
      .. "that the pattern 'conv' finds; there are batch_norm_1-beta")
    helper.fails(function() net:freeze("[") end, "freeze: pattern '['")
    net:freeze("")
    helper.fails(function() train(X, LABELS) end, "net-train")
  end)

  it("tells its variables as a table", function()
    local net = flow.model("net", body)
    trainer(net)
    net:freeze("^out")
    assert.equal(table.concat({
      "model 'net'",
      "dense_1-weight                float32 (3, 3)  9",
      "dense_1-bias                  float32 (3)     3",
      "batch_norm_1-gamma            float32 (3)     3",
      "batch_norm_1-beta             float32 (3)     3",
      "batch_norm_1-moving_mean      float32 (3)     3  not trained",
      "batch_norm_1-moving_variance  float32 (3)     3  not trained",
      "out-weight                    float32 (2, 3)  6  frozen",
      "out-bias                      float32 (2)     2  frozen",
      "32 numbers, 18 of them trained" }, "\n"), net:summary())
  end)

  it("calls inputs that are left as the loss does", function()
    local net = flow.model("net", body)
    local train = trainer(net)
    helper.fails(function() train(X) end, "takes 2 arguments (x, target), got 1")
    assert.equal(1, train { x = X, target = LABELS }.size)
    local own = trainer(net, { name = "own", loss = function(y, labels)
      return flow.nn.cross_entropy(y, labels)
    end })
    assert.equal(1, own { x = X, labels = LABELS }.size)
    assert.equal("job 'net-own' (train): x (-1, 3) float32, labels (-1) int32 -> arrays",
      (require("jfl.repl.show").text(own):gsub("\27%[[%d;]*m", "")))
  end)

  it("takes no input by a name that it does not have", function()
    local net = flow.model("net", function(x, age)
      return flow.layers.dense(flow.concat({ x, age }, 1), 1)
    end)
    local one = flow.float32 { -1, 1 }
    helper.fails(function() net:predict { inputs = { agee = one, age = one } } end,
      "'agee' is no parameter of the body, which takes (x, age); did you mean age?")
    helper.fails(function()
      net:train { inputs = { x = one, agee = one }, loss = flow.nn.mse_loss,
        optimizer = flow.optimizer.Adam(0.1) }
    end, "'agee' is no parameter")
    helper.fails(function() predictor(flow.model("a", body), { inputs = { y = one } }) end,
      "'y' is no parameter of the body, which takes (x)")
    helper.fails(function()
      flow.model("b", body):train { inputs = { labels = flow.int32 { -1 }, images = one },
        loss = flow.nn.cross_entropy, optimizer = flow.optimizer.Adam(0.1) }
    end, "inputs: 'images', 'labels': none is the name of a parameter of the body, which takes "
      .. "(x); call them as these, or state them in order: { { \"images\", flow.float32")
  end)

  it("says what does what models of other libraries have", function()
    local net = flow.model("net", body)
    helper.fails(function() return net.fit end, "did you mean flow.fit(net, data, { ... })?")
    helper.fails(function() return net.weights end, "did you mean net:variables()?")
  end)

  it("saves notes beside its variables", function()
    local net, path = flow.model("net", body), helper.directory()
    predictor(net)
    net:save(path, { overwrite = true, notes = { classes = { "cat", "dog" } } })
    assert.same({ classes = { "cat", "dog" } }, flow.checkpoint.notes(path))
    flow.checkpoint.save(path, net:variables(), { notes = { mean = 3.5 }, overwrite = true })
    assert.same({ mean = 3.5 }, flow.checkpoint.notes(path))
    helper.fails(function() net:save(path, { overwrite = true, notes = 3 }) end,
      "save: notes must be a table")
    helper.remove(path)
  end)

  -- ---- mistakes ----

  it("says what to do where it is used wrongly", function()
    local net = flow.model("net", body)
    predictor(net)
    helper.fails(function() net(X) end, "model 'net': called outside of a body, where there are no "
      .. "blobs; a job of it takes arrays: net:predict {")
    helper.fails(function() net:train { inputs = types() } end, "train: loss is missing")
    helper.fails(function() net:train { inputs = types(), loss = flow.nn.cross_entropy } end,
      "train: optimizer is missing")
    helper.fails(function() trainer(net, { optimizer = "adam" }) end,
      "optimizer must be one such as flow.optimizer.Adam(0.001), got string 'adam'")
    helper.fails(function() trainer(net, { loss = "mse" }) end,
      "loss must be a function such as flow.nn.cross_entropy, got string 'mse'")
    helper.fails(function() net:train { inputz = 3 } end, "did you mean inputs?")
    helper.fails(function() net:predict() end, "argument 1 must be a table with inputs, got nil")
    helper.fails(function() net:predict {} end, "inputs is missing")
    helper.fails(function() net:predict { inputs = types() } end,
      "the model takes 1 input (x), got 2; those of a loss belong to net:train")
    helper.fails(function() net:train { inputs = {}, loss = flow.nn.relu,
      optimizer = flow.optimizer.SGD(1) } end, "the model takes 1 input (x), got 0")
    helper.fails(function()
      trainer(net, { loss = function() return 5 end, name = "five" })(X, LABELS)
    end, "loss must give a blob, got number 5")
    flow.clear_default_session()
    helper.fails(function() return net.weights end,
      "model 'net' has no 'weights'; it has evaluate, freeze")
    helper.fails(function() return net:parameters() end, "; did you mean net:variables()?")
    helper.fails(function() return net.sav end, "; did you mean save?")
    helper.fails(function() predictor(flow.model("n", body))({ 1, 2, 3 }) end, "n-predict: x must "
      .. "be of shape (-1, 3), got a list of 3 numbers; a batch of one is a list in a list")
    helper.fails(function()
      predictor(flow.model("none", function(x) flow.layers.dense(x, 2) end))(X)
    end, "must return a blob, or a table of blobs, got nothing")
    helper.fails(function() net.lr = 3 end, "model 'net' cannot be changed: 'lr' is not set")
    helper.fails(function() net.save("x") end, "save: call it with a colon: net:save(...)")
    helper.fails(function() flow.model("x", body):save(directory) end, "it has no variables yet")
    helper.fails(function() flow.model("x", 5) end, "model: body must be a function, got number 5")
    helper.fails(function() flow.model("x", body, { share = 1 }) end, "share must be a model")
    assert.same({ 2, 2 }, predictor(net)(X).shape)
  end)

  -- LuaJIT compiles a read of `...` behind a call wrongly (src/bind/miscompiled.c).
  it("judges by what the model gave, whatever the loss calls", function()
    local function deep(n) return n <= 0 and 1 or n * deep(n - 1) end
    local net = flow.model("net", body)
    local judge = net:evaluate { inputs = { flow.float32 { -1, 3 }, flow.int32 { -1 } },
      loss = function(said, labels)
        deep(20)
        return flow.nn.cross_entropy(said, labels)
      end }
    for rows = 1, 120 do
      local _, said = judge(nd.ones { rows, 3 }, nd.zeros({ rows }, flow.int32))
      assert.same({ rows, 2 }, said.shape)
    end
  end)

  it("is told of by the line of its function where a job of it is left out", function()
    local bad = function(x) return flow.nn.conv2d(x, x, { padding = "SAME" }) end
    local told = {}
    flow.config.on_warning(function(text) told[#told + 1] = text end)
    finally(function() flow.config.on_warning(false) end)
    flow.model("bad", bad):predict { inputs = { flow.float32 { -1, 3 } } }
    flow.get_all_variables()
    local where = ("spec/lua/net/model_spec.lua:%d"):format(debug.getinfo(bad, "S").linedefined)
    assert.equal("job 'bad-predict' (" .. where .. ") is left out", told[1]:match("^.- left out"))
  end)

  it("refuses two models of one name, which would share variables unsaid", function()
    local function twice(...)
      local first, second = flow.model("net", (...)), flow.model("net", (select(2, ...)))
      predictor(first)
      return (predictor(second))
    end
    helper.fails(function() twice(body, body) end,
      "there is a model of that name (spec/lua/net/model_spec.lua:")
    helper.fails(function() twice(body, function(x) return x end) end,
      "there is a model of that name (spec/lua/net/model_spec.lua:")
    local job = helper.predict("job", { 2, 3 }, function(x)
      local a, b = flow.model("a", body), flow.model("a", body)
      return a(x) + b(x)
    end)
    helper.fails(function() job(X) end, "the body calls two models of that name")
  end)
end)
