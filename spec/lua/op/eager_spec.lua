-- Every op that has a name under flow, on NdArrays at once and in a job.
local cases = require "spec.op.cases"
local core = require "jfl.core"
local flow = require "jfl"
local support = require "spec.op.support"

local tp = flow.typing

teardown(flow.clear_default_session)

local function at(path)
  local value = flow
  for part in path:gmatch("[^.]+") do value = value[part] end
  return value
end

local jobs = 0

-- The result of f for the arrays x as inputs of a job.
local function in_job(f, x)
  jobs = jobs + 1
  local inputs = {}
  for i, a in ipairs(x) do
    inputs[i] = { "x" .. i, tp.Numpy.Placeholder(a.shape, { dtype = a.dtype }) }
  end
  local job = flow.global_function { name = "eager_" .. jobs, inputs = inputs,
    returns = tp.Numpy, body = function(...) return (f(...)) end }
  return job(unpack(x))
end

local function dtype_of(op, case)
  if case.only then return case.only end
  for _, dtype in ipairs(op.dtypes) do
    if dtype == "float32" then return dtype end
  end
  return op.dtypes[1]
end

-- A call of the op with the case's options, by the function that users have.
local function caller(op, case)
  local f = at(op.path:match("%S+"))
  local single = #op.inputs - (op.variadic and 1 or 0)
  return function(...)
    local given = { unpack({ ... }, 1, single) }
    if op.variadic then given[#given + 1] = { select(single + 1, ...) } end
    local options = {}
    for key, value in pairs(case.options or {}) do options[key] = value end
    if op.key == -1 then options.dtype = case.dtype or dtype_of(op, case) end
    if next(options) then given[#given + 1] = options end
    return f(unpack(given))
  end
end

local names, ops = {}, core.ops()
for name, op in pairs(ops) do
  if op.path then names[#names + 1] = name end
end
table.sort(names)

describe("an op on NdArrays", function()
  for _, name in ipairs(names) do
    local op = ops[name]

    it("gives what it gives in a job: " .. name, function()
      assert.truthy(cases[name], "spec/op/cases.lua has no entry for " .. name)
      for number, case in ipairs(cases[name]) do
        local x, f = support.inputs(case, dtype_of(op, case)), caller(op, case)
        local now, later = f(unpack(x)), in_job(f, x)
        local where = ("case %d"):format(number)
        assert.equal("array", core.type(now), where)
        assert.equal(later.dtype, now.dtype, where)
        assert.same(later.shape, now.shape, where)
        local ok, message = support.close(support.flat(now), support.flat(later),
          case.tol or 1e-5)
        assert.truthy(ok or op.random, ("%s: %s"):format(where, message or ""))
      end
      flow.clear_default_session()
    end)

    it("has one function under each of its paths: " .. name, function()
      local first = at(op.path:match("%S+"))
      for path in op.path:gmatch("%S+") do assert.equal(first, at(path), path) end
    end)
  end

  it("takes nested tables and numbers beside an NdArray", function()
    local a = flow.ndarray.array { { 1, 2 }, { 3, 4 } }
    assert.same({ { 11, 22 }, { 13, 24 } }, flow.math.add(a, { 10, 20 }):totable())
    assert.same({ { 2, 4 }, { 6, 8 } }, flow.math.multiply(2, a):totable())
    assert.same({ { 1, 2, 5 }, { 3, 4, 6 } },
      flow.concat({ a, { { 5 }, { 6 } } }, { axis = 1 }):totable())
    assert.same({ { 3, 4 }, { 1, 2 } },
      flow.gather(a, flow.ndarray.array({ 1, 0 }, "int32")):totable())
    assert.same({ { 1, 0 }, { 0, 4 } }, flow.where(flow.ndarray.array({ { 1, 0 }, { 0, 1 } },
      "int8"), a, flow.ndarray.zeros { 2, 2 }):totable())
  end)

  it("takes an empty table as options, unless its place takes a list", function()
    local a = flow.ndarray.array { { 1, 2 }, { 3, 4 } }
    assert.same(flow.nn.softmax(a):totable(), flow.nn.softmax(a, {}):totable())
    assert.same({ 4, 4 }, flow.concat({ a, a, a, a }, {}):reshape(4, 4).shape)
    assert.same({ 2, 2 }, flow.math.exp(a, {}).shape)
    assert.is_false((pcall(flow.math.exp, {})))
    assert.is_false((pcall(flow.reshape, a, {})))
  end)

  it("takes lists of numbers as options", function()
    local a = flow.ndarray.arange(12):reshape(3, 4)
    assert.same({ { 5, 6 }, { 9, 10 } }, flow.slice(a, { 1, 1 }, { 2, 2 }):totable())
    assert.same({ { 5, 6 }, { 9, 10 } },
      flow.slice(a, { begin = { 1, 1 }, size = { 2, -1 } }):slice(1, 2, { axis = 1 }):totable())
    assert.same({ 66 }, flow.math.reduce_sum(a, { axis = { 0, 1 } }):totable())
    assert.same({ 2, 6 }, flow.reshape(a, { 2, -1 }).shape)
  end)
end)
