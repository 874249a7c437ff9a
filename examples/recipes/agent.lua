-- An agent that learns in a game, by playing: a ball falls, and a paddle below must be there. It
-- draws its moves by chance, and what preceded a catch it will do more often, what preceded a miss
-- less (REINFORCE, Williams 1992). To the network the game is a picture of 8 by 8.
local flow = require "jfl"
local SIDE, GAMES, ROUNDS = 8, 64, 300             -- GAMES are played at a time

flow.random.seed(6)

local net = flow.model("player", function(screens)
  local x = flow.layers.dense(screens, 64, { activation = flow.nn.relu })
  return flow.layers.dense(x, 3)                   -- left, stay, right
end)
-- Moves are made more probable by as much as they were worth.
local function loss(logits, moves, worth)
  return flow.nn.cross_entropy(logits, moves, { reduction = "none" }) * worth
end
local learn = net:train { loss = loss, optimizer = flow.optimizer.Adam(0.005),
  inputs = { flow.float32 { -1, SIDE * SIDE }, flow.int32 { -1 }, flow.float32 { -1 } } }
local see = net:predict { inputs = { flow.float32 { GAMES, SIDE * SIDE } } }

-- What GAMES games look like: the ball is one pixel, the paddle another.
local function screens_of(x, y, paddle)
  return flow.one_hot(x + y * SIDE, SIDE * SIDE)
    + flow.one_hot(paddle + (SIDE - 1) * SIDE, SIDE * SIDE)
end

-- Plays GAMES games to their end; gives what was seen, done and gained, and the share of catches.
local function play(temperature)
  local x = flow.random.randint(0, SIDE, { GAMES })
  local paddle, seen, moves = flow.random.randint(0, SIDE, { GAMES }), {}, {}
  for y = 1, SIDE - 1 do
    seen[y] = screens_of(x, y - 1, paddle)
    moves[y] = flow.random.choice(see(seen[y]), { logits = true, temperature = temperature })
    paddle = (paddle + moves[y] - 1):clip(0, SIDE - 1)
  end
  local caught = x:eq(paddle):astype "float32"
  local worth = (caught - caught:mean()):tile(SIDE - 1)      -- of each move: that of its game's end
  return flow.concat(seen), flow.concat(moves), worth, caught:mean()
end

for round = 1, ROUNDS do
  local seen, moves, worth, caught = play(1)
  learn(seen, moves, worth)
  if round % 50 == 1 then print(("round %d: caught %.2f"):format(round, caught)) end
end
print(("in earnest: caught %.2f"):format(select(4, play(0))))
