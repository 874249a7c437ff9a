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
local function run_within(kib, path, variables)
  local pipe = assert(io.popen(("(ulimit -v %d; %s timeout 1800 %s %s) 2>&1; echo status=$?")
    :format(kib, variables or "", helper.command(), path)))
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

  -- Wherever the limit is, as it may be reached within any call: with JFL_CUTS=1, every 200 KiB.
  local step = os.getenv "JFL_CUTS" and 200 or 7777
  for kib = 30000, 160000, step do
    it(("of %d KiB does not end the process"):format(kib), function()
      local text, status = run_within(kib, path)
      assert.equal("0", status, text)
      assert.matches(text:find "^ran" and "^ran\t" or "^failed\t.*memory", text)
    end)
  end

  it("is told of in the plan", function()
    local without = "without a library, so slower kernels serve: .*"
    assert.matches(without .. "memory fails, which is limited to 500 MiB",
      (run_within(500 * 1024, path, "JFL_LIBRARIES=")))
    assert.matches(without .. "too little memory is free",
      (run_within(60 * 1024, path, "JFL_LIBRARIES=all")))
  end)
end)
