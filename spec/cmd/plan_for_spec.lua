-- jfl --plan-for, the command's option; what it reckons is in spec/lua/tools/forecast_spec.lua.
local helper = require "spec.lua.helper"

describe("jfl --plan-for", function()
  local SCRIPT = [[
    local flow = require "jfl"
    local tp = flow.typing
    local train = flow.global_function { name = "train", type = "train", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder({ 32, 64 }) } },
      body = function(x)
        local loss = flow.math.reduce_mean(flow.math.square(flow.layers.dense(x, 50)))
        flow.optimizer.Adam(0.1):minimize(loss)
        return loss
      end }
    print(train(flow.ndarray.ones({ 32, 64 })))
    print("trained")
  ]]

  it("prints a row for each size and ends the program before it trains", function()
    for _, device in ipairs { "here", "h200" } do
      local out, status = helper.script(SCRIPT, "", "--plan-for 2x4,device=" .. device)
      assert.equal(0, status, out)
      assert.truthy(out:find("gradients of 0.0 MB", 1, true), out)
      for _, size in ipairs { "1x1", "1x2", "1x4", "2x4" } do
        assert.truthy(out:find("\n +" .. size .. " +[%d.]+"), out)
      end
      local megabytes = out:match("2x4 [^\n]* ([%d.]+)\n")
      assert.is_true(tonumber(megabytes) < 1, out)
      assert.falsy(out:find("trained", 1, true))
    end
  end)

  it("does not depend on the devices and machines that the script asks for", function()
    local asks = [[
      local config = require("jfl").config
      config.cpu_device_num(2)
      config.gpu_device_num(4)
      require("jfl").env.machine("192.0.2.1", "192.0.2.2")]]
    local alone = helper.script(SCRIPT, "", "--plan-for 2x4,device=h200")
    assert.truthy(alone:find("2x4", 1, true), alone)
    assert.equal(alone, (helper.script(asks .. SCRIPT, "", "--plan-for 2x4,device=h200")))
  end)

  -- #cpu: JFL_DEVICE would count more than JFL_CPU_DEVICES.
  it("fails where the job is on several devices all the same #cpu", function()
    local out, status = helper.script(SCRIPT, "JFL_CPU_DEVICES=2", "--plan-for 2x4,device=h200")
    assert.equal(1, status)
    assert.truthy(out:find("job 'train' must run on one device, got steps on core:0 and core:1", 1,
      true), out)
    out = helper.script(SCRIPT, "", "--ranks 2 --plan-for 2x4,device=h200")
    assert.truthy(out:find("got steps on several ranks", 1, true), out)
  end)

  it("fails where the program trains nothing", function()
    local out, status = helper.script("print(1)", "", "--plan-for=2x2")
    assert.equal(1, status)
    assert.equal("1\njfl: plan-for: the program called no train job\n", out)
    out, status = helper.script("error('wrong', 0)", "", "--plan-for=2x2")
    assert.equal(1, status)
    assert.truthy(out:find("jfl: wrong", 1, true), out)
    assert.falsy(out:find("no train job", 1, true), out)
  end)
end)
