--- flow.fit: the loop that trains a job.
local flow = require "jfl"
local columns = require "jfl.data.columns"
local core = require "jfl.core"
local feed = require "jfl.train.feed"
local helper = require "spec.lua.helper"
local jobs = require "jfl.job.job"
local nd, tp = flow.ndarray, flow.typing

local function net(x)
  local h = flow.layers.dense(x, 8, { activation = flow.math.tanh, name = "a" })
  return flow.layers.dense(h, 2, { name = "b" })
end

--- A job that trains to tell the sign of x1 * x2, one that predicts, and data.
local function problem(n)
  flow.random.seed(3)
  local rows, labels = {}, {}
  for i = 1, n do
    local a, b = math.sin(i * 12.9), math.cos(i * 7.3)
    rows[i], labels[i] = { a, b }, a * b > 0 and 1 or 0
  end
  local train = flow.global_function { name = "train", type = "train", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder { -1, 2 } },
      { "y", tp.Numpy.Placeholder({ -1 }, flow.int32) } },
    body = function(x, y)
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(y, net(x))
      flow.optimizer.Adam(0.02):minimize(loss)
      return loss
    end }
  local predict = flow.global_function { name = "predict", returns = tp.Numpy, body = net,
    inputs = { { "x", tp.Numpy.Placeholder { -1, 2 } } } }
  return train, predict, { { "x", nd.array(rows) }, { "y", nd.array(labels, flow.int32) } }
end

--- What a loop written by hand gives: the mean loss of each epoch.
local function by_hand(train, data, epochs, size)
  local losses = {}
  for epoch, _, x, y in flow.data.batches(data, { epochs = epochs, batch_size = size,
      shuffle = true, name = "fit" }) do
    losses[epoch] = losses[epoch] or { 0, 0 }
    local loss = losses[epoch]
    loss[1], loss[2] = loss[1] + train(x, y):mean() * #x, loss[2] + #x
  end
  for i, loss in ipairs(losses) do losses[i] = loss[1] / loss[2] end
  return losses
end

