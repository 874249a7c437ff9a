-- Limits of a restricted script: whatever a text catches, they end it, are told, and leave the box
-- as it was. JFL_FUZZ=10000 makes each go on for longer, JFL_FUZZ_SEED=2 elsewhere.
local draws = require "spec.draws"
local flow = require "jfl"

local rounds, seed = draws.trials(30), draws.seed()
local random = draws.from(seed)
local function pick(list) return draws.pick(random, list) end

local function box_of(options)
  options.seconds = options.seconds or 1000
  return flow.sandbox(options)
end

-- Runs a text that a limit must end, within so much of the processor's time, which leaves a slow
-- machine room.
local function ended(box, text, message)
  local began = os.clock()
  local ok, got = pcall(box.run, box, text, "mod")
  assert(not ok, "it ended by itself: " .. text)
  assert(tostring(got):find(message, 1, true), tostring(got) .. ": " .. text)
  assert(os.clock() - began < 20, ("it took %g s: %s"):format(os.clock() - began, text))
end

-- ---- endless texts ----

-- Uses up the stack by so many places, so that what overflows does so at any of its instructions.
local function padding()
  local n = random(60)
  local list = {}
  for i = 1, n do list[i] = "p" .. i end
  return "local " .. table.concat(list, ", ") .. " "
end

local catchers = { "pcall(%s)", "xpcall(%s, error)", "xpcall(%s, function(e) return e end)",
  "coroutine.resume(coroutine.create(%s))", "pcall(pcall, %s)", "pcall(coroutine.wrap(%s))",
  "xpcall(%s, coroutine.wrap(function() error() end))", "pcall(xpcall, %s, %s)" }

local function catch(f) return (pick(catchers):gsub("%%s", function() return f end)) end

local ends = {
  function() return "while true do end" end,
  function() return "while true do " .. catch("error") .. " end" end,
  function() return "local function f() " .. padding() .. catch("f") .. " return f() end f()" end,
  function() return "local function f() " .. catch("f") .. " while true do end end f()" end,
  function()
    return "local function f() " .. catch("f") .. padding() .. catch("f") .. " return f() end f()"
  end,
  function() return "local function f() return pcall(f), f() end f()" end,
  function() return "for _ in function() " .. catch("error") .. " return 1 end do end" end,
  function() return "while true do load('return 1')() end" end,
  function() return "while true do load(('x '):rep(9)) " .. catch("error") .. " end" end,
  function() return "while true do pcall(string.find, ('a'):rep(50), ('a-'):rep(9) .. '[') end" end,
  function() return "while true do pcall(string.rep, 'x', 1e9) end" end,
}

local around = {
  function(f) return catch(f) end,
  function(f) return catch(f) .. " while true do " .. catch(f) .. " end" end,
  function(f) return "xpcall(error, " .. f .. ")" end,
  function(f) return "while true do xpcall(error, " .. f .. ") end" end,
  function(f) return "coroutine.wrap(" .. f .. ")()" end,
  function(f) return "for _ in " .. f .. " do end" end,
  function(f) return "pcall(table.sort, { 1, 2, 3 }, " .. f .. ")" end,
  function(f) return "pcall(string.gsub, 'x', 'x', " .. f .. ")" end,
  function(f)
    return "pcall(string.gsub, 'x', 'x', setmetatable({}, { __index = " .. f .. " }))"
  end,
  function(f) return "pcall(tostring, setmetatable({}, { __tostring = " .. f .. " }))" end,
  function(f) return "pcall(print, setmetatable({}, { __tostring = " .. f .. " }))" end,
  function(f)
    return "pcall(string.format, '%s', setmetatable({}, { __tostring = " .. f .. " }))"
  end,
  function(f) return "pcall(require('jfl').scope.recompute, " .. f .. ")" end,
  function(f)
    return [[local tp = require("jfl").typing pcall(require("jfl").global_function { name = "a",
      returns = tp.Numpy, inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } }, body = ]] .. f
      .. " }, { 1 })"
  end,
  function(f)
    return "local t = setmetatable({}, { " .. pick { "__index", "__call", "__add", "__unm",
      "__concat", "__lt", "__newindex" } .. " = " .. f .. [[ })
      pcall(function() t.x = t.y end) pcall(t) pcall(function() return t + 1, 1 end)
      pcall(function() return -t end) pcall(function() return t .. 'x' end)
      pcall(function() return t < t end)]]
  end,
}

