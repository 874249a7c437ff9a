-- Locals that are kept between inputs. A random program gives the same in pieces as in one file;
-- JFL_FUZZ sets how many are tried, JFL_FUZZ_SEED the first of them.
require "jfl"
local chunk = require "jfl.repl.chunk"
local locals = require "jfl.repl.locals"
local draws = require "spec.draws"

local TRIALS, SEED = draws.trials(300), draws.seed()

local function pass(...) return ... end

--- Runs one text after the other; gives what the last one does.
local function session(...)
  local results
  for _, text in ipairs { ... } do
    local f, _, message = chunk.load(text, pass)
    assert(f, message)
    results = { pcall(f) }
  end
  return unpack(results)
end

describe("a local", function()
  before_each(locals.clear)

  it("is there for what follows", function()
    assert.same({ true, 3 }, { session("local a, b = 1, 2", "a + b") })
    assert.same({ true, 5 }, { session("local function f(x) return x + 1 end", "f(4)") })
    assert.same({ true, nil }, { session("local nothing", "nothing") })
    assert.is_nil(rawget(_G, "a"))
  end)

  it("is one variable for the functions of all inputs", function()
    local count = "local n = 0 local function add() n = n + 1 return n end"
    assert.same({ true, 42 }, { session(count, "add()", "n = n + 40", "add()") })
    assert.same({ true, 7 }, { session("local n = 1", "local function get() return n end",
      "n = 7", "get()") })
  end)

  it("hides the one before, which earlier functions keep", function()
    assert.same({ true, 1, 2 }, { session("local x = 1 local function old() return x end",
      "local x = x + 1", "old(), x") })
  end)

  it("stays if what follows it fails", function()
    assert.same({ true, 1, "x", nil }, { session(
      "local a = 1; local b = 'x'\nlocal t = {} local c = t.no.such", "a, b, c") })
    assert.same({ true, 2 }, { session("local n = 1 local function f() return n end n = 2 error()",
      "f()") })
  end)

  it("ends with its block", function()
    assert.same({ true, nil, nil, nil }, { session(
      "do local a = 1 end for b = 1, 2 do local c = b end if true then local a = 2 end",
      "a, b, c") })
    assert.same({ true, nil }, { session("local f = function() local a = 1 return a end", "a") })
  end)

  it("may come before anything", function()
    assert.same({ true, 6 }, { session("local f = function(x) return x end\n;(f)(1)", "f(6)") })
    assert.same({ true, 2 }, { session("local a = 1;local b = #'xy';", "b") })
    assert.same({ true, "x1" }, { session("local a, s = 'x' -- note\n.. 1", "a") })
    assert.same({ true, 4 }, { session("local g = { f = function(_, t) return t[1] end }",
      "local a = g:f{4} local b = g.f(0, { 1 })return a") })
    assert.same({ true, 3, 1 }, { session("local a = 1 return 3", "3, a") })
    assert.same({ true, -1, true }, { session("local a, b = -(1), not nil local c", "a, b") })
  end)

  it("may be one of very many", function()
    local names, texts = {}, {}
    for i = 1, 300 do
      names[i] = "l" .. i
      texts[i] = ("local l%d = %d"):format(i, i)
    end
    texts[301] = table.concat(names, " + ")
    assert.same({ true, 300 * 301 / 2 }, { session(unpack(texts)) })
    local list = table.concat(names, ", ", 1, 150)
    assert.same({ true, 12 }, { session(("local %s = 10, 2"):format(list), "l1 + l2") })
    assert.same({ true, 300 * 301 / 2 }, { session(table.concat(texts, "\n", 1, 198),
      table.concat(texts, "\n", 199, 300), texts[301]) })
    assert.same({ true, 1000 }, { session("l300 = 1000 local _ = " .. texts[301], "l300") })
  end)

  it("is found by a path, which may lead nowhere", function()
    session("local t = { text = 'x', f = { 7 } }")
    assert.equal("x", locals.value_of "t.text")
    assert.equal(string.len, locals.value_of "t.text:len")
    assert.equal(math.pi, locals.value_of "math.pi")
    assert.equal(_G, locals.value_of "")
    for _, path in ipairs { "nothing", "nothing.len", "nothing.len.len", "t.no.len", "t.no.a.b" } do
      assert.is_nil(locals.value_of(path))
    end
  end)

  it("is no constant to the compiler", function()
    local ok, sum = session("local n = 1",
      "local function f() local s = 0 for _ = 1, 200 do s = s + n end return s end jit.on(f)",
      "f() f()", "n = 2", "f()")
    assert.same({ true, 400 }, { ok, sum })
  end)
end)

-- ---- random programs ----

