-- What is drawn: the court, what the opponent expects, and how well it does by now.
local court = require "court"

local view = { thoughts = true, times = true }

local INK, DIM, OWN = { 0.93, 0.94, 0.95 }, { 0.45, 0.5, 0.58 }, { 0.98, 0.73, 0.25 }
local CURVE = { x = 250, y = court.HEIGHT + 18, width = 530, height = 74 }
local WINDOW = 15                -- balls to both sides of a point of the curve, at most

local large, small

function view.load()
  large, small = love.graphics.newFont(56), love.graphics.newFont(14)
  love.graphics.setBackgroundColor(0.07, 0.09, 0.12)
end

local function paddle(x, y)
  love.graphics.rectangle("fill", x, y - court.REACH, 10, 2 * court.REACH, 3)
end

local function points(game)
  love.graphics.setFont(large)
  love.graphics.setColor(DIM)
  love.graphics.printf(game.points.left, 0, 24, court.WIDTH / 2 - 40, "right")
  love.graphics.printf(game.points.right, court.WIDTH / 2 + 40, 24, 200, "left")
  for y = 0, court.HEIGHT - 12, 24 do
    love.graphics.rectangle("fill", court.WIDTH / 2 - 1, y + 6, 2, 12)
  end
end

-- A ring where the opponent expects the ball.
local function thought(brain)
  if not view.thoughts or not brain.aim then return end
  love.graphics.setColor(OWN[1], OWN[2], OWN[3], 0.8)
  love.graphics.circle("line", court.WIDTH - court.LINE, brain.aim, 14)
  love.graphics.circle("fill", court.WIDTH - court.LINE, brain.aim, 3)
end

-- The part of balls that it returned, over all balls that are remembered.
local function curve(brain)
  local n, line = #brain.results, {}
  love.graphics.setColor(DIM)
  love.graphics.line(CURVE.x, CURVE.y, CURVE.x, CURVE.y + CURVE.height, CURVE.x + CURVE.width,
    CURVE.y + CURVE.height)
  love.graphics.print("100 %", CURVE.x - 46, CURVE.y - 8)
  love.graphics.print("0 %", CURVE.x - 32, CURVE.y + CURVE.height - 8)
  love.graphics.print("balls returned, in the order of balls", CURVE.x + 8,
    CURVE.y + CURVE.height + 4)
  for i = 1, n do
    local near = math.min(WINDOW, math.max(2, i - 1))
    line[2 * i - 1] = CURVE.x + CURVE.width * (i - 1) / math.max(n - 1, 1)
    line[2 * i] = CURVE.y + CURVE.height * (1 - brain.rate(i - near, i))
  end
  love.graphics.setColor(OWN)
  if n > 1 then love.graphics.line(line) end
end

local function notes(brain, message)
  local rate = brain.rate(#brain.results - 29, #brain.results)
  love.graphics.setFont(small)
  love.graphics.setColor(INK)
  love.graphics.print(("The opponent\n%s\nballs seen: %d\nsteps of training: %d%s"):format(
    rate and ("returned of the last %d: %.0f %%"):format(math.min(30, #brain.results), 100 * rate)
    or "has not seen a ball yet", brain.balls, brain.steps,
    brain.loss and ("\nloss: %.5f"):format(brain.loss) or ""), 16, court.HEIGHT + 12)
  love.graphics.setColor(OWN)
  if message then love.graphics.printf(message, 0, court.HEIGHT - 40, court.WIDTH, "center") end
end

--- Draws a frame. message: a line for the player, or nil; times: a line about frames.
function view.draw(game, brain, message, times)
  love.graphics.clear(love.graphics.getBackgroundColor())
  points(game)
  love.graphics.setColor(INK)
  paddle(court.LINE - 10, game.left)
  love.graphics.circle("fill", game.ball.x, game.ball.y, court.RADIUS)
  love.graphics.setColor(OWN)
  paddle(court.WIDTH - court.LINE, game.right)
  thought(brain)
  love.graphics.setColor(0.1, 0.12, 0.16)
  love.graphics.rectangle("fill", 0, court.HEIGHT, court.WIDTH, court.NOTES)
  notes(brain, message)
  curve(brain)
  love.graphics.setColor(DIM)
  if view.times then love.graphics.print(times, 16, 8) end
end

return view
