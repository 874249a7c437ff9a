-- jfl inside sysbench, which runs one script in several threads, each with a Lua state of its own.
local helper = require "spec.hosts.helper"

-- An event is a step of training that is waited for, and one that is not.
local script = [[
  local guest
  function thread_init()
    guest = require("spec.hosts.guest").define()
  end
  function event()
    guest.train(1)
    guest.submit(1)
    guest.poll()
  end
  function thread_done()
    require("jfl").sync()
    guest.keep("saved" .. sysbench.tid)
    assert(math.abs(guest.predict(1.2) - math.sin(1.2)) < 0.3)
    print(("thread %d: %d callbacks"):format(sysbench.tid, guest.delivered))
  end
]]

describe("sysbench #cpu #hosts", function()
  after_each(helper.clean)

  it("trains in 4 threads, each with a state of its own", function()
    local missing = helper.missing "sysbench"
    if missing then return pending(missing) end
    local out, err, status = helper.run { "sysbench", helper.write("train.lua", script),
      "--threads=4", "--events=1200", "--time=0", "run" }
    assert.equal("", err)
    assert.equal(0, status, out)
    local threads, steps = 0, 0
    for n in out:gmatch "thread %d: (%d+) callbacks" do threads, steps = threads + 1, steps + n end
    assert.equal(4, threads, out)
    assert.equal(1200, steps, out)
    helper.row("sysbench", helper.version "sysbench", "4 threads with a state and a session each:"
      .. " 2,400 steps, half of them asynchronous, each saved and loaded")
  end)
end)
