--- Steps of optimizers on a GPU, on the emulated driver of spec/cuda, beside the CPU's.
local emulated = require "spec.dev.emulated"

-- Trains two layers by a rule that measures parameters, with averages, a schedule and a dynamic
-- scale of losses; by another one, which takes the gradients of two calls together; then by each of
-- the others.
local TRAINS = [[
  local flow = require "jfl"
  local tp = flow.typing
  flow.random.seed(5)
  local function trains(name, minimize)
    local job = flow.global_function {
      name = name, type = "train", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder({ 8, 6 }) },
                 { "y", tp.Numpy.Placeholder({ 8 }, { dtype = flow.int32 }) } },
      body = function(x, y)
        local h = flow.layers.dense(x, 70, { activation = flow.math.tanh, name = name .. "1" })
        h = flow.layers.dense(h, 4, { name = name .. "2" })
        local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(y, h)
        minimize(loss)
        return loss
      end,
    }
    for _ = 1, 5 do
      local loss = job(flow.random.normal({ 8, 6 }), { 0, 1, 2, 3, 0, 1, 2, 3 })
      print(("%s %.4f"):format(name, loss:mean()))
    end
  end
  local average = flow.train.ExponentialMovingAverage(0.9)
  trains("lamb", function(loss)
    local rate = flow.optimizer.CosineScheduler(0.05, 10,
      { warmup = flow.optimizer.warmup.linear(2, 0.1) })
    flow.optimizer.LAMB(rate, { moving_average = average,
      loss_scale_policy = flow.optimizer.loss_scale.dynamic_loss_scale() }):minimize(loss)
  end)
  trains("lars", function(loss)
    flow.optimizer.LARS(0.5, { lars_coefficient = 0.1,
      gradient_accumulation_steps = 2 }):minimize(loss)
  end)
  for _, o in ipairs { { "SGD", nesterov = true }, { "SGDW", weight_decay = 0.1 }, { "RMSProp" },
                       { "SGDW", momentum = 0, weight_decay = 0.1 }, { "Adagrad", lr_decay = 0.1 },
                       { "Adam", amsgrad = true }, { "AdamW", weight_decay = 0.1 }, { "LazyAdam" },
                       { "NAdam" }, { "Lion", weight_decay = 0.1 }, { "Adadelta", lr = 1 } } do
    local maker, lr = table.remove(o, 1), o.lr or 0.01
    o.lr = nil
    trains(maker .. tostring(o.momentum), function(loss)
      flow.optimizer[maker](lr, o):minimize(loss)
    end)
  end
  local names, core = {}, require "jfl.core"
  for name in pairs(flow.get_all_variables()) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    print(name, math.floor(core.variable_get(name):mean() * 1e4 + 0.5) + 0)
  end
]]

describe("optimizers on a GPU", function()
  it("step as they do on the CPU", function()
    local want, status = emulated.run({ JFL_DEVICE = "cpu", JFL_KERNELS = "reference" }, TRAINS)
    assert.equal(0, status, want)
    assert.equal(want, (emulated.run({ JFL_DEVICE = "gpu" }, TRAINS)))
  end)
end)
