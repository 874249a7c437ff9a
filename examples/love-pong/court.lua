-- The game itself: a court, a ball and two paddles. It draws nothing and learns nothing, so that
-- it runs in the game, in a test and at any pace. Lengths are pixels, times are seconds.
local court = {
  WIDTH = 800, HEIGHT = 600, RADIUS = 8,
  NOTES = 120,                   -- height of what stands below the court
  LINE = 40,                     -- from each side's edge to the front of its paddle
  REACH = 48,                    -- half of a paddle's length
  PACE = 380,                    -- of both paddles, whoever moves them
}

local SLOWEST, FASTEST, GAIN = 400, 1100, 1.06    -- of the ball, and what each hit multiplies it by
local STEEPEST = math.rad(55)                    -- the way of a ball that is hit by a paddle's tip
local PAUSE = 0.7                                -- before each serve

local function clamped(x, lo, hi) return math.max(lo, math.min(hi, x)) end

local function send(ball, speed, angle, direction)
  ball.speed = speed
  ball.dx, ball.dy = direction * speed * math.cos(angle), speed * math.sin(angle)
end

--- Puts the ball in the middle and, after a pause, throws it to `side`, "left" or "right".
function court.serve(game, side)
  game.ball = { x = court.WIDTH / 2, y = court.HEIGHT * (0.2 + 0.6 * game.random()) }
  send(game.ball, SLOWEST, (game.random() * 2 - 1) * math.rad(50), side == "left" and -1 or 1)
  game.wait, game.rally = PAUSE, 0
end

--- A new game. random gives numbers from 0 to 1, as math.random does.
function court.new(random)
  local game = { random = random, left = court.HEIGHT / 2, right = court.HEIGHT / 2,
    points = { left = 0, right = 0 }, rally = 0 }
  court.serve(game, "left")
  return game
end

local function move(from, to, dt)
  local most = court.PACE * dt
  return clamped(from + clamped((to or from) - from, -most, most), court.REACH,
    court.HEIGHT - court.REACH)
end

-- Bounces the ball off the upper and the lower wall; true if it did.
local function bounce(ball)
  local low, high = court.RADIUS, court.HEIGHT - court.RADIUS
  if ball.y >= low and ball.y <= high then return false end
  ball.y = ball.y < low and 2 * low - ball.y or 2 * high - ball.y
  ball.dy = -ball.dy
  return true
end

-- Where the ball came to the line of the side that it flies to, if it just did.
local function crossing(ball, x, y)
  local side = ball.dx < 0 and "left" or "right"
  local line = side == "left" and court.LINE or court.WIDTH - court.LINE
  if (x - line) * (ball.x - line) > 0 or x == line then return nil end
  local part = (line - x) / (ball.x - x)
  return side, line, clamped(y + part * (ball.y - y), court.RADIUS, court.HEIGHT - court.RADIUS)
end

-- The ball meets the paddle: its way back depends on which part of the paddle it met.
local function meet(game, side, line, at)
  local ball, off = game.ball, (at - game[side]) / (court.REACH + court.RADIUS)
  if math.abs(off) > 1 then return false end
  ball.x, ball.y = line, at
  send(ball, math.min(ball.speed * GAIN, FASTEST), off * STEEPEST, side == "left" and 1 or -1)
  game.rally = game.rally + 1
  return true
end

--- Goes on by dt. left and right: where the paddles want to be; nil: where they are. Gives what
-- happened: "bounce", "hit" or "miss", and for the latter two the side and the height at which the
-- ball came to its line; and "point" with the side that gets it, once the ball is out.
function court.step(game, dt, left, right)
  game.left, game.right = move(game.left, left, dt), move(game.right, right, dt)
  if game.wait > 0 then
    game.wait = game.wait - dt
    return nil
  end
  local ball = game.ball
  local x, y = ball.x, ball.y
  ball.x, ball.y = x + ball.dx * dt, y + ball.dy * dt
  local bounced = bounce(ball)
  local side, line, at = crossing(ball, x, y)
  if side then return meet(game, side, line, at) and "hit" or "miss", side, at end
  if ball.x > 0 and ball.x < court.WIDTH then return bounced and "bounce" or nil end
  local winner = ball.x <= 0 and "right" or "left"
  game.points[winner] = game.points[winner] + 1
  court.serve(game, winner == "left" and "right" or "left")
  return "point", winner
end

return court
