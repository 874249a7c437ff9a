-- jfl inside LÖVE, in a window that is memory, frame by frame, and quit.
local helper = require "spec.hosts.helper"

-- The game draws, and polls once in each frame.
local main = [[
  package.path = "@ROOT@/?.lua;" .. package.path
  package.cpath = "@ROOT@/build/?.so;" .. package.cpath
  local guest, frames = nil, 0
  function love.load()
    guest = require("spec.hosts.guest").define()
    local first, last = guest.train(150)
    assert(last < first / 4)
    guest.submit(150)
  end
  function love.update()
    guest.poll(0.002)
    frames = frames + 1
    if guest.delivered < 150 or frames < 10 then return end
    guest.keep("@PLACE@/saved")
    assert(math.abs(guest.predict(1.2) - math.sin(1.2)) < 0.3)
    guest.submit(100)
    assert(guest.changed() == "", guest.changed())
    print(love.graphics.getWidth() .. " wide, 150 callbacks")
    love.event.quit(0)
  end
  function love.draw()
    love.graphics.print(("%d steps"):format(guest.delivered), 10, 10)
  end
]]

local conf = [[
  function love.conf(t)
    t.window.width, t.window.height, t.window.vsync = 320, 200, 0
    t.modules.audio, t.modules.sound, t.modules.joystick = false, false, false
  end
]]

describe("LÖVE #cpu #hosts", function()
  after_each(helper.clean)

  it("trains between frames, and quits with calls in flight", function()
    local missing = helper.missing("love", "xvfb-run")
    if missing then return pending(missing) end
    helper.write("game/main.lua", main)
    helper.write("game/conf.lua", conf)
    local out, err, status = helper.run { "love", helper.place() .. "/game",
      under = "xvfb-run -a", env = { LIBGL_ALWAYS_SOFTWARE = "1" } }
    assert.same({ "320 wide, 150 callbacks\n", "", 0 }, { out, err, status })
    helper.row("LÖVE", helper.version "love", "150 steps, then 150 between frames by flow.poll,"
      .. " saved and loaded, quit with calls in flight")
  end)
end)
