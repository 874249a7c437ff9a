-- The example that learns by playing, in a short form.
local helper = require "spec.cmd.helper"

-- #cpu: it is about what is learned, not about devices.
describe("the example dqn.lua #cpu", function()
  local folder

  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
  end)

  after_each(function() os.execute("rm -rf " .. folder) end)

  it("plays far longer than at random, and saves what it learned", function()
    local out, err, status = helper.shell(("%s examples/dqn.lua 200 %s"):format(helper.command(),
      folder))
    assert.equal(0, status, out .. err)
    local averages = {}
    for average in out:gmatch "average ([%d.]+)" do averages[#averages + 1] = tonumber(average) end
    -- Random pushes keep the pole up for 22 steps on average.
    assert.is_true(averages[1] < 40, out)
    assert.is_true(averages[#averages] > 60, out)
    local file = io.open(folder .. "/model.safetensors", "rb")
    assert.truthy(file, "no checkpoint")
    local saved = file:read "*a"
    file:close()
    assert.truthy(saved:find("online-dense_3-weight", 1, true))
    assert.truthy(saved:find("target-dense_3-weight", 1, true))
  end)
end)
