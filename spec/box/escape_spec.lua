-- The known ways out of a restricted script, each tried. A text that gets out returns what it got.
local flow = require "jfl"

local function box_of(options)
  options = options or {}
  options.seconds = options.seconds or 1000
  return flow.sandbox(options)
end

-- Each line must fail, or give nil or false.
local function closed(box, list)
  for _, text in ipairs(list) do
    local chunk = "local flow = require 'jfl' return (function() " .. text .. " end)()"
    local ok, value = pcall(box.run, box, chunk, "mod")
    assert(not ok or not value, ("%s gives %s"):format(text, tostring(value)))
  end
end

-- The box runs a text to its end again. On a busy machine the clock may go on by more than a short
-- limit while the box waits for a core: then the next try counts.
local function check_alive(box)
  local ok, got
  for _ = 1, 1000 do
    ok, got = pcall(box.run, box, "return 1 + 1")
    if ok or not tostring(got):find("ran for more than", 1, true) then break end
  end
  assert(ok, got)
  assert.equal(2, got)
end

-- The text is ended by that message, within so many seconds of the processor's time, which leave a
-- slow machine room, and the box lives.
local function ended(options, text, message, within)
  local box = box_of(options)
  local began = os.clock()
  local ok, got = pcall(box.run, box, text, "mod")
  assert(not ok, "it ended by itself")
  assert(tostring(got):find(message), got)
  assert(os.clock() - began < (within or 20), ("it took %g s"):format(os.clock() - began))
  check_alive(box)
  box:close()
end

local TIME = "ran for more than 0.05 s"
local function runs_out(text) ended({ seconds = 0.05 }, text, TIME, 10) end
local function fills(text) ended({ memory = "16M" }, text, "out of memory", 40) end

