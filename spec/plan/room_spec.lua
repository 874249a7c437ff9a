-- Libraries that end the process where memory fails within them are not asked for anything when
-- little is free: a script runs on other kernels then, and its plan says so, or it gets an error.
local helper = require "spec.lua.helper"

local SCRIPT = [[
local flow = require "jfl"
local tp = flow.typing
flow.random.seed(1)
local job = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 64, 256 }) } },
  body = function(x)
    local hidden = flow.layers.dense(x, 256, { activation = flow.nn.relu })
    local loss = flow.math.square(flow.layers.dense(hidden, 10))
    flow.optimizer.SGD(0.001):minimize(loss)
    return loss
  end,
}
local ok, err = pcall(job, flow.ndarray.rand({ 64, 256 }))
if ok then ok, err = pcall(job.plan, job) end
print(ok and "ran" or "failed", ok and err:match("without a library[^\n]*") or err)
]]

-- What the script prints with so many KiB of addresses, and the exit status.
local function run_within(kib, path)
  local pipe = assert(io.popen(("(ulimit -v %d; timeout 1800 %s %s) 2>&1; echo status=$?")
    :format(kib, helper.command(), path)))
  local text = pipe:read "*a"
  pipe:close()
  return text:match("^(.-)status=(%d+)\n$")
end

describe("little memory #cpu", function()
  if helper.sanitized() then
    return pending("the sanitizer takes more addresses than that")
  end

  local path = os.tmpname()
  setup(function()
    local file = assert(io.open(path, "w"))
    file:write(SCRIPT)
    file:close()
  end)
  teardown(function() os.remove(path) end)

  for _, mib in ipairs { 30, 60, 70, 80, 90, 100, 120, 140, 160, 200, 300 } do
    it(("of %d MiB does not end the process"):format(mib), function()
      local text, status = run_within(mib * 1024, path)
      assert.equal("0", status, text)
      assert.matches(text:find "^ran" and "^ran\t" or "^failed\t.*memory", text)
    end)
  end

  it("is told of in the plan", function()
    assert.matches("without a library, so slower kernels serve: .*too little memory is free",
      (run_within(60 * 1024, path)))
  end)
end)
