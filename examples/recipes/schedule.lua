-- A schedule of your own is a function from the number of the step, from 0, to the rate. This one
-- falls along a cosine and begins anew, each time for twice as long (Loshchilov, Hutter 2017),
-- behind a few steps that warm up. Nothing is compiled again: the rate is an input of the step.
local flow = require "jfl"
local nd = flow.ndarray

local HIGH, LOW, WARM, FIRST = 0.05, 0.0005, 20, 180

local function restarts(step)
  if step < WARM then return HIGH * (step + 1) / WARM end
  local at, length = step - WARM, FIRST
  while at >= length do at, length = at - length, length * 2 end
  return LOW + (HIGH - LOW) * (1 + math.cos(math.pi * at / length)) / 2
end

math.randomseed(8)
flow.random.seed(8)
local x = nd.rand { 512, 1 } * 6 - 3
local y = flow.math.sin(x * 2) + nd.randn { 512, 1 } * 0.1
local rates = {}

local function learn(name, rate)
  local net = flow.model(name, function(blob)
    for _ = 1, 2 do blob = flow.layers.dense(blob, 32, { activation = flow.nn.tanh }) end
    return flow.layers.dense(blob, 1)
  end)
  local adam = flow.optimizer.Adam(rate)
  local run = flow.fit(net, { x, y }, { loss = flow.nn.MSELoss, optimizer = adam, epochs = 20,
    batch_size = 8, show = false, callbacks = { step = function(now)
      if name == "restarts" then rates[now.step] = adam.lr end
    end } })
  return run.history.loss[20]
end

local with = learn("restarts", restarts)
local without = learn("constant", HIGH)
flow.plot({ rate = rates }, { xlabel = "step" })
print(("loss %.4f; with a constant rate %.4f"):format(with, without))

-- jfl has the usual ones: one that falls along a cosine once, behind a warm-up, is
local usual = flow.optimizer.CosineScheduler(HIGH, 400,
  { warmup = flow.optimizer.warmup.linear(WARM, 0.1) })
print("a ready one: " .. tostring(flow.optimizer.Adam(usual).lr))
