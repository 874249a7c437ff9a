function love.conf(t)
  t.identity = "jfl-talk"
  t.window.title = "An owl that goes on where you stop"
  t.window.width, t.window.height = 640, 400
  for _, name in ipairs { "physics", "joystick", "touch", "thread", "video", "audio", "sound" } do
    t.modules[name] = false
  end
end
