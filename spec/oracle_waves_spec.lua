-- What the sums that spec/oracle keeps of results catch, and what they let pass.
local core = require "jfl.core"
local flow = require "jfl"
local oracle = require "spec.oracle"
local support = require "spec.op.support"

local TOLERANCE = { float64 = 1e-11, float32 = 1e-5 }

-- f(shape, n) for each shape of which the areas keep sums, once.
local function each_shape(f)
  local seen = {}
  local function look(results)
    for _, result in pairs(results or {}) do
      local key = table.concat(result.shape, " ")
      if result.waves and not seen[key] then
        seen[key] = true
        local n = 1
        for _, extent in ipairs(result.shape) do n = n * extent end
        f(result.shape, n)
      end
    end
  end
  for _, area in ipairs(oracle.areas()) do
    for _, case in ipairs(oracle.cases(area)) do
      look(case.y)
      look(case.dx)
      look(case.results)
    end
  end
  assert.truthy(next(seen))
end

-- f(n) for each count of numbers, once.
local function each_count(f)
  local seen = {}
  each_shape(function(_, n)
    if not seen[n] then f(n) end
    seen[n] = true
  end)
end

-- n distinct numbers, every fifth of which is far above 1.
local function sample(n)
  local list = {}
  for i = 1, n do list[i] = (i % 5 == 0 and 700 or 0.9) * (i * 0.618034 % 1 - 0.5) end
  return list
end

local function caught(want, list, dtype, what, ...)
  assert(oracle.difference(want, list, dtype, TOLERANCE[dtype]), what:format(...) .. " passes")
end

describe("sums with waves", function()
  it("catch each single number that is off by more than their tolerance", function()
    each_count(function(n)
      local list = sample(n)
      local want = oracle.kept(list)
      for dtype, tol in pairs(TOLERANCE) do
        local least = oracle.tolerance(n, dtype, tol)
        assert.truthy(least <= (dtype == "float64" and 1 or 10) * tol)
        for i = 1, n do
          local keep = list[i]
          local sign = i % 2 * 2 - 1
          list[i] = keep + sign * 1.01 * least * math.max(1, math.abs(keep))
          caught(want, list, dtype, "number %d of %d, off by %g", i, n, list[i] - keep)
          list[i] = keep
        end
        assert.is_nil(oracle.difference(want, list, dtype, tol))
      end
    end)
  end)

  it("let rounding errors of float32 pass", function()
    each_count(function(n)
      local list = sample(n)
      local want = oracle.kept(list)
      for i = 1, n do
        list[i] = list[i] + 5e-7 * math.max(1, math.abs(list[i])) * math.sin(5 * i * i)
      end
      assert.is_nil(oracle.difference(want, list, "float32", TOLERANCE.float32))
    end)
  end)

  it("catch any two numbers that change places", function()
    each_count(function(n)
      local list = sample(n)
      local want = oracle.kept(list)
      for i = 1, n, math.ceil(n / 24) do
        for k = i + 1, n, math.ceil(n / 24) do
          list[i], list[k] = list[k], list[i]
          caught(want, list, "float32", "numbers %d and %d of %d", i, k, n)
          list[i], list[k] = list[k], list[i]
        end
      end
    end)
  end)

  it("catch swapped axes, and numbers in reverse or one further along an axis", function()
    each_shape(function(shape, n)
      local a = core.reshape(core.from_table(sample(n), "float64"), shape)
      local want, name = oracle.kept(support.flat(a)), table.concat(shape, " ")
      for i = 1, #shape do
        if shape[i] > 1 then
          caught(want, support.flat(flow.reverse(a, { axis = i - 1 })), "float32",
            "axis %d of (%s) in reverse", i, name)
          caught(want, support.flat(flow.roll(a, { shifts = 1, dims = i - 1 })), "float32",
            "a step along axis %d of (%s)", i, name)
        end
        for k = i + 1, shape[i] > 1 and #shape or 0 do
          local perm = {}
          for d = 1, #shape do perm[d] = (d == i and k or d == k and i or d) - 1 end
          local swapped = support.flat(flow.transpose(a, { perm = perm }))
          if shape[k] > 1 then
            caught(want, swapped, "float32", "axes %d and %d of (%s)", i, k, name)
          end
        end
      end
    end)
  end)

  it("catch a factor, a sign, an addend, a number that is none", function()
    each_count(function(n)
      local list = sample(n)
      local want = oracle.kept(list)
      local function all(f)
        local changed = {}
        for i = 1, n do changed[i] = f(list[i], i) end
        caught(want, changed, "float32", "a change of all %d", n)
      end
      all(function(y) return y * 1.001 end)
      all(function(y) return -y end)
      all(function(y) return y + 2e-2 end)
      all(function(y, i) return i == n and 0 / 0 or y end)
      all(function(y, i) return i == n and 1 / 0 or y end)
      all(function(y, i) return i == n and -y or y end)
    end)
  end)
end)

describe("a check", function()
  local case = { id = "area:call:2" }
  local function message(want, got)
    local ok, text = pcall(oracle.check, case, "result 1", want, got, "float32", 1e-5)
    assert.is_false(ok)
    assert.truthy(text:find("area:call:2, result 1: ", 1, true), text)
    assert.truthy(text:find("scripts/oracles/run --full area:call:2 ", 1, true), text)
    return text
  end

  it("tells the case, the wave, by how much, and how to see all numbers", function()
    local a = oracle.wave({ 4, 5 }, 1, 1, "float32")
    local want = oracle.kept(support.flat(a))
    want.shape = { 4, 5 }
    oracle.check(case, "result 1", want, a, "float32", 1e-5)
    core.reshape(a, { -1 })[18] = 3
    assert.matches("wave %d: got .*, expected .*: off by .*, more than 1%.34e%-05",
      message(want, a))
    core.reshape(a, { -1 })[2] = 3
    assert.matches("number 2: got 3, expected 0%.", message(want, a))
  end)

  it("compares each of few numbers, shapes and dtypes", function()
    local want = { shape = { 2 }, dtype = "int64", 3, 4 }
    oracle.check(case, "result 1", want, core.from_table({ 3, 4 }, "int64"), "float32", 1e-5)
    assert.matches("number 2: got 5, expected 4", message(want, core.from_table({ 3, 5 }, "int64")))
    assert.matches("dtype is int32, not int64", message(want, core.from_table({ 3, 4 }, "int32")))
    assert.matches("shape is %(2, 1%), not %(2%)",
      message(want, core.from_table({ { 3 }, { 4 } }, "int64")))
    assert.matches("dtype is float64, not float32",
      message({ shape = { 1 }, 3 }, core.from_table({ 3 }, "float64")))
  end)

  it("takes no finite number for an infinite one", function()
    assert.matches("number 1: got 5, expected %-inf",
      message({ shape = { 1 }, -1 / 0 }, core.from_table({ 5 }, "float32")))
  end)
end)
