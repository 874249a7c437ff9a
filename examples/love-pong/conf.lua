local court = require "court"

function love.conf(t)
  t.identity = "jfl-pong"                      -- of the folder that the brain is saved in
  t.window.title = "Pong against one who learns"
  t.window.width, t.window.height = court.WIDTH, court.HEIGHT + court.NOTES
  for _, name in ipairs { "physics", "joystick", "touch", "thread", "video" } do
    t.modules[name] = false
  end
end
