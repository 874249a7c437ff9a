function love.conf(t)
  t.identity = "jfl-catch"
  t.window.title = "A paddle that learns where balls land"
  t.window.width, t.window.height = 640, 480
  for _, name in ipairs { "audio", "sound", "physics", "joystick" } do t.modules[name] = false end
end
