--- The simulated device gives, bit for bit, what the CPU's plain kernels give: every op at once and
-- in jobs, networks that train, also split over two devices, checkpoints and errors.
local cases = require "spec.op.cases"
local core = require "jfl.core"
local jobs = require "spec.jobs"
local support = require "spec.op.support"

local CPU = { device = "cpu", kernels = "reference" }
local SIM = { device = "sim" }

local function apply(settings)
  core.reset()
  for name, value in pairs(settings) do core.set(name, value) end
end

--- Fails where two lists of arrays are not the same bits.
local function check_same(got, want)
  assert(#got == #want, "another number of results")
  for i, a in ipairs(want) do
    if core.bytes(got[i]) ~= core.bytes(a) then
      local ok, message = support.close(support.flat(got[i]), support.flat(a), 0)
      error(("result %d: %s"):format(i, ok and "the sign of a zero or a nan differs" or message), 0)
    end
  end
end

--- Every dtype but halves, of which ops have no kernels.
local function dtypes_of(op, case)
  if case.only then return { case.only } end
  local list = {}
  for _, dtype in ipairs(op.dtypes) do
    if not (dtype == "float16" or dtype == "bfloat16") then list[#list + 1] = dtype end
  end
  return list
end

--- The inputs of a case; some ops take what another one gives.
local function inputs_of(case, dtype)
  apply(CPU)
  local x = support.inputs(case, dtype)
  if case.y_of then x[2] = core.op(case.y_of)(x[1], case.options) end
  return x
end

--- Results of a call at once, then its inputs, which it may update.
local function at_once(op, case, x, settings)
  apply(settings)
  core.set("seed", 7)
  local inputs = {}
  for i, a in ipairs(x) do inputs[i] = core.copy(a) end
  local results = { support.call(op, case, inputs) }
  for _, a in ipairs(inputs) do results[#results + 1] = a end
  return results
end

local function in_job(op, case, form, x, settings)
  return jobs.outcome(op, (jobs.compile(op, case, form, x, settings)), x)
end

--- Calls fn(case, dtype, x) for every case of an op; an error says which.
local function each_case(op, fn)
  for number, case in ipairs(cases[op.name] or {}) do
    for _, dtype in ipairs(dtypes_of(op, case)) do
      case.dtype = op.key == -1 and dtype or nil
      local ok, message = pcall(fn, case, dtype, inputs_of(case, dtype))
      if not ok then error(("case %d, %s: %s"):format(number, dtype, tostring(message)), 0) end
    end
  end
end

describe("the simulated device", function()
  teardown(core.reset)

  local ops, names = core.ops(), {}
  for name in pairs(ops) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local op = ops[name]

    it("runs " .. name .. " at once as plain kernels do", function()
      each_case(op, function(case, _, x)
        check_same(at_once(op, case, x, SIM), at_once(op, case, x, CPU))
      end)
    end)

    it("runs jobs with " .. name .. " as plain kernels do", function()
      each_case(op, function(case, dtype, x)
        for form in pairs(jobs.forms) do
          if form == "alone" or dtype:find "float" or case.only then
            local ok, message = pcall(function()
              check_same(in_job(op, case, form, x, SIM), in_job(op, case, form, x, CPU))
            end)
            if not ok then error(form .. ": " .. tostring(message), 0) end
          end
        end
      end)
    end)
  end

  for name, body in pairs(jobs.networks) do
    for _, momentum in ipairs { 0, 0.9 } do
      it(("trains %s with momentum %g as plain kernels do"):format(name, momentum), function()
        for _, dtype in ipairs { "float32", "float64" } do
          local want = jobs.train(body, dtype, momentum, CPU)
          check_same(jobs.train(body, dtype, momentum, SIM), want)
        end
      end)
    end
  end
end)
