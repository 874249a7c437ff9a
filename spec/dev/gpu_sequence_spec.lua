--- Sequences on a GPU, on the emulated driver of spec/cuda, beside the CPU's: what ctc_loss says of
-- wrong lengths and labels, and a recurrent layer that learns.
local emulated = require "spec.dev.emulated"

local WRONG = [[
  local core = require "jfl.core"
  local flow = require "jfl"
  local function array(list) return core.from_table(list, "int32") end
  local x = flow.random.normal({ 3, 2, 4 })
  local function says(targets, inputs, lengths)
    local ok, message = pcall(core.op("ctc_loss"), x, array(targets), array(inputs),
      array(lengths))
    print(ok, not ok and message:gsub("^.-ctc_loss", "") or "")
  end
  says({ { 1, 2 }, { 3, 4 } }, { 3, 3 }, { 2, 2 })
  says({ { 1, 2 }, { 3, 4 } }, { 3, 3 }, { 2, 1 })
  says({ { -1, 2 }, { 3, 4 } }, { 3, 3 }, { 2, 2 })
  says({ { 1, 2 }, { 3, 1 } }, { 3, 4 }, { 2, 2 })
  says({ { 1, 2 }, { 3, 1 } }, { 3, 3 }, { 2, 3 })
  says({ 1, 2, 3 }, { 3, 3 }, { 2, 2 })
  says({ 1, 2, 3 }, { 3, 3 }, { 2, 1 })
]]

local TRAINS = [[
  local flow = require "jfl"
  local tp = flow.typing
  flow.random.seed(5)
  local train = flow.global_function {
    name = "train", type = "train", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ 2, 5, 3 }) } },
    body = function(x)
      local h = flow.layers.lstm(x, 40, { name = "lstm" })
      h = flow.layers.gru(h, 4, { name = "gru" })
      local loss = flow.math.reduce_mean(flow.math.square(h - 0.5))
      flow.optimizer.SGD(1, { momentum = 0 }):minimize(loss)
      return loss
    end,
  }
  local x = flow.random.normal({ 2, 5, 3 })
  for _ = 1, 3 do print(("%.4f"):format(train(x):mean())) end
]]

describe("sequences on a GPU", function()
  for what, text in pairs { ["what ctc_loss says"] = WRONG, ["recurrent layers"] = TRAINS } do
    it("are the CPU's: " .. what, function()
      local want, status = emulated.run({ JFL_DEVICE = "cpu", JFL_KERNELS = "reference" }, text)
      assert.equal(0, status, want)
      assert.equal(want, (emulated.run({ JFL_DEVICE = "gpu" }, text)))
    end)
  end
end)
