-- Training that is killed again and again ends with the bits of training that never stopped.
-- JFL_KILLS=1000 kills at least so often in each way.
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
if io.open(path .. "/model.safetensors") then checkpoint:load(path, { resume = true })
else checkpoint:init() end
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

-- The same by several ranks, which share each batch, with checkpoints that a manager keeps.
local TOGETHER = [[
local flow = require "jfl"
local nd, tp = flow.ndarray, flow.typing
flow.random.seed(5)
local job = flow.global_function { name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 12, 6 }) } },
  body = function(x)
    local h = flow.nn.dropout(flow.layers.dense(x, 16, { name = "one" }), 0.3)
    local loss = flow.math.square(flow.layers.dense(h, 4, { name = "two" }))
    flow.optimizer.SGD(0.05, { momentum = 0.9 }):minimize(loss)
    return loss
  end }
local manager = flow.train.SimpleCheckPointManager(arg[1], { keep = 2 })
manager:initialize_or_restore()
local x = nd.arange(72):reshape({ 12, 6 }) / 72
local function steps() return flow.get_all_variables()["System-Train-TrainStep-train"]:sum() end
while steps() < 40 do
  job(x)
  if steps() % 2 == 0 then manager:save() end
end
local text = {}
for name, value in pairs(flow.get_all_variables()) do
  text[#text + 1] = name .. " " .. table.concat(value:reshape({ -1 }):totable(), " ")
end
table.sort(text)
print(table.concat(text, "\n"))
]]

local KILLS = tonumber(os.getenv "JFL_KILLS" or 1)

describe("a run that is killed", function()
  local directory, script

  before_each(function()
    directory, script = temporary.directory(), helper.file(SCRIPT)
  end)

  after_each(function()
    temporary.remove(directory)
    helper.clean()
  end)

  -- Runs the command in a session of its own, of which all processes are killed after so long, and
  -- waits until each of them is gone: it may still hold the lock of a checkpoint.
  local function kill_after(seconds, line)
    return helper.shell(("setsid %s & p=$!; sleep %.3f; kill -9 -$p 2>/dev/null; wait $p; s=$?; "
      .. "while kill -0 -$p 2>/dev/null; do sleep 0.01; done; exit $s"):format(line, seconds))
  end

  -- Each attempt gets a little longer, so that one is the last whatever the machine.
  local function run_until_done(line)
    local seconds, kills = 0.01 + 0.2 * math.random(), 0
    while true do
      local out, err, status = kill_after(seconds, line)
      if status == 0 then return out, kills end
      assert.equal(137, status, err)
      kills, seconds = kills + 1, seconds * (1 + 0.25 * math.random())
    end
  end

  local function whole(line)
    local out, err, status = helper.shell(line(directory .. "/whole"))
    assert.same({ "", 0 }, { err, status })
    return out
  end

  -- What line(path) runs must print this also where it is killed, KILLS times in all.
  local function check_line(want, line)
    local kills, path = 0, directory .. "/killed"
    while kills < KILLS do
      local got, more = run_until_done(line(path))
      assert.equal(want, got)
      os.execute(("rm -r '%s'"):format(path))
      kills = kills + more
    end
  end

  local function check(how, ...)
    local want, rest = nil, { ... }
    for _, call in ipairs(how) do
      local function line(path) return helper.line(script, path, call, unpack(rest)) end
      want = want or whole(line)
      check_line(want, line)
    end
  end

  it("ends as one that was never stopped, with both kinds of calls", function()
    check { "synchronous", "asynchronous" }
  end)

  it("does so over single samples, in batches of which the last is smaller", function()
    check({ "synchronous" }, "samples")
  end)

  it("does so with several ranks, all of which are killed", function()
    local together = helper.file(TOGETHER)
    local function line(path) return helper.line("--ranks", "2", together, path) end
    check_line(whole(line), line)
  end)
end)
