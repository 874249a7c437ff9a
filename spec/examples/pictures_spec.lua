-- The examples about pictures, in short forms.
local flow = require "jfl"
local helper = require "spec.cmd.helper"

-- #cpu: they are about what is learned, not about devices.
describe("examples about pictures #cpu", function()
  local root, place = os.getenv("PWD")

  before_each(function()
    place = os.tmpname()
    os.remove(place)
    assert(os.execute("mkdir " .. place) == 0)
  end)

  after_each(function() os.execute("rm -rf " .. place) end)

  -- Runs an example in the new folder and gives what it printed.
  local function run(name, ...)
    local command = helper.command():gsub("^build/", root .. "/build/")
    local out, err, status = helper.shell(("cd %s && %s %s/examples/%s.lua %s"):format(place,
      command, root, name, table.concat({ ... }, " ")))
    assert.equal(0, status, out .. err)
    return out
  end

  it("find shapes in noise", function()
    local out = run("unet", 150)
    assert.truthy(out:find("IoU of disc%s+0%.%d+\nIoU of square%s+0%.%d+\n"), out)
    assert.is_true(tonumber(out:match("mean IoU: (%S+)")) > 0.6, out)
  end)

  it("learn to tell drawings from pictures, and save drawings", function()
    local probe = io.open("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz")
    if not probe then return pending "needs the package dataset-fashion-mnist" end
    probe:close()
    local out = run("dcgan", 1, 12)
    local d, g = out:match("epoch 1: loss of the discriminator (%S+), of the generator (%S+); ")
    -- One that cannot tell at all has a loss of 2 log 2.
    assert.is_true(tonumber(d) < 1.37 and tonumber(d) > 0.5, out)
    assert.is_true(tonumber(g) > 0.3 and tonumber(g) < 2, out)
    local drawings = flow.data.load_image(place .. "/dcgan-1.png")
    assert.is_true(drawings.shape[#drawings.shape - 1] >= 8 * 28)
  end)
end)
