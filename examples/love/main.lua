-- A game whose paddle learns, while it is played, where thrown balls will come down: a network is
-- trained on batches of 1024 throws between the frames, and the paddle goes where it says.
--   love examples/love [mode] [frames]
-- The mode is "background" (the default), "threads", which trains with all threads at their usual
-- priority, or "none", which does not train. After so many frames the times of frames are printed.
local root = love.filesystem.getSource() .. "/../../"
package.cpath = root .. "build/?.so;" .. package.cpath
local flow = require "jfl"
local tp = flow.typing

local BATCH, WIDTH, HEIGHT, GRAVITY = 1024, 640, 480, 400
local FRAME = 1 / 60

local mode, frames_left
local ball, paddle = {}, { x = WIDTH / 2 }
local caught, missed, steps, loss = 0, 0, 0, nil

-- ---- the network ----

local function network(throws)
  local x = throws
  for i = 1, 2 do
    x = flow.layers.dense(x, 512, { activation = flow.math.relu, name = "hidden" .. i })
  end
  return flow.layers.dense(x, 1, { name = "landing" })
end

local train, predict

local function define_jobs()
  local shape = { BATCH, 3 }
  train = flow.global_function {
    name = "train", type = "train", returns = tp.Callback(tp.Numpy),
    inputs = { { "throws", tp.Numpy.Placeholder(shape) },
      { "landings", tp.Numpy.Placeholder { BATCH, 1 } } },
    body = function(throws, landings)
      local miss = network(throws) - landings
      local mean = flow.math.reduce_mean(miss * miss)
      flow.optimizer.Adam(0.001):minimize(mean)
      return mean
    end,
  }
  predict = flow.global_function {
    name = "predict", returns = tp.Callback(tp.Numpy), body = network,
    inputs = { { "throws", tp.Numpy.Placeholder { 1, 3 } } },
  }
end

-- ---- throws ----

--- A throw from the left: height, speed to the right and speed upwards.
local function throw()
  return love.math.random() * 200 + 100, love.math.random() * 150 + 100,
    love.math.random() * 200
end

--- Where it comes down to the paddle's height, beyond walls that it bounces off.
local function landing(height, right, up)
  local fall = HEIGHT - 40 - height
  local x = right * (up + math.sqrt(up * up + 2 * GRAVITY * fall)) / GRAVITY
  x = x % (2 * WIDTH)
  return x > WIDTH and 2 * WIDTH - x or x
end

--- What the network is given: numbers of about 1.
local function describe(height, right, up) return height / 200, right / 200, up / 200 end

local throws = flow.ndarray.zeros { BATCH, 3 }
local landings = flow.ndarray.zeros { BATCH, 1 }
local given = throws:pointer()
local wanted = landings:pointer()
local known = 0

--- Makes some more throws for the next batch; true once it is complete.
local function practise(n)
  for i = known, math.min(known + n, BATCH) - 1 do
    local height, right, up = throw()
    given[3 * i], given[3 * i + 1], given[3 * i + 2] = describe(height, right, up)
    wanted[i] = landing(height, right, up) / WIDTH
  end
  known = math.min(known + n, BATCH)
  return known == BATCH
end

local in_flight = 0

local function trained(mean)
  in_flight, steps, loss = in_flight - 1, steps + 1, mean:item()
end

--- Runs callbacks that are due, for at most 2 ms, and gives the next batch to the trainer.
local function learn()
  flow.poll(0.002)
  if mode == "none" or in_flight == 2 or not practise(256) then return end
  train(throws, landings)(trained)         -- it has copied the arrays when it returns
  in_flight, known = in_flight + 1, 0
end

-- ---- the game ----

local function new_ball()
  ball.height, ball.right, ball.up = throw()
  ball.x, ball.y, ball.dx, ball.dy = 0, ball.height, ball.right, -ball.up
  if mode == "none" then return end
  -- The answer comes some frames later, behind the training steps that are out.
  predict(flow.ndarray.array { { describe(ball.height, ball.right, ball.up) } })(function(aim)
    paddle.aim = aim:item() * WIDTH
  end)
end

function love.load(args)
  mode, frames_left = args[1] or "background", tonumber(args[2])
  assert(mode == "none" or mode == "threads" or mode == "background",
    "the mode must be background, threads or none")
  flow.config.background(mode == "background")
  define_jobs()
  if mode ~= "none" then train:compile() end             -- not in the first frame that needs it
  new_ball()
end

function love.update(dt)
  learn()
  ball.dy = ball.dy + GRAVITY * dt
  ball.x, ball.y = ball.x + ball.dx * dt, ball.y + ball.dy * dt
  if ball.x > WIDTH or ball.x < 0 then ball.dx = -ball.dx end
  if paddle.aim then paddle.x = paddle.x + (paddle.aim - paddle.x) * math.min(1, 4 * dt) end
  if ball.y < HEIGHT - 40 then return end
  if math.abs(ball.x - paddle.x) < 40 then caught = caught + 1 else missed = missed + 1 end
  new_ball()
end

function love.draw()
  love.graphics.circle("fill", ball.x, ball.y, 8)
  love.graphics.rectangle("fill", paddle.x - 40, HEIGHT - 32, 80, 10)
  love.graphics.print(("caught %d, missed %d; %d training steps, loss %s"):format(caught, missed,
    steps, loss and ("%.4f"):format(loss) or "-"), 10, 10)
end

-- ---- frames ----

local times, work = {}, {}

local function percentile(list, part)
  table.sort(list)
  return list[math.max(1, math.ceil(#list * part))] * 1e3
end

local function report()
  print(("%s: %d frames, %d training steps; between frames %.2f ms (99 of 100: %.2f), "
    .. "their work %.2f ms (99 of 100: %.2f)"):format(mode, #times, steps,
    percentile(times, 0.5), percentile(times, 0.99), percentile(work, 0.5), percentile(work, 0.99)))
end

local function handle_events()
  love.event.pump()
  for name, a, b, c in love.event.poll() do
    if name == "quit" then return a or 0 end
    love.handlers[name](a, b, c)
  end
end

--- One frame: the work, and then the rest of a sixtieth of a second.
local function frame(start, dt)
  love.update(dt)
  love.graphics.origin()
  love.graphics.clear(0.1, 0.1, 0.15)
  love.draw()
  love.graphics.present()
  local now = love.timer.getTime()
  work[#work + 1] = now - start
  if now - start < FRAME then love.timer.sleep(FRAME - (now - start)) end
end

function love.run()
  love.load(love.arg.parseGameArguments(arg))
  local before = love.timer.getTime()
  return function()
    local quit = handle_events()
    if quit then return quit end
    local start = love.timer.getTime()
    times[#times + 1] = start - before
    before = start
    frame(start, math.min(times[#times], 0.05))
    if frames_left and #times >= frames_left then
      report()
      return 0
    end
  end
end
