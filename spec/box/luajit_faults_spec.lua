-- Known memory faults of LuaJIT 2.1.0-beta3 (Debian 12 has that of 2022-03-20, and its own patches
-- for CVE-2024-25176 to 25178), by the numbers of its issues: a text for each that a stranger could
-- give a box. Each runs in a process of its own, so that a crash names the fault.
--
-- Not here, as nothing in a box reaches them:
--   compiled code (611, 690, 796, 827, 839, 840, 864, 918, 1117, 1164, 1166, 1196, 1203, 1204,
--     1206, 1208, 1234, 1247, 1298, 1338, 1402, 1403, 1407, 1413, 1425, 1434, 1438, 1441, 1502,
--     1510, 1512, CVE-2024-25177): the compiler is off
--   bytecode (507, 600, 1148, 1453): only texts are loaded
--   ffi (861, 1357, 1449, 1451, 1455), table.new (1458), debug (1172), os.time of a table (1454),
--     io (1343), finalizers and the profiler (512, 1350, 1445): none is in a box
--   other machines than those with 64 bits and x86 or ARM (1428, 1430)
-- Where memory ends while a state is made: allocate.c.
local helper = require "spec.lua.helper"

-- PADS runs a text once for each number of locals that a frame may be larger by, so that the stack
-- ends at any of its instructions: @ stands for those.
local PADS = [[
  local function pads(text, most)
    for n = 0, most or 60 do
      local list = {}
      for i = 1, n do list[i] = "p" .. i end
      local at = n > 0 and "local " .. table.concat(list, ",") .. " " or ""
      assert(load((text:gsub("@", at))))()
    end
  end
]]

