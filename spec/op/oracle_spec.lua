--- Ops against what PyTorch and numpy give (scripts/oracles.py).
local core = require "jfl.core"
local oracle = require "spec.op.oracle"
local support = require "spec.op.support"

teardown(core.reset)

local ops = core.ops()

local function wave(shape, phase, scale)
  local flat = core.reshape(core.array("float64", shape), { -1 })
  for i = 1, #flat do flat[i] = scale * math.sin(phase + 1.7 * (i - 1)) end
  return core.reshape(flat, shape)
end

--- The entry's inputs, floats in the given dtype.
local function inputs(entry, dtype)
  local list = {}
  for i, s in ipairs(entry.inputs) do
    local a = s.shape and wave(s.shape, s.phase, s.scale) or core.from_table(s.data, s.dtype)
    list[i] = a.dtype == "float64" and core.cast(a, dtype) or a
  end
  return list
end

local function check(got, want, tol)
  local ok, message = support.close(support.flat(got), want, tol)
  assert.truthy(ok, message)
end

--- Gradients for dy = wave(9) of the float64 inputs.
local function gradients(entry, x)
  local specs, wanted = {}, {}
  for i, a in ipairs(x) do
    specs[i] = { dtype = a.dtype, shape = a.shape }
    if a.dtype == "float64" then wanted[#wanted + 1] = i end
  end
  specs[#specs + 1] = { dtype = "float64", shape = entry.shape }
  local plan = support.plan(specs, function(g, blobs)
    local dy, of = table.remove(blobs), {}
    for k, i in ipairs(wanted) do of[k] = blobs[i] end
    return core.gradients(g, support.call(ops[entry.op], entry, blobs), dy, of)
  end)
  x[#x + 1] = wave(entry.shape, 9, 1)
  return { core.run(plan, unpack(x)) }
end

for i, entry in ipairs(oracle) do
  it(("%s agrees with its oracle (entry %d)"):format(entry.op, i), function()
    finally(function() core.set("kernels", "fast") end)
    for _, kernels in ipairs { "fast", "reference" } do
      core.set("kernels", kernels)
      local y = support.call(ops[entry.op], entry, inputs(entry, "float64"))
      assert.same(entry.shape, y.shape)
      check(y, entry.y, 1e-12)
      check(support.call(ops[entry.op], entry, inputs(entry, "float32")), entry.y, 2e-5)
      if entry.dx then
        local dx = gradients(entry, inputs(entry, "float64"))
        for k, want in ipairs(entry.dx) do check(dx[k], want, 1e-11) end
      end
    end
  end)
end
