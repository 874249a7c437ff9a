-- The opponent. It watches the ball as a player does, remembers where each flight ended, and
-- learns from that, in the background, to tell where the next one will end. It starts knowing
-- nothing: neither that balls fly straight nor that walls throw them back.
local court = require "court"
local ffi = require "ffi"
local flow = require "jfl"
local tp = flow.typing

local BATCH, UNITS = 256, 128
local KEPT = 8192                -- sightings that are remembered
local ENOUGH = 64                -- sightings with which it begins to learn
local LOOK = 1 / 15              -- seconds between its looks at the ball
local STEP = 40                  -- pixels of a look's way that count as 1
local SEEN, COLUMNS = 4, 5       -- of a sighting: x, y, the way since the last look; and the end
local RESULTS = 600              -- balls of which it is remembered whether they were returned

local brain = {
  effort = 1,                    -- steps of training in a frame, at most
  steps = 0, loss = nil,         -- steps made, and the loss of the last one
  balls = 0, results = {},       -- balls that came, and of the last of them 1: returned, 0: missed
  aim = nil,                     -- the height at which it expects the ball
  trouble = nil,                 -- what went wrong last, as a message
}

-- ---- the jobs ----

local net = flow.model("net", function(seen)
  local x = seen
  for _ = 1, 2 do x = flow.layers.dense(x, UNITS, { activation = flow.math.relu }) end
  return flow.layers.dense(x, 1)
end)

-- What else is saved with the network: its memory, as variables that no step changes.
local function notes()
  for name, shape in pairs { sightings = { KEPT, COLUMNS }, results = { RESULTS }, counts = { 4 } }
  do
    flow.get_variable(name, { shape = shape, initializer = flow.zeros_initializer(),
      trainable = false })
  end
end

local train = net:train {
  inputs = { seen = flow.float32 { BATCH, SEEN }, ends = flow.float32 { BATCH, 1 } },
  loss = function(guess, ends)
    notes()
    return flow.nn.mse_loss(guess, ends)
  end,
  optimizer = flow.optimizer.Adam(0.001), returns = tp.Callback(tp.Numpy),
}

local predict = net:predict { inputs = { flow.float32 { 1, SEEN } },
  returns = tp.Callback(tp.Numpy) }

-- ---- what it sees and remembers ----

local memory = flow.ndarray.zeros { KEPT, COLUMNS }
local sightings = memory:pointer()
local known, place = 0, 0        -- sightings in memory, and where the next one goes
local flight = {}                -- those of the ball that flies
local before, since = nil, 0     -- the ball at the last look, and the time since

-- A sighting as if the ball flew to the right: what is learnt on one side holds on the other.
local function sighting(ball)
  local x = ball.x < before.x and court.WIDTH - ball.x or ball.x
  return { x / court.WIDTH, ball.y / court.HEIGHT, math.abs(ball.x - before.x) / STEP,
    (ball.y - before.y) / STEP }
end

local function forget_flight() flight, before, since, brain.aim = {}, nil, 0, nil end

