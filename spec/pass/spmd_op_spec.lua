--- Jobs with each op give on several devices what they give on one: alone and with its gradient, in
-- the way that the pass spmd chooses. With JFL_FUZZ also among other ops, on three devices, and
-- in each of the first ways in which a part of it can be computed.
local core = require "jfl.core"
local ffi = require "ffi"
local flow = require "jfl"
local jobs = require "spec.jobs"
local support = require "spec.op.support"

ffi.cdef "int setenv(const char *, const char *, int); int unsetenv(const char *);"

local ONE = { device = "cpu", kernels = "reference" }
local LONG = os.getenv "JFL_FUZZ" ~= nil

--- float64 where the op takes it, else the first dtype that it takes.
local function dtypes_of(op, case)
  if case.only then return { case.only } end
  for _, dtype in ipairs(op.dtypes) do
    if dtype == "float64" then return { dtype } end
  end
  return { op.dtypes[1] }
end

local function inputs_of(case, dtype)
  core.reset()
  core.set("device", "cpu")
  return support.inputs(case, dtype)
end

--- What a job gives on one device; and by their texts the plans for several that gave that, too.
local function expected(op, case, form, x)
  return { want = jobs.outcome(op, (jobs.compile(op, case, form, x, ONE)), x), ran = {} }
end

local function check(op, case, form, x, device, known)
  local plan, text = jobs.compile(op, case, form, x, { device = device })
  if known.ran[text] then return end
  local got, want = jobs.outcome(op, plan, x), known.want
  assert(#got == #want, "another number of results")
  for i, a in ipairs(want) do
    local most = a.dtype == "float64" and 1e-10 or 1e-4
    local ok, message = support.close(support.flat(got[i]), support.flat(a), most)
    if not ok then error(("%s, result %d: %s"):format(form, i, message), 0) end
  end
  known.ran[text] = true
end

--- The forms of a job with an op of that dtype. Large cases are for fast kernels, and here are
-- none: one form of them is enough.
local function forms_of(op, dtype, x)
  local all = LONG and not support.is_large(x)
  if dtype:find "float" == nil then return { "alone" } end
  if all then return { "alone", "with its gradient", "among others" } end
  return { op.differentiable and "with its gradient" or "alone" }
end

--- Checks all jobs with the op; what it learns of each is kept by case, for calls on other devices,
-- where large cases are left out.
local function check_cases(op, device, known)
  local again = next(known) ~= nil
  support.each_case(op, dtypes_of, function(case, dtype)
    local x = inputs_of(case, dtype)
    if again and support.is_large(x) then return end
    known[case] = known[case] or {}
    for _, form in ipairs(forms_of(op, dtype, x)) do
      known[case][form] = known[case][form] or expected(op, case, form, x)
      check(op, case, form, x, device, known[case][form])
    end
  end)
end

describe("on several devices", function()
  teardown(flow.clear_default_session)

  local ops, names = core.ops(), {}
  for name in pairs(ops) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local known = {}

    it("a job with " .. name .. " gives what it gives on one", function()
      check_cases(ops[name], "sim 0:0-1", known)
      if LONG then check_cases(ops[name], "sim 0:0-2", known) end
    end)

    if LONG then
      it("a job with " .. name .. " gives so in each way of its rule", function()
        for way = 0, 4 do
          ffi.C.setenv("JFL_SIGNATURE", name .. ":" .. way, 1)
          local ok, message = pcall(check_cases, ops[name], "sim 0:0-1", known)
          ffi.C.unsetenv("JFL_SIGNATURE")
          if not ok then error(("way %d: %s"):format(way, message), 0) end
        end
        known = nil
      end)
    end
  end
end)
