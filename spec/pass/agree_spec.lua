--- Results do not depend on which of the optional passes run: every op alone, with its gradient and
-- among others, and small networks while they train. A pass that is in the core's table is
-- covered.
local core = require "jfl.core"
local flow = require "jfl"
local jobs = require "spec.jobs"
local passes = require "spec.passes"
local support = require "spec.op.support"

local o = setmetatable({}, { __index = function(_, name) return core.op(name) end })

--- Lists of passes to leave out, each compared with leaving out none.
local LISTS = { passes.all_but() }
for _, pass in ipairs((core.passes())) do LISTS[#LISTS + 1] = "-" .. pass end

local TOL = { float32 = 1e-5, float64 = 1e-12 }

local function largest(a)
  return a.size > 0 and o.reshape(o.reduce_max(o.abs(a)), { 1 })[1] or 0
end

--- Fails where a number differs by more than its dtype's tolerance, relative to the largest of its
-- array or 1. Infinities and nan must be in the same places.
local function check_close(got, want)
  assert(#got == #want, "another number of results")
  for i, a in ipairs(want) do
    local tol, b = TOL[a.dtype], got[i]
    local most = tol and largest(a)
    if not (most and most < math.huge) then most = 1 end
    if not (tol and largest(o.subtract(a, b)) <= tol * math.max(1, most)) then
      local ok, message = support.close(support.flat(b), support.flat(a), (tol or 0) * most)
      if not ok then error(("result %d, %s"):format(i, message), 0) end
    end
  end
end

local function check_job(op, case, form, dtype)
  core.set("kernels", "reference")
  local x = support.inputs(case, dtype)
  local plan, text = jobs.compile(op, case, form, x, { passes = "" })
  local want = jobs.outcome(op, plan, x)
  for _, off in ipairs(LISTS) do
    local other, other_text = jobs.compile(op, case, form, x, { passes = off })
    if other_text ~= text then
      local ok, message = pcall(check_close, jobs.outcome(op, other, x), want)
      if not ok then
        error(("%s, %s, with %s: %s\n%s\n%s"):format(form, dtype, off, message, text, other_text),
          0)
      end
    end
  end
end

describe("without some passes", function()
  teardown(core.reset)

  local ops, names = core.ops(), {}
  for name in pairs(ops) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local op = ops[name]
    it(name .. " gives the same", function()
      support.each_case(op, jobs.dtypes_of, function(case, dtype)
        for form in pairs(jobs.forms) do check_job(op, case, form, dtype) end
      end)
    end)
  end
end)

describe("without some passes", function()
  after_each(flow.clear_default_session)

  for name, body in pairs(jobs.networks) do
    for way, minimize in pairs(jobs.optimizers) do
      it(("%s learns the same: %s"):format(name, way), function()
        for dtype in pairs(TOL) do
          local want, text = jobs.train(body, dtype, minimize, { passes = "" })
          for _, off in ipairs(LISTS) do
            local got, other_text = jobs.train(body, dtype, minimize, { passes = off })
            local ok, message = pcall(check_close, got, want)
            if not ok then
              error(("%s with %s: %s\n%s\n%s"):format(dtype, off, message, text, other_text), 0)
            end
          end
        end
      end)
    end
  end
end)
