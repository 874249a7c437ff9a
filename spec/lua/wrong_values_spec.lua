-- Values of the right type that a function does not take: each refusal of the front end that no
-- other spec is about, with what it says. spec/lua/refused_spec.lua gives values of a wrong type.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd, tp, data = flow.ndarray, flow.typing, flow.data
local fails = helper.fails

-- Each row is what an error must hold, and a function that is to fail.
local function check(rows)
  for _, row in ipairs(rows) do fails(row[2], row[1]) end
end

-- Fails as the body of a job does.
local function body_of(f)
  flow.clear_default_session()
  return flow.global_function { type = "train", returns = tp.Numpy, name = "trains",
    inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
    body = function(x)
      local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
      return f(x * w)
    end }
end

local function trains(f) return function() body_of(f)({ 1, 2 }) end end

local function scalar() return nd.zeros {} end

describe("a value that cannot be", function()
  local within = helper.folder(setup, teardown)

  it("is refused by ops", function()
    check {
      { "x1 must have one axis or more, got shape ()",
        function() flow.nn.pairwise_distance(scalar(), scalar()) end },
      { "num must be below 2^31", function() flow.linspace(0, 1, 2 ^ 31) end },
      { "value must have one axis or more, got shape ()",
        function() flow.random.shuffle(scalar()) end },
      { "padding of images and channels must be 0, got 1", function()
        flow.nn.max_pool2d(nd.ones { 1, 1, 4, 4 }, 2, 2, { { 1, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 } })
      end },
      { "kernel_size must be a number or a list of two, got", function()
        flow.same_padding(nd.ones { 1, 1, 4, 4 }, "SAME_LOWER", "NCHW", { 2, 2, 2 }, 1)
      end },
    }
  end)

  it("is refused by what trains", function()
    local sgd = flow.optimizer.SGD
    local policy = flow.optimizer.loss_scale
    local function none(name) return name == "other" end
    check {
      { "must take one or more of job 'trains', got none",
        trains(function(loss) sgd(0.1, { variables = none }):minimize(loss) end) },
      { "variables must not be empty",
        trains(function(loss) sgd(0.1, { variables = {} }):minimize(loss) end) },
      { "multiplier must be a number above 1, got 1",
        function() policy.dynamic_loss_scale { multiplier = 1 } end },
      { "exclude each other; give one", function()
        sgd(0.1, { loss_scale_factor = 2, loss_scale_policy = policy.static_loss_scale(2) })
      end },
      { "train_step_lbn and dynamic_loss_scale exclude each other", trains(function(loss)
        local step = flow.get_variable("step", { shape = { 1 }, dtype = "int64",
          initializer = flow.zeros_initializer(), trainable = false })
        sgd(0.1, { train_step_lbn = step, loss_scale_policy = policy.dynamic_loss_scale() })
          :minimize(loss)
      end) },
      { "must not be a function where train_step_lbn counts the steps", trains(function(loss)
        local step = flow.get_variable("step", { shape = { 1 }, dtype = "int64",
          initializer = flow.zeros_initializer(), trainable = false })
        sgd(function() return 0.1 end, { train_step_lbn = step }):minimize(loss)
      end) },
      { "decay must be a number above 0 and below 1, got 1",
        function() flow.train.ExponentialMovingAverage(1) end },
      { "call it with a colon: average:use(...)", function()
        flow.train.ExponentialMovingAverage(0.9).use(print)
      end },
      { "there is no 'nothing'; there are", function()
        local job = body_of(function(loss)
          sgd(0.1):minimize(loss)
          return loss
        end)
        flow.fit(job, { nd.ones { 4 } }, { batch_size = 2, show = false, monitor = "nothing" })
      end },
    }
  end)

  it("is refused by readers of data", function()
    check {
      { "images must not be empty",
        function() data.save_image(within("x.png"), nd.zeros { 0, 2, 2, 3 }) end },
      { "paths must be a list of file names, got none",
        function() data.sounds({}, { rate = 8000, seconds = 1 }) end },
      { "seconds must make from 1 to 2^28 samples, got 0",
        function() data.sounds({ "a.wav" }, { rate = 8000, seconds = 0 }) end },
      { "mel: unknown name 'bnads'; names are", function()
        data.sounds({ "a.wav" }, { rate = 8000, seconds = 1, mel = { bnads = 3 } })
      end },
      { "sound must have at most",
        function() data.save_sound(within("x.wav"), nd.zeros { 300, 2 }) end },
      { "shards must be at most", function()
        data.webdataset(within("{00000..99999}-{00000..99999}.tar"))
      end },
      { "columns must be endings, got none",
        function() data.webdataset(within("a.tar"), { columns = {} }) end },
    }
  end)
end)
