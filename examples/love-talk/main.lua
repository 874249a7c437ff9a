-- An owl that talks while the game goes on: type the beginning of a sentence, and press Enter. Its
-- words are found in the background, and frames do not wait for them.
--   jfl examples/chat.lua                     teaches it, and writes chat.gguf
--   love examples/love-talk [options]
--   --model FILE           the file; chat.gguf by itself
--   --measure SECONDS      lets it talk for so long, then be silent, prints how long the work in
--                          frames took, and ends
-- Escape ends what it says.
local root = love.filesystem.getSource() .. "/../../"
package.cpath = root .. "build/?.so;" .. package.cpath
local flow = require "jfl"

local POLL = 0.002               -- seconds of a frame for what jfl has to say
local MOST = 40                  -- words that it says at most
local FRAME = 1 / 60

local net, tokenizer, cache, talk
local typed, said, phase = "", "Say something!", 0
local modes, mode = { "talking", "silent" }, nil     -- what is measured
local work, turn_ends, start = { talking = {}, silent = {} }, nil, nil

-- ---- what it says ----

local function listen(text)
  if talk then talk:cancel() end
  local ids, words = tokenizer:encode(text), {}
  local own                      -- a talk that was cancelled says nothing more
  said = text
  own = flow.generate(net, ids, { cache = cache, max = MOST, temperature = 0.7, top_p = 0.9,
    on_token = function(id)
      if talk ~= own then return end
      words[#words + 1] = id
      said = text .. tokenizer:decode(words)
    end,
    on_end = function(_, wrong)
      if wrong then said = wrong end
      if talk == own then talk = nil end
    end })
  talk = own
end

-- Plans for the lengths that prompts are read in are made now, not in a frame.
local function warm_up()
  local ids = {}
  for i = 1, 16 + 4 + 1 do ids[i] = 0 end
  flow.generate(net, ids, { cache = cache, max = 2 })
end

-- ---- LÖVE's calls ----

function love.load(args)
  local options = {}
  for i = 1, #args, 2 do options[args[i]:match "^%-%-(%l+)$" or args[i]] = args[i + 1] end
  local path = options.model or root .. "chat.gguf"
  net, tokenizer = flow.models.load(path), flow.text.tokenizer(path)
  local facts = flow.gguf.read(path).metadata
  local longest = facts[facts["general.architecture"] .. ".context_length"]
  cache = flow.layers.attention_cache(math.min(256, longest))
  warm_up()
  love.graphics.setFont(love.graphics.newFont(16))
  if options.measure then
    mode, turn_ends = 0, love.timer.getTime()
    modes.seconds = tonumber(options.measure)
  end
end

function love.quit()
  if talk then talk:cancel() end
  flow.sync()
end

function love.textinput(text) typed = typed .. text end

function love.keypressed(key)
  if key == "backspace" then typed = typed:gsub("[%z\1-\127\194-\244][\128-\191]*$", "")
  elseif key == "escape" and talk then talk:cancel()
  elseif key == "return" and typed ~= "" then
    listen(typed)
    typed = ""
  end
end

local function summary(list)
  table.sort(list)
  local function part(share) return list[math.max(1, math.ceil(#list * share))] * 1e3 end
  return ("%7d %8.2f %8.2f %8.2f"):format(#list, part(0.5), part(0.99), part(1))
end

-- Goes to the next mode when its time has come, and ends after the last.
local function measure(now)
  if now >= turn_ends then
    mode, turn_ends = mode + 1, now + modes.seconds
    if not modes[mode] then
      print(("%-8s %7s %8s %8s %8s"):format("", "frames", "p50, ms", "p99", "longest"))
      for _, name in ipairs(modes) do print(("%-8s %s"):format(name, summary(work[name]))) end
      return love.event.quit()
    end
  end
  if modes[mode] == "talking" and not talk then listen "You may convey" end
  if modes[mode] == "silent" and talk then talk:cancel() end
end

function love.update(dt)
  start = love.timer.getTime()
  phase = phase + dt
  flow.poll(POLL)
  if mode then measure(start) end
end

local function draw_owl()
  local g, beak = love.graphics, talk and 4 * math.abs(math.sin(phase * 12)) or 0
  g.setColor(0.45, 0.32, 0.2)
  g.ellipse("fill", 110, 290, 60, 80)
  g.setColor(1, 1, 1)
  g.circle("fill", 85, 250, 24)
  g.circle("fill", 135, 250, 24)
  g.setColor(0, 0, 0)
  local look = 6 * math.sin(phase)
  g.circle("fill", 85 + look, 250, 9)
  g.circle("fill", 135 + look, 250, 9)
  g.setColor(0.95, 0.7, 0.1)
  g.polygon("fill", 100, 268, 120, 268, 110, 284)
  g.polygon("fill", 102, 286 + beak, 118, 286 + beak, 110, 280 + beak)
end

function love.draw()
  draw_owl()
  love.graphics.setColor(1, 1, 1)
  love.graphics.rectangle("fill", 200, 40, 410, 260, 12)
  love.graphics.setColor(0, 0, 0)
  love.graphics.printf(said, 216, 56, 380)
  love.graphics.setColor(0.7, 0.9, 1)
  love.graphics.print("> " .. typed, 200, 330)
  if mode and modes[mode] then
    table.insert(work[modes[mode]], love.timer.getTime() - start)
    love.timer.sleep(math.max(0, FRAME - (love.timer.getTime() - start)))
  end
end
