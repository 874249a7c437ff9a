-- Double DQN (van Hasselt, Guez, Silver 2015) learns to balance a pole on a cart by playing, by the
-- rules of Gym's CartPole-v0. It is solved when the last 100 episodes lasted 195 steps on average:
-- then, or after the most episodes, the variables are saved.
local flow = require "jfl"
local nd = flow.ndarray

local o = flow.arguments "[episodes=1000] [folder=dqn-checkpoint]"
local EPISODES, FOLDER = o.episodes, o.folder
local SOLVED, WINDOW = 195, 100
local BATCH, CAPACITY, WARMUP = 64, 50000, 500
local DISCOUNT, RATE, FOLLOW = 0.99, 5e-4, 0.005

-- ---- the game (Barto, Sutton, Anderson 1983) ----

local FORCE, TAU, GRAVITY = 10, 0.02, 9.8                        -- N, s, m/s^2
local CART, POLE, HALF_LENGTH = 1, 0.1, 0.5                      -- kg, kg, m
local FAR, TILTED, STEPS = 2.4, 12 * math.pi / 180, 200          -- m, rad

-- A state is the cart's place and speed, and the pole's angle and its speed.
local function start()
  local state = {}
  for i = 1, 4 do state[i] = math.random() * 0.1 - 0.05 end
  return state
end

-- The state that follows when the cart is pushed left (0) or right (1), and whether the pole or
-- the cart is lost in it.
local function push(state, action)
  local x, v, angle, spin = unpack(state)
  local sin, cos, mass = math.sin(angle), math.cos(angle), CART + POLE
  local f = ((action == 1 and FORCE or -FORCE) + POLE * HALF_LENGTH * spin * spin * sin) / mass
  local turn = (GRAVITY * sin - cos * f) / (HALF_LENGTH * (4 / 3 - POLE * cos * cos / mass))
  local speedup = f - POLE * HALF_LENGTH * turn * cos / mass
  x, v, angle, spin = x + TAU * v, v + TAU * speedup, angle + TAU * spin, spin + TAU * turn
  return { x, v, angle, spin }, math.abs(x) > FAR or math.abs(angle) > TILTED
end

-- ---- the replay memory: a ring of steps ----

local SIZES = { state = 4, next = 4, action = 1, alive = 1 }     -- numbers of each step
local TYPES = { action = flow.int32 }

-- Pointers to columns by name, and the columns themselves in `arrays`.
local function columns(n)
  local arrays = {}
  local data = { arrays = arrays }
  for name, size in pairs(SIZES) do
    arrays[name] = nd.zeros({ n, size }, TYPES[name] or flow.float32)
    data[name] = arrays[name]:pointer()
  end
  return data
end

local remembered, drawn = columns(CAPACITY), columns(BATCH)
local n_steps = 0

local function remember(state, action, next, lost)
  local row = n_steps % CAPACITY
  for i = 1, 4 do
    remembered.state[row * 4 + i - 1], remembered.next[row * 4 + i - 1] = state[i], next[i]
  end
  remembered.action[row], remembered.alive[row] = action, lost and 0 or 1
  n_steps = n_steps + 1
end

-- Fills the batch with steps drawn from the memory.
local function recall()
  for i = 0, BATCH - 1 do
    local row = math.random(math.min(n_steps, CAPACITY)) - 1
    for name, size in pairs(SIZES) do
      for k = 0, size - 1 do drawn[name][i * size + k] = remembered[name][row * size + k] end
    end
  end
  return drawn.arrays
end

-- ---- the networks ----

local LAYERS = { 128, 128, 2 }

-- States (N, 4) -> how many steps, discounted, are expected after each action (N, 2).
local function values(states)
  local x = states
  for i, units in ipairs(LAYERS) do
    x = flow.layers.dense(x, units, { activation = i < #LAYERS and flow.nn.relu or nil })
  end
  return x
end

-- One that learns, and one that follows it slowly.
local online, target = flow.model("online", values), flow.model("target", values)

local function follow()
  local ahead = online:variables()
  for name, variable in pairs(target:variables()) do
    flow.assign(variable, variable + (ahead[name] - variable) * FOLLOW)
  end
end

local states = flow.float32 { BATCH, 4 }

local train = flow.global_function {
  name = "train", type = "train",
  inputs = { state = states, action = flow.int32 { BATCH, 1 }, next = states,
    alive = flow.float32 { BATCH, 1 } },
  body = function(state, action, next, alive)
    local value = online(state):dim_gather(1, action)
    -- The online network chooses the next action, the target network judges it.
    local best = online(next):argmax(1):expand_dims(1)
    local after = target(next):dim_gather(1, best)
    local loss = flow.nn.huber_loss(value, (1 + alive * after * DISCOUNT):stop_gradient())
    flow.optimizer.Adam(RATE, { variables = online }):minimize(loss)
    follow()
    return loss
  end,
}

local judge = online:predict { inputs = { flow.float32 { 1, 4 } } }

-- ---- playing and learning ----

local seen = nd.zeros({ 1, 4 })
local eyes = seen:pointer()

local function choose(state, curiosity)
  if math.random() < curiosity then return math.random(0, 1) end
  for i = 1, 4 do eyes[i - 1] = state[i] end
  local value = judge(seen):pointer()
  return value[1] > value[0] and 1 or 0
end

-- Plays an episode, learning at each step; returns how many steps it lasted.
local function play(curiosity)
  local state = start()
  for step = 1, STEPS do
    local action = choose(state, curiosity)
    local next, lost = push(state, action)
    -- The end of time is not a loss: the pole would have stood on.
    remember(state, action, next, lost)
    if n_steps >= WARMUP then
      local b = recall()
      train(b.state, b.action, b.next, b.alive)
    end
    if lost then return step end
    state = next
  end
  return STEPS
end

math.randomseed(1)
flow.random.seed(1)
train:compile()
target:load(online:variables())  -- it begins as the online one
local returns, sum, began = {}, 0, os.clock()
for episode = 1, EPISODES do
  returns[episode] = play(math.max(0.01, 0.98 ^ episode))
  sum = sum + returns[episode] - (returns[episode - WINDOW] or 0)
  local average = sum / math.min(episode, WINDOW)
  local solved = episode >= WINDOW and average >= SOLVED
  if solved or episode % 20 == 0 then
    print(("episode %d: return %d, average %.1f"):format(episode, returns[episode], average))
  end
  if solved then
    print(("solved after %d episodes, %.0f s of processor time"):format(episode,
      os.clock() - began))
    break
  end
end
flow.train.CheckPoint():save(FOLDER, { overwrite = true })