describe("flow.fit", function()
  before_each(flow.clear_default_session)

  local function user_things(users, things)
    return (flow.layers.embedding(users, 4, 2) * flow.layers.embedding(things, 5, 2)):sum(-1)
  end

  it("tells the order of columns by names from the model's parameters", function()
    local o = { epochs = 1, batch_size = 4, show = false, loss = flow.nn.mse_loss,
      optimizer = flow.optimizer.SGD(0.1) }
    local data = { things = nd.array({ 0, 4, 4, 0 }, "int32"), stars = nd.ones { 4 },
      users = nd.array({ 0, 1, 2, 3 }, "int32") }
    assert.is_true(flow.fit(flow.model("one", user_things), data, o).done)
    data.more = nd.ones { 4 }
    helper.fails(function() flow.fit(flow.model("two", user_things), data, o) end,
      "keeps in no order; say in which they come: {columns = {")
    data.more, data.users = nil, nil
    helper.fails(function() flow.fit(flow.model("three", user_things), data, o) end, "in no order")
  end)

  it("makes batches of as many rows as the job takes, and leaves out what is over", function()
    for _, rows in ipairs { 1, 2, 3 } do
      flow.clear_default_session()
      local job = helper.train("train", { inputs = { { "x", tp.Numpy.Placeholder { rows, 2 } } } })
      local run = flow.fit(job, { { "x", nd.ones { 7, 2 } } }, { epochs = 1, show = false })
      assert.equal(math.floor(7 / rows), run.step)
    end
  end)

  it("takes what integers divided give, float64, as float32", function()
    local ages = nd.array({ { 20 }, { 45 }, { 70 }, { 30 } }, "int32") / 100
    assert.equal("float64", ages.dtype)
    local body = function(x) return flow.layers.dense(x - ages:mean(0), 1):reshape { -1 } end
    local run = flow.fit(flow.model("ages", body), { { "x", ages }, { "y", ages:reshape(4) } },
      { epochs = 1, show = false, loss = flow.nn.mse_loss, optimizer = flow.optimizer.SGD(0.1) })
    assert.is_true(run.done)
    assert.equal("float32", flow.get_all_variables()["ages-dense_1-weight"].dtype)
  end)

  it("trains as a loop that is written by hand", function()
    local want = by_hand((problem(90)), select(3, problem(90)), 4, 20)
    flow.clear_default_session()
    local train, _, data = problem(90)
    local run = flow.fit(train, data, { epochs = 4, batch_size = 20, show = false })
    assert.same(want, run.history.loss)
    assert.equal(20, run.step)
    assert.equal(4, run.epoch)
    assert.is_true(run.done)
  end)

  it("takes a model's jobs, lists without names, and iterators", function()
    local model = flow.model("lines", function(x) return flow.layers.dense(x, 1) end)
    local train = model:train { inputs = { flow.float32 { -1, 2 }, flow.float32 { -1, 1 } },
      loss = flow.nn.mse_loss, optimizer = flow.optimizer.SGD(0.1) }
    local x, y = nd.rand { 40, 2 }, nd.ones { 40, 1 }
    local run = flow.fit(train, { x, y }, { epochs = 5, batch_size = 10, show = false })
    assert.truthy(run.history.loss[5] < run.history.loss[1])
    local epochs = {}
    run = flow.fit(train, function(epoch)
      epochs[#epochs + 1] = epoch
      return function(_, i) if i < 3 then return i + 1, x, y end end, nil, 0
    end, { epochs = 2, show = false })
    assert.same({ 1, 2 }, epochs)
    assert.equal(6, run.step)
  end)

  it("judges epochs by metrics, keeps the best and stops where nothing is gained", function()
    local train, predict, data = problem(90)
    local epochs = {}
    local run = flow.fit(train, data, { epochs = 200, batch_size = 30, validation = data,
      predict = predict, metrics = { "accuracy", mine = function(p) return #p end },
      monitor = "accuracy", patience = 2, keep_best = true, show = false,
      callbacks = function(now) epochs[#epochs + 1] = now.value end })
    assert.equal("patience", run.stopped)
    assert.truthy(run.epoch < 200 and run.best.epoch == run.epoch - 2, tostring(run))
    assert.same(run.history.accuracy, epochs)
    assert.equal(math.max(unpack(epochs)), run.best.value)
    assert.equal(run.best.value, flow.metrics.accuracy(predict(data[1][2]), data[2][2]))
    assert.equal(30, run.history.mine[1])
  end)

  it("calls back before, at each step, after each epoch and at the end", function()
    local train, _, data = problem(60)
    local events = {}
    local function note(name) return function() events[#events + 1] = name end end
    flow.fit(train, data, { epochs = 2, batch_size = 30, show = false, callbacks = {
      start = note "start", step = note "step", epoch = note "epoch", finish = note "finish" } })
    assert.equal("start step step epoch step step epoch finish", table.concat(events, " "))
    local run = flow.fit(train, data, { epochs = 9, batch_size = 30, show = false,
      callbacks = function(now) if now.epoch == 2 then now:stop() end end })
    assert.equal(2, run.epoch)
    assert.equal("stop", run.stopped)
  end)

  it("prints a line for each epoch, or nothing", function()
    for _, show in ipairs { "true", "false" } do
      local out = helper.script(([[
        local flow = require "jfl"
        local net = flow.model("lines", function(x) return flow.layers.dense(x, 1) end)
        local x = flow.ndarray.ones { 8, 2 }
        flow.fit(net, { x, flow.ndarray.ones { 8, 1 } }, { epochs = 3, batch_size = 4,
          loss = flow.nn.mse_loss, optimizer = flow.optimizer.SGD(0.1), show = %s })
      ]]):format(show))
      local n = 0
      for epoch in out:gmatch("epoch (%d)/3[^\n\r]*loss %d") do n = math.max(n, tonumber(epoch)) end
      assert.equal(show == "true" and 3 or 0, n, out)
      if show == "false" then assert.equal("", (out:gsub("=0\n$", ""))) end
    end
  end)

  it("says which epochs were better than all before", function()
    local function said(better)
      local out = helper.script(([[
        local flow = require "jfl"
        local net = flow.model("lines", function(x) return flow.layers.dense(x, 1) end)
        local x = flow.ndarray.ones { 8, 2 }
        flow.fit(net, { x, flow.ndarray.ones { 8, 1 } }, { epochs = 3, better = "%s",
          loss = flow.nn.mse_loss, optimizer = flow.optimizer.SGD(0.01) })
      ]]):format(better))
      local list = {}
      for epoch, best in out:gmatch("epoch (%d)/3: loss [%d.e-]+([^\n]*)\n") do
        list[#list + 1] = epoch .. best
      end
      return list
    end
    assert.same({ "1", "2 (best)", "3 (best)" }, said "lower")
    assert.same({ "1", "2", "3" }, said "higher")
  end)

  it("draws its curves in the end where that is wanted and there are some", function()
    local function drawn(epochs, show, curves)
      local out = helper.script(([[
        local flow = require "jfl"
        require("jfl.tools.plot").plot = function(_, o) print("drawn", o.xlabel) end
        local net = flow.model("lines", function(x) return flow.layers.dense(x, 1) end)
        flow.fit(net, { flow.ndarray.ones { 8, 2 }, flow.ndarray.ones { 8, 1 } }, { epochs = %d,
          loss = flow.nn.mse_loss, optimizer = flow.optimizer.SGD(0.1), show = %s, curves = %s })
      ]]):format(epochs, show, curves))
      return select(2, out:gsub("drawn\tepoch\n", ""))
    end
    assert.same({ 1, 0, 0, 0 }, { drawn(2, true, true), drawn(1, true, true),
      drawn(2, false, true), drawn(2, true, false) })
  end)

  it("draws the curves of what was a number from the first epoch on, but for rates", function()
    local folder = helper.directory()
    local out = helper.script(([[
      local flow = require "jfl"
      require("jfl.tools.plot").plot = function(curves)
        local names = {}
        for name in pairs(curves) do names[#names + 1] = name end
        table.sort(names)
        print(table.concat(names, " "))
      end
      local net = flow.model("lines", function(x) return flow.layers.dense(x, 2) end)
      local data = { flow.ndarray.ones { 8, 2 }, flow.ndarray.zeros({ 8 }, "int32") }
      local function train(epochs, metrics)
        local run = flow.fit(net, data, { epochs = epochs, validation = data, metrics = metrics,
          reduce_rate = true, loss = flow.nn.cross_entropy, optimizer = flow.optimizer.SGD(0.1),
          directory = %q, resume = true, show = false })
        run:plot()
      end
      local function one() return 1 end
      train(1, { "confusion", one = one })
      train(2, { "confusion", one = one, late = one })
    ]]):format(folder))
    helper.remove(folder)
    assert.equal(2, select(2, out:gsub("%f[%w]loss one val_loss\n", "")), out)
  end)

  it("takes the mean of a loss that comes in parts, or by name", function()
    local function lines(loss_of, returns, background)
      local train = flow.global_function { name = "train", type = "train", returns = returns,
        inputs = { { "x", tp.Numpy.Placeholder { -1, 2 } } }, body = function(x)
          local loss = flow.math.reduce_mean(flow.layers.dense(x, 1, { name = "d",
            kernel_initializer = flow.ones_initializer() }))
          flow.optimizer.SGD(0.1):minimize(loss)
          return loss_of(loss)
        end }
      local run = flow.fit(train, { nd.ones { 8, 2 } }, { epochs = 2, batch_size = 8,
        show = false, background = background }):wait()
      flow.clear_default_session()
      return run.history.loss
    end
    local want = lines(function(loss) return loss end, tp.Numpy, false)
    assert.near(2, want[1], 1e-6)
    local bundle, two = tp.Bundle(tp.Numpy), tp.Tuple(tp.Numpy, tp.Numpy)
    for _, background in ipairs { false, true } do
      for _, late in ipairs { false, true } do
        local function same(loss_of, returns)
          if late then returns = tp.Callback(returns) end
          for i, loss in ipairs(lines(loss_of, returns, background)) do
            assert.near(want[i], loss, 1e-6)
          end
        end
        same(function(loss) return loss end, tp.Numpy)
        same(function(loss) return loss, loss * 7 end, two)
        same(function(loss) return { loss = loss, other = loss * 7 } end, bundle)
        same(function(loss) return { loss * 0.5, loss * 1.5 } end, bundle)
      end
    end
  end)

  it("goes on from its directory as if it had never stopped", function()
    local train, _, data = problem(90)
    local options = { batch_size = 20, show = false }
    local want = flow.fit(train, data, { epochs = 5, batch_size = 20, show = false }).history.loss
    local folder = helper.directory()
    for _, epochs in ipairs { 2, 5 } do
      flow.clear_default_session()
      train, _, data = problem(90)
      options.epochs, options.directory, options.resume = epochs, folder, true
      options.batch_size = 20
      local run = flow.fit(train, data, options)
      assert.equal(epochs, #run.history.loss)
      for i, loss in ipairs(run.history.loss) do assert.equal(want[i], loss) end
    end
    helper.remove(folder)
  end)

  it("refuses a state that was changed by hand, and changes nothing then", function()
    local saved = require "jfl.train.saved"
    local checkpoint = require "jfl.checkpoint.checkpoint"
    local train, _, data = problem(90)
    local folder = helper.directory()
    local options = { batch_size = 30, show = false, epochs = 2, directory = folder }
    flow.fit(train, data, options)
    local good = checkpoint.texts_of(folder .. "/last")
    local kept = flow.get_all_variables()["a-weight"]
    options.resume, options.epochs = true, 3
    local epoch = good["fit.fit"]:match "^[^\n]*"
    for i, note in ipairs { "", "epoch", "epoch 1 2 3", "epoch 1 2 3 4 5 six", "epoch -1 2 3 4 5 0",
      "epoch 1.5 2 3 4 5 0", "epoch 1 2 3 4 5 0 7", "epoch 1e300 2 3 4 5 0", epoch .. "\n" .. epoch,
      epoch .. "\nbest 9 1", epoch .. "\nbest 1", epoch .. "\nbest 1 1\nbest 1 1",
      epoch .. "\ncurve.loss 1 2 3 4", epoch .. "\ncurve.loss 1 x", epoch .. "\nother 1",
      epoch .. "\ncurve.loss 1\ncurve.loss 1", "curve.loss 1\n" .. epoch, epoch .. "\n\1" } do
      flow.load_variables { ["a-weight"] = nd.full(kept.shape, i) }
      checkpoint.save_by(function(f, ...) return f(...) end, folder .. "/last", true, nil,
        { ["fit.fit"] = note })
      flow.load_variables { ["a-weight"] = kept }
      helper.fails(function() flow.fit(train, data, options) end, ("fit: resume: %s/last: the "
        .. "state of training 'fit' makes no sense: '"):format(folder))
      assert.same(kept:totable(), flow.get_all_variables()["a-weight"]:totable())
    end
    assert.is_nil(saved.resume { directory = folder .. "/none", name = "fit" })
    helper.remove(folder)
  end)

  it("refuses the state of another model, and one that is damaged", function()
    local train, _, data = problem(90)
    local folder = helper.directory()
    local options = { batch_size = 30, show = false, epochs = 2, directory = folder }
    flow.fit(train, data, options)
    flow.clear_default_session()
    options.resume = true
    local other = flow.global_function { name = "other", type = "train", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder { -1, 2 } } }, body = function(x)
        local loss = flow.math.reduce_mean(flow.layers.dense(x, 3, { name = "other" }))
        flow.optimizer.SGD(0.1):minimize(loss)
        return loss
      end }
    helper.fails(function() flow.fit(other, data, options) end, ("fit: resume: %s/last: it is the "
      .. "state of another model: it has none of the variables of this one"):format(folder))
    train = problem(90)
    local path = folder .. "/last/model.safetensors"
    local file = io.open(path, "rb")
    local text = file:read "*a"
    file:close()
    for _, damaged in ipairs { "", text:sub(1, 7), text:sub(1, 100), text:sub(1, -2), text .. "x",
      ("\255"):rep(8) .. text:sub(9), text:gsub("epoch", "ep\0ch") } do
      file = io.open(path, "wb")
      file:write(damaged)
      file:close()
      helper.fails(function() flow.fit(train, data, options) end, folder .. "/last")
    end
    helper.remove(folder)
  end)

  it("keeps the curves of metrics whatever these are called", function()
    local train, predict, data = problem(90)
    local folder, name = helper.directory(), "a b%\n5"
    local options = { batch_size = 30, show = false, directory = folder, validation = data,
      predict = predict, metrics = { [name] = function() return 7 end }, epochs = 1, resume = true,
      better = "higher" }
    flow.fit(train, data, options)
    options.epochs = 2
    assert.same({ 7, 7 }, flow.fit(train, data, options).history[name])
    helper.remove(folder)
  end)

  it("goes on in the background while the host polls", function()
    local train, predict, data = problem(90)
    local want = flow.fit(train, data, { epochs = 3, batch_size = 30, validation = data,
      predict = predict, metrics = { "accuracy" }, show = false }).history
    flow.clear_default_session()
    train, predict, data = problem(90)
    local run = flow.fit(train, data, { epochs = 3, batch_size = 30, validation = data,
      predict = predict, metrics = { "accuracy" }, background = true })
    assert.is_false(run.done)
    while not run.done do flow.poll() end
    assert.same(want, run.history)
    run = flow.fit(train, data, { epochs = 2, batch_size = 30, background = true })
    assert.equal(run, run:wait())
    assert.equal(2, run.epoch)
  end)

  it("has two steps under way in the background, and no more", function()
    local train = problem(10)
    local x, y, taken, done = nd.ones { 10, 2 }, nd.zeros({ 10 }, flow.int32), 0, 0
    local function data()
      return function()
        taken = taken + 1
        if taken <= 5 then return taken, x, y end
      end
    end
    -- Results arrive when the test says so.
    local submit, register, under_way, counts = jobs.submit, core.register, {}, {}
    jobs.submit = function() end
    core.register = function(_, deliver) table.insert(under_way, deliver) end
    local ok, run = pcall(function()
      local run = flow.fit(train, data, { background = true,
        callbacks = { step = function() done = done + 1 end } })
      while #under_way > 0 do
        counts[#counts + 1] = #under_way
        table.remove(under_way, 1)(1)
      end
      return run
    end)
    jobs.submit, core.register = submit, register
    assert.is_true(ok, run)
    assert.same({ 2, 2, 2, 2, 1 }, counts)
    assert.same({ true, 5 }, { run.done, done })
  end)

  it("tells of a step that fails in the background", function()
    local train, _, data = problem(90)
    data[1][2] = nd.ones { 90, 3 }
    local ok, message = pcall(flow.fit, train, data, { batch_size = 30, background = true })
    assert.is_false(ok)
    assert.truthy(message:find("train: x must be of shape (30, 2), got (30, 3)", 1, true), message)
  end)

  it("leaves no loop through the data open where it fails", function()
    local train, _, data = problem(60)
    local function stop() flow.math.square() end
    helper.fails(function()
      flow.fit(train, data, { epochs = 2, name = "failing", show = false,
        callbacks = { step = stop } })
    end, "square")
    assert.is_false(flow.data.close_loop { name = "failing" })
  end)

  it("says what is missing or wrong", function()
    local train, predict, data = problem(60)
    local function fails(text, job, options)
      options.show = false
      helper.fails(function() flow.fit(job, data, options) end, text)
    end
    fails("fit: job must be a model or a job of type \"train\", got job 'predict' (predict)",
      predict, {})
    fails("fit: epochs must be", train, { epochs = 0 })
    local silent = flow.global_function { name = "silent", type = "train",
      inputs = { { "x", tp.Numpy.Placeholder({ 10, 2 }) } }, body = function(x)
        local loss = flow.math.reduce_mean(x * flow.get_variable("s", { shape = { 2 },
          initializer = flow.ones_initializer() }))
        flow.optimizer.SGD(0.1):minimize(loss)
      end }
    helper.fails(function() flow.fit(silent, { nd.ones { 20, 2 } }, { show = false }) end,
      "fit: job 'silent' must return its loss first, got nothing")
    fails("fit: validation needs predict, the job that", train, { validation = data })
    fails("fit: metrics are of the predictions for validation", train, { metrics = { "accuracy" } })
    fails("fit: there is no metric 'acuracy'", train, { validation = data, predict = predict,
      metrics = { "acuracy" } })
    fails("there is no metric 'acc'; did you mean accuracy?", train, { validation = data,
      predict = predict, metrics = { "acc" } })
    fails("fit: callbacks: there is no 'epochs'", train, { callbacks = { epochs = print } })
    fails("fit: monitor: there is no 'val_loss'; there are loss", train, { monitor = "val_loss",
      batch_size = 30 })
    fails("fit: resume: directory must say where the state is", train, { resume = true })
  end)

  describe("takes a model", function()
    local function model() return flow.model("signs", net) end

    local function options(more)
      local o = { loss = flow.nn.cross_entropy, optimizer = flow.optimizer.Adam(0.02),
        epochs = 4, batch_size = 20, show = false }
      for name, value in pairs(more or {}) do o[name] = value end
      return o
    end

    it("which trains as its own jobs do", function()
      local _, _, data = problem(90)
      local own = model()
      local train = own:train { inputs = { flow.float32 { -1, 2 }, flow.int32 { -1 } },
        loss = flow.nn.cross_entropy, optimizer = flow.optimizer.Adam(0.02) }
      local want = flow.fit(train, data, { epochs = 4, batch_size = 20, show = false })
      flow.clear_default_session()
      _, _, data = problem(90)
      local run = flow.fit(model(), data, options())
      assert.same(want.history.loss, run.history.loss)
    end)

    it("and judges it by its loss and by metrics of what it gives", function()
      local _, _, data = problem(90)
      local run = flow.fit(model(), data, options { epochs = 30, validation = data,
        metrics = { "accuracy" } })
      assert.equal("val_loss", run.monitor)
      assert.is_true(run.best.value < 0.4, tostring(run))
      assert.is_true(run.history.accuracy[30] > 0.85)
      assert.equal("predict", run.predict.type)
    end)

    it("of one array, where the loss takes nothing else", function()
      local same = flow.model("same", function(x) return flow.layers.dense(x, 2) end)
      local run = flow.fit(same, nd.ones { 20, 2 }, options { epochs = 1,
        loss = function(said) return (said * said):mean() end })
      assert.equal(1, #run.history.loss)
    end)

    it("and prints its numbers, whatever else metrics give", function()
      local _, _, data = problem(60)
      local own, run = print, nil
      local lines = {}
      _G.print = function(line) lines[#lines + 1] = line end       -- luacheck: ignore
      local ok, err = pcall(function()
        run = flow.fit(model(), data, options { epochs = 1, validation = data, show = true,
          metrics = { "confusion", "f1", "top_k" } })
      end)
      _G.print = own                                               -- luacheck: ignore
      assert.is_true(ok, tostring(err))
      assert.equal(60, run.history.confusion[1]:sum())
      assert.truthy(lines[1]:find("^epoch 1/1: loss [%d.]+, val_loss [%d.]+, f1 [%d.]+, top_k 1"))
    end)

    it("again, and in other hands", function()
      local _, _, data = problem(60)
      local own, run = model(), nil
      flow.fit(own, data, options())
      own:freeze "^a"
      local before = own:variables()
      assert.equal("", helper.stderr_of(function()
        run = flow.fit(own, data, options { optimizer = flow.optimizer.SGD(0.1) })
      end))
      assert.is_true(run.history.loss[4] < run.history.loss[1])
      assert.is_true(before["a-weight"]:eq(own:variables()["a-weight"]):all())
      assert.is_false(before["b-weight"]:eq(own:variables()["b-weight"]):all())
    end)

    it("with values by name and lists", function()
      local rows, labels = { { 1, 2 }, { 3, 4 } }, { 0, 1 }
      local inputs = {}
      local own = model()
      local function fit(data, more)
        local run = flow.fit(own, data, options(more))
        inputs[#inputs + 1] = table.concat(run.job._inputs[1].type.shape, " ") .. " "
          .. run.job._inputs[2].type.dtype
      end
      local y = nd.array(labels, flow.int32)
      fit { { "y", y }, { "x", nd.array(rows) } }
      fit({ rows, y }, { loss = function(a, b) return flow.nn.cross_entropy(a, b) end })
      fit({ images = nd.array(rows), labels = y }, { columns = { "images", "labels" } })
      assert.same({ "-1 2 int32", "-1 2 int32", "-1 2 int32" }, inputs)
    end)

    it("and knows what a batch is from one sample", function()
      local types = feed.types("fit", { { { { 1, 2, 3 }, { 4, 5, 6 } } }, { 7 } }, {})
      assert.same({ "-1 2 3", "-1" }, { table.concat(types[1].shape, " "),
        table.concat(types[2].shape, " ") })
    end)

    it("with data that are in batches already, and with pictures", function()
      local folder = helper.directory()
      local function bytes(...) return (nd.rand { ... } * 9):astype "uint8" end
      nd.save(folder .. "/mnist.npz", { x_train = bytes(40, 28, 28), y_train = bytes(40),
        x_test = bytes(20, 28, 28), y_test = bytes(20) })
      local images = flow.model("images", function(x)
        return flow.layers.dense(x:reshape { x.shape[1], -1 }, 10)
      end)
      local train, test = flow.data.load_mnist(20, 10, { out_dir = folder })
      local run = flow.fit(images, train, { loss = flow.nn.cross_entropy, epochs = 2,
        optimizer = flow.optimizer.SGD(0.1), validation = test, show = false })
      assert.equal("-1 1 28 28", table.concat(run.job._inputs[1].type.shape, " "))
      assert.same({ 2, 4 }, { #run.history.val_loss, run.step })     -- steps of 20 samples
      for _, format in ipairs { "NHWC", "NCHW" } do
        local set = columns.set { { "images", flow.data.pictures({ "a.png", "b.png" },
          { size = { 3, 5 }, data_format = format }) }, { "labels", nd.zeros({ 2 }, "int32") } }
        local types = feed.types("fit", set, {})
        assert.equal(format == "NCHW" and "-1 3 3 5" or "-1 3 5 3",
          table.concat(types[1].shape, " "))
        assert.equal("uint8", types[1].dtype)
      end
      helper.remove(folder)
    end)

    it("and says what it lacks", function()
      local _, _, data = problem(60)
      local own = model()
      local function fails(text, source, more)
        helper.fails(function() flow.fit(own, source, options(more)) end, text)
      end
      helper.fails(function() flow.fit(own, data, { optimizer = flow.optimizer.SGD(1) }) end,
        "fit: loss is missing, which a model needs: { loss = flow.nn.cross_entropy, optimizer")
      fails("fit: predict belongs to a job; a model makes its own", data, { predict = print })
      fails("fit: inputs is missing: an iterator does not say what a batch is", function() end)
      fails("fit: inputs is missing: column 1 does not say what a batch of it is", { { print } })
      fails("fit: column 1 has texts such as 'a', where numbers are wanted: int32", { { "a" } })
      local train = problem(60)
      helper.fails(function() flow.fit(train, data, { loss = print }) end,
        "fit: loss belongs to a model; the body of job 'train' has its own")
    end)
  end)

  it("lowers the rate where nothing is gained, and goes on so after a stop", function()
    local function still(folder, epochs)
      flow.clear_default_session()
      local own = flow.model("net", function(x) return flow.layers.dense(x, 1) end)
      local sgd = flow.optimizer.SGD(0.5, { momentum = 0 })
      local function loss(y) return y * 0 + 1 end              -- nothing is ever gained
      return flow.fit(own, { nd.ones { 8, 1 } }, { loss = loss, optimizer = sgd, epochs = epochs,
        inputs = { flow.float32 { -1, 1 } }, batch_size = 4, show = false, directory = folder,
        resume = folder ~= nil,
        reduce_rate = { patience = 2, factor = 0.5, lowest = 0.2 } }).history.rate, sgd.lr
    end
    local rates, last = still(nil, 7)
    assert.same({ 0.5, 0.5, 0.5, 0.25, 0.25, 0.2, 0.2 }, rates)
    assert.equal(0.2, last)
    local folder = helper.directory()
    assert.same({ 0.5, 0.5 }, (still(folder .. "/state", 2)))
    assert.same(rates, (still(folder .. "/state", 7)))
    helper.remove(folder)
  end)

  it("says what is wrong with reduce_rate", function()
    local train, _, data = problem(60)
    local function fails(text, reduce_rate, optimizer)
      helper.fails(function()
        flow.fit(train, data, { reduce_rate = reduce_rate, optimizer = optimizer })
      end, "fit: " .. text)
    end
    local sgd = flow.optimizer.SGD(0.1)
    fails("optimizer is missing: reduce_rate sets the rate of the one that trains the job", true)
    fails("optimizer must be one such as", true, 3)
    fails("reduce_rate: unknown option 'factr'; options are factor, lowest, patience; did you mean",
      { factr = 1 }, sgd)
    fails("reduce_rate.factor must be a number above 0 and below 1, got 2", { factor = 2 }, sgd)
    fails("reduce_rate.lowest must be a number of at least 0, got -1", { lowest = -1 }, sgd)
    fails("reduce_rate.patience must be", { patience = 0 }, sgd)
  end)

  it("leaves a state where Ctrl-C stops it, from which it goes on with the batch it had", function()
    local folder = helper.directory()
    local script = ([[
      local flow, ffi = require "jfl", require "ffi"
      ffi.cdef "int raise(int);"
      local tp, nd = flow.typing, flow.ndarray
      flow.random.seed(1)
      local train = flow.global_function { name = "train", type = "train", returns = tp.Numpy,
        inputs = { { "x", tp.Numpy.Placeholder { -1, 2 } } }, body = function(x)
          if x.shape[1] == 5 and arg[1] == "within" then ffi.C.raise(2) end
          local loss = flow.math.reduce_mean(flow.layers.dense(x, 1, { name = "a" }) ^ 2)
          flow.optimizer.SGD(0.1):minimize(loss)
          return loss
        end }
      local run = flow.fit(train, { nd.rand { 55, 2 } }, { epochs = 3, batch_size = 10,
        directory = "%s/state", resume = true, show = false,
        callbacks = { step = function(run)
          if run.step == 8 and arg[1] == "stop" then ffi.C.raise(2) end
        end } })
      print(run.step, run.epoch, #run.history.loss)
    ]]):format(folder)
    helper.write(folder .. "/fit.lua", script)
    local function go(word)
      local pipe = io.popen(("%s %s/fit.lua %s 2>&1; echo $?"):format(helper.command(), folder,
        word))
      local out = pipe:read "*a"
      pipe:close()
      return out
    end
    for word, where in pairs { stop = "epoch 2 after 8", within = "epoch 1 after 5" } do
      local out = go(word)
      assert.truthy(out:find(("fit: stopped in %s steps; %s/state/last"):format(where, folder),
        1, true), out)
      assert.falsy(out:find "\n0\n$", out)
      assert.truthy(go("on"):find "18\t3\t3\n0\n$")
      helper.remove(folder .. "/state")
    end
    helper.remove(folder)
  end)
end)
