-- Limits of a restricted script: whatever a text catches, they end it, are told, and leave the box
-- as it was. JFL_FUZZ=10000 makes each go on for longer, JFL_FUZZ_SEED=2 elsewhere.
local flow = require "jfl"

local rounds = tonumber(os.getenv "JFL_FUZZ" or "") or 150
local seed = tonumber(os.getenv "JFL_FUZZ_SEED" or "") or 1

-- A generator of its own, so that math.random stays the host's.
local state = seed * 7919 + 1
local function random(n)
  state = (state * 16807) % 2147483647
  return state % n + 1
end
local function pick(list) return list[random(#list)] end

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