-- Whatever is around it, this goes on for ever, or until a limit ends it.
local function endless()
  local text = pick(ends)()
  for _ = 1, random(5) - 1 do
    text = pick(around)("function() " .. text .. " end") .. " while true do end"
  end
  return text
end

-- ---- specs ----

describe("a limit of a restricted script", function()
  it("ends recursion in phase with what looks at it", function()
    for _, text in ipairs { "local function f() pcall(f) return f() end f()",
      "local function f() xpcall(f, error) return f() end f()" } do
      ended(box_of { instructions = 1e5 }, text, "ran more than 100000 instructions")
      ended(box_of { seconds = 0.05 }, text, "ran for more than 0.05 s")
    end
  end)

  it("is told where the last act of a text is a protected call", function()
    for _, text in ipairs { "pcall(function() while true do end end)",
      "xpcall(function() while true do end end, function() end)", "load(('x = 1 '):rep(1e6))",
      "coroutine.resume(coroutine.create(function() while true do end end))",
      "table.insert({}, 1, pcall(string.rep, 'x', 4e6), pcall(string.rep, 'y', 4e6))",
      "xpcall(error, function() while true do end end)" } do
      ended(box_of { instructions = 1e5 }, text, "ran more than 100000 instructions")
      ended(box_of { instructions = 1e5 }, "return " .. text, "ran more than 100000 instructions")
    end
  end)

  it("ends any nest of what catches, by instructions", function()
    local box = box_of { instructions = 1e5, memory = "16M", print = function() end }
    for _ = 1, rounds do
      ended(box, endless(), "ran more than 100000 instructions")
      assert.equal(2, box:run("return 1 + 1"))
    end
  end)

  it("ends any nest of what catches, by the clock", function()
    local box = box_of { seconds = 0.005, memory = "16M", print = function() end }
    for _ = 1, rounds do ended(box, endless(), "ran for more than 0.005 s") end
  end)
end)

describe("lengths that a text chooses", function()
  -- Each line does something with a text of a million bytes, or a table of 20,000 entries.
  for _, line in ipairs {
    "s:upper()", "s:lower()", "s:reverse()", "s:sub(2)", "s:rep(2)", "('x'):rep(1e6)",
    "('%s'):format(s)", "('%q'):format(s)", "s:format()", "table.concat({ s, s })",
    "table.concat(t)", "table.concat(t, s, 1, 3)", "load(s)", "load('x = 1' .. (' '):rep(1e6))",
    "tonumber(s)", "tonumber(s, 36)", "s:find('y', 1, true)", "s:find('y')", "s:find('xy')",
    "s:match('y')", "s:match('^x*$')", "s:match('(.*)')", "s:gsub('y', '')", "s:gsub('^x', '')",
    "for _ in s:gmatch('y') do end", "('x'):gsub('x', s)", "('x'):gsub('x', '%0' .. s)",
    "s:gsub('^.*$', '%0')", "('x'):gsub('x', { x = s })", "('x'):find(s)",
    "('x'):find('[' .. s .. ']')", "table.maxn(t)", "table.sort(t)", "table.sort(t, rawequal)",
    "table.sort(t, math.max)", "table.insert(t, 1, 0)", "table.remove(t, 1)", "pcall(error, s)",
    "xpcall(error, function() return s end)", "coroutine.resume(coroutine.create(error), s)",
    "pcall(function() return require('jfl')[s] end)", "pcall(require, s)", "print(s)", "host(s)",
    "host(t)", "given()", "pcall(require('jfl').ndarray.array, t)", "print(unpack(many))",
    "setmetatable({}, { __tostring = function() return s end }) print(s)",
  } do
    it("are counted by " .. line, function()
      local box = box_of { memory = "64M", instructions = 2e6, print = function() end }
      local list = {}
      for i = 1, 20000 do list[i] = {} end
      box:set("host", function() end)
      box:set("given", function() return list end)
      box:set("s", ("x"):rep(1e6))
      box:set("many", list)
      box:run("t, n = {}, 0 for i = 1, 2e4 do t[i] = -i end many = { unpack(many, 1, 2000) }")
      ended(box, "while true do n = n + 1 pcall(function() " .. line .. " end) end",
        "ran more than 2000000 instructions")
      local n = box:get("n")
      assert(n < 2000, ("%d calls cost 2e6 instructions"):format(n))
    end)
  end
end)