describe("a restricted script", function()
  local box = box_of()

  it("has no library that reaches the system", function()
    closed(box, {
      "return io", "return debug", "return package", "return jit", "return ffi", "return newproxy",
      "return os.execute", "return os.exit", "return os.getenv", "return os.remove",
      "return os.rename", "return os.tmpname", "return os.setlocale", "return dofile",
      "return loadfile", "return getfenv", "return setfenv", "return module", "return gcinfo",
      "return string.dump", "return ('').dump", "return arg", "return jfl", "return _G.io",
      "return math.mod", "return table.foreach",
    })
  end)

  it("requires nothing else", function()
    closed(box, {
      "return require 'ffi'", "return require 'io'", "return require 'jit.util'",
      "return require 'debug'", "return require 'jfl.core'", "return require 'jfl.sandbox.gate'",
      "return require 'package'", "return require '/etc/passwd'", "return require '_G'",
      "return require 'jfl.sandbox.core'", "return require(setmetatable({}, {}))",
    })
    assert.is_nil(box_of():run([[
      setmetatable(_G, { __index = function(_, name) return require(name) end })
      os = nil
      return require "os" ]]))
  end)

  it("loads texts alone", function()
    local bytes = string.dump(function() return 1 end)
    box:set("bytes", bytes)
    closed(box, { "return load(bytes)", "return loadstring(bytes)", "return load(bytes, 'x', 'b')",
      "return load(bytes, 'x', 'bt')", "return load(function() return bytes end)",
      "return load('\\27LJ\\2')" })
    assert.is_false((pcall(box.run, box, bytes)))
    assert.equal(3, box:run("return load('return 1 + 2')()"))
    assert.is_nil(box:run("local f = load('return print', 'x', 't', {}) return f()"))
  end)

  it("gets no metatable that is not its own", function()
    closed(box, {
      "return type(getmetatable('')) == 'table'", "return getmetatable('').__index.dump",
      "return type(getmetatable(flow)) == 'table'", "return type(getmetatable(flow.nn)) == 'table'",
      "return type(getmetatable(flow.ndarray.zeros({ 2 }))) == 'table'",
      "return pcall(setmetatable, flow, {})", "return pcall(setmetatable, '', {})",
      "return type(getmetatable(1LL)) == 'table'", "return getmetatable(print)",
      "return pcall(rawset, flow, 'x', 1)", "return pcall(rawget, flow, 'x')",
      "flow.x = 1 return true", "flow.nn.relu = 1 return true", "return next(flow)",
      "for k in pairs(flow) do return k end",
      "local a = flow.ndarray.zeros({ 2 }) a.x = 1 return true",
    })
  end)

  it("can do nothing with a literal of cdata", function()
    closed(box, {
      "return (1LL).x", "return 1LL + 1", "return (1i).re", "return (1i)[0]", "return 1LL == 2LL",
      "return 1LL < 2LL", "return (1LL)()", "return #1LL", "return -1LL", "return 1LL .. ''",
      "local c = 1i c[7] = 1 return true", "local c = 1ULL c.x = 1 return true",
      "return pcall(flow.ndarray.array, 1LL)", "return ({ [1LL] = 1 })[1LL]",
    })
    closed(box, { "return flow.ndarray.array(1LL)", "return flow.reshape(1i, { 1 })" })
  end)

  it("has no names of flow with files, processes or settings behind them", function()
    closed(box, {
      "return flow.env", "return flow.config.threads", "return flow.config.memory_limit",
      "return flow.config.device", "return flow.data.folder", "return flow.data.load_mnist",
      "return flow.train", "return flow.checkpoint.remove", "return flow.ndarray.pointer",
      "return flow.ndarray.zeros({ 1 }).pointer", "return flow.ndarray.zeros({ 1 }):save('x')",
      "return flow.summary", "return flow.profile", "return flow.plot", "return flow.progress",
      "return flow.scope.placement", "return flow.help", "return flow.fd", "return flow.sandbox",
      "return flow.load_variables", "return flow.__index", "return flow.look", "return flow[1]",
      "return flow['data.csv']", "return flow['nn.relu.x']", "return flow.nn['..']",
      "return flow.typing.Numpy.kind", "return flow.typing.Numpy.text",
    })
  end)

  it("reaches no field of a job, a blob or an optimizer but what is public", function()
    closed(box, {
      [[local job = flow.global_function { name = "a", returns = flow.typing.Numpy,
        inputs = { { "x", flow.typing.Numpy.Placeholder({ 1 }) } },
        body = function(x) got = pcall(function() return x.value end) return x * 1 end }
        job({ 1 })
        return got or pcall(function() return job._body end)
          or pcall(function() return job._plans end) or pcall(function() return job._core end)
          or pcall(function() job._body = print end) or pcall(function() return job.config end)]],
      "return flow.optimizer.SGD(0.1).options", "return flow.optimizer.SGD(0.1)._options",
      "return flow.zeros_initializer().resolve", "return flow.zeros_initializer().text",
      "return flow.zip({ 1 }, { 2 }).lists",
    })
  end)

  it("has its own functions called with copies and wrappers alone", function()
    closed(box, {
      [[local seen = {}
        local job = flow.global_function { name = "b", returns = flow.typing.Numpy,
          inputs = { { "x", flow.typing.Numpy.Placeholder({ 1 }) } },
          body = function(...)
            for i = 1, select("#", ...) do
              if type((select(i, ...))) == "table" then seen[#seen + 1] = i end
            end
            return (...) * 1
          end }
        job({ 1 })
        return seen[1] ]],
      -- A table that changes while it is read is a copy by then.
      [[local t = setmetatable({}, { __index = function() error("read") end })
        return pcall(flow.reshape, t, t)]],
      "return pcall(flow.global_function, { name = setmetatable({}, { __tostring = print }) })",
    })
  end)

  it("keeps its own globals from others", function()
    local other = box_of()
    box:run("shared = 1 string.x = 1")
    assert.is_nil(other:get("shared"))
    assert.is_nil(other:run("return string.x"))
    assert.is_nil(rawget(string, "x"))
    assert.is_nil(rawget(_G, "shared"))
  end)

  it("gives its host no function and no metatable", function()
    assert.is_false((pcall(box.run, box, "return print")))
    assert.is_false((pcall(box.run, box, "return coroutine.create(print)")))
    local t = box:run("return setmetatable({ 1 }, { __index = error, __gc = error })")
    assert.is_nil(getmetatable(t))
    local circle = box:run("local t = {} t.t = t return t")
    assert.equal(circle, circle.t)
  end)

  it("gives its host copies of arrays, and gets them", function()
    local a, list = box:run([[a = require("jfl").ndarray.ones({ 2, 2 }) return a, { a }]])
    assert.equal(4, (a + list[1]):mean() * 2)
    a[1] = 7
    assert.equal(4, box:run("return a:sum()"))
    box:set("twice", function(x) return x * 2, x end)
    assert.same({ { 2, 2 }, { 2, 2 } }, box:run("return (twice(a)):totable()"))
  end)

  it("gets copies of what its host gives", function()
    local mine = { list = { 1, 2 } }
    local a = flow.ndarray.array { 1, 2 }
    box:run("local t, a = ... t.list[1] = 9 t.new = 1 a[1] = 9", "mod", mine, a)
    assert.same({ list = { 1, 2 } }, mine)
    assert.equal(1, a[1])
    box:set("f", function() return mine end)
    box:run("f().list[1] = 9")
    assert.equal(1, mine.list[1])
  end)

  it("sees of an error of its host the message alone", function()
    box:set("fails", function() error({ secret = 1 }) end)
    local ok, kind, message = box:run("local ok, e = pcall(fails) return ok, type(e), e")
    assert.is_false(ok)
    assert.equal("string", kind)
    assert.is_nil(message:find("secret"))
  end)

  it("is busy for finalizers of its host while it gives values", function()
    local own, busy = box_of(), 0
    own:run("function many() local t = {} for i = 1, 2000 do t[i] = { 'a' .. i } end return t end")
    local function arm()
      local proxy = newproxy(true)
      getmetatable(proxy).__gc = function()
        if not pcall(own.run, own, "return 1") then busy = busy + 1 end
        if busy == 0 then arm() end
      end
    end
    for _ = 1, 20 do arm() end
    local pause, calls = collectgarbage("setpause", 100), 0      -- the collector is always at work
    while busy == 0 and calls < 10000 do
      assert.equal(2000, #own:call("many"))
      calls = calls + 1
    end
    collectgarbage("setpause", pause)
    assert(busy > 0)
  end)

  it("cannot enter itself from its host's functions", function()
    box:set("again", function() return box:run("return 1") end)
    local ok, message = pcall(box.run, box, "return again()")
    assert.is_false(ok)
    assert(message:find("running"), message)
  end)
end)

describe("a restricted script with folders", function()
  local root, box

  setup(function()
    local pipe = io.popen("mktemp -d /tmp/jfl-test-XXXXXX")
    root = pipe:read("*l")
    pipe:close()
    os.execute(("cd %s && mkdir in out other in/deep && ln -s ../other in/link "
      .. "&& ln -s ../other/a.npy in/a.npy && ln -s ../other/new.npy out/new.npy"):format(root))
    flow.ndarray.save(root .. "/other/a.npy", flow.ndarray.ones({ 2 }))
    flow.ndarray.save(root .. "/in/deep/a.npy", flow.ndarray.ones({ 2 }))
    box = box_of { read = root .. "/in", write = root .. "/out" }
  end)
  teardown(function() os.execute("rm -rf " .. root) end)

  it("must have folders that are there", function()
    local ok, message = pcall(flow.sandbox, { read = root .. "/none" })
    assert.is_false(ok)
    assert.matches("sandbox: read must be a folder that is there, got string '" .. root, message, 1,
      true)
    assert.is_false((pcall(flow.sandbox, { write = root .. "/other/a.npy" })))
  end)

  it("reads and writes there", function()
    assert.equal(2, box:run([[local flow = require "jfl"
      flow.ndarray.save("b.npy", flow.ndarray.zeros({ 2 }))
      flow.checkpoint.save("ck", { a = flow.ndarray.zeros({ 2 }) })
      return flow.ndarray.load("./deep//a.npy"):sum() ]]))
    assert.equal(0, flow.ndarray.load(root .. "/out/b.npy"):sum())
    assert.equal(2, flow.checkpoint.get(root .. "/out/ck").a.size)
  end)

  it("gets nowhere else", function()
    for _, path in ipairs { "../other/a.npy", "link/a.npy", "a.npy", "/etc/passwd", "", "..",
      "deep/../../other/a.npy", "deep/../deep/a.npy", root .. "/in/deep/a.npy",
      "deep/a.npy\0x", "deep\\..\\a.npy", "c:a.npy" } do
      closed(box, { ("return flow.ndarray.load(%q)"):format(path),
        ("return flow.ndarray.load({ path = %q })"):format(path),
        ("return flow.checkpoint.get(%q)"):format(path),
        ("return flow.data.csv(%q)"):format(path) })
    end
    for _, path in ipairs { "new.npy", "../other/new.npy", "/tmp/jfl-test-new.npy", "no/x.npy" } do
      closed(box, {
        ("return pcall(flow.ndarray.save, %q, flow.ndarray.ones({ 2 }))"):format(path),
      })
    end
    closed(box, { "return flow.ndarray.save(1, 2)", "return flow.ndarray.zeros({ 1 }).save",
      "return flow.data.folder", "return flow.checkpoint.remove" })
    assert.is_nil(io.open(root .. "/other/new.npy"))
  end)
end)

describe("a restricted script is ended in time", function()
  it("in a loop", function() runs_out("while true do end") end)
  it("in a loop that catches errors", function()
    runs_out("while true do pcall(function() while true do end end) end")
  end)
  it("in nested calls that catch errors", function()
    runs_out("local function f() pcall(f) while true do pcall(f) end end f()")
  end)
  it("in a handler of errors", function()
    runs_out("while true do xpcall(error, function() while true do end end) end")
  end)
  it("in a coroutine", function()
    runs_out("coroutine.wrap(function() while true do end end)()")
  end)
  it("in coroutines that are made again and again", function()
    runs_out([[while true do
      coroutine.resume(coroutine.create(function() while true do end end))
    end]])
  end)
  it("in a metamethod", function()
    runs_out([[local t = setmetatable({}, { __index = function() while true do end end })
      return t.x]])
  end)
  it("in what sorts", function()
    runs_out("local t = {} for i = 1, 3e5 do t[i] = -i end while true do table.sort(t) end")
  end)
  it("in a comparison that never agrees", function()
    runs_out("table.sort({ 1, 2, 3 }, function() while true do end end)")
  end)
  it("in a pattern that grows exponentially", function()
    runs_out("return (('a'):rep(40)):find(('a*'):rep(30) .. 'b')")
  end)
  it("in patterns of captures, sets and balanced parts", function()
    runs_out("return (('a'):rep(5000)):find(('(.-)'):rep(9) .. 'b')")
    runs_out("return (('('):rep(1e5)):gsub('%b()', '')")
    runs_out("for _ in (('a'):rep(1e5)):gmatch('[a-z]-[a-z]-b') do end")
    runs_out("return (('b'):rep(1e5)):find('[' .. ('a'):rep(2e6) .. ']')")
  end)
  it("in a search for a long text", function()
    runs_out("return (('x'):rep(2e6)):find(('x'):rep(1e5) .. 'y', 1, true)")
  end)
  it("in what is moved within a table", function()
    runs_out("local t = {} for i = 1, 3e5 do t[i] = i end while true do table.insert(t, 1, 0) end")
    closed(box_of(), { "table.insert({ 1 }, -2147483648, 0) return true",
      "table.insert({ 1 }, 3, 0) return true", "table.insert({}, 0 / 0, 0) return true" })
  end)
  it("in a replacement", function()
    runs_out("return (('a'):rep(100)):gsub('a', function() while true do end end)")
  end)
  it("in texts that are copied again and again", function()
    runs_out("local s = ('x'):rep(1e7) while true do local t = s .. 'y' end")
    runs_out("local s = ('x'):rep(1e6) while true do local t = s:upper() .. s:reverse() end")
  end)
  it("in a text that is compiled again and again", function()
    runs_out("local s = ('local x = 1 '):rep(150) while true do load(s) end")
  end)
  it("in the body of a job", function()
    runs_out([[local flow = require "jfl"
      flow.global_function { name = "a", returns = flow.typing.Numpy,
        inputs = { { "x", flow.typing.Numpy.Placeholder({ 1 }) } },
        body = function() while true do pcall(error) end end }({ 1 })]])
  end)
  it("in a graph without end", function()
    runs_out([[local flow = require "jfl"
      flow.global_function { name = "a", returns = flow.typing.Numpy,
        inputs = { { "x", flow.typing.Numpy.Placeholder({ 1 }) } },
        body = function(x) while true do x = x + 1 end end }({ 1 })]])
  end)
  it("in calls of a job without end", function()
    runs_out([[local flow = require "jfl"
      local job = flow.global_function { name = "a", returns = flow.typing.Numpy,
        inputs = { { "x", flow.typing.Numpy.Placeholder({ 100, 100 }) } },
        body = function(x) return flow.matmul(x, x) end }
      local x = flow.ndarray.ones({ 100, 100 })
      while true do pcall(job, x) end]])
  end)
  it("in a callback", function()
    runs_out([[local flow = require "jfl"
      local tp = flow.typing
      local job = flow.global_function { name = "a", returns = tp.Callback(tp.Numpy),
        inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } }, body = function(x) return x + 1 end }
      job({ 1 })(function() while true do end end)
      flow.sync()]])
  end)
  it("in a job that nobody waits for, once its box is closed #cpu", function()
    local box = box_of { memory = "1G" }
    box:run([[local flow = require "jfl"
      local tp = flow.typing
      local job = flow.global_function { name = "a", returns = tp.Callback(tp.Numpy),
        inputs = { { "x", tp.Numpy.Placeholder({ 3000, 3000 }) } },
        body = function(x)
          for _ = 1, 900 do x = flow.matmul(x, x) end       -- takes a quarter of an hour
          return x
        end }
      job(flow.ndarray.zeros({ 3000, 3000 }))(print) ]])
    box:close()
    assert.is_false((pcall(box.run, box, "")))
  end)
  it("after so many instructions, wherever they run", function()
    for _, text in ipairs { "while true do end", "while true do pcall(error) end",
      "coroutine.wrap(function() while true do end end)()",
      "local t = {} for i = 1, 1e5 do t[i] = -i end table.sort(t)",
      "return (('a'):rep(40)):find(('a*'):rep(30) .. 'b')" } do
      ended({ instructions = 1e5 }, text, "ran more than 100000 instructions", 10)
    end
  end)
  it("each call anew", function()
    local box = box_of { instructions = 1e5 }
    box:run("function f() for _ = 1, 1e4 do end end")
    for _ = 1, 50 do box:call("f") end
  end)
end)

