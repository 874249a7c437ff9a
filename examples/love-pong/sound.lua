-- Short tones for what happens; silence where there is no device for them.
local sound = { on = true }

local RATE, LENGTH = 44100, 0.06
local PITCHES = { hit = 440, bounce = 220, miss = 110 }

local sources = {}

local function tone(pitch)
  local data = love.sound.newSoundData(math.floor(RATE * LENGTH), RATE, 16, 1)
  for i = 0, data:getSampleCount() - 1 do
    local fade = 1 - i / (RATE * LENGTH)
    data:setSample(i, 0.2 * fade * math.sin(2 * math.pi * pitch * i / RATE))
  end
  return love.audio.newSource(data)
end

function sound.load()
  if not (love.audio and love.sound) then return end
  for what, pitch in pairs(PITCHES) do
    local ok, source = pcall(tone, pitch)
    sources[what] = ok and source or nil
  end
end

function sound.play(what)
  if not sound.on or not sources[what] then return end
  sources[what]:stop()
  sources[what]:play()
end

return sound
