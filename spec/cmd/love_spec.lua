-- examples/love, a game that trains while it draws, in a LÖVE that draws into memory.
local function installed(command)
  return os.execute("command -v " .. command .. " >/dev/null 2>&1") == 0
end

describe("the game for LÖVE", function()
  for _, mode in ipairs { "none", "background" } do
    it("draws frames, training: " .. mode .. " #cpu", function()
      if not (installed "love" and installed "xvfb-run") then
        return pending "love or xvfb-run is not installed"
      end
      local pipe = io.popen("LIBGL_ALWAYS_SOFTWARE=1 timeout 60 xvfb-run -a love examples/love "
        .. mode .. " 120 2>&1")
      local text = pipe:read "*a"
      pipe:close()
      local frames, steps = text:match(mode .. ": (%d+) frames, (%d+) training steps")
      assert.equal("120", frames, text)
      assert.equal(mode ~= "none", tonumber(steps) > 0, text)
    end)
  end
end)
