-- Plays examples/love-pong without drawing it, faster than it goes: the script of a process that
-- love_pong_spec.lua starts. Each argument is something to do, with its value after a "=".
package.path = arg[0]:match("^(.-)spec/") .. "examples/love-pong/?.lua;" .. package.path
local bot = require "bot"
local brain = require "brain"
local court = require "court"
local flow = require "jfl"

local DT = 1 / 60
local game, training

local function play(seconds)
  for _ = 1, seconds / DT do
    brain.look(game, DT)
    local what, side, at = court.step(game, DT, bot(game), brain.wish())
    if what == "hit" or what == "miss" then brain.learn(side, at, what == "hit") end
    if training then brain.train(math.random) end
    flow.sync()
    brain.poll()
  end
end

local function rate(last) return ("%.2f"):format(brain.rate(#brain.results - last + 1, 1e9)) end

local actions = {
  seed = function(n)
    math.randomseed(n)
    flow.random.seed(n)
    brain.wake()
    game, training = court.new(math.random), true
  end,
  training = function(n) training = n == 1 end,
  play = play,
  first = function(n) print("first", ("%.2f"):format(brain.rate(1, n))) end,
  last = function(n) print("last", rate(n)) end,
  state = function() print("state", brain.steps, brain.balls, #brain.results, brain.loss) end,
  save = function(path) brain.save(path) end,
  -- Until the process is killed.
  saves = function(path)
    while true do
      brain.steps = brain.steps + 1
      brain.save(path)
      print(brain.steps)
      io.stdout:flush()
    end
  end,
  restore = function(path) brain.restore(path) end,
  forget = function() brain.forget() end,
}

for _, each in ipairs(arg) do
  local name, value = each:match("^(%l+)=?(.*)$")
  actions[name](tonumber(value) or value)
end
