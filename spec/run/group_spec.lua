--- Texts that name devices: the places of sessions, and groups of several.
local core = require "jfl.core"
local helper = require "spec.bind.helper"

local message = helper.message

--- What the setting "device" becomes when it is given that text.
local function set(text)
  core.set("device", text)
  return core.device()
end

local function fails(text, expected)
  assert.equal("user.lua:1: " .. expected, message("c.set('device', ...)", text))
end

describe("a session's device", function()
  before_each(core.reset)
  after_each(core.reset)

  it("is one where one is named", function()
    assert.equal("sim:1", set "sim:1")
    assert.equal("sim:0", set "sim")
    assert.equal("sim:2", set "sim 0:2")
    assert.equal("sim:2", set "sim:2-2")
    assert.equal("sim:3", set "sim 0:3,0:3")
  end)

  it("may be several, which have one name", function()
    assert.equal("sim 0:0-1", set "sim 0:0-1")
    assert.equal("sim 0:0-1", set "sim 0:1,0:0,0:1")
    assert.equal("sim 0:0-1", set "sim:0-1")
    assert.equal("sim 0:0,0:2-3", set "sim 0:2-3, 0:0")
    local number = core.get "device"
    assert.equal("sim 0:0-3", set "sim 0:0,0:1-3")
    assert.not_equal(number, core.get "device")
    set "sim 0:3,0:2,0:0"
    assert.equal(number, core.get "device")
  end)

  it("must be text that names devices", function()
    for _, text in ipairs { "", "tpu:0", "sim:", "sim ", "sim 0", "sim 0:", "sim 0:1-", "sim 0:2-1",
      "sim 0:0;0:1", "sim 0:0,", "sim -1:0", "sim 0:9999999999", "sim  0:0", ":0", "sim:0x1",
      ("s"):rep(100) } do
      fails(text, ("device must be a kind and numbers, as in cpu:0, gpu:0-3 or "
        .. "gpu 0:0-3,1:0-3, got '%s'"):format(text:sub(1, 60)))
    end
  end)

  it("must be there", function()
    fails("sim 0:2-4", "device must be one of the 4 that sim has, got 'sim 0:2-4'")
    fails("cpu:1",
      "device must be one of the 1 that the setting cpu_devices asks for, got 'cpu:1'")
    fails("sim 0:0,1:0", "device 'sim 0:0,1:0' is of machine 1, but this process, machine 0, is "
      .. "the only one; jfl --ranks or mpirun starts several")
  end)

  it("may be a share of the processor's cores, where it is divided #cpu", function()
    assert.equal("cpu:0", core.device())
    core.set("cpu_devices", 4)
    assert.equal("cpu 0:0-3", core.device())
    assert.equal("core:2", set "cpu:2")
    core.set("cpu_devices", 2)
    assert.equal("core:2", core.device())
    fails("cpu:2", "device must be one of the 2 that the setting cpu_devices asks for, got 'cpu:2'")
    fails("core:2",
      "device must be one of the 2 that the setting cpu_devices asks for, got 'core:2'")
    assert.equal("user.lua:1: cpu_devices must be from 1 to 64, got 65",
      message("c.set('cpu_devices', ...)", 65))
    core.reset()
    core.set("cpu_devices", 2)
    core.set("cpu_devices", 1)
    assert.equal("cpu:0", core.device())
  end)

  it("stays what it was after an error", function()
    set "sim 0:0-1"
    fails("sim 0:0-4", "device must be one of the 4 that sim has, got 'sim 0:0-4'")
    assert.equal("sim 0:0-1", core.device())
  end)
end)