describe("a restricted script has an end of memory", function()
  it("in tables", function() fills("local t = {} while true do t = { t } end") end)
  it("in a long table", function() fills("local t = {} for i = 1, 1e9 do t[i] = i end") end)
  it("in texts", function() fills("local s = 'x' while true do s = s .. s end") end)
  it("in a text at once", function()
    fills("return ('x'):rep(1e9)")
    fills("local t = {} for i = 1, 100 do t[i] = ('x'):rep(1e6) end return table.concat(t)")
  end)
  it("in functions and coroutines", function()
    fills("local t = {} while true do t[#t + 1] = coroutine.create(print) end")
    fills("local t = {} while true do t[#t + 1] = function() return t end end")
  end)
  it("in copies of tables with many ways to each part", function()
    ended({ seconds = 5, memory = "16M" }, [[local t = {} for _ = 1, 22 do t = { t, t, t, t } end
      local flow = require "jfl" flow.ndarray.array(t) while true do end]], ".", 50)
  end)
  it("in arrays", function()
    fills("return require('jfl').ndarray.zeros({ 1e5, 1e5 })")
    fills([[local t, nd = {}, require("jfl").ndarray
      while true do t[#t + 1] = nd.zeros({ 1e5 }) end]])
  end)
  it("in the plan of a job", function()
    fills([[local flow = require "jfl"
      flow.global_function { name = "a", returns = flow.typing.Numpy,
        inputs = { { "x", flow.typing.Numpy.Placeholder({ 1 }) } },
        body = function(x) return flow.math.reduce_sum(flow.broadcast_to(x, { 1000, 1000, 100 })
          + flow.random.normal({ 1000, 1000, 100 })) end }({ 1 })]])
  end)
  it("and garbage does not count", function()
    local box = box_of { memory = "16M" }
    box:run("for _ = 1, 2e5 do local t = { ('x'):rep(_ % 1000) } end")
    box:run("local nd = require('jfl').ndarray for _ = 1, 200 do nd.zeros({ 1000, 500 }) end")
  end)
  it("that its host does not pay", function()
    local box = box_of { memory = "16M" }
    local before = box:used()
    box:set("big", function() return flow.ndarray.zeros({ 5e6 }):sum() end)
    assert.equal(0, box:run("return big()"))
    assert(box:used() < before + 2 ^ 20)
  end)
end)

describe("a restricted script has an end of the C stack", function()
  for name, text in pairs {
    ["in replacements"] = "local function f() return (('x'):gsub('x', f)) end f()",
    ["in replacements by a table"] = [[local t = setmetatable({}, {})
      getmetatable(t).__index = function() return (('x'):gsub('x', t)) end
      local s = ('x'):gsub('x', t)]],
    ["in coroutines"] = "local function f() coroutine.wrap(f)() end f()",
    ["in comparisons"] = "local function f() table.sort({ 1, 2, 3 }, f) end f()",
    ["in texts of objects"] = [[local t = setmetatable({}, {})
      getmetatable(t).__tostring = function() return tostring(t) end tostring(t)]],
    ["in formats"] = [[local t = setmetatable({}, {})
      getmetatable(t).__tostring = function() return ("%s"):format(t) end tostring(t)]],
    ["in prints"] = [[local t = setmetatable({}, {})
      getmetatable(t).__tostring = function() print(t) return "" end print(t)]],
    ["in bodies of jobs"] = [[local flow = require "jfl"
      local function f() return flow.scope.namespace("a", f) end f()]],
    ["in Lua functions"] = "local function f() return 1 + f() end f()",
    ["in metamethods"] = [[local t = setmetatable({}, {})
      getmetatable(t).__index = function(_, k) return t[k + 1] end return t[1] ]],
  } do
    it(name, function() ended({ seconds = 5 }, text, ".") end)
  end

  it("in its source", function()
    local box = box_of()
    for _, part in ipairs { "(", "{", "do ", "not ", "function() ", "a.b.", "a..", "2^", "- " } do
      local ok, message = pcall(box.run, box, "return " .. part:rep(1e5))
      assert.is_false(ok)
      assert(type(message) == "string")
    end
  end)

  it("in nested tables that go out or in", function()
    local box = box_of()
    local t = {}
    for _ = 1, 1000 do t = { t } end
    assert.is_false((pcall(box.run, box, "", "mod", t)))
    assert.is_false((pcall(box.run, box,
      "local t = {} for _ = 1, 1000 do t = { t } end return t")))
    assert.is_false((pcall(box.run, box, [[local t = {} for _ = 1, 1000 do t = { t } end
      return require("jfl").ndarray.array(t)]])))
  end)
end)

describe("patterns of a restricted script", function()
  it("do what Lua's do", function()
    local box = box_of()
    box:run("function call(name, ...) return string[name](...) end")
    local cases = {
      { "find", "hello", "l" }, { "find", "hello", "l", 4 }, { "find", "hello", "xyz" },
      { "find", "hello", "" }, { "find", "hello", "", 10 }, { "find", "a.b", ".", 1, true },
      { "find", "hello", "(l)(l)" }, { "find", "hello", "()ll()" }, { "find", "a\0b", "\0" },
      { "find", "hello", "l", -2 }, { "find", "hello", "^h" }, { "find", "hello", "o$" },
      { "match", "key = value", "(%w+)%s*=%s*(%w+)" }, { "match", "2026-11-23", "(%d+)-(%d+)" },
      { "match", "[[x]]", "%[(%b[])%]" }, { "match", "THE (quick) fox", "%((%a+)%)" },
      { "match", "abc", "[a-c]+" }, { "match", "abc]", "[]]" }, { "match", "a^b", "[%^x]" },
      { "match", "a-b", "[a%-]+" }, { "match", "hello hello", "(h.-o) %1" },
      { "match", "x", "x?x?x" }, { "match", "aaab", "a-b" },
      { "match", "  trim  ", "^%s*(.-)%s*$" },
      { "match", "THE quick", "%f[%a]%a+", 2 }, { "match", "abc", "[^b]+" },
      { "match", "\200\201", "[\200-\202]+" }, { "match", "a]", "[^%]]" },
      { "match", "$5", "%$%d" }, { "find", "a\0b", "%z" }, { "match", "\0a\0", "[%Z]+" },
      { "match", "ab", "a()%1" },
      { "gsub", "hello", "l", "L" }, { "gsub", "hello", "l", "L", 1 }, { "gsub", "abc", "", "-" },
      { "gsub", "hello world", "(%w+)", "<%1>" }, { "gsub", "hello", "(h)(e)", "%2%1" },
      { "gsub", "abc", "%w", "%%%0" }, { "gsub", "abc", "b", "" }, { "gsub", "abc", "^a", "x" },
      { "gsub", "a,b,,c", ",", ";" }, { "gsub", "$name", "%$(%w+)", { name = "x" } },
      { "gsub", "a b", "%w", { a = false } }, { "gsub", 123, 2, 4 }, { "rep", "ab", 3 },
      { "find", "abc", "[" }, { "find", "abc", "%" }, { "find", "abc", "(" }, { "find", "a", ")" },
      { "gsub", "abc", "(a)", "%2" }, { "find", "a", "%f" }, { "find", "a", "%b" },
      { "find", "a", "%1" },
      { "match", ("x"):rep(300), ("x?"):rep(30) .. ("x"):rep(30) },
    }
    for _, case in ipairs(cases) do
      local name = table.concat({ case[1], tostring(case[2]), tostring(case[3]) }, " ")
      local want = { pcall(string[case[1]], unpack(case, 2)) }
      local got = { pcall(box.call, box, "call", unpack(case)) }
      assert.equal(want[1], got[1], name)
      if want[1] then assert.same(want, got, name) end
    end
    local words = box:run([[local t = {}
      for k, v in ("a=1, b=2"):gmatch("(%w+)=(%w+)") do t[k] = v end
      return t]])
    assert.same({ a = "1", b = "2" }, words)
    assert.equal(4, box:run("local n = 0 for _ in ('abc'):gmatch('') do n = n + 1 end return n"))
  end)
end)
