-- Steps of optimizers: 161 parameters of the shapes of ResNet-50's, 25.6 million numbers in all,
-- with gradients that are given.
local flow = require "jfl"

local tp = flow.typing
local nd = flow.ndarray

-- Blocks in each stage.
local DEPTHS = { 3, 4, 6, 3 }

local function shapes_of()
  local shapes = {}
  local function conv(output, input, size)
    for _, shape in ipairs { { output, input, size, size }, { output }, { output } } do
      shapes[#shapes + 1] = shape
    end
  end
  conv(64, 3, 7)
  local input = 64
  for stage, depth in ipairs(DEPTHS) do
    local inner = 32 * 2 ^ stage
    for block = 1, depth do
      conv(inner, input, 1)
      conv(inner, inner, 3)
      conv(4 * inner, inner, 1)
      if block == 1 then conv(4 * inner, input, 1) end
      input = 4 * inner
    end
  end
  shapes[#shapes + 1], shapes[#shapes + 2] = { 1000, 2048 }, { 1000 }
  return shapes
end

--- A job that updates all parameters. Nothing asks for the loss, so that it computes nothing else;
--- it has a result because a call without one is asynchronous, for which gradients are copied.
local function stepper(make)
  return function()
    local inputs, gradients, shapes = {}, {}, shapes_of()
    for i, shape in ipairs(shapes) do
      inputs[i] = { "g" .. i, tp.Numpy.Placeholder(shape) }
      gradients[i] = nd.rand(shape)
    end
    local job = flow.global_function {
      name = "update", type = "train", inputs = inputs, returns = tp.Numpy,
      body = function(...)
        local loss
        for i, g in ipairs { ... } do
          local w = flow.get_variable("w" .. i, { shape = shapes[i],
            initializer = flow.random_uniform_initializer(-1, 1) })
          local part = flow.math.reduce_sum(w * g)
          loss = loss and loss + part or part
        end
        make():minimize(loss)
        return flow.zeros { 1 }
      end,
    }
    return function() job(unpack(gradients)) end
  end
end

return function(row)
  -- memory: how often a number of a parameter, its gradient or its state is read or written.
  local function step(name, memory, make)
    row(name, {}, nil, { step = stepper(make), bytes = memory * 4 * 25557032 })
  end
  step("SGD", 3, function() return flow.optimizer.SGD(1e-3, { momentum = 0 }) end)
  step("SGD with momentum", 5, function() return flow.optimizer.SGD(1e-3) end)
  step("Adam", 7, function() return flow.optimizer.Adam(1e-3) end)
  step("AdamW", 7, function() return flow.optimizer.AdamW(1e-3, { weight_decay = 0.01 }) end)
  step("RMSProp", 5, function() return flow.optimizer.RMSProp(1e-3) end)
  step("Adagrad", 5, function() return flow.optimizer.Adagrad(1e-3) end)
  step("Adadelta", 7, function() return flow.optimizer.Adadelta(1) end)
  step("NAdam", 7, function() return flow.optimizer.NAdam(1e-3) end)
  step("Lion", 5, function() return flow.optimizer.Lion(1e-4) end)
  step("LAMB", 10, function() return flow.optimizer.LAMB(1e-3) end)
  step("LARS", 7, function() return flow.optimizer.LARS(1e-3) end)
end
