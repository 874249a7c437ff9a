-- What the sums that spec/oracle keeps of results catch, and what they let pass.
local core = require "jfl.core"
local flow = require "jfl"
local oracle = require "spec.oracle"
local support = require "spec.op.support"

local TOLERANCES = { 1e-11, 1e-5 }

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

local function caught(want, list, tol, what, ...)
  assert(oracle.difference(want, list, tol), what:format(...) .. " is not caught")
end

describe("sums with waves", function()
  it("catch each single number that is off by more than their tolerance", function()
    each_count(function(n)
      local list = sample(n)
      local want = oracle.kept(list)
      for _, tol in ipairs(TOLERANCES) do
        local least = oracle.tolerance(n, tol)
        assert.truthy(least < 4 * tol)
        for i = 1, n do
          local keep = list[i]
          local sign = i % 2 * 2 - 1
          list[i] = keep + sign * 1.01 * least * math.max(1, math.abs(keep))
          caught(want, list, tol, "number %d of %d, off by %g", i, n, list[i] - keep)
          list[i] = keep
        end
        assert.is_nil(oracle.difference(want, list, tol))
      end
    end)
  end)

  it("let errors of float32's last place pass", function()
    each_count(function(n)
      local list = sample(n)
      local want = oracle.kept(list)
      for i = 1, n do list[i] = list[i] * (1 + 6e-8 * math.sin(5 * i * i)) end
      assert.is_nil(oracle.difference(want, list, 1e-5))
    end)
  end)

  it("catch any two numbers that change places", function()
    each_count(function(n)
      local list = sample(n)
      local want = oracle.kept(list)
      for i = 1, n, math.ceil(n / 24) do
        for k = i + 1, n, math.ceil(n / 24) do
          list[i], list[k] = list[k], list[i]
          caught(want, list, 1e-5, "numbers %d and %d of %d", i, k, n)
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
          caught(want, support.flat(flow.reverse(a, { axis = i - 1 })), 1e-5,
            "axis %d of (%s) in reverse", i, name)
          caught(want, support.flat(flow.roll(a, { shifts = 1, dims = i - 1 })), 1e-5,
            "a step along axis %d of (%s)", i, name)
        end
        for k = i + 1, shape[i] > 1 and #shape or 0 do
          local perm = {}
          for d = 1, #shape do perm[d] = (d == i and k or d == k and i or d) - 1 end
          local swapped = support.flat(flow.transpose(a, { perm = perm }))
          if shape[k] > 1 then
            caught(want, swapped, 1e-5, "axes %d and %d of (%s)", i, k, name)
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
        caught(want, changed, 1e-5, "a change of all %d", n)
      end
      all(function(y) return y * (1 + 2e-5) end)
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
    assert.matches("wave %d: got .*, expected .*: off by .*, more than 1%.04e%-05",
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
