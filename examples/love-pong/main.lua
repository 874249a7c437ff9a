-- Pong against an opponent that learns while one plays.
--   love examples/love-pong [options]
-- The mouse, the arrows or W and S move the left paddle. P pauses, F5 saves what the opponent
-- knows, T stops and starts its training, N gives a new one, H hides where it expects the ball, F
-- how long frames take (the median, what 99 of 100 keep to, the longest), M silences. It is also
-- saved at the end and from time to time, and goes on where it was.
--   --bot              a program plays the left side
--   --brain FOLDER     where the opponent is saved; by default in LÖVE's folder for the game
--   --seed N           the same serves and the same beginning each time
--   --picture FILE N   writes a picture after N seconds, when it expects the ball, and ends
--   --measure SECONDS  prints how long frames take with and without training, and ends
local root = love.filesystem.getSource() .. "/../../"
package.cpath = root .. "build/?.so;" .. package.cpath
local bot = require "bot"
local brain = require "brain"
local court = require "court"
local flow = require "jfl"
local frames = require "frames"
local sound = require "sound"
local view = require "view"

local SAVED_EACH = 20            -- seconds
local POLL = 0.002               -- seconds of a frame for what jfl has to say

local options = {}
local game, place, paused, training = nil, nil, false, true
local message, message_ends, saved_at, by_mouse = nil, 0, 0, true

local function say(text) message, message_ends = text, love.timer.getTime() + 4 end

-- ---- the opponent is kept ----

-- Saves at once; false, and it is told, where that fails.
local function save(path)
  local ok, wrong = pcall(function()
    flow.sync()
    brain.save(path)
  end)
  if not ok then print(wrong) end
  return ok
end

-- What cannot be read is kept beside, for whoever can.
local function restore()
  local ok, wrong = pcall(brain.restore, place)
  if ok then return say(("It has seen %d balls before"):format(brain.balls)) end
  if not os.rename(place, ("%s.unread-%d"):format(place, os.time())) then return end
  print(wrong)
  say "A new one: what was saved cannot be read, and is kept beside"
end

local function save_now_and_then()
  if love.timer.getTime() - saved_at < SAVED_EACH then return end
  saved_at = love.timer.getTime()
  brain.save_soon(place)
end

-- ---- LÖVE's calls ----

local function read_options(args)
  local count = { bot = 0, brain = 1, seed = 1, picture = 2, measure = 1 }
  local i = 1
  while args[i] do
    local name = args[i]:match("^%-%-(%l+)$")
    assert(count[name], ("there is no option '%s'; main.lua tells which there are"):format(args[i]))
    options[name] = count[name] == 0 or args[i + 1]
    if name == "picture" then options.after = tonumber(args[i + 2]) end
    i = i + 1 + count[name]
  end
end

function love.load(args)
  read_options(args)
  local seed = tonumber(options.seed)
  if seed then
    love.math.setRandomSeed(seed)
    flow.random.seed(seed)
  end
  brain.wake()
  love.filesystem.createDirectory("")
  place = options.brain or love.filesystem.getSaveDirectory() .. "/brain"
  say "The mouse or the arrows move your paddle, P pauses, H hides where it expects the ball"
  restore()
  view.load()
  sound.load()
  game = court.new(love.math.random)
  saved_at = love.timer.getTime()
  if options.measure then frames.plan(brain, tonumber(options.measure)) end
end

-- Where the player wants the paddle.
local function wish()
  if options.bot or options.measure then return bot(game) end
  local up = love.keyboard.isDown("up", "w")
  local down = love.keyboard.isDown("down", "s")
  if up or down then by_mouse = false end
  if up ~= down then return up and 0 or court.HEIGHT end
  return by_mouse and love.mouse.getY() or game.left
end

function love.update(dt)
  brain.poll(POLL)
  if paused then return end
  brain.look(game, dt)
  local what, side, at = court.step(game, dt, wish(), brain.wish())
  if what == "hit" or what == "miss" then brain.learn(side, at, what == "hit") end
  if what == "point" then save_now_and_then() end
  if what then sound.play(what) end
  if training and frames.training() then brain.train(love.math.random) end
end

function love.draw()
  if brain.trouble then
    print(brain.trouble)
    say(brain.trouble:match("[^\n]*"))
    brain.trouble = nil
  end
  local told = love.timer.getTime() < message_ends and message or nil
  view.draw(game, brain, paused and "Paused: P goes on" or told, frames.recent())
end

function love.mousemoved() by_mouse = true end

local keys = {
  p = function() paused = not paused end,
  f5 = function()
    brain.save_soon(place)
    say "Saved"
  end,
  t = function()
    training = not training
    say(training and "It trains" or "It does not train")
  end,
  n = function()
    if not save(place .. "-before") then return say "A new one would lose this one, unsaved" end
    brain.forget()
    say "A new one; the other one is kept beside it"
  end,
  f = function() view.times = not view.times end,
  h = function() view.thoughts = not view.thoughts end,
  m = function() sound.on = not sound.on end,
  escape = function() love.event.quit() end,
}

function love.keypressed(key)
  if keys[key] then keys[key]() end
end

function love.focus(focused)
  if not focused and not options.bot and not options.measure then paused = true end
end

function love.quit()
  if not options.measure then save(place) end
end

-- ---- the loop ----

local function handle_events()
  love.event.pump()
  for name, a, b, c, d, e, f in love.event.poll() do
    if name == "quit" and not love.quit() then return a or 0 end
    if name ~= "quit" then love.handlers[name](a, b, c, d, e, f) end
  end
end

local function draw()
  love.graphics.origin()
  love.draw()
  love.graphics.present()
end

local function picture_is_due(played)
  local expects = brain.aim and game.ball.x > court.WIDTH / 2
  if not options.after or played < options.after or not expects then return end
  love.graphics.captureScreenshot(function(image)
    local file = assert(io.open(options.picture, "wb"))
    file:write(image:encode("png"):getString())
    file:close()
    love.event.quit()
  end)
  options.after = nil
end

function love.run()
  love.load(love.arg.parseGameArguments(arg))
  local played = 0
  frames.begin()
  return function()
    local quit = handle_events()
    if quit then return quit end
    local dt = math.min(frames.next(), 0.05)
    love.update(dt)
    played = played + dt
    picture_is_due(played)
    draw()
    frames.done()
    if frames.over() then
      io.write(frames.table())
      return 0
    end
  end
end
