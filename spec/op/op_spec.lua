local cases = require "spec.op.cases"
local core = require "jfl.core"
local optable = require "scripts.doc.optable"
local support = require "spec.op.support"

teardown(core.reset)

--- Ops whose results differ from call to call, and the spec that checks their gradient.
local ELSEWHERE = { dropout = "spec/op/dropout_spec.lua", random_crop = "spec/op/image_spec.lua",
  stop_gradient = "spec/lua/net/assign_spec.lua" }

local ops = core.ops()
local names = {}
for name in pairs(ops) do names[#names + 1] = name end
table.sort(names)

--- The results of a call and its inputs, which an update changes, as lists of numbers.
local function outcome(op, case, dtype, kernels, place)
  core.set("kernels", kernels)
  core.set("seed", 7)
  local x = support.inputs(case, dtype)
  for i, a in ipairs(place and x or {}) do x[i] = place(a) end
  local results = { support.call(op, case, x) }
  core.set("kernels", "fast")
  local n = op.many and #results or #op.outputs
  for i, a in ipairs(x) do results[n + i] = a end
  local lists = {}
  for i = 1, n + #x do lists[i] = results[i] and support.flat(results[i]) or {} end
  return lists
end

--- A copy of an array that begins in the midst of another one, at an odd address but for its dtype.
local function displaced(a)
  local flat = core.array(a.dtype, { a.size + 1 })
  local copy = core.reshape(core.rows(flat, 1, a.size), a.shape)
  core.assign(copy, a)
  return copy
end

local function check_same(op, case, dtype)
  local fast = outcome(op, case, dtype, "fast", displaced)
  local plain = outcome(op, case, dtype, "reference")
  local tol = dtype == "float32" and (case.tol or 1e-5) or 1e-12
  for i = 1, #plain do
    local ok, message = support.close(fast[i], plain[i], tol)
    if not ok then error(("result %d, %s"):format(i, message), 0) end
  end
end

for _, name in ipairs(names) do
  local op = ops[name]
  describe("op " .. name, function()
    it("has a case and says what it does", function()
      assert.truthy(cases[name], "spec/op/cases.lua has no entry for " .. name)
      assert.truthy(#op.doc > 0)
      for _, p in ipairs(op.params) do assert.truthy(#p.doc > 0, p.name) end
    end)

    it("gives the same with fast kernels, wherever inputs begin, and plain ones, in every dtype",
      function()
      support.each_case(op, support.dtypes_of, function(case, dtype)
        check_same(op, case, dtype)
      end)
    end)

    it("says which dtype an input must have, and which it has", function()
      local case = (cases[name] or {})[1]
      if not case then return end
      local dtype = support.dtypes_of(op, case)[1]
      case.dtype = op.key == -1 and dtype or nil
      for i = 1, #(case.inputs or {}) do
        local x = support.inputs(case, dtype)
        local was, other = x[i].dtype, x[i].dtype == "float64" and "float32" or "float64"
        x[i] = core.cast(x[i], other)
        local ok, message = pcall(support.call, op, case, x)
        local must, like, got = tostring(message):match("must be (%w+) like ([%w_]+), got (%w+)")
        if not ok and must and like ~= op.inputs[i] then
          assert.equal(was .. " " .. other, must .. " " .. got, message)
        end
      end
    end)

    if op.differentiable then
      it("has a gradient that central differences confirm", function()
        local checked = 0
        for number, case in ipairs(cases[name] or {}) do
          if case.grad ~= false then
            local ok, found = support.gradcheck(op, case, case.grad_tol or 1e-6)
            assert.truthy(ok, ("case %d: %s"):format(number, found or ""))
            checked = checked + found
          end
        end
        assert.truthy(checked > 0 or ELSEWHERE[name], "no case compares a gradient of " .. name)
      end)
    else
      it("has a reason why it has no gradient", function()
        assert.truthy(optable.reason(op), name .. " reads tensors and gives floats")
      end)
    end
  end)
end

it("every case belongs to an op", function()
  for name in pairs(cases) do assert.truthy(ops[name], name) end
end)
