local flow = require "jfl"
local helper = require "spec.lua.helper"

describe("optimizer.SGD", function()
  before_each(flow.clear_default_session)

  -- Trains w (1), from 1, on loss = w * x with x = 1 for so many steps; gives w before each step.
  local function walk(make, steps)
    local job = flow.global_function { name = "walk", type = "train", returns = flow.typing.Numpy,
      inputs = { { "x", flow.typing.Numpy.Placeholder({ 1 }) } },
      body = function(x)
        local w = flow.get_variable("w", { 1 }, { initializer = flow.ones_initializer() })
        make():minimize(w * x)
        return w
      end }
    local seen = {}
    for i = 1, steps do seen[i] = job({ 1 })[1] end
    return seen
  end

  it("takes a number as a constant rate", function()
    local seen = walk(function() return flow.optimizer.SGD(0.25, { momentum = 0 }) end, 3)
    assert.same({ 1, 0.75, 0.5 }, seen)
  end)

  it("keeps a velocity by default", function()
    local seen = walk(function() return flow.optimizer.SGD(0.25) end, 3)
    assert.is_true(math.abs(seen[3] - (0.75 - 0.25 * 0.9 - 0.25)) < 1e-6)
  end)

  it("follows a piecewise constant schedule, boundaries included", function()
    local seen = walk(function()
      local rate = flow.optimizer.PiecewiseConstantScheduler({ 1 }, { 0.5, 0.25 })
      return flow.optimizer.SGD(rate, { momentum = 0 })
    end, 4)
    -- Steps 0 and 1 at 0.5, then 0.25.
    assert.same({ 1, 0.5, 0, -0.25 }, seen)
  end)

  it("warms up", function()
    local seen = walk(function()
      local rate = flow.optimizer.PiecewiseConstantScheduler({}, { 0.5 },
        { warmup = flow.optimizer.warmup.constant(1, 0.5) })
      return flow.optimizer.SGD(rate, { momentum = 0 })
    end, 3)
    assert.same({ 1, 0.75, 0.25 }, seen)
  end)

  it("trains the variables that it is told to", function()
    local job = flow.global_function { name = "some", type = "train",
      returns = flow.typing.Tuple(flow.typing.Numpy, flow.typing.Numpy),
      body = function()
        local one = { initializer = flow.ones_initializer() }
        local a, b = flow.get_variable("a", { 1 }, one), flow.get_variable("b", { 1 }, one)
        flow.optimizer.SGD(0.5, { momentum = 0, variables = { "b" } }):minimize(a * b)
        return a, b
      end }
    job()
    local a, b = job()
    assert.equal(1, a[1])
    assert.equal(0.5, b[1])
  end)

  it("adds the gradients of several losses", function()
    local job = flow.global_function { name = "two", type = "train", returns = flow.typing.Numpy,
      body = function()
        local w = flow.get_variable("w", { 1 }, { initializer = flow.ones_initializer() })
        flow.optimizer.SGD(0.25, { momentum = 0 }):minimize({ w * 1, w * 2 })
        return w
      end }
    job()
    assert.equal(0.25, job()[1])
  end)

  it("is wanted in a train job, and in no other", function()
    local none = helper.train("none", { body = function(x) return x end })
    helper.fails(function() none({ 1, 2 }) end,
      "none: a train job needs an optimizer: call flow.optimizer.SGD(0.1):minimize(loss) in")
    local wrong = helper.predict("wrong", { 1 }, function(x)
      flow.optimizer.SGD(0.1):minimize(x)
      return x
    end)
    helper.fails(function() wrong({ 1 }) end,
      "SGD.minimize: job 'wrong' is a predict job; only a job with type = \"train\" can be trained")
  end)

  it("names what is wrong", function()
    local function fails(f, text)
      flow.clear_default_session()
      local job = helper.train("bad", { body = function(x)
        local w = flow.get_variable("w", { 2 }, { initializer = flow.ones_initializer() })
        f(x * w)
        return x
      end })
      helper.fails(function() job({ 1, 2 }) end, text)
    end
    fails(function() flow.optimizer.SGD("fast") end,
      "optimizer.SGD: lr_scheduler must be a number, a function of the step or a scheduler")
    fails(function() flow.optimizer.SGD() end, "argument 1 'lr_scheduler' is missing")
    fails(function(y) flow.optimizer.SGD(0.1, { momentun = 0 }):minimize(y) end,
      "unknown option 'momentun'")
    fails(function() flow.optimizer.SGD(0.1).minimize(5) end, "minimize: call it with a colon")
    fails(function() flow.optimizer.SGD(0.1):minimize(5) end,
      "SGD.minimize: loss must be a blob or a list of blobs")
    fails(function(y)
      flow.optimizer.SGD(0.1):minimize(y)
      flow.optimizer.SGD(0.1):minimize(y)
    end, "minimize: variable 'w' must have one optimizer, got two")
    fails(function(y) flow.optimizer.SGD(0.1, { variables = { "v" } }):minimize(y) end,
      "variables: there is no variable 'v' in job 'bad'; in place of names a model stands")
    fails(function(y) flow.losses.add_loss(y) end,
      "there is no learning rate: set it in the")
    fails(function() flow.optimizer.SGD(0.1, { grad_clipping = 1 }) end,
      "optimizer.SGD: grad_clipping must be optimizer.grad_clipping.by_global_norm(clip_norm), "
      .. "by_norm or by_value, got")
    fails(function() flow.optimizer.grad_clipping.by_global_norm(0) end,
      "by_global_norm: clip_norm must be a number above 0, got 0")
    fails(function() flow.optimizer.PiecewiseConstantScheduler({ 1 }, { 0.1 }) end,
      "values must be 2 numbers, one more than boundaries, got 1")
    fails(function() flow.optimizer.PiecewiseConstantScheduler({ 2, 1 }, { 1, 1, 1 }) end,
      "boundaries must ascend")
    fails(function() flow.optimizer.PiecewiseConstantScheduler({}, { 1 }, { warmup = 3 }) end,
      "warmup must be what flow.optimizer.warmup.linear(...) gives, got number 3")
    fails(function() flow.optimizer.CombinedOptimizer {} end, "optimizers must not be empty")
    fails(function() flow.optimizer.SGD(0.1).nothing = 3 end,
      "SGD has no 'nothing'; it has lr, minimize, momentum, nesterov, set_lr, and lr alone can be "
      .. "set")
    fails(function() flow.optimizer.loss_scale.dynamic_loss_scale { multiplier = 1 } end,
      "optimizer.loss_scale.dynamic_loss_scale: multiplier must be a number above 1, got 1")
    flow.optimizer.loss_scale.dynamic_loss_scale { multiplier = 1.01, increment_period = 1 }
  end)

  it("says which options exclude each other, or are no such thing", function()
    local o = flow.optimizer
    local dynamic = o.loss_scale.dynamic_loss_scale()
    local function with(rate, options, text)
      flow.clear_default_session()
      helper.fails(function()
        helper.train("bad", { body = function(x)
          local w = flow.get_variable("w", { 2 }, { initializer = flow.ones_initializer() })
          options.weight_decay = options.weight_decay_includes and 0.1
          if options.train_step_lbn == "x" then options.train_step_lbn = x end
          o[options.weight_decay and "AdamW" or "SGD"](rate, options):minimize(x * w)
          return x
        end })({ 1, 2 })
      end, text)
    end
    with(0.1, { variables = {} }, "SGD.minimize: variables must not be empty")
    with(0.1, { train_step_lbn = 3 }, "optimizer.SGD: train_step_lbn must be a blob, got number 3")
    with(0.1, { train_step_lbn = "x", loss_scale_policy = dynamic },
      "train_step_lbn and dynamic_loss_scale exclude each other")
    with(0.1, { loss_scale_factor = 2, loss_scale_policy = dynamic },
      "loss_scale_factor and loss_scale_policy exclude each other; give one")
    with(0.1, { loss_scale_policy = 3 },
      "loss_scale_policy must be what optimizer.loss_scale.dynamic_loss_scale() gives")
    with(0.1, { moving_average = 3 },
      "moving_average must be what flow.train.ExponentialMovingAverage(0.999) gives, got number 3")
    with(0.1, { weight_decay_includes = { "w" }, weight_decay_excludes = { "w" } },
      "weight_decay_includes and weight_decay_excludes exclude each other; give one")
    with(0.1, { weight_decay_includes = { "w(?:" } },
      "weight_decay_includes: 'w(?:' must be a regular expression of plain text")
    with(function() return 1 end, { train_step_lbn = "x" },
      "lr_scheduler must not be a function where train_step_lbn counts the steps")
    for _, rate in ipairs { -1, 1 / 0, 0 / 0, "x" } do
      flow.clear_default_session()
      local job = helper.train("bad", { body = function(x)
        local w = flow.get_variable("w", { 2 }, { initializer = flow.ones_initializer() })
        o.SGD(function(step) return step == 0 and 0 or rate end):minimize(x * w)
        return x
      end })
      job({ 1, 2 })
      local _, err = pcall(job, { 1, 2 })
      assert.truthy(err:find("lr_scheduler must give a finite number of at least 0, got", 1, true)
        and err:find("for step 1", 1, true), err)
    end
  end)

  it("says so where nothing can be trained", function()
    local job = helper.train("fixed", { body = function(x)
      flow.optimizer.SGD(0.1):minimize(x)
      return x
    end })
    helper.fails(function() job({ 1, 2 }) end, "fixed")
  end)
end)

