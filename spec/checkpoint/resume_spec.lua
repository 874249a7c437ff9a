-- Training that is killed again and again ends with the bits of training that never stopped.
local helper = require "spec.cmd.helper"
local temporary = require "spec.lua.helper"

-- Everything that a step depends on: dropout, momentum, a schedule, a shuffled loop over batches or
-- over samples whose last batch is smaller, and noise from flow.ndarray. It prints a hash of the
-- weights, of the slots and of what is drawn next.
local SCRIPT = [[
local flow = require "jfl"
local nd, tp = flow.ndarray, flow.typing
local path, asynchronous, single = arg[1], arg[2] == "asynchronous", arg[3] == "samples"
flow.random.seed(11)
local images, labels = nd.randn({ 20, 8, 4 }), nd.zeros({ 20, 8 }, "int32")
for i = 1, 20 do
  for k = 1, 8 do labels[i][k] = (i * 5 + k) % 3 end
end
local samples = { images:reshape({ 160, 4 }):slice(1, 155), labels:reshape({ 160 }):slice(1, 155) }
local rows = single and -1 or 8
local job = flow.global_function {
  name = "train", type = "train", returns = asynchronous and tp.Callback(tp.Numpy) or tp.Numpy,
  inputs = {
    { "x", tp.Numpy.Placeholder({ rows, 4 }) },
    { "labels", tp.Numpy.Placeholder({ rows }, { dtype = flow.int32 }) },
  },
  body = function(x, labels)
    local hidden = flow.layers.dense(x, 16, { activation = flow.nn.relu, name = "hidden" })
    local logits = flow.layers.dense(flow.nn.dropout(hidden, 0.5), 3, { name = "output" })
    local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    local rate = flow.optimizer.PiecewiseConstantScheduler({ 30 }, { 0.1, 0.01 })
    flow.optimizer.SGD(rate, { momentum = 0.9 }):minimize(loss)
    return loss
  end,
}
local checkpoint = flow.train.CheckPoint()
if io.open(path .. "/model.safetensors") then checkpoint:load(path) else checkpoint:init() end
local loop = single and flow.data.batches(samples, { batch_size = 8, epochs = 3, shuffle = true })
  or flow.data.loop({ images, labels }, { epochs = 3, shuffle = true })
for _, i, images, labels in loop do
  local call = job(images + nd.rand({ #labels, 4 }), labels)
  if asynchronous then call(function() end) end
  if i % 5 == 0 then checkpoint:save(path, { overwrite = true }) end
end
local text = { nd.rand({ 1 })[1] }
for name, value in pairs(flow.get_all_variables()) do
  text[#text + 1] = name .. " " .. table.concat(value:reshape({ -1 }):totable(), " ")
end
table.sort(text, function(a, b) return tostring(a) < tostring(b) end)
local hash = 0
for byte in table.concat(text, "\n"):gmatch(".") do hash = (hash * 31 + byte:byte()) % 2 ^ 47 end
print(("%.0f"):format(hash))
]]

describe("a run that is killed", function()
  local directory, script

  before_each(function()
    directory, script = temporary.directory(), helper.file(SCRIPT)
  end)

  after_each(function()
    temporary.remove(directory)
    helper.clean()
  end)

  -- Each attempt gets a little longer, so that one is the last whatever the machine. In the
  -- foreground timeout waits for what it killed, which may still hold the lock of a checkpoint; it
  -- gives 124 where that ended by itself in the same moment.
  local function run_until_done(path, ...)
    local seconds, kills = 0.01, 0
    while true do
      local line = ("timeout --foreground -s KILL %.3f %s"):format(seconds,
        helper.line(script, path, ...))
      local out, err, status = helper.shell(line)
      if status == 0 then return out, kills end
      assert.truthy(status == 137 or status == 124, err)
      kills, seconds = kills + 1, seconds * 1.25
    end
  end

  local function check(how, ...)
    local want, err = helper.run(script, directory .. "/whole", how[1], ...)
    assert.equal("", err)
    assert.matches("^%d+\n$", want)
    for _, call in ipairs(how) do
      local got, kills = run_until_done(directory .. "/" .. call, call, ...)
      assert.equal(want, got, call)
      assert.is_true(kills > 0, "it was never killed")
    end
  end

  it("ends as one that was never stopped, with both kinds of calls", function()
    check { "synchronous", "asynchronous" }
  end)

  it("does so over single samples, in batches of which the last is smaller", function()
    check({ "synchronous" }, "samples")
  end)
end)
