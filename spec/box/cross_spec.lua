-- Values that go into a box and come out of it: their shape, and what they may cost.
-- JFL_FUZZ=10000 makes the random ones go on for longer, JFL_FUZZ_SEED=2 elsewhere.
local draws = require "spec.draws"
local flow = require "jfl"
local nd = flow.ndarray

local rounds, seed = draws.trials(200), draws.seed()
local random = draws.from(seed)

local function box_of(options)
  options.seconds = options.seconds or 1000
  return flow.sandbox(options)
end

-- What says all of a value: each table and array by its number in the order in which they are met,
-- so that two values have one text where both have the same shape. In either state.
local SIGN = [[
  local function sign(...)
    local seen, n, out = {}, 0, {}
    local function walk(v)
      if type(v) ~= "table" and type(v) ~= "userdata" then
        out[#out + 1] = type(v) .. tostring(v)
        return
      end
      if seen[v] then
        out[#out + 1] = "#" .. seen[v]
        return
      end
      n = n + 1
      seen[v] = n
      if type(v) == "userdata" then
        out[#out + 1] = "array " .. tostring(v)
        return
      end
      local keys = {}
      for k in pairs(v) do keys[#keys + 1] = k end
      table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
      out[#out + 1] = "{"
      for _, k in ipairs(keys) do
        out[#out + 1] = tostring(k)
        walk(v[k])
      end
      out[#out + 1] = "}"
    end
    for i = 1, select("#", ...) do walk((select(i, ...))) end
    return table.concat(out, " ")
  end
  return sign
]]
local sign = loadstring(SIGN)()

-- A few tables and arrays, each of which refers to any of them.
local function graph()
  local nodes = { ("long text "):rep(20), true, 7 }
  for i = 1, random(4) do nodes[#nodes + 1] = nd.array { i, random(9) } end
  local first = #nodes
  for _ = 1, random(18) do nodes[#nodes + 1] = {} end
  for i = first + 1, #nodes do
    for _ = 1, random(4) do nodes[i][random(2) == 1 and random(5) or "k" .. random(5)] =
      nodes[random(#nodes)] end
  end
  return nodes[#nodes], nodes[random(#nodes)], nodes[random(#nodes)]
end

local function fails(box, text, message)
  local ok, got = pcall(box.run, box, text, "mod")
  assert(not ok, "it did not fail: " .. text)
  assert(tostring(got):find(message, 1, true), tostring(got))
  assert.equal(2, box:run("return 1 + 1"))
end

describe("what goes into a box and comes out", function()
  it("keeps what is shared, and circles", function()
    local box = box_of {}
    box:run("sign = (function() " .. SIGN .. [[ end)()
      function same(...) return sign(...), ... end
      function ask(...) return sign(...), sign(host(...)), ... end]])
    box:set("host", function(...) return ... end)
    for _ = 1, rounds do
      local a, b, c = graph()
      local want = sign(a, b, c)
      local inside, a1, b1, c1 = box:call("same", a, b, c)
      assert.equal(want, inside)
      assert.equal(want, sign(a1, b1, c1))
      local before, after, a2, b2, c2 = box:call("ask", a, b, c)
      assert.equal(want, before)
      assert.equal(want, after)
      assert.equal(want, sign(a2, b2, c2))
    end
  end)

  it("is one table however often it is shared", function()
    local box = box_of { memory = "4M" }
    local before = collectgarbage("count")
    local t = box:run("local t = {} for _ = 1, 23 do t = { t, t } end return t")
    for _ = 1, 23 do
      assert.equal(t[1], t[2])
      t = t[1]
    end
    local list = box:run([[local a, t = require("jfl").ndarray.zeros({ 100000 }), {}
      for i = 1, 5000 do t[i] = a end return t]])
    assert.equal(list[1], list[5000])
    local texts = box:run("local s, t = ('x'):rep(1e5), {} for i = 1, 5e3 do t[i] = s end return t")
    assert.equal(5000, #texts)
    assert(collectgarbage("count") < before + 4096)
  end)

  it("takes no more of the host's memory than the box may take", function()
    local box = box_of { memory = "16M" }
    local views = [[local a, t = require("jfl").ndarray.zeros({ 2, 100000 }), {}
      for i = 1, %d do t[i] = a:reshape({ 200000 }) end %s]]
    assert.equal(10, #box:run(views:format(10, "return t")))
    fails(box, views:format(100, "return t"), "out of memory")
    fails(box, views:format(100, "return unpack(t)"), "out of memory")
    local got = 0
    box:set("give", function() got = got + 1 end)
    fails(box, views:format(100, "give(t)"), "out of memory")
    fails(box, views:format(100, "error(select(2, pcall(give, unpack(t))))"), "out of memory")
    assert.equal(0, got)
    box:run("a = require('jfl').ndarray.zeros({ 2, 100000 }) b = {} for i = 1, 100 do "
      .. "b[i] = a:reshape({ 200000 }) end")
    assert.is_false((pcall(box.get, box, "b")))
    assert.equal(400000, 2 * box:get("a").size)
  end)

  it("is paid for by the box where it goes in", function()
    local box = box_of { memory = "8M" }
    local before = box:used()
    assert.is_false((pcall(box.set, box, "a", nd.zeros { 1e7 })))
    assert.is_false((pcall(box.set, box, "a", ("x"):rep(1e7))))
    box:set("big", function() return nd.zeros { 1e7 } end)
    fails(box, "return big()", "out of memory")
    assert(box:used() < before + 2 ^ 20)
  end)

  it("is counted, in both directions", function()
    local many = "local t = {} for i = 1, 2000 do t[i] = { i } end "
    local box = box_of { instructions = 1e5 }
    box:set("f", function() end)
    box:set("g", function() return { { { {} } }, ("x"):rep(1e6) } end)
    fails(box, many .. "for _ = 1, 30 do f(t) end", "ran more than 100000 instructions")
    fails(box, many .. "for _ = 1, 30 do pcall(f, t) end", "ran more than 100000 instructions")
    fails(box, "for _ = 1, 30 do g() end", "ran more than 100000 instructions")
    local list = {}
    for i = 1, 5e4 do list[i] = { i } end
    assert.is_false((pcall(box.set, box, "list", list)))
    assert.is_false((pcall(box.run, box, "return 1", "mod", list)))
    local out = box_of { instructions = 2e5 }
    out:run("t = {}")
    for part = 1, 20 do out:run("for i = 1, 2000 do t[#t + 1] = { i } end", "mod" .. part) end
    local ok, message = pcall(out.get, out, "t")
    assert.is_false(ok)
    assert.matches("ran more than 200000 instructions", message, 1, true)
    assert.equal(2, out:run("return 1 + 1"))
  end)

  it("is given up by the host once the box has it no more", function()
    local box, alive, n = box_of { memory = "2M" }, setmetatable({}, { __mode = "k" }), 0
    box:set("make", function()
      local function f() return n end
      alive[f] = true
      return f
    end)
    box:run("for i = 1, 1e5 do make() end last = make()")
    box:run("local list = {} for i = 1, 100 do list[i] = make() end")
    collectgarbage()
    collectgarbage()
    for _ in pairs(alive) do n = n + 1 end
    assert(n < 20000, ("%d of 1e5 functions are kept"):format(n))
    assert.equal(n, box:run("return last()"))
    local function f() end
    box:set("f", f)
    box:set("g", f)
    assert.is_true(box:run("return f == g"))
  end)

  it("is under the clock until the host has it", function()
    local box = box_of { seconds = 0.2 }
    box:set("wait", function() local c = os.clock() while os.clock() - c < 0.3 do end end)
    local ok, message = pcall(box.run, box, "return wait()", "mod")
    assert.is_false(ok)
    assert.matches("ran for more than 0.2 s", message, 1, true)
  end)
end)
