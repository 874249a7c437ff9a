--- Gradients of recurrent layers by fast kernels, for rows and units that fill no block, and by
--- plain ones, which take sums in double.
local cases = require "spec.op.cases"
local core = require "jfl.core"
local support = require "spec.op.support"

teardown(core.reset)

local recurrent = core.op "recurrent"

local LENGTH, BATCH, UNITS = 5, 11, 37

--- The list of what a function gives with these kernels and so many threads.
local function results_with(kernels, threads, run)
  local had = core.get "threads"
  core.set("kernels", kernels)
  core.set("threads", threads)
  local results = { run() }
  core.set("kernels", "fast")
  core.set("threads", had)
  return results
end

local function gradients(inputs, options, kernels, threads)
  return results_with(kernels, threads, function()
    local plan = support.plan(inputs, function(g, x)
      local extra = x[5] and { x[5] } or nil
      local y = recurrent(x[1], x[2], x[3], extra, options)
      return core.gradients(g, y, x[4], { x[1], x[2], x[3], x[5] })
    end)
    local results = { core.run(plan, unpack(inputs)) }
    core.plan_free(plan)
    return unpack(results)
  end)
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

--- Threads share the units of such layers, since there are too few rows to share.
describe("large recurrent layers of few rows", function()
  local function outputs(inputs, options, kernels, threads)
    return results_with(kernels, threads, function()
      local extra = inputs[4] and { inputs[4] } or nil
      return recurrent(inputs[1], inputs[2], inputs[3], extra, options)
    end)
  end

  for cell, gates in pairs { rnn_tanh = 1, lstm = 4, gru = 3 } do
    for _, units in ipairs { 512, 544, 530 } do
      it(("are the same on any number of threads: %s of %d"):format(cell, units), function()
        for batch = 1, 5, 2 do
          local inputs = { of(3, batch, gates * units), of(gates * units, units), of(batch, units) }
          if cell == "lstm" then inputs[4] = of(batch, units) end
          if cell == "gru" then inputs[4] = of(gates * units) end
          local options = { cell = cell, reverse = batch == 3 }
          local alone = outputs(inputs, options, "fast", 1)
          for i, y in ipairs(outputs(inputs, options, "reference", 1)) do
            local ok, message = support.close(support.flat(alone[i]), support.flat(y), 2e-4)
            assert.truthy(ok, ("output %d: %s"):format(i, message or ""))
          end
          for threads = 2, 3 do
            for i, y in ipairs(outputs(inputs, options, "fast", threads)) do
              assert.same(support.flat(alone[i]), support.flat(y))
            end
          end
        end
      end)
    end
  end
end)

--- Each of its calls with one input that has another shape or dtype, one too few and one too many.
describe("a recurrent layer or its gradient", function()
  local function refused(call, case, inputs, what)
    local ok, err = pcall(call, case, inputs)
    assert.is_false(ok, what)
    assert.truthy(tostring(err):find("recurrent", 1, true), what .. ": " .. tostring(err))
  end

  for _, name in ipairs { "recurrent", "recurrent_grad" } do
    it("refuses inputs that do not belong together: " .. name, function()
      local op = core.ops()[name]
      local function call(case, inputs) return support.call(op, case, inputs) end
      for i, case in ipairs(cases[name]) do
        local inputs = support.inputs(case, "float32")
        call(case, inputs)
        for j, input in ipairs(inputs) do
          local what = ("%s, case %d, input %d"):format(case.options.cell, i, j)
          local other = { unpack(inputs) }
          for axis, extent in ipairs(input.shape) do
            local shape = { unpack(input.shape) }
            shape[axis] = extent + 1
            other[j] = core.array("float32", shape)
            local is_length = name == "recurrent" and j == 1 and axis == 1
            if is_length then call(case, other)
            else refused(call, case, other, ("%s, axis %d"):format(what, axis)) end
          end
          other[j] = core.array("float32", { 1, unpack(input.shape) })
          refused(call, case, other, what .. ", one more axis")
          other[j] = core.array("float64", input.shape)
          refused(call, case, other, what .. ", another dtype")
        end
        local other = { unpack(inputs) }
        for _ = 1, #inputs == 8 and 2 or 1 do other[#other] = nil end      -- the last one may lack
        refused(call, case, other, ("case %d, one too few"):format(i))
        other = { unpack(inputs) }
        for _ = 1, #inputs == 7 and 2 or 1 do other[#other + 1] = inputs[#inputs] end
        refused(call, case, other, ("case %d, too many"):format(i))
      end
    end)
  end
end)
