-- examples/love-talk in a LÖVE that draws into memory, with a network that knows nothing.
local helper = require "spec.hosts.helper"
local shell = require "spec.cmd.helper"

describe("examples/love-talk #cpu", function()
  after_each(helper.clean)

  it("draws while it talks", function()
    local missing = helper.missing("love", "xvfb-run")
    if missing then return pending(missing) end
    local out, err, status = shell.shell("ALSOFT_DRIVERS=null LIBGL_ALWAYS_SOFTWARE=1 exec "
      .. "xvfb-run -a love examples/love-talk --model spec/lua/gguf/cases/llama.gguf --measure 2")
    assert.equal(0, status, out .. err)
    for _, name in ipairs { "talking", "silent" } do
      local frames = tonumber(out:match(name .. " +(%d+) "))
      assert.is_true(frames and frames > 1, out)
    end
  end)
end)
