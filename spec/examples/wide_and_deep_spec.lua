--- The example of a wide & deep network.
local helper = require "spec.cmd.helper"

-- #cpu: it is about what is learned, not about devices.
it("wide_and_deep.lua comes near the best possible AUC #cpu", function()
  finally(helper.clean)
  local out, err, status = helper.shell(helper.command()
    .. " examples/wide_and_deep.lua 2")
  assert.equal(0, status, out .. err)
  local best = tonumber(out:match("the best possible AUC is ([%d.]+)"))
  local first = tonumber(out:match("epoch 1: loss [%d.]+, test AUC ([%d.]+)"))
  local second = tonumber(out:match("epoch 2: loss [%d.]+, test AUC ([%d.]+)"))
  assert.truthy(first > 0.65 and second > first + 0.02, out)
  assert.truthy(second > best - 0.04 and best < 0.85, out)
end)
