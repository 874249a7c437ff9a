-- Random texts in a restricted script: whatever they do, the box lives and the host is as it was.
-- What ends those without an end is how much they do, not the clock, so each ends as it ever does.
-- JFL_FUZZ=1000 makes them go on for longer, JFL_FUZZ_SEED=2 elsewhere.
local draws = require "spec.draws"
local flow = require "jfl"

local rounds, seed = draws.trials(100), draws.seed()
local random = draws.from(seed)
local function pick(list) return draws.pick(random, list) end

local names = { "_G", "string", "table", "math", "coroutine", "flow", "flow.nn", "flow.math",
  "flow.ndarray", "a", "t", "s", "f", "n", "job", "load", "pcall", "error", "next", "rawset",
  "rawget", "setmetatable", "getmetatable", "select", "unpack", "tostring", "xpcall", "print",
  "string.gsub", "string.rep", "string.format", "string.find", "table.concat", "table.sort",
  "table.insert", "coroutine.wrap", "coroutine.yield", "coroutine.resume", "coroutine.create",
  "flow.reshape", "flow.math.reduce_sum", "flow.nn.relu", "flow.ndarray.array",
  "flow.get_variable", "flow.ndarray.zeros", "flow.global_function", "flow.concat",
  "flow.typing.Numpy.Placeholder",
  "flow.layers.dense", "flow.optimizer.SGD", "flow.sync", "flow.zip", "flow.random.rand",
  "require" }
local values = { "nil", "true", "0", "-1", "1e308", "0/0", "2^31", "3", "''", "'%s%d'", "'(a*)*b'",
  "'__index'", "'jfl'", "{}", "{ 2, 2 }", "{ __index = f, __call = f, __tostring = f, __gc = f }",
  "1LL", "2i", "function(...) return ... end", "function() error({}) end", "f" }

local expression

local function arguments(depth)
  local list = {}
  for i = 1, random(4) - 1 do list[i] = expression(depth + 1) end
  return table.concat(list, ", ")
end

local forms = {
  function(depth) return ("%s(%s)"):format(pick(names), arguments(depth)) end,
  function(depth) return ("(%s)[%s]"):format(expression(depth), expression(depth)) end,
  function(depth) return ("(%s) %s (%s)"):format(expression(depth),
    pick { "+", "-", "*", "/", "%", "^", "..", "==", "<", "and", "or" }, expression(depth)) end,
  function(depth) return ("{ %s, x = %s }"):format(arguments(depth), expression(depth)) end,
  function(depth) return ("function(x) return %s end"):format(expression(depth)) end,
  function(depth) return ("pcall(%s, %s)"):format(pick(names), expression(depth)) end,
  function(depth) return ("(%s):%s(%s)"):format(expression(depth),
    pick { "sum", "reshape", "rep", "gsub", "get", "shape", "dump", "minimize" }, arguments(depth))
  end,
}

function expression(depth)
  if depth > 4 or random(3) == 1 then return random(2) == 1 and pick(values) or pick(names) end
  return pick(forms)(depth + 1)
end

local statements = {
  function() return ("%s = %s"):format(pick { "a", "t", "s", "f", "n", "_G.x" }, expression(0)) end,
  function() return ("local a, t = %s, %s"):format(expression(0), expression(0)) end,
  function() return ("pcall(function() return %s end)"):format(expression(0)) end,
  function() return ("t[%s] = %s"):format(expression(2), expression(2)) end,
  function()
    return ("for k, v in pairs(%s) do n = %s end"):format(expression(3), expression(2))
  end,
  function() return ("for i = 1, 20 do pcall(f, %s) end"):format(expression(2)) end,
}

local PRELUDE = [[local flow = require "jfl"
  t, s, n, f = {}, "abc", 3, function(...) return ... end
  a = flow.ndarray.array({ { 1, 2 }, { 3, 4 } })
]]

local function text_of()
  local lines = {}
  for i = 1, random(8) do
    lines[i] = ("pcall(function() %s end)"):format(pick(statements)())
  end
  return PRELUDE .. table.concat(lines, "\n")
end

describe("random texts", function()
  it("end, and leave the box and its host as they were", function()
    local box, ran = nil, 0
    local before = { io = io, string = string.rep, meta = getmetatable("").__index }
    for i = 1, rounds do
      box = box or flow.sandbox { memory = "32M", instructions = 5e6, seconds = 1000,
        print = function() end }
      local text = text_of()
      local ok, message = pcall(box.run, box, text, "fuzz" .. i)
      assert(ok or type(message) == "string", text)
      ran = ran + (ok and 1 or 0)
      assert.equal(4, box:run("return 2 + 2"), text)
      if i % 20 == 0 then
        box:close()
        box = nil
      end
    end
    assert(ran > rounds / 2, ("only %d of %d ran"):format(ran, rounds))
    assert.same(before, { io = io, string = string.rep, meta = getmetatable("").__index })
  end)
end)