describe("a box whose limits were passed", function()
  -- Texts that a limit ends, wherever they are then: in a body, a coroutine, a callback, the host.
  local JOB = [[local flow = require "jfl" local tp = flow.typing
    local function job(name, body) return flow.global_function { name = name, returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } }, body = body } end ]]
  local texts = {
    memory = { "local t = {} while true do t = { t } end",
      "local s = 'x' while true do s = s .. s end",
      "kept = nil while true do kept = { kept } end",
      "pcall(function() local t = {} for i = 1, 1e9 do t[i] = { i } end end) return ('x'):rep(4e6)",
      "local t = {} for i = 1, 1e6 do t[i] = require('jfl').ndarray.zeros({ 1000 }) end",
      "local t = {} for i = 1, 1e6 do t[i] = ('x'):rep(1e5) .. i end return t",
      JOB .. "job('m' , function(x) local t = {} while true do t = { t } end end)({ 1, 2 })" },
    time = { "while true do end", "while true do pcall(host) end",
      [[co = coroutine.wrap(function()
        pcall(function() coroutine.yield() while true do end end) end) co() co()]],
      "co = coroutine.create(function() pcall(coroutine.yield) end) coroutine.resume(co)"
        .. " while true do end",
      "while true do pcall(again) end", "while true do pcall(close) end",
      JOB .. "job('a', function(x) while true do end end)({ 1, 2 })",
      JOB .. "job('b', function(x) while true do x = x + 1 end end)({ 1, 2 })",
      JOB .. [[job('c', function(x)
        flow.scope.namespace('n', function() while true do end end) end)({ 1, 2 })]],
      JOB .. "while true do job('d', function(x) return x + 1 end)({ 1, 2 }) end",
      JOB .. [[local j = job('e', function(x) return x + 1 end)
        while true do pcall(j, { 1, 2 }) end]],
      JOB .. [[flow.global_function { name = "f", returns = tp.Callback(tp.Numpy),
        inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } }, body = function(x) return x * 2 end
        }({ 1, 2 })(function() while true do end end) flow.sync()]],
      "for i = 1, 1e9 do print(i) end", "table.sort({ 3, 2, 1 }, function() while true do end end)",
      "while true do load('return { 1 }')() end" },
  }
  -- Everything that a text may want to do next works, and gives what it gives in a new box.
  local CHECK = JOB .. [[
    local j = job("check", function(x)
      return flow.scope.namespace("s", function() return x * flow.get_variable("v", { shape = { 2 },
        initializer = flow.ones_initializer() }) end)
    end)
    local n = 0
    for i = 1, 10 do n = n + j({ i, i })[1] end
    local co = coroutine.wrap(function() coroutine.yield(1) return 2 end)
    return n + co() + co() + select("#", pcall(error)), (("a"):rep(1e5):gsub("a", "b"):sub(-1))]]

  -- What a text gives that is not meant to pass a limit. On a busy machine the clock may go on by
  -- more than a short one while the box waits for a core: then the next try counts.
  local function run(box, text)
    local ok, got, more
    for _ = 1, 1000 do
      ok, got, more = pcall(box.run, box, text, "mod")
      if ok or not tostring(got):find("ran for more than", 1, true) then break end
    end
    assert(ok, got)
    return got, more
  end

  local function check(box)
    local got, text = run(box, CHECK)
    assert.equal(60, got)
    assert.equal("b", text)
  end

  -- Hits a limit so often; gives the least that the box was seen to hold after one. What nobody has
  -- any more is collected before, since the clock decides how much of it there is.
  local function hit(box, list, message)
    local least = math.huge
    for i = 1, rounds do
      ended(box, list[i <= #list and i or random(#list)], message)
      run(box, "kept, co = nil")
      if i % 10 == 0 then check(box) end
      run(box, "collectgarbage()")
      least = math.min(least, box:used())
      ended(box, list[1], message)
    end
    return least
  end

  local function works(options, list, message)
    options.print = function() end
    local box = box_of(options)
    box:set("host", function() error("of the host") end)
    box:set("again", function() return box:run("return 1") end)
    box:set("close", function() box:close() end)
    check(box)
    local before = hit(box, list, message)
    local after = hit(box, list, message)
    assert(after < before + 2 ^ 18, ("%d bytes after %d"):format(after, before))
    check(box)
    box:close()
    assert.is_false((pcall(box.run, box, "return 1")))
  end

  it("works as before, after its memory", function()
    works({ memory = "8M" }, texts.memory, "out of memory")
  end)
  it("works as before, after its time", function()
    works({ memory = "1G", seconds = 0.02 }, texts.time, "ran for more than 0.02 s")
  end)
  it("works as before, after its instructions", function()
    works({ memory = "256M", instructions = 1e6 }, texts.time, "ran more than 1000000 instructions")
  end)
end)