describe("several optimizers of a job", function()
  before_each(flow.clear_default_session)

  local function sgd(rate, variables, more)
    local options = { momentum = 0, variables = variables }
    for key, value in pairs(more or {}) do options[key] = value end
    return flow.optimizer.SGD(rate, options)
  end

  -- A job with variables a and b of one number, both 1, that minimizes what body says.
  local function train(body)
    local job = flow.global_function { name = "several", type = "train", body = function()
      local one = { initializer = flow.ones_initializer() }
      local a, b = flow.get_variable("a", { 1 }, one), flow.get_variable("b", { 1 }, one)
      body(a, b)
      return { a = a, b = b }
    end }
    return function()
      local seen = job():get()
      return seen.a[1], seen.b[1]
    end
  end

  it("train each their own variables, at rates of their own", function()
    local step = train(function(a, b)
      sgd(0.5, { "a" }):minimize(a * 3 + b * 2)
      sgd(flow.optimizer.PiecewiseConstantScheduler({ 0 }, { 0.25, 0.5 }), { b }):minimize(a + b)
    end)
    step()
    assert.same({ -0.5, 0.75 }, { step() })
    assert.same({ -2, 0.25 }, { step() })
  end)

  it("take gradients of one call, before any variable changes", function()
    -- A player that wants a * b large and one that wants it small.
    local step = train(function(a, b)
      sgd(0.5, { "a" }):minimize(a * b)
      sgd(0.5, { "b" }):minimize(-(a * b))
    end)
    step()
    assert.same({ 0.5, 1.5 }, { step() })
    assert.same({ -0.25, 1.75 }, { step() })
  end)

  it("clip the gradients of their own variables", function()
    local clipping = flow.optimizer.grad_clipping.by_global_norm(1)
    local step = train(function(a, b)
      sgd(0.5, { "a" }, { grad_clipping = clipping }):minimize(a * 4 + b * 8)
      sgd(0.5, { "b" }):minimize(a * 4 + b * 8)
    end)
    step()
    assert.same({ 0.5, -3 }, { step() })
  end)

  it("may be of different kinds", function()
    local step = train(function(a, b)
      flow.optimizer.Adam(0.5, { beta1 = 0, beta2 = 0, epsilon = 0, variables = { "a" } })
        :minimize(a * 8 + b)
      sgd(0.5, { "b" }):minimize(a * 8 + b)
    end)
    step()
    assert.same({ 0.5, 0.5 }, { step() })
  end)

  it("share one walk back where their losses are the same", function()
    local job = flow.global_function { name = "shared", type = "train", body = function()
      local one = { initializer = flow.ones_initializer() }
      local a, b = flow.get_variable("a", { 2, 2 }, one), flow.get_variable("b", { 2, 2 }, one)
      local loss = flow.math.tanh(flow.matmul(flow.math.tanh(flow.matmul(a, b)), a))
      sgd(0.5, { "a" }):minimize(loss)
      sgd(0.5, { "b" }):minimize(loss)
      return loss
    end }
    local core = require "jfl.core"
    core.set("passes", "-cse -fold -fuse -epilogue -matmul_update")
    finally(function() core.set("passes", "") end)
    local _, count = job:graph("optimized"):gsub("= tanh_grad%(", "")
    assert.equal(2, count)
  end)

  it("are shown the gradient of the sum of their losses by watch_diff", function()
    local seen
    local step = train(function(a, b)
      flow.watch_diff(a, function(d) seen = d[1] end)
      sgd(0.5, { "a" }):minimize(a * 3)
      sgd(0.5, { "b" }):minimize(a * 4 + b)
    end)
    step()
    assert.equal(7, seen)
  end)

  it("do not train a variable twice", function()
    local step = train(function(a, b)
      sgd(0.5, { "a" }):minimize(a)
      sgd(0.5):minimize(a * b)
    end)
    helper.fails(step, "minimize: variable 'a' must have one optimizer, got two")
  end)

  it("can be given their variables by a function of the name", function()
    local asked = {}
    local step = train(function(a, b)
      sgd(0.5, function(name)
        asked[#asked + 1] = name
        return name == "b"
      end):minimize(a + b)
    end)
    step()
    assert.same({ 1, 0.5 }, { step() })
    assert.same({ "a", "b" }, asked)
    flow.clear_default_session()
    step = train(function(a) sgd(0.5, function() return false end):minimize(a) end)
    helper.fails(step, "SGD.minimize: variables must take one or more of job 'several', got none")
  end)

  it("ask such a function of what can be trained alone", function()
    local asked = {}
    flow.global_function { name = "asking", type = "train", body = function()
      local one = flow.ones_initializer()
      local w = flow.get_variable("w", { 1 }, { initializer = one })
      flow.get_variable("fixed", { 1 }, { initializer = one, trainable = false })
      flow.get_variable("whole", { 1 }, { initializer = one, dtype = flow.int32 })
      sgd(0.5, function(name)
        asked[#asked + 1] = name
        return true
      end):minimize(w)
    end }:compile()
    assert.same({ "w" }, asked)
  end)
end)

describe("an optimizer's rate", function()
  local within = helper.folder(before_each, after_each)

  local optimizer

  -- Trains w (1), from 1, on loss w by the optimizer that make() gives.
  local function train(make, name)
    return flow.global_function { name = name or "rated", type = "train",
      returns = flow.typing.Numpy, body = function()
        local w = flow.get_variable("w", { 1 }, { initializer = flow.ones_initializer() })
        optimizer = make()
        optimizer:minimize(w)
        return w
      end }
  end

  local function plain() return flow.optimizer.SGD(0.25, { momentum = 0 }) end
  local function scheduled()
    return flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler({ 0, 1 },
      { 0.5, 0.25, 0.125 }),
      { momentum = 0 })
  end

  it("can be read and set between calls, without compiling again", function()
    local job = train(plain)
    job()
    local plan = job:plan()
    assert.equal(0.25, optimizer.lr)
    optimizer:set_lr(0.5)
    assert.equal(0.5, optimizer.lr)
    assert.equal(0.75, job()[1])
    assert.equal(0.25, job()[1])
    assert.equal(plan, job:plan())
  end)

  it("follows its schedule until it is set, and again when that is taken back", function()
    local job = train(scheduled):compile()
    assert.equal(0.5, optimizer.lr)
    job()
    assert.equal(0.25, optimizer.lr)
    optimizer:set_lr(2)
    job()
    assert.equal(2, optimizer.lr)
    optimizer:set_lr()
    assert.equal(0.125, optimizer.lr)
    assert.equal(1 - 0.5 - 2, job()[1])
    assert.equal(1 - 0.5 - 2 - 0.125, job()[1])
  end)

  it("of 0 stops the training", function()
    local job = train(plain)
    job()
    optimizer:set_lr(0)
    assert.equal(0, optimizer.lr)
    job()
    assert.equal(0.75, job()[1])
  end)

  it("takes effect behind the calls that are queued", function()
    local seen = {}
    local job = flow.global_function { name = "queued", type = "train",
      returns = flow.typing.Callback(flow.typing.Numpy), body = function()
        local w = flow.get_variable("w", { 1 }, { initializer = flow.ones_initializer() })
        optimizer = plain()
        optimizer:minimize(w)
        return w
      end }
    local function note(value) seen[#seen + 1] = value[1] end
    job()(note)
    job()(note)
    optimizer:set_lr(0.125)
    job()(note)
    job()(note)
    flow.sync()
    assert.same({ 1, 0.75, 0.5, 0.375 }, seen)
  end)

  it("is in Adam's steps, whose correction of the bias it does not hide", function()
    local job = train(function() return flow.optimizer.Adam(0.5, { epsilon = 0 }) end)
    job()
    assert.equal(0.5, optimizer.lr)
    optimizer:set_lr(0.25)
    local before = job()[1]
    assert.is_true(math.abs(before - job()[1] - 0.25) < 1e-5)
  end)

  it("is each optimizer's own", function()
    local first, second
    local job = flow.global_function { name = "two", type = "train",
      returns = flow.typing.Tuple(flow.typing.Numpy, flow.typing.Numpy), body = function()
        local one = { initializer = flow.ones_initializer() }
        local a, b = flow.get_variable("a", { 1 }, one), flow.get_variable("b", { 1 }, one)
        first = flow.optimizer.SGD(0.25, { momentum = 0, variables = { a } })
        second = flow.optimizer.SGD(0.25, { momentum = 0, variables = { b } })
        first:minimize(a)
        second:minimize(b)
        return a, b
      end }
    job()
    second:set_lr(0.5)
    assert.same({ 0.25, 0.5 }, { first.lr, second.lr })
    job()
    local a, b = job()
    assert.same({ 0.5, 0.25 }, { a[1], b[1] })
  end)

  it("is kept by checkpoints, once it was set", function()
    local path = within("model")
    local job = train(scheduled)
    job()
    flow.checkpoint.save(path)
    assert.is_nil(flow.checkpoint.get(path)["System-Train-LearningRate-rated"])
    optimizer:set_lr(0.5)
    flow.checkpoint.save(path .. "2")
    optimizer:set_lr(4)
    assert.same({}, flow.train.CheckPoint():load(path, { strict = true }).missing)
    assert.equal(0.25, optimizer.lr)
    flow.clear_default_session()
    local again = train(scheduled)
    flow.train.CheckPoint():load(path .. "2")
    assert.equal(0.5, optimizer.lr)
    assert.equal(0.5, again()[1])
    assert.equal(0, again()[1])
  end)

  it("is set before there is a job, too", function()
    local made = flow.optimizer.SGD(0.5, { momentum = 0 })
    assert.equal(0.5, made.lr)
    made:set_lr(0.25)
    assert.equal(0.25, made.lr)
    local job = train(function() return made end)
    job()
    assert.equal(0.75, job()[1])
  end)

  it("is set in every job that the optimizer trains, and for all sizes of a batch", function()
    local made = flow.optimizer.SGD(0.5, { momentum = 0 })
    local function any(name)
      return flow.global_function { name = name, type = "train", returns = flow.typing.Numpy,
        inputs = { { "x", flow.typing.Numpy.Placeholder({ -1 }) } }, body = function(x)
          local w = flow.get_variable(name .. "-w", { 1 },
            { initializer = flow.ones_initializer() })
          made:minimize(x * w)
          return w
        end }
    end
    local one, two = any "one", any "two"
    one({ 1 })
    two({ 1 })
    made:set_lr(0.25)
    assert.equal(0.5, one({ 1 })[1])
    assert.equal(0.5, two({ 1, 1 })[1])
    assert.equal(0.25, one({ 1, 1 })[1])
    assert.equal(0.25, two({ 1 })[1])
  end)

  it("is set in the jobs that are there, not in those of a session before", function()
    local made = flow.optimizer.SGD(0.5, { momentum = 0 })
    train(function() return made end)()
    flow.clear_default_session()
    helper.fails(function() return made.lr end, "the session that this job belonged to was cleared")
    local job = train(function() return made end)
    job()
    made:set_lr(0.25)
    assert.equal(0.25, made.lr)
    assert.equal(0.5, job()[1])
    assert.equal(0.25, job()[1])
  end)

  it("is a finite number of at least 0, and is not set in a body", function()
    local job = train(plain)
    job()
    helper.fails(function() optimizer:set_lr "fast" end,
      "SGD.set_lr: rate must be a number, got string 'fast'")
    helper.fails(function() optimizer:set_lr(0 / 0) end,
      "rated: learning rate must be a finite number of at least 0, got")
    helper.fails(function() optimizer:set_lr(-1) end,
      "rated: learning rate must be a finite number of at least 0, got -1")
    optimizer.lr = 0.5
    assert.equal(0.5, optimizer.lr)
    optimizer.lr = nil
    helper.fails(function() optimizer.set_lr(1) end, "set_lr: call it with a colon")
    local inside = helper.predict("inside", { 1 }, function(x)
      optimizer:set_lr(1)
      return x
    end)
    helper.fails(function() inside({ 1 }) end, "the body of 'inside' only describes its job")
    assert.equal(0.25, optimizer.lr)
  end)
end)

describe("optimizers and schedules", function()
  it("are those of the core, with its parameters and defaults", function()
    local args, core = require "jfl.base.args", require "jfl.core"
    local function default(path, name)
      for _, param in ipairs(args.defined[path].params) do
        if param[1] == name then return param[3] end
      end
    end
    for _, info in ipairs(core.optimizers()) do
      assert.equal("function", type(flow.optimizer[info.name]))
      for _, param in ipairs(info.params) do
        assert.equal(param.default, tostring(default("optimizer." .. info.name, param.name)))
      end
    end
    local schedules = 0
    for _, info in pairs(core.ops()) do
      if info.schedule then
        schedules = schedules + 1
        assert.equal("function", type(flow.optimizer[info.schedule]))
      end
    end
    assert.is_true(schedules > 0)
  end)

  it("show what they were given, and say how to change it", function()
    local sgd = flow.optimizer.SGD(0.1)
    assert.same({ 0.1, 0.9 }, { sgd.lr, sgd.momentum })
    assert.equal("SGD(0.1, momentum=0.9, nesterov=false)", tostring(sgd))
    local rate = flow.optimizer.PiecewiseConstantScheduler({ 10 }, { 0.1, 0.01 })
    local adam = flow.optimizer.Adam(rate, { beta1 = 0.5 })
    assert.same({ 0.1, 0.5, 0.999, true },
      { adam.lr, adam.beta1, adam.beta2, adam.do_bias_correction })
    assert.equal("PiecewiseConstantScheduler(boundaries={10}, values={0.1, 0.01})", tostring(rate))
    sgd.lr = 0.2
    assert.equal(0.2, sgd.lr)
    helper.fails(function() sgd.momentum = 0.5 end, "SGD: 'momentum' cannot be set later; give it "
      .. "where the optimizer is made: flow.optimizer.SGD(rate, {momentum = 0.5})")
    helper.fails(function() return sgd.mometum end,
      "SGD has no 'mometum'; it has lr, minimize, momentum, nesterov, set_lr")
    helper.fails(function() sgd.beta1 = 1 end, "SGD has no 'beta1'; it has")
  end)

  it("refuse rates and decays that make no sense where they are made", function()
    local o = flow.optimizer
    local rate = "learning rate must be a finite number of at least 0, got "
    for text, f in pairs {
      ["optimizer.SGD: " .. rate .. "-0.1"] = function() o.SGD(-0.1) end,
      ["optimizer.Adam: " .. rate .. "inf"] = function() o.Adam(1 / 0) end,
      ["SGD.set_lr: " .. rate] = function() o.SGD(1):set_lr(0 / 0) end,
      ["values must be finite numbers of at least 0, got -2"] = function()
        o.PiecewiseConstantScheduler({ 1 }, { 1, -2 })
      end,
      ["boundaries must be steps of at least 0, got -5"] = function()
        o.PiecewiseConstantScheduler({ -5 }, { 1, 2 })
      end,
      ["boundaries must be steps of at least 0, got "] = function()
        o.PiecewiseConstantScheduler({ math.huge - math.huge }, { 1, 2 })
      end,
      ["optimizer.SGD: unknown option 'weight_decay'; options are lr_scheduler, "
        .. "loss_scale_factor, momentum, grad_clipping, train_step_lbn, loss_scale_policy, "
        .. "variables, nesterov, "] = function()
        o.SGD(0.1, { weight_decay = 0.1 })
      end,
      ["truncated_normal: stddev must be a number above 0, got inf"] = function()
        flow.truncated_normal(1 / 0)
      end,
      ["random_uniform_initializer: minval must be a finite number, got "] = function()
        flow.random_uniform_initializer(0 / 0, 1)
      end,
      ["nn.dropout: training must be a boolean, got string 'yes'"] = function()
        flow.nn.dropout(flow.ndarray.ones({ 2 }), 0.5, { training = "yes" })
      end,
      ["SGD: momentum must be a finite number of at least 0, got -1"] = function()
        o.SGD(0.1, { momentum = -1 })
      end,
      ["Adam: beta1 must be in [0, 1), got 2"] = function() o.Adam(0.1, { beta1 = 2 }) end,
      ["Adam: epsilon must be a finite number"] = function() o.Adam(1, { epsilon = 0 / 0 }) end,
      ["warmup_multiplier must be in [0, 1), got -1"] = function()
        o.PiecewiseConstantScheduler({}, { 1 }, { warmup = o.warmup.linear(5, -1) })
      end,
      ["regularizers.l2: l must be a number of at least 0"] = function()
        flow.regularizers.l2(-1)
      end,
      ["nn.dropout: rate must be a number from 0 to below 1, got nan"] = function()
        flow.nn.dropout(flow.ndarray.ones({ 2 }), 0 / 0)
      end,
    } do helper.fails(f, text) end
  end)

  it("keep the original's order of arguments", function()
    local args = require "jfl.base.args"
    local function order(name)
      local list, f = {}, args.defined["optimizer." .. name]
      for i, param in ipairs(args.taken(f)) do list[i] = param[1] end
      return table.concat(list, " ")
    end
    assert.equal("lr_scheduler loss_scale_factor momentum grad_clipping train_step_lbn "
      .. "loss_scale_policy variables nesterov gradient_accumulation_steps moving_average",
      order "SGD")
    assert.equal("lr_scheduler beta1 beta2 epsilon do_bias_correction loss_scale_factor "
      .. "grad_clipping train_step_lbn loss_scale_policy variables amsgrad "
      .. "gradient_accumulation_steps moving_average", order "Adam")
    assert.equal("lr_scheduler momentum_beta epsilon lars_coefficient loss_scale_factor "
      .. "weight_decay weight_decay_includes weight_decay_excludes grad_clipping train_step_lbn "
      .. "loss_scale_policy variables gradient_accumulation_steps moving_average", order "LARS")
  end)
end)
