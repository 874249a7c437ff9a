-- The example resnet50.lua in a small form: on Fashion-MNIST, and on a folder of pictures.
local cmd = require "spec.cmd.helper"
local flow = require "jfl"
local helper = require "spec.lua.helper"
local nd = flow.ndarray

-- Runs the example with these options; gives what it printed.
local function run(...)
  local out, err, status = cmd.shell(cmd.line("examples/resnet50.lua", ...))
  assert.equal(0, status, out .. err)
  return out
end

local function losses(out)
  local list = {}
  for loss in out:gmatch "loss ([%d.]+)" do list[#list + 1] = tonumber(loss) end
  return list
end

-- #cpu: it is about what is learned, not about devices.
describe("the example resnet50 #cpu", function()
  it("learns Fashion-MNIST in small", function()
    local out = run("size=28", "blocks=1,1", "width=8", "batch=50", "rate=1", "steps=60",
      "seed=1")
    local list = losses(out)
    assert.equal(3, #list)
    assert.is_true(list[3] < 0.8 * list[1], out)
    assert.is_true(tonumber(out:match "accuracy ([%d.]+)") > 0.35, out)
  end)

  it("learns which pictures of a folder are bright", function()
    local folder = helper.directory()
    finally(function() helper.remove(folder) end)
    for _, part in ipairs { "train", "val" } do
      for class, brightness in pairs { dark = 0.2, light = 0.8 } do
        cmd.shell(("mkdir -p '%s/%s/%s'"):format(folder, part, class))
        for i = 1, 8 do
          flow.data.save_image(("%s/%s/%s/%d.png"):format(folder, part, class, i),
            nd.rand({ 3, 40, 48 }) * 0.2 + brightness - 0.1)
        end
      end
    end
    local out = run(folder, "size=32", "blocks=1", "width=4", "batch=8", "rate=3", "epochs=10")
    assert.truthy(out:find("epoch 10: accuracy 1.0000", 1, true), out)
  end)
end)
