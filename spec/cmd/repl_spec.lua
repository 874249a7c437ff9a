-- The interactive session, fed from a pipe and on a terminal.
local helper = require "spec.cmd.helper"

--- What a session prints for these lines, without prompts and its version.
local function session(...)
  local out, err, status = helper.run("-i", "--no-startup",
    { input = table.concat({ ... }, "\n") .. "\n" })
  assert.equal(0, status, out .. err)
  local text = out:gsub("^jfl [^\n]*\n", ""):gsub(">> *", ""):gsub("> ", "")
  return text:gsub("\n$", ""), err
end

describe("a session", function()
  after_each(helper.clean)

  it("prints results, with = or without", function()
    assert.equal("3\n4\n1\tnil\t\"x\"\n", (session("1 + 2", "= 2 + 2", "1, nil, 'x'")))
  end)

  it("prints nothing for statements, comments, blank lines and no results", function()
    assert.equal("5\n", (session("x = 5", "-- note", "", "(function() end)()", "x -- note")))
  end)

  it("shows what is in tables", function()
    assert.equal("{ 1, { a = \"x\" }, [2.5] = true }\t{}\n",
      (session("{1, {a = 'x'}, [2.5] = true}, {}")))
    assert.equal("{ me = {...} }\n", (session("t = {} t.me = t", "t")))
    assert.equal("told\n",
      (session("setmetatable({}, { __tostring = function() return 'told' end })")))
    local long = session("t = {} for i = 1, 60 do t[i] = i end", "t")
    assert.truthy(long:find("^{\n  1,\n  2,\n.*  50,\n  %.%.%. %(10 more%)\n}\n$"), long)
  end)

  it("goes on after results that cannot be shown", function()
    local out, err = session("setmetatable({}, { __tostring = function() error('mute') end })", "7")
    assert.equal("7\n", out)
    assert.truthy(err:find("mute", 1, true))
    out = session("error(setmetatable({}, { __tostring = error }))", "8")
    assert.equal("8\n", out)
  end)

  -- On a busy machine it may say that it still runs.
  it("stops a loop with Ctrl-C, and goes on", function()
    local out, err = session("p = io.popen('sleep 0.3; kill -INT $PPID') while true do end", "9")
    assert.equal("9\n", out)
    assert.equal("interrupted\n", (err:gsub("\njfl: still running[^\n]*\n", "")))
  end)

  it("goes on until the lines are whole", function()
    assert.equal("1\n2\n", (session("for i = 1, 2 do", "", "  print(i)", "end")))
    assert.equal('a\nb\n{ 1, 2 }\n', (session("[[a", "b]]", "{ 1,", "2 }")))
  end)

  it("says what is written here in place of what Python has", function()
    for text, hint in pairs {
      ["x[1:2]"] = "']' expected near ':'; a part of an array or blob is x[{ {1, 2} }]",
      ["x @ x"] = "near '@'; x:matmul(y) multiplies matrices",
      ["x ** 2"] = "near '*'; x ^ 2 is a power",
      ["x:shape()"] = "x.shape is a table: x.shape[1]",
      ["x:tolist()"] = "an NdArray has no 'tolist'; x:totable() gives nested tables",
    } do
      local _, err = session("x = flow.ndarray.ones(3)", text)
      assert.truthy(err:find(hint, 1, true), err)
    end
    assert.truthy(session("?cross entropy"):find "^About cross entropy:\n")
    assert.truthy(session("?=="):find "x == y only says whether both are one and the same object")
  end)

  it("shows an error with its line and the user's own functions, and goes on", function()
    local out, err = session("error('bad')", "7")
    assert.same({ "7\n", "stdin:1: bad\n" }, { out, err })
    out, err = session("function f() error('deep') end function g() f() return 1 end", "g()", "8")
    assert.same({ "8\n", "stdin:1: deep\nstack traceback:\n  stdin:1: in function 'f'\n"
      .. "  stdin:1: in function 'g'\n  stdin:1: in main chunk\n" }, { out, err })
    out, err = session("1 1", "nil + 1", "9")
    assert.equal("9\n", out)
    assert.equal("stdin:1: unexpected symbol near '1'\n"
      .. "stdin:1: attempt to perform arithmetic on a nil value\n", err)
  end)

  it("tells which of several lines failed", function()
    local _, err = session("do", "local x = 1", "x = nil .. x", "end")
    assert.equal("stdin:3: attempt to concatenate a nil value\n  3 | x = nil .. x\n", err)
    _, err = session("function f(n)", "return 1 + f(n)", "end", "f(1)")
    assert.truthy(err:find("^stack overflow\nstack traceback:\n"), err)
    assert.truthy(err:find("%.%.%. %(%d+ more%)\n  stdin:1: in main chunk\n$"), err)
  end)

  it("knows flow, and loads it at first use", function()
    assert.equal("nil\ntrue\ntrue\n",
      (session("package.loaded.jfl", "flow == require 'jfl'", "rawget(_G, 'flow') ~= nil")))
  end)

  it("runs due callbacks between lines, and says nothing else about them", function()
    local tp = "flow.typing"
    local define = ("job = flow.global_function { name = 'j', inputs = { { 'x', "
      .. "%s.Numpy.Placeholder { 1 } } },"
      .. " returns = %s.Callback(%s.Numpy), body = function(x) return x + 1 end }"):format(tp, tp,
        tp)
    assert.equal("[2.]\n5\n6\n",
      (session(define, "job({ 1 })(print) require 'jfl.core'.wait()", "5", "6")))
  end)

  it("blames its line for a misuse of flow", function()
    local _, err = session("flow.nn.relu()")
    assert.truthy(err:find("^stdin:1: "), err)
  end)

  it("explains names", function()
    local out = session("?softmax")
    assert.equal(out, (session("softmax?")))
    assert.equal(out, (session("help softmax")))
    assert.equal(out, (session("? flow.nn.softmax")))
    assert.equal(out, (session("s = flow.nn.softmax", "s?")))
    assert.truthy(out:find("^flow.nn.softmax%("), out)
    assert.equal("function (a, b) of stdin:1\n", (session("local function f(a, b) end", "?f")))
    assert.equal("3\n", (session("local t = { x = 3 }", "t.x?")))
    assert.truthy(session("help"):find("?name", 1, true))
    assert.equal((session("help")), (session("?")))
    assert.equal((session("help")), (session("help()")))
    assert.truthy(session("help('relu')"):find("^flow.nn.relu%("))
    assert.equal("5\n", (session("help = 5", "help")))
    local shown, err = session("?sofmax", "7")
    assert.equal("7\n", shown)
    assert.truthy(err:find("^help: there is nothing named 'sofmax'; did you mean nn.softmax"), err)
  end)

  it("explains the user's own jobs and arrays", function()
    local out = session("job = flow.global_function { name = 'j', returns = flow.typing.Numpy,"
      .. " inputs = { { 'x', flow.typing.Numpy.Placeholder { 3 } } },"
      .. " body = function(x) return x end }", "?job", "local a = flow.ndarray.arange(2)", "?a")
    assert.equal("job 'j' (predict): x (3) float32 -Numpy\n?Job lists what it has\n"
      .. "[0. 1.]  (2) float32\n?NdArray lists what it has\n", out)
    for _, name in ipairs { "Job", "NdArray" } do
      assert.truthy(session("?" .. name):find("^" .. name .. "\n  %l"))
    end
  end)

  it("shows what an error object holds", function()
    local _, err = session("error({ code = 2 })", "error(nil)",
      "error(setmetatable({}, { __tostring = function() return 'told' end }))")
    assert.equal("error object { code = 2 }\nerror object nil\ntold\n", err)
  end)

  it("quotes the line of several that is no Lua", function()
    local _, err = session("do", "local x = = 1", "end")
    assert.equal("stdin:2: unexpected symbol near '='\n  2 | local x = = 1",
      err:match("^[^\n]*\n[^\n]*"))
  end)

  it("keeps the last values in _ and __", function()
    assert.equal("1\n\"x\"\n1\n4\n", (session("1", "'x'", "__", "_ + 3")))
    assert.equal("6\nnil\n6\n", (session("6", "nil", "_")))
    assert.equal("2\n5\n", (session("2", "_ = 5", "_")))
  end)

  it("ends with exit or quit, unless these are the user's", function()
    for _, word in ipairs { "exit", "quit", "exit()", "quit()", " exit ;" } do
      assert.equal("1", (session("1", word, "2")), word)
    end
    assert.equal("7\n2\n", (session("local exit = 7", "exit", "2")))
  end)

  it("tells how long something takes", function()
    local out = session("%time local x = 6 * 7", "x", "%time x + 1", "%time for i = 1, 2 do", "end")
    assert.truthy(out:find("^[%d.e+]+ [mun]?s\n42\n43\n[%d.e+]+ [mun]?s\n[%d.e+]+ [mun]?s\n"), out)
    assert.truthy(session("%timeit 1 + 1"):find("^[%d.e+]+ [mun]s at best, of 5 times %d+\n"))
    local _, err = session("%time error('no')", "%timeit nope()", "%times 3")
    assert.truthy(err:find("^stdin:1: no\nstdin:1: attempt to call global 'nope'"), err)
    assert.truthy(err:find("unexpected symbol near '%'", 1, true), err)
  end)

  it("runs its start-up file, whatever is wrong with it", function()
    local home = os.tmpname()
    os.remove(home)
    assert(os.execute("mkdir -p " .. home .. "/.config/jfl " .. home .. "/config/jfl") == 0)
    finally(function() os.execute("rm -r " .. home) end)
    local function write(path, text)
      local f = assert(io.open(home .. "/" .. path, "w"))
      f:write(text)
      f:close()
    end
    local function started(...)
      local out, err, status = helper.run("-i", ...)
      assert.equal(0, status, out .. err)
      return out:gsub("^[^\n]*\n", ""):gsub("> ", ""), err
    end
    local function with(config)
      local before = ("HOME=%s XDG_CONFIG_HOME=%s"):format(home, config)
      return { input = "x\n", before = before }
    end
    local own, config = with(""), with(home .. "/config")
    assert.equal("nil\n\n", (started(own)))
    write(".jflrc.lua", "x = 1")
    assert.equal("1\n\n", (started(own)))
    assert.equal("1\n\n", (started(config)))
    assert.equal("nil\n\n", (started("--no-startup", own)))
    write(".config/jfl/init.lua", "x = flow.nn and 2")
    assert.equal("2\n\n", (started(own)))
    write("config/jfl/init.lua", "x = 3\nlocal function f() error('no') end\nf()")
    local out, err = started(config)
    assert.equal("3\n\n", out)
    assert.truthy(err:find("/config/jfl/init.lua:2: no\nstack traceback:\n", 1, true), err)
    write("config/jfl/init.lua", "x = = 3")
    out, err = started(config)
    assert.equal("nil\n\n", out)
    assert.truthy(err:find("/config/jfl/init.lua:1: unexpected symbol near '='", 1, true), err)
  end)

  it("does what the guide shows", function()
    local guide = require "scripts.doc.guide"
    local text
    for _, page in ipairs(guide.pages()) do
      if page.title == "The command and the prompt" then text = page.text end
    end
    local input, want = {}, {}
    for line in text:gmatch("\n    ([^\n$][^\n]*)") do
      local typed = line:match("^>>? ?(.*)")
      table.insert(typed and input or want, typed or line)
    end
    assert.truthy(#input > 10 and #want > 5)
    local path = helper.file(table.concat(input, "\n") .. "\nexit\n")
    local out = helper.shell(helper.line("-i", "--no-startup") .. " 2>&1 < " .. path)
    out = out:gsub("^[^\n]*\n", ""):gsub(">> *", ""):gsub("> ", ""):gsub("\n$", "")
    assert.equal(table.concat(want, "\n"), out)
  end)

  it("runs many lines from a pipe as they are in a file", function()
    local out, err = session("local flow = require 'jfl'", "local tp = flow.typing", "",
      "local double = flow.global_function {", "  name = 'double',",
      "  inputs = { { 'x', tp.Numpy.Placeholder({ 3 }) } },", "  returns = tp.Numpy,",
      "  body = function(x) return x * 2 end,", "}", "print(double({ 1, 2, 3 }))")
    assert.same({ "[2. 4. 6.]\n", "" }, { out, err })
  end)

  it("takes thousands of lines of one statement", function()
    local lines = { "t = {" }
    for i = 2, 2001 do lines[i] = ("  { %d, 'row' },"):format(i) end
    lines[2002], lines[2003] = "}", "#t"
    assert.equal("2000\n", (session(unpack(lines))))
  end)

  it("completes names, of flow also those not loaded yet", function()
    local complete = require("jfl.doc.completion").words
    assert.same({ "string.rep", "string.reverse" }, complete("string.re"))
    assert.same({}, complete("a:reshape({ 2, 3 }):"))
    assert.same({ "flow" }, complete("flo"))
    assert.same({}, complete("no.such.na"))
    _G.flow = require "jfl"
    finally(function() _G.flow = nil end)
    assert.same({ "flow.layers" }, complete("flow.la"))
    assert.same({ "flow.nn.relu", "flow.nn.relu6" }, complete("flow.nn.rel"))
    assert.same({ "flow.train.CheckPoint", "flow.train.ExponentialMovingAverage",
      "flow.train.SimpleCheckPointManager" }, complete("flow.train."))
  end)

  it("shows long values in part, and any value on the way", function()
    local out = session("('x'):rep(5000)", "{ ('y'):rep(500) }", "{ '\\27[1m\\n' }")
    assert.equal('"' .. ("x"):rep(4000) .. " ... (1000 more bytes)\"", out:match("^[^\n]*"))
    assert.truthy(out:find("y ... (344 more bytes)\"", 1, true))
    assert.truthy(out:find('"\\27[1m\\n"', 1, true))
    out = session("t = {} for i = 1, 10000 do t['k' .. i] = i end", "t")
    assert.truthy(out:find("... (9950 more)", 1, true), out)
    out = session("{ setmetatable({}, { __tostring = error }), 1 }")
    assert.equal("{ (a table that fails to tell what it is), 1 }\n", out)
  end)

  it("reports a text that the input ends in", function()
    local _, err = session("1", "if true then")
    assert.truthy(err:find("'end' expected", 1, true), err)
  end)

  it("completes the options of a call", function()
    local words = require("jfl.doc.completion").words
    local flow = require "jfl"
    _G.flow, _G.alias = flow, flow.nn
    finally(function() _G.flow, _G.alias = nil, nil end)
    assert.same({ "kernel_initializer", "kernel_regularizer" },
      words("flow.layers.dense(x, 10, {ker"))
    assert.same({ "kernel_regularizer" },
      words("flow.layers.dense(f(x), { 10 }, {\n  kernel_initializer = f { 1 }, ker"))
    assert.same({ "returns" }, words("flow.global_function { ret"))
    assert.same({ "data_format" }, words("y = alias.conv2d(x, { padding = 'SAME', data"))
    assert.same({ "flow" }, words("flow.layers.dense(x, 10, { activation = fl"))
    assert.same({}, words("x = 'flow.la"))
    assert.same({}, words("-- flow.la"))
    assert.same({ "flow.layers" }, words("--[[ x ]] x = [[']] .. flow.la"))
  end)

  it("leaves out the names of the original", function()
    local words = require("jfl.doc.completion").words
    local flow = require "jfl"
    _G.flow, _G.config = flow, flow.function_config()
    finally(function() _G.flow, _G.config = nil, nil end)
    assert.truthy(flow.env.log_dir and flow.fixed_placement and _G.config.train)
    assert.same({}, words("flow.env.log"))
    assert.same({}, words("flow.fixed"))
    assert.same({}, words("config.tra"))
    assert.same({}, words("flow.config.reserved"))
  end)

  it("completes methods, also those of objects that hide them", function()
    local words = require("jfl.doc.completion").words
    _G.config = require("jfl").function_config()
    _G.array = require("jfl").ndarray.zeros { 2 }
    finally(function() _G.config, _G.array = nil, nil end)
    assert.same({ "config.default_data_type" }, words("config.default_da"))
    assert.same({ "array:transpose" }, words("array:tra"))
    assert.same({}, words("array:sha"))
    assert.same({ "array.shape" }, words("array.sha"))
  end)

  it("shows what a function takes after its parenthesis", function()
    local complete = require "jfl.doc.completion"
    local flow = require "jfl"
    _G.flow, _G.array = flow, flow.ndarray.zeros { 2 }
    _G.own = function(one, two, ...) return one, two, ... end
    _G.double = flow.global_function { name = "double", returns = flow.typing.Numpy,
      inputs = { { "x", flow.typing.Numpy.Placeholder { 3 } } }, body = function(x) return x end }
    finally(function()
      _G.flow, _G.array, _G.own, _G.double = nil, nil, nil, nil
      flow.clear_default_session()
    end)
    local function shown(before) return (select(2, complete.rest(before, 80))) end
    assert.equal("flow.nn.softmax(logits, axis=-1, name) -> y", shown("y = flow.nn.softmax("))
    assert.equal(shown("flow.layers.dense("), shown("flow.layers.dense(x, "))
    assert.truthy(shown("array:sum("):find("NdArray:sum(", 1, true))
    assert.equal("own(one, two, ...)", shown("own("))
    assert.equal("double(x (3) float32)", shown("double("))
    assert.truthy(shown("print("):find("string", 1, true))
    assert.same({ "se", "" }, { complete.rest("own(flow.layers.den", 80) })
  end)

  it("completes locals that are kept", function()
    local complete = require "jfl.doc.completion"
    local chunk, locals = require "jfl.repl.chunk", require "jfl.repl.locals"
    finally(locals.clear)
    chunk.load("local kept_thing = { field_one = 1 }", print)()
    assert.same({ "kept_thing" }, complete.words("kept"))
    assert.same({ "kept_thing.field_one" }, complete.words("1 + kept_thing.fi"))
  end)

  it("lists the ways to go on where there are several", function()
    local complete = require "jfl.doc.completion"
    assert.same({ "erse", "" }, { complete.rest("string.rev", 80) })
    assert.same({ "", "rep      reverse" }, { complete.rest("x = string.re", 80) })
    assert.same({ "", "rep\nreverse" }, { complete.rest("x = string.re", 10) })
    assert.same({ "", "" }, { complete.rest("nowhere.at", 80) })
    assert.same({ "  ", "" }, { complete.rest("", 80) })
  end)

  it("keeps the script's globals after -i", function()
    local script = helper.file("x = 41")
    local out = helper.run("-i", script, { input = "x + 1\n" })
    assert.truthy(out:find("42", 1, true))
  end)

  it("does not start after a script that fails", function()
    local out, _, status = helper.run("-i", helper.file("error('no')"), { input = "print(42)\n" })
    assert.falsy(out:find("42", 1, true))
    assert.equal(1, status)
  end)

  it("runs on a terminal, and remembers its lines", function()
    if select(3, helper.shell("script -qec true /dev/null")) ~= 0 then
      return pending("no terminal can be made here")
    end
    local home = os.tmpname()
    os.remove(home)
    assert(os.execute("mkdir " .. home) == 0)
    local out = helper.shell(("HOME=%s TERM=xterm script -qec %q /dev/null"):format(
      home, helper.line()), "6 * 7\n")
    local f = io.open(home .. "/.jfl_history")
    local history = f and f:read("*a")
    if f then f:close() end
    os.execute("rm -r " .. home)
    assert.truthy(out:find("42", 1, true))
    if f then assert.truthy(history:find("6", 1, true)) end
  end)

  it("runs callbacks on a terminal while nothing is typed", function()
    if select(3, helper.shell("script -qec true /dev/null")) ~= 0 then
      return pending("no terminal can be made here")
    end
    local lines = helper.file([[
tp = flow.typing.Numpy
job = flow.global_function { name = "j", inputs = { { "x", tp.Placeholder { 300, 300 } } },
  returns = flow.typing.Callback(tp),
  body = function(x) for _ = 1, 50 do x = flow.matmul(x, x) end return x end }
job(flow.ndarray.zeros { 300, 300 })(function() print("la" .. "te") end)
]])
    local seen = helper.file("")
    local out, _, status = helper.shell(([[
      shows() { for i in $(seq 3000); do grep -q "$1" %s && return; sleep 0.1; done; }
      { cat %s; shows late; echo "6 * 7"; shows 42; } |
        HOME=/nonexistent TERM=xterm timeout 1800 script -qefc %q %s]]):format(seen, lines,
      helper.line(), seen))
    assert.equal(0, status, out)
    assert.truthy(out:find("late\r?\n.*42"), out)
    assert.truthy(#out < 4000, "the prompt is drawn over and over")
  end)

  it("delivers what is behind a callback that fails", function()
    local out, err = session([[job = flow.global_function { name = "j",
        inputs = { { "x", flow.typing.Numpy.Placeholder { 1 } } },
        returns = flow.typing.Callback(flow.typing.Numpy), body = function(x) return x end }]],
      "a, b = job({ 1 }), job({ 2 }) a(error) b(print)", "3")
    assert.equal("[2.]\n3\n", out)
    assert.truthy(err:find("j: error in a callback", 1, true), err)
  end)
end)