-- issue; what it was; why it is harmless here; the text. says: what a run must end with, where that
-- is known. Others may end by a limit.
local faults = {
  { "1048", "a metamethod with ... writes behind a full stack", "room behind stacks (allocate.c)",
    [=[ pads [[
      local got
      local t = setmetatable({}, { __newindex = function(...) got = select("#", ...) end,
        __concat = function(...) return (select("#", ...)) end })
      coroutine.wrap(function(...) @ t[t] = t assert(got == 3) assert(t .. t == 2) end)(1, 2)
    ]] ]=], says = "true" },
  { "1048", "pcall as a metamethod", "room behind stacks, pcall is Lua",
    [=[ pads [[
      local t = setmetatable({}, { __newindex = pcall, __call = type })
      local function prober(...) @ t[t] = t end
      local function looper(n, ...) prober(...) if n < 20 then return looper(n + 1, n, ...) end end
      coroutine.wrap(looper)(0) setmetatable({}, { __call = pcall })()
      t = setmetatable({}, { __newindex = xpcall, __call = type })
      coroutine.wrap(looper)(0)
    ]] ]=] },
  { "1048", "calls of pcall by pcall grow no stack", "pcall is Lua", [=[
      for n = 1, 245, 8 do
        coroutine.wrap(load("return pcall(" .. ("pcall,"):rep(n) .. " pairs, {})"))()
      end ]=], says = "true" },
  { "1054", "`for in nil` reads an instruction that is not there", "a statement before each for",
    [=[ for _, s in ipairs { "for _ in nil do end", "local d for _ in nil do end",
        "local d for _ in (nil) do end", "local d for _ in 1 and nil do end",
        "local d for _ in false or nil do end", "local a, b, c = 1 for _ in nil, 1 do end",
        "for k in function() local a, b = a, b return a, b end do end local d for _ in nil do end" }
      do
        for n = 0, 60 do
          local many = ("local function f(...) local x = f return f(x, f), x end "):rep(n)
          local ok, err = pcall(assert(load("do " .. many .. "end " .. s)))
          assert(ok or err)
        end
      end ]=], says = "true" },
  { "1226", "the same after a for of numbers", "a statement before each for", [=[
      local function an(v) return tonumber(v) or 1 end
      local function F() for F = an(true), an(true), an(-0.0) do F:F({})() end end
      N = 'Name' for F in nil do end local F for G in nil do end ]=],
    says = "attempt to call a nil value" },
  { "1152", "overflow in the handler of an overflow", "handlers have a stack of their own", [=[
      pads([[
        local function f(...) @ return f(f, ...), 1 end
        local function h(...) @ local function g() return g(), 1 end return g() end
        xpcall(f, h)
        coroutine.wrap(function() xpcall(f, h) xpcall(f, function() pcall(error) f() end) end)()
      ]], 7) ]=] },
  { "962", "an overflow is not told to a handler", "handlers have a stack of their own", [=[
      pads([[ local function f() @ f() end xpcall(f, function(e) return e end) xpcall(f, f) ]], 7)
    ]=] },
  { "1381", "errors in handlers of errors", "handlers have a stack of their own", [=[
      local function s() s() end
      xpcall(error, s) xpcall(error, error) xpcall(error, function() error {} end)
      coroutine.wrap(function() xpcall(s, s) xpcall(error, s) end)() ]=], says = "true" },
  { "1471", "a stack made smaller in a handler", "handlers have a stack of their own", [=[ pads([[
      local function rec(a, b) local _ rec(a, b) end
      local t = setmetatable({}, { __add = rec, __newindex = rec })
      coroutine.wrap(function() xpcall(error, function() pcall(error) @ t[t] = t + t end) end)()
    ]], 40) ]=] },
  { "603", "recursion through xpcall", "room in the catchers", [=[
      local r local function e() xpcall(r, e) end
      r = function() xpcall(r, e) e = function() end r = function() end end
      r() ]=], says = "true" },
  { "1066", "an overflow while a coroutine is resumed", "room is asked for first", [=[
      local function rec(...) rec(coroutine.yield()) end
      for n = 0, 3 do
        local co = coroutine.create(rec)
        while coroutine.resume(co, unpack({ 1, 2, 3 }, 1, n)) do end
      end ]=] },
  { "349, 619, 1263, 1452", "coroutines in coroutines overflow the C stack", "JF_NESTED", [=[
      local function f() coroutine.wrap(f)() end f() ]=], says = "too many coroutines" },
  { "1452", "the same in iterators", "JF_NESTED", [=[
      local function gen(n) for i = 1, n do coroutine.yield(i)
        for v in coroutine.wrap(gen), 5 do end end end
      for v in coroutine.wrap(gen), 5 do end ]=], says = "too many coroutines" },
  { "906", "out of memory with a stale top of the stack", "in every phase tried, unharmed", [=[
      local n, ways = 0, {}
      local l = {}
      ways[1] = function() l[#l + 1] = { 1, { 2, { 3 } }, x = n } end
      ways[2] = function() l[#l + 1] = function() return n end end
      ways[3] = function() l[#l + 1] = n .. ("y"):rep(n % 999) end
      ways[4] = function() l[#l + 1] = coroutine.create(ways[1]) end
      ways[5] = function() l[#l + 1] = load("return { { " .. n .. " } }") end
      ways[6] = function() l[#l + 1] = { unpack(l, 1, 100) } end
      for k = 1, 6 do l = {} pcall(function() while true do n = n + 1 ways[k]() end end) end ]=],
    memory = 1.5e6 },
  { "906", "the same where a constant table finds no room", "in every phase tried, unharmed", [=[
      local rep, hs, keep = string.rep, {}, {}
      for _, call in ipairs { "rep('a', 1)", "pcall(rep)", "select(1, 2)", "tostring(rep)" } do
        for n = 0, 24 do
          hs[#hs + 1] = assert(load("local rep = ... local function f() return {" ..
            ("1,"):rep(500) .. "} end return function() do local z = " .. call .. " end " ..
            ("local p "):rep(n) .. " local r = f() return r, 1 end"))(rep)
        end
      end
      pcall(function() for i = 1, 1e5 do keep[i] = rep(i .. "x", 700) end end)
      local fails = 0
      for i = 1, #hs do
        local ok, err = pcall(hs[i])
        if not ok then
          fails = fails + 1
          assert(err == "not enough memory")
        end
      end
      keep = nil
      assert(fails > 0) ]=] },
  { "1149, CVE-2024-25176", "%g writes behind its buffer", "mended by Debian", [=[
      for _, c in ipairs { "e", "f", "g", "a" } do for p = 0, 99, 3 do
        for _, v in ipairs { 0, 5e-324, 1.7976931348623157e308, 0x1.144399609d407p+401, 9.5 } do
          string.format("%" .. p .. "." .. p .. c, v) string.format("%#+0." .. p .. c, -v)
        end end end ]=], says = "true" },
  { "788", "numbers with large exponents", "read right, of any length", [=[
      for _, s in ipairs { "0." .. ("0"):rep(9999) .. "1e10000", "1e" .. ("9"):rep(999),
        "0x" .. ("f"):rep(9999) .. "p-39999", "0x1p2147483647", "0x1p-2147483648", "1e-2147483649",
        "0x", "0xp1", ".", "1e+" } do tonumber(s) load("return " .. s) end
      return tonumber("0." .. ("0"):rep(999) .. "1e1000") ]=], says = "1$" },
  { "819", "a return leaves upvalues open", "mended in it", [=[
      local function m() while true do local f if false then break end while true do
        if f then return f end f = function(x) if x then f = x end return f end end end end
      local fs = {}
      local function deep(n) if n > 0 then deep(n - 1) return end
        for i = 1, 9 do fs[i] = m() end end
      deep(900)
      for i = 1, 9e3 do local t = { i } end
      for i = 1, 9 do fs[i]("x") assert(fs[i]() == "x") end ]=], says = "true" },
  { "228, 736", "gotos out of their blocks and to themselves", "mended in it, and counted", [=[
      assert(not load("repeat do ::l:: end do goto l end break until false"))
      do local uv w = function() return uv end for i = 1, 99 do if i == 57 then goto x end end end
      ::x:: do local uv goto x w = function() return uv end end ]=], says = "instructions" },
  { "574, 674, 1443, 1450", "indices at the end of 32 bits", "at most 8000 values", [=[
      local most = 2 ^ 31 - 1
      for _, a in ipairs { -2 ^ 63, -2 ^ 31, -most, 0, 1, most - 1, most, 2 ^ 32, 0 / 0, 1 / 0 } do
        for _, b in ipairs { -2 ^ 31, 0, 8001, most - 1, most, 2 ^ 32 + 1, 2 ^ 53, 0 / 0 } do
          pcall(unpack, {}, a, b) pcall(string.byte, "abc", a, b) pcall(string.sub, "abc", a, b)
          pcall(table.concat, { 1 }, "s", a, b) pcall(select, a, 1) pcall(string.rep, "xy", b)
          pcall(string.find, "abc", "b", a) pcall(table.insert, {}, a, 1)
          pcall(table.remove, { 1 }, a) pcall(string.char, b) pcall(string.rep, "", b, "x")
        end end ]=] },
  { "1034", "tables that overflow", "the memory ends first", [=[
      local t = {}
      for i = 1, 60 do pcall(function() t[2 ^ i] = i t[-2 ^ i] = i end) end
      pcall(rawset, t, 0 / 0, 1) pcall(next, t, {}) pcall(next, t, 2 ^ 40 + 1) ]=], says = "true" },
  { "494", "chains of keys that collide", "mended in it", [=[
      local t = {} for _, i in ipairs { 0, 4, 8, 2 } do t[i * 2 ^ -1074] = 1 end
      for i = 0, 999 do t[i * 2 ^ -1074] = i t[i * 2 ^ 52] = i end
      for k in pairs(t) do t[k] = nil end assert(next(t) == nil) ]=], says = "true" },
  { "241", "__mode of many letters", "mended in it", [=[
      for _, m in ipairs { "aaaaaaaaaaaK", "K", "kv", ("k"):rep(300), "\0k" } do
        local w = setmetatable({ [{ '' }] = '' }, { __mode = m })
        for i = 1, 999 do w[{}] = {} w[i] = {} end
        for k, v in pairs(w) do tostring(k) w[k] = nil end
      end ]=], says = "true" },
  { "838, 881", "what joins texts calls metamethods", "nothing in C joins values of a text", [=[
      pads([[ local mt = {} local o = setmetatable({}, mt)
        local function f() @ return "a" .. 1 .. o .. "b" .. 2 .. o .. 3 end
        for _, g in ipairs { function() return "c" end, pcall, function(...) return o end, error,
          tostring, function() error() end, coroutine.wrap(function() end) } do
          mt.__concat = g pcall(f) end
        mt.__concat = function(a) return coroutine.yield(a) end
        local c = coroutine.wrap(f) c() c("z") ]], 20) ]=], says = "true" },
  { "386, 1168", "numbers of ffi, whose tables were collected",
    "no metamethods; ffi is held (library.c)", [=[
      for _, s in ipairs { "#1LL", "1LL + 1", "1LL < 1LL", "1LL == 1ULL", "(1LL)()", "(1LL).x",
        "1i .. 1i", "tostring(1LL)", "('%d'):format(1LL)", "tonumber(1LL)", "bit.band(1LL, 1)",
        "({})[1LL]", "unpack({}, 1LL)", "getmetatable(1LL)", "next(1LL)", "-1i", "1LL % 0LL" } do
        pcall(assert(load("return " .. s)))
      end
      local t, pairs, next, G = {}, pairs, next, _G
      for k, v in pairs(G) do if type(v) == "table" and v ~= G then t[#t + 1] = v end end
      for i = 1, #t do for k in next, t[i] do t[i][k] = nil end end
      for i = 1, 1e4 do local x = { i } end ]=], says = "true" },
  { "1463, 1432, 1433", "loops from and to odd numbers", "counted", [=[
      local f, t = ipairs { 1, 2 }
      for _, i in ipairs { 2 ^ 31 - 1, 2 ^ 53, -2 ^ 31, 0 / 0 } do
        pcall(f, t, i) pcall(f, {}, i) end
      for i = 0 / 0, 1 do end for i = 1, 0 / 0 do end for i = 2147483646, 2147483647 do end
      for i = -2147483647, -2147483648, -1 do end for i = 1, 0, -0.0 do break end ]=],
    says = "true" },
  { "99, 228", "texts at the limits of the compiler", "refused", [=[
      for _, n in ipairs { 59, 60, 61, 199, 200, 201, 250, 255, 256, 300 } do
        local v = {} for i = 1, n do v[i] = "v" .. i end v = table.concat(v, ",")
        for _, s in ipairs { "local % return function() return % end", "return function(%) end",
          "return f(%)", "% = %", "return { % }", "for % in x do end", "local % = ... return %" } do
          load((s:gsub("%%", v))) end
        for _, p in ipairs { "(", "{", "-", "not ", "function() return ", "x..", "x^", "f(", "a[",
          "do ", "if x then ", "for i = 1, 2 do ", "repeat ", "[[", "'\\", "goto l " } do
          load("return " .. p:rep(n)) load(p:rep(n)) end
      end ]=], says = "true" },
}

-- The text's own run, and then another: what a box has may be gone, so that uses nothing of it.
local function child(fault)
  return ([[
    local flow = require "jfl"
    local box = flow.sandbox { memory = %d, instructions = %d, seconds = 1000 }
    local ok, got = pcall(box.run, box, %q)
    print(ok, got)
    print(box:run("local s, t = 0, {} for i = 1, 99 do t[i] = { i } s = s + t[i][1] end return s"))
    box = nil collectgarbage() collectgarbage()
    print "lived"
  ]]):format(fault.memory or 8e6, fault.instructions or 1e6, PADS .. fault[4])
end

describe("a known fault of LuaJIT in a box", function()
  for _, fault in ipairs(faults) do
    it(("(%s: %s) does no harm"):format(fault[1], fault[2]), function()
      local out, status = helper.script(child(fault))
      local name = ("issue %s (%s), held by: %s\n%s"):format(fault[1], fault[2], fault[3], out)
      assert(status == 0, name)
      assert(out:find("\n4950\nlived\n$"), name)
      if fault.says then assert(out:match("^[^\n]*"):find(fault.says), name) end
    end)
  end
end)

describe("a text of a box", function()
  it("means the same though each for has a statement before it", function()
    local box = require("jfl").sandbox()
    for text, says in pairs {
      ["#!'for\nlocal s = 0 for i = 1, 3 do s = s + i end return s"] = "6",
      ["\239\187\191for i = 1, 3 do s = (s or 0) + i end return s"] = "6",
      ["return [[for]] .. [==[ ]] for ]=] for]==] .. \"\\\"for\" -- for ' \n .. 6 --[[ for ]]"] =
        "for ]] for ]=] for\"for6",
      ["forx = 1 xfor = 2 local t = {} t.xfor = 3 return forx + xfor + t.xfor"] = "6",
      ["x = ...for i = 1, 2 do x = i end return x"] = "2",
      ["return 1 --[==[ ' ]] ]==] + 1 --[ for '\n"] = "2",
      ["for i = 1, 2 do goto l ::l::for k = 1, 3 do n = k end end return n"] = "3",
    } do
      assert.equal(says, tostring(box:run(text)))
    end
    local ok, err = pcall(box.run, box, "for i = 1, 3 do\nlocal a a.b = 1 end", "mod")
    assert(not ok and err:find("mod:2:", 1, true), err)
  end)
end)
