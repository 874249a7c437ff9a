--- Gradients of recurrent layers by fast kernels, for rows and units that fill no block, and by
--- plain ones, which take sums in double.
local core = require "jfl.core"
local support = require "spec.op.support"

teardown(core.reset)

local recurrent = core.op "recurrent"

local LENGTH, BATCH, UNITS = 5, 11, 37

local function gradients(inputs, options, kernels, threads)
  local had = core.get "threads"
  core.set("kernels", kernels)
  core.set("threads", threads)
  local plan = support.plan(inputs, function(g, x)
    local extra = x[5] and { x[5] } or nil
    local y = recurrent(x[1], x[2], x[3], extra, options)
    return core.gradients(g, y, x[4], { x[1], x[2], x[3], x[5] })
  end)
  local results = { core.run(plan, unpack(inputs)) }
  core.plan_free(plan)
  core.set("kernels", "fast")
  core.set("threads", had)
  return results
end

local function of(...) return support.filled("float32", { ... }, -0.3, 0.35) end

describe("gradients of recurrent layers", function()
  for cell, gates in pairs { rnn_tanh = 1, rnn_relu = 1, lstm = 4, gru = 3 } do
    for _, reverse in ipairs { false, true } do
      it(("agree for %s%s, on one thread bit for bit"):format(cell, reverse and ", reversed" or ""),
        function()
        local inputs = { of(LENGTH, BATCH, gates * UNITS), of(gates * UNITS, UNITS),
          of(BATCH, UNITS), of(LENGTH, BATCH, UNITS) }
        if cell == "lstm" then inputs[5] = of(BATCH, UNITS) end
        if cell == "gru" then inputs[5] = of(gates * UNITS) end
        local options = { cell = cell, reverse = reverse }
        local fast = gradients(inputs, options, "fast", 2)
        local plain = gradients(inputs, options, "reference", 2)
        local alone = gradients(inputs, options, "fast", 1)
        assert.equal(#inputs - 1, #fast)
        for i = 1, #fast do
          local ok, message = support.close(support.flat(fast[i]), support.flat(plain[i]), 2e-5)
          assert.truthy(ok, ("gradient %d: %s"):format(i, message or ""))
          assert.same(support.flat(fast[i]), support.flat(alone[i]))
        end
      end)
    end
  end
end)
