-- An agent that learns in a game, by playing: a ball falls, and a paddle below must be there. It
-- draws its moves by chance, and what preceded a catch it will do more often, what preceded a miss
-- less (REINFORCE, Williams 1992). To the network the game is a picture of 8 by 8.
local flow = require "jfl"
local nd = flow.ndarray
local SIDE, GAMES, ROUNDS = 8, 64, 300             -- GAMES are played at a time

math.randomseed(6)
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

local function screens_of(games)
  local screens = nd.zeros { GAMES, SIDE * SIDE }
  local pixels = screens:pointer()
  for i, game in ipairs(games) do
    local first = (i - 1) * SIDE * SIDE
    pixels[first + game.y * SIDE + game.x], pixels[first + (SIDE - 1) * SIDE + game.paddle] = 1, 1
  end
  return screens
end

-- Plays GAMES games to their end; gives what was seen, done and gained, and the share of catches.
local function play(temperature)
  local games, seen, moves, caught = {}, {}, {}, nd.zeros { GAMES }
  for i = 1, GAMES do
    games[i] = { x = math.random(0, SIDE - 1), y = 0, paddle = math.random(0, SIDE - 1) }
  end
  for y = 1, SIDE - 1 do
    seen[y] = screens_of(games)
    moves[y] = flow.random.choice(see(seen[y]), { logits = true, temperature = temperature })
    for i, game in ipairs(games) do
      game.y, game.paddle = y, math.max(0, math.min(SIDE - 1, game.paddle + moves[y][i] - 1))
      caught[i] = game.x == game.paddle and 1 or 0
    end
  end
  local worth = {}                                 -- of each move: that of its game's end
  for y = 1, SIDE - 1 do worth[y] = caught - caught:mean() end
  return flow.concat(seen), flow.concat(moves), flow.concat(worth), caught:mean()
end

for round = 1, ROUNDS do
  local seen, moves, worth, caught = play(1)
  learn(seen, moves, worth)
  if round % 50 == 1 then print(("round %d: caught %.2f"):format(round, caught)) end
end
print(("in earnest: caught %.2f"):format(select(4, play(0))))
