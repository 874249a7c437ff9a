--- Where a row has infinities or not-a-number, fast kernels of row ops give what plain ones give.
local core = require "jfl.core"
local support = require "spec.op.support"

teardown(core.reset)

local ODD = { 1 / 0, -1 / 0, 0 / 0 }

--- An array of numbers, with the odd one at one place in row 2, at two in row 3, and both with
--- another odd one in row 4.
local function spoilt(shape, odd, other)
  local a = support.filled("float32", shape, -2, 2.3)
  local flat, n = core.reshape(a, { -1 }), shape[2]
  flat[n + 3] = odd
  flat[2 * n + 1], flat[3 * n] = odd, odd
  flat[3 * n + 2], flat[4 * n - 1] = odd, other
  return a
end

local ROWS, LINES = { 5, 37 }, { 37, 5 }
local scale = support.filled("float32", { 37 }, 0.5, 1.5)
local some = support.filled("float32", ROWS, -1, 1)
local labels = core.from_table({ 0, 36, 5, 1, 2 }, "int32")

--- Calls on a spoilt array x, by op: how, and its options.
local CALLS = {
  softmax = { function(f, x) return f(x) end },
  ["softmax along the first axis"] = { function(f, x) return f(x, { axis = 0 }) end, LINES },
  logsoftmax = { function(f, x) return f(x) end },
  ["logsoftmax along the first axis"] = { function(f, x) return f(x, { axis = 0 }) end, LINES },
  softmax_grad = { function(f, x) return f(some, x) end },
  row_norm = { function(f, x) return f(x, { axis = 1, center = true, scale = false,
    shift = false }) end },
  ["row_norm of scaled rows"] = { function(f, x)
    return f(x, { scale }, { axis = 1, center = false, scale = true, shift = false })
  end },
  row_norm_grad = { function(f, x)
    local inverse = support.filled("float32", { 5 }, 0.5, 1)
    return f(x, some, inverse, inverse, { scale }, { axis = 1, center = true, scale = true,
      shift = false })
  end },
  softmax_cross_entropy_with_logits = { function(f, x) return f(some, x) end },
  sparse_softmax_cross_entropy_with_logits = { function(f, x) return f(labels, x) end },
}
for _, op in ipairs { "sum", "mean", "max", "min", "prod" } do
  CALLS["reduce_" .. op] = { function(f, x) return f(x, { axis = 1 }) end }
  CALLS["reduce_" .. op .. " along the first axis"] = { function(f, x)
    return f(x, { axis = 0 })
  end, LINES }
end

describe("on infinities and not-a-number, fast kernels give what plain ones give:", function()
  for name, call in pairs(CALLS) do
    it(name, function()
      local f = core.op(name:match "^%S+")
      for _, odd in ipairs(ODD) do
        for _, other in ipairs(ODD) do
          local x, found = spoilt(call[2] or ROWS, odd, other), {}
          for _, kernels in ipairs { "fast", "reference" } do
            core.set("kernels", kernels)
            found[kernels] = { call[1](f, x) }
            core.set("kernels", "fast")
          end
          for i, want in ipairs(found.reference) do
            local got = support.flat(found.fast[i])
            local ok, message = support.close(got, support.flat(want), 1e-4)
            assert.is_true(ok, ("%s, %s, result %d: %s"):format(odd, other, i, tostring(message)))
          end
        end
      end
    end)
  end
end)
