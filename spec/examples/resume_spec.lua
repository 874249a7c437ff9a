-- examples/resume.lua: killed and started again, it ends as if nothing had happened.
local helper = require "spec.cmd.helper"

describe("examples/resume.lua", function()
  after_each(helper.clean)

  -- Runs it with so many ranks, of which the last is killed right after these steps, in turn. Gives
  -- what the steps print, the last of each, and the standard error.
  local function losses(ranks, ...)
    local folder = os.tmpname()
    os.remove(folder)
    local script = helper.file([[
      local kills, real = { ]] .. table.concat({ ... }, ", ") .. [[ }, print
      io.stdout:setvbuf "line"           -- so that all is printed, however it ends
      local flow = require "jfl"
      function print(text)
        real(text)
        local step = tonumber(text:match "^step (%d+)")
        if step == kills[os.getenv "JFL_RESTARTS" + 1] and flow.env.rank() == flow.env.size() - 1
        then os.execute "kill -9 $PPID" end
      end
      dofile "examples/resume.lua"]])
    local out, err, status = helper.run("--ranks", tostring(ranks), "--restart", "2", script,
      folder, "60")
    os.execute("rm -r " .. folder)
    local seen = {}
    for step, loss in out:gmatch "step (%d+): loss (%S+)" do seen[tonumber(step)] = loss end
    assert.equal(0, status, out .. err)
    return seen, err
  end

  it("ends with the same losses where it was killed twice", function()
    local plain = losses(2)
    local killed, err = losses(2, 20, 40)
    assert.truthy(plain[10] and plain[60])
    assert.same(plain, killed)
    assert.equal(2, select(2, err:gsub("was ended by signal 9", "")))
  end)
end)