--- Tells the brain that the ball came to a side's line at a height, and whether it was returned.
function brain.learn(side, height, returned)
  for _, s in ipairs(flight) do
    for i = 1, SEEN do sightings[COLUMNS * place + i - 1] = s[i] end
    sightings[COLUMNS * place + SEEN] = height / court.HEIGHT
    place, known = (place + 1) % KEPT, math.min(known + 1, KEPT)
  end
  forget_flight()
  if side == "left" then return end
  brain.balls = brain.balls + 1
  brain.results[#brain.results + 1] = returned and 1 or 0
  if #brain.results > RESULTS then table.remove(brain.results, 1) end
end

--- The part of balls number `first` to `last` of the results that it returned; nil without any.
function brain.rate(first, last)
  local n, returned = 0, 0
  for i = math.max(1, first), math.min(last, #brain.results) do
    n, returned = n + 1, returned + brain.results[i]
  end
  return n > 0 and returned / n or nil
end

-- The answer comes in one of the next frames. By then the ball may have been hit.
local function expect(s)
  local of = flight
  predict(flow.ndarray.array { s })(function(height)
    if flight == of then brain.aim = height:item() * court.HEIGHT end
  end)
end

--- Looks at the ball, and if it flies to the right thinks about where. To be called in each frame.
function brain.look(game, dt)
  if game.wait > 0 then return forget_flight() end
  since = since + dt
  if before and since < LOOK then return end
  local ball, was = game.ball, before
  if was then
    local s = sighting(ball)
    flight[#flight + 1] = s
    if ball.x > was.x then expect(s) end
  end
  before, since = { x = ball.x, y = ball.y }, since % LOOK
end

--- Where its paddle wants to be: in the middle while there is nothing to expect.
function brain.wish() return brain.aim or court.HEIGHT / 2 end

-- ---- training ----

local seen, ends = flow.ndarray.zeros { BATCH, SEEN }, flow.ndarray.zeros { BATCH, 1 }
local given, wanted = seen:pointer(), ends:pointer()
local out = 0                            -- steps that are queued

-- Sightings at random, half of them upside down: the walls are alike.
local function fill(random)
  for i = 0, BATCH - 1 do
    local at = COLUMNS * random(0, known - 1)
    local turned = random(2) == 1
    local y, dy, goal = sightings[at + 1], sightings[at + 3], sightings[at + 4]
    given[SEEN * i], given[SEEN * i + 2] = sightings[at], sightings[at + 2]
    given[SEEN * i + 1], given[SEEN * i + 3] = turned and 1 - y or y, turned and -dy or dy
    wanted[i] = turned and 1 - goal or goal
  end
end

local function stepped(loss)
  out, brain.steps, brain.loss = out - 1, brain.steps + 1, loss:item()
end

local function failed(message) out, brain.trouble = out - 1, message end

--- Queues steps of training, which run beside the game. random: as math.random. To be called in
-- each frame.
function brain.train(random)
  if known < ENOUGH then return end
  while out < brain.effort do
    fill(random)
    train(seen, ends)(stepped, failed)   -- it has copied the arrays when it returns
    out = out + 1
  end
end

-- ---- saving ----

--- Saves all that the brain knows in the directory `path`, behind the steps that are queued. What
-- was saved there before is replaced once the new files are whole, so that whoever is killed
-- meanwhile loses nothing. async: returns at once what gets a function to be called when the files
-- are there.
function brain.save(path, async)
  local results = flow.ndarray.zeros { RESULTS }
  for i, each in ipairs(brain.results) do results[i] = each end
  flow.load_variables({ sightings = memory, results = results,
    counts = { known, place, brain.steps + out, brain.balls } }, { async = async })
  return flow.train.CheckPoint():save(path, { overwrite = true, async = async })
end

local function saved() end

local function not_saved(message) brain.trouble = message end

--- Saves beside the game: no frame waits for steps or files.
function brain.save_soon(path)
  local ok, wrong = pcall(brain.save, path, true)
  if ok then wrong(saved, not_saved) else brain.trouble = wrong end
end

--- Runs what is due, for `seconds` at most. To be called in each frame. What goes wrong ends no
-- game: it is told in brain.trouble.
function brain.poll(seconds)
  local ok, wrong = pcall(flow.poll, seconds)
  if not ok then brain.trouble = wrong end
end

--- Goes on with what was saved in `path`. An error where that cannot be read changes nothing.
function brain.restore(path)
  flow.train.CheckPoint():load(path, { strict = true })
  local all = flow.get_all_variables()
  known, place, brain.steps, brain.balls = unpack(all.counts:totable())
  ffi.copy(sightings, all.sightings:pointer(), 4 * KEPT * COLUMNS)
  brain.results = {}
  for i = 1, math.min(brain.balls, RESULTS) do brain.results[i] = all.results[i] end
  forget_flight()
end

-- Compiling takes milliseconds, which the frame that first needs a job should not take.
local function compile()
  train:compile()
  predict:compile()
end

--- Makes the brain ready, before the first frame.
function brain.wake()
  flow.config.background(true)           -- the game comes first
  flow.config.max_inflight(64)
  compile()
end

--- Begins anew, knowing nothing.
function brain.forget()
  flow.drop_variables(net)
  compile()
  known, place, brain.steps, brain.balls, brain.loss, brain.results = 0, 0, 0, 0, nil, {}
  forget_flight()
end

return brain