local NAMES = { "a", "b", "c", "d", "f", "g" }

local state

local function random(n)
  state = (state * 1103515245 + 12345) % 2147483648
  return math.floor(state / 65536) % n + 1
end

local function name() return NAMES[random(#NAMES)] end

local expression, statement

local forms = {
  function() return tostring(random(9)) end, name, name,
  function(e) return "(" .. e() .. ")" end,
  function(e) return "N(" .. e() .. ") + N(" .. e() .. ")" end,
  function(e) return "'" .. name() .. "' .. S(" .. e() .. ")" end,
  function(e) return "{" .. e() .. ", x = " .. e() .. "}" end,
  function(e)
    return "function(...) " .. name() .. " = " .. e() .. " local z = ... return " .. e() .. " end"
  end,
  function(e) return "C(" .. e() .. ")" end,
  function(e) return "not " .. e() end,
  function(e) return "-N(" .. e() .. ") and " .. e() .. " or [[x]]" end,
}

function expression(depth)
  return forms[random(depth > 2 and 3 or #forms)](function() return expression(depth + 1) end)
end

local function block(depth)
  local list = {}
  for i = 1, random(3) do list[i] = statement(depth + 1) end
  return table.concat(list, " ")
end

local function value() return expression(0) end

local simple = {
  function() return "local " .. name() end,
  function() return "local " .. name() .. " = " .. value() end,
  function()
    return ("local %s, %s = %s, C(%s)"):format(name(), name(), value(), value())
  end,
  function() return name() .. " = " .. value() end,
  function() return ("P(%s, %s)"):format(value(), name()) end,
  function() return ("%s, %s = %s, %s"):format(name(), name(), value(), value()) end,
}
local nested = {
  function(b) return ("local function %s(%s) %s end"):format(name(), name(), b()) end,
  function(b) return "do " .. b() .. " end" end,
  function(b) return ("for %s = 1, 2 do %s end"):format(name(), b()) end,
  function(b) return ("if %s then %s else %s end"):format(value(), b(), b()) end,
  function(b) return ("repeat %s until true or %s"):format(b(), value()) end,
}

function statement(depth)
  local i = random(depth > 1 and #simple or #simple + #nested)
  if i <= #simple then return simple[i]() .. (random(3) == 1 and ";" or "") end
  return nested[i - #simple](function() return block(depth) end)
end

-- Globals of a program, which prints into a list. Functions that call others by C, again and again,
-- are called so often at most.
local MOST_CALLS = 2000

local function library(printed)
  local depth, calls, own = 0, 0, {}
  function own.S(v)
    if type(v) == "table" then return "{" .. own.S(v[1]) .. "," .. own.S(v.x) .. "}" end
    return type(v) == "function" and "fn" or tostring(v)
  end
  function own.N(v) return tonumber(v) or 0 end
  function own.C(v)
    if type(v) ~= "function" or depth > 20 or calls > MOST_CALLS then return v end
    depth, calls = depth + 1, calls + 1
    local ok, result = pcall(v)
    depth = depth - 1
    return ok and result or "failed"
  end
  function own.P(...)
    local texts = { ... }
    for i = 1, select("#", ...) do texts[i] = own.S(texts[i]) end
    printed[#printed + 1] = table.concat(texts, " ")
  end
  return own
end

-- What a program prints that is run by run(...), and whether it ends well.
local function printed_by(run, ...)
  local printed = {}
  for _, key in ipairs(NAMES) do rawset(_G, key, nil) end
  for key, f in pairs(library(printed)) do rawset(_G, key, f) end
  printed[#printed + 1] = tostring(run(...))
  for _, key in ipairs { "S", "N", "C", "P", unpack(NAMES) } do rawset(_G, key, nil) end
  return table.concat(printed, "\n")
end

local function in_pieces(list)
  locals.clear()
  local i = 1
  while i <= #list do
    local n = random(3)
    local f, _, message = chunk.load(table.concat(list, "\n", i, math.min(#list, i + n - 1)), pass)
    if not f then return message end
    if not pcall(f) then return false end
    i = i + n
  end
  return true
end

describe("a random program", function()
  it("gives the same in pieces as in one file", function()
    for trial = SEED, SEED + TRIALS - 1 do
      state = trial
      local list = {}
      for i = 1, 3 + random(12) do list[i] = statement(0) end
      for _, key in ipairs(NAMES) do list[#list + 1] = ("P(%s, C(%s))"):format(key, key) end
      local text = table.concat(list, "\n")
      local whole = assert(loadstring(text))
      assert.equal(printed_by(pcall, whole), printed_by(in_pieces, list), text)
    end
  end)
end)
