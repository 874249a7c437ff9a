-- The command's options, and how scripts begin and end.
local helper = require "spec.cmd.helper"

local run = helper.run

local function succeeds(want, ...)
  local out, err, status = run(...)
  assert.same({ want, "", 0 }, { out, err, status })
end

--- The command must end with status 1, print `before` only, and say `text` on stderr.
local function fails(before, text, ...)
  local out, err, status = run(...)
  assert.equal(before, out)
  assert.truthy(err:find(text, 1, true), ("expected an error with: %s\ngot: %s"):format(text, err))
  assert.equal(1, status)
  return err
end

describe("the command", function()
  after_each(helper.clean)

  it("runs a script with its arguments", function()
    local script = helper.file("print(arg[0] == ..., select(2, ...)) print(arg[1], arg[2], #arg)")
    succeeds("true\ta b\t\n" .. script .. "\ta b\t3\n", script, script, "a b", "")
  end)

  it("keeps its own words at negative indices of arg", function()
    local script = helper.file("print(arg[-1], arg[-2], arg[-3] ~= nil, arg[-4])")
    succeeds("x = 1\t-e\ttrue\tnil\n", "-e", "x = 1", script)
  end)

  it("has no script in arg without one", function()
    succeeds("nil\t0\t-e\n", "-e", "print(arg[0], #arg, arg[-2])")
    fails("", "cannot open -", "--", "-", { input = "print(1)" })
  end)

  it("lends the front end to a chunk alone", function()
    succeeds("2\tnil\tnil\n", "-e", "print(flow.ndarray.ones { 2 }:sum(), flown, _G[1])")
    succeeds("nil\n", "-e", "x = 1", helper.file("print(flow)"))
  end)

  it("skips a first line that starts with #", function()
    succeeds("1\n", helper.file("#!/usr/bin/env jfl\nprint(1)"))
  end)

  it("reads a script from standard input", function()
    succeeds("0\n", { input = "print(select('#', ...))" })
    succeeds("a\tb\n", "-", "a", "b", { input = "print(...)" })
  end)

  it("runs strings, modules and a script in the order given", function()
    local script = helper.file("print(x, bit == require 'bit')")
    succeeds("1\ntrue\n2\ttrue\n", "-e", "x = 1 print(x)", "-ex = 2", "-l", "bit",
      "-eprint(bit ~= nil)", script)
  end)

  it("takes what follows -- for a script", function()
    fails("", "cannot open -e", "--", "-e")
  end)

  it("prints usage, and its version", function()
    local out, err, status = run("--help")
    assert.truthy(out:find("^usage: jfl "))
    assert.equal("", err)
    assert.equal(0, status, out .. err)
    assert.equal(out, (run("-h")))
    assert.equal(require("jfl").version, run("-v"):match("^jfl (%S+) %(LuaJIT 2%.1[^)]*%)\n$"))
  end)

  it("tells where its output is lost, and succeeds without one", function()
    if not io.open("/dev/full") then return pending "needs /dev/full" end
    local function sh(command)
      local pipe = assert(io.popen(command .. "; echo $?"))
      local said = pipe:read "*a"
      pipe:close()
      return said
    end
    local lost = "^jfl: cannot write the output[^\n]*\n1\n$"
    assert.equal("jfl: cannot write the output: No space left on device\n1\n",
      sh(helper.command() .. " -e 'print(1)' 2>&1 >/dev/full"))
    for _, what in ipairs { "-e 'print(1)'", "-e 'for i = 1, 9999 do print(i) end'", "--help",
                            "--version" } do
      assert.matches(lost, sh(helper.command() .. " " .. what .. " 2>&1 >/dev/full"), what)
      assert.equal("0\n", sh(helper.command() .. " " .. what .. " 2>&1 >&-"), what)
    end
  end)

  it("tells how it was built, and which optional libraries are there", function()
    local out, err, status = run("--version")
    assert.same({ "", 0 }, { err, status })
    assert.equal((run("-v")), out:match("^[^\n]*\n"))
    for _, fact in ipairs { "compiler: %a+ [%d.]+", "system: Linux, %S+", "zlib %d[%d.]+: ",
                            "processor: .*%d cores?, [%w ]+", "devices: [1-9]%d* cpu, %d+ gpu" } do
      assert.truthy(out:find("\n  " .. fact), fact)
    end
    for _, name in ipairs { "oneDNN", "OpenBLAS", "libturbojpeg", "libpng", "libedit",
                            "NVIDIA's driver" } do
      local line = out:match("\n  (" .. name .. "[^\n]*)")
      local there, lacks = line:find(": %a"), line:find("not found: without it ", 1, true)
      assert.truthy(there or lacks, out)
    end
    assert.equal(out .. "1\n", (run("--version", "-e", "print(1)")))
  end)

  it("answers a wrong option in three lines", function()
    for _, words in ipairs { { "-x" }, { "--nope" }, { "-vv" }, { "-e" }, { "-l" }, { "-j" } } do
      local err = fails("", "usage: jfl ", unpack(words))
      assert.matches("^jfl: [^\n]+\nusage: [^\n]+\njfl %-%-help tells all options\n$", err)
      assert.truthy(err:find(words[1], 1, true), err)
    end
    fails("", "jfl: unknown option --profil\n", "--profil")
    fails("", "jfl: an argument is missing after -e\n", "-e")
    fails("", "jfl: bytecode is not supported: -bl\n", "-bl", "x.lua")
  end)

  it("controls the compiler", function()
    succeeds("false\n", "-joff", "-e", "print((jit.status()))")
    succeeds("false\n", "-j", "off", "-e", "print((jit.status()))")
    local folds = "print(table.concat({ select(2, jit.status()) }, ' '):find('fold') ~= nil)"
    succeeds("true\n", "-O1", "-e", folds)
    succeeds("false\n", "-O0", "-e", folds)
    fails("", "jit command 'nope' is unknown or not installed", "-jnope", "-e", "")
    fails("", "malformed optimization flag 'nope'", "-Onope", "-e", "")
  end)

  it("heeds LUA_INIT unless told otherwise", function()
    succeeds("init\nscript\n", "-e", "print 'script'", { before = "LUA_INIT='print \"init\"'" })
    local init = helper.file("print 'file'")
    succeeds("file\nscript\n", "-e", "print 'script'", { before = "LUA_INIT=@" .. init })
    succeeds("script\n", "-E", "-e", "print 'script'", { before = "LUA_INIT='print \"init\"'" })
  end)

  it("runs in an empty environment, the front end and C modules included", function()
    succeeds("true\ttrue\n", "-e", "print(type(require 'jfl') == 'table', require 'lfs' ~= nil)",
      { before = "env -i" })
  end)
end)

describe("another Lua", function()
  for _, name in ipairs { "lua5.1", "lua5.2" } do
    it("hears that jfl needs LuaJIT: " .. name, function()
      local found = select(3, helper.shell(name .. " -v")) == 0
      if not found then return pending(name .. " is not there") end
      for _, module in ipairs { "jfl", "jfl.core" } do
        local out, err, status = helper.shell(([[unset LUA_CPATH_5_2 LUA_CPATH_5_3 LUA_CPATH_5_4
          LUA_CPATH='build/?.so' %s -e 'require "%s"']]):format(name, module))
        assert.same({ "", 1 }, { out, status })
        assert.truthy(err:find(": jfl needs LuaJIT 2.1, ", 1, true), err)
      end
    end)
  end
end)

describe("the environment", function()
  after_each(helper.clean)

  local JOB = [[
    local flow = require "jfl"
    flow.global_function { name = "same", returns = flow.typing.Numpy,
      inputs = { { "x", flow.typing.Numpy.Placeholder { 1 } } },
      body = function(x) return x + x end }({ 1 })
  ]]

  it("#cpu prints which kernel serves each call, and why others do not", function()
    local script = helper.file [[
      local flow = require "jfl"
      local P = flow.typing.Numpy.Placeholder
      flow.config.kernels "direct"
      flow.global_function { name = "slides", returns = flow.typing.Numpy,
        inputs = { { "x", P { 2, 16, 8, 8 } }, { "f", P { 16, 16, 3, 3 } } },
        body = function(x, f)
          return flow.nn.conv2d(x, f, { padding = "SAME", data_format = "NCHW" })
        end }:compile()
    ]]
    local _, err, status = run(script, { before = "JFL_DUMP=plan" })
    assert.equal(0, status, err)
    assert.truthy(err:find "plan of slides on cpu:0: ", err)
    assert.truthy(err:find("conv2d by [a-z]+_conv, not .*winograd_conv2d: "
      .. "only direct sums are wanted"), err)
  end)

  it("is named where it names a pass that is not there", function()
    fails("", "JFL_PASSES: unknown pass 'fues', or one that cannot be left out", helper.file(JOB),
      { before = "JFL_PASSES=-fues" })
    for name in ("shard apart grad recompute output update spread pipeline place dce mixed "
      .. "widen forms find_shards resolve repeat join"):gmatch "%S+" do
      fails("", ("JFL_PASSES: unknown pass '%s', or one that cannot be left out"):format(name),
        helper.file(JOB), { before = "JFL_PASSES=-" .. name })
    end
    fails("", "JFL_DUMP: unknown pass 'fues'; passes are find_shards, resolve, repeat, join, "
      .. "delay_relu, ", helper.file(JOB), { before = "JFL_DUMP=fues" })
  end)

  it("can ask for the graph after a pass", function()
    local out, err, status = run(helper.file(JOB), { before = "JFL_DUMP=fold" })
    assert.same({ "", 0 }, { out, status })
    assert.truthy(err:find("^%-%- after pass fold\npredict job same\n"), err)
  end)
end)

describe("--profile", function()
  after_each(helper.clean)

  local JOB = [[
    local flow = require "jfl"
    local job = flow.global_function { name = "double", returns = flow.typing.Numpy,
      inputs = { { "x", flow.typing.Numpy.Placeholder { 4 } } },
      body = function(x) return x + x end }
    print(job({ 1, 2, 3, 4 })[4])
  ]]

  -- Runs JOB and `ending` with the option; its output must begin with that of the script, and end
  -- with the table.
  local function profiled(ending, option)
    local out, err, status = run(option or "--profile", helper.file(JOB .. ending), "a")
    assert.equal("8\n", out:match("^[^\n]*\n"))
    assert.truthy(out:find("double: add_1\n", 1, true), out)
    assert.truthy(out:find("threads can do [^\n]*\n$"), out)
    return err, status
  end

  it("prints at the end of a script what its steps took", function()
    assert.same({ "", 0 }, { profiled("") })
    assert.same({ "", 0 }, { profiled("assert(... == 'a' and arg[1] == 'a')") })
  end)

  it("prints it also at os.exit and after an error, whose status stays", function()
    assert.same({ "", 3 }, { profiled("os.exit(3)") })
    local err, status = profiled("error 'boom'")
    assert.truthy(err:find("boom", 1, true))
    assert.equal(1, status)
  end)

  it("comes after the callbacks that are left", function()
    local out, err, status = run("--profile", helper.file(JOB:gsub("flow.typing.Numpy,",
      "flow.typing.Callback(flow.typing.Numpy),", 1):gsub("print.*$", "")
      .. "job({ 1, 2, 3, 4 })(function(y) print('called', y[4]) end) os.exit(0)"))
    assert.same({ "", 0 }, { err, status })
    assert.truthy(out:find("^called\t8\n *share "), out)
  end)

  -- #cpu: other devices copy the result to the host last.
  it("writes a trace, too #cpu", function()
    local path = helper.file("")
    assert.same({ "", 0 }, { profiled("", "--profile=" .. path) })
    local file = assert(io.open(path))
    local events = require("spec.json").read(file:read "*a").traceEvents
    file:close()
    assert.equal("add_1", events[#events].name)
  end)

  it("prints the table also where writing the trace fails", function()
    for _, ending in ipairs { "", "os.exit(0)" } do
      local out, err, status = run("--profile=/dev/full", helper.file(JOB .. ending))
      assert.truthy(out:find("^8\n *share "), out)
      assert.truthy(err:find("profile: cannot write /dev/full: ", 1, true), err)
      assert.equal(1, status)
    end
  end)

  it("says before the script runs where a trace cannot be written", function()
    fails("", "profile: cannot write /nowhere/t.json: ", "--profile=/nowhere/t.json",
      helper.file(JOB))
  end)

  it("says so where no job ran", function()
    succeeds("1\nprofile: no job ran\n", "--profile", "-e", "print(1)")
    fails("", "usage: jfl ", "--profile=")
    fails("", "usage: jfl ", "--profiles")
  end)
end)

describe("an error", function()
  after_each(helper.clean)

  it("is shown with a traceback on stderr", function()
    local script = helper.file("local function f() error('boom') end\nprint(1)\nf()\n")
    local err = fails("1\n", "stack traceback:", script)
    assert.truthy(err:find("^jfl: [^\n]*:1: boom\n"))
    assert.truthy(err:find(":3: in main chunk", 1, true))
  end)

  it("stops what was to follow", function()
    fails("", "no", "-e", "error('no', 0)", "-e", "print(1)")
    fails("", "module 'nope' not found", "-l", "nope", "-e", "print(1)")
    fails("", "'=' expected near 'x'", "-e", "x x", "-e", "print(1)")
  end)

  it("may be an object that says what it is", function()
    fails("", "jfl: told", "-e",
      "error(setmetatable({}, { __tostring = function() return 'told' end }))")
    fails("", "(error object is not a string)", "-e", "error {}")
  end)

  it("that is nil prints nothing", function()
    local out, err, status = run("-e", "error(nil)")
    assert.same({ "", "", 1 }, { out, err, status })
  end)

  it("names a script that is not there or is not text", function()
    fails("", "cannot open /nonexistent.lua", "/nonexistent.lua")
    local compiled = helper.file(string.dump(function() print(1) end))
    fails("", compiled .. ": expected Lua text, found bytecode", compiled)
    fails("", "stdin: expected Lua text, found bytecode", { input = string.dump(function() end) })
  end)
end)

describe("the end of a program", function()
  it("gives os.exit's status", function()
    local _, _, status = run("-e", "os.exit(3)")
    assert.equal(3, status)
  end)

  it("collects what is left", function()
    succeeds("bye\n", "-e", "u = newproxy(true) getmetatable(u).__gc = function() print 'bye' end")
  end)
end)

describe("Ctrl-C", function()
  after_each(helper.clean)

  -- What a program says, but for what it says on a busy machine, where it may take long to stop.
  local function said(err) return (err:gsub("\njfl: still running[^\n]*\n", "")) end

  it("stops a program with an error", function()
    local out, err, status = run("-e",
      "print 'before' io.popen('kill -INT $PPID'):close() for _ = 1, 1e8 do end print('after')")
    assert.same({ "before\n", 130 }, { out, status })
    assert.truthy(said(err):find("^jfl: interrupted\nstack traceback:"), err)
  end)

  it("is an error like others, which a program may catch", function()
    local out, err, status = run("-e", "print(pcall(function() "
      .. "io.popen('kill -INT $PPID'):close() for _ = 1, 1e8 do end end))")
    assert.same({ "false\tinterrupted\n", "", 0 }, { out, said(err), status })
  end)

  it("stops a read of a pipe in which nobody writes", function()
    local pipe = os.tmpname()
    local script = helper.file([[
      os.execute("(until ls -l /proc/$PPID/fd | grep -q ' -> " .. ... .. "'; do sleep 0.05; done;"
        .. "kill -INT $PPID) &")
      print(pcall(require"jfl".ndarray.load, ...))]])
    local out, err, status = helper.shell(("rm %s && mkfifo %s && (sleep 600 >%s & %s; kill $!)")
      :format(pipe, pipe, pipe, helper.line(script, pipe)))
    os.remove(pipe)
    assert.same({ "false\tinterrupted\n", "", 0 }, { out, said(err), status })
  end)

  it("stops a program that waits for a line", function()
    local pipe = os.tmpname()
    local script = helper.file([[
      os.execute("(until ls -l /proc/$PPID/fd | grep -q ' -> " .. ... .. "'; do sleep 0.05; done;"
        .. "sleep 0.2; kill -INT $PPID) &")
      for line in io.lines(...) do print(line) end]])
    local _, err, status = helper.shell(("rm %s && mkfifo %s && (sleep 600 >%s & %s; s=$?; kill $!;"
      .. "exit $s)"):format(pipe, pipe, pipe, helper.line(script, pipe)))
    os.remove(pipe)
    assert.equal(130, status)
    assert.truthy(said(err):find("^jfl: interrupted\n"), err)
  end)

  it("stops the callbacks at the end of a program, and those behind", function()
    local script = helper.file [[
      local flow = require "jfl"
      local job = flow.global_function { name = "job",
        returns = flow.typing.Callback(flow.typing.Numpy),
        inputs = { { "x", flow.typing.Numpy.Placeholder({ 1 }) } },
        body = function(x) return x end }
      local calls = { job({ 1 }), job({ 2 }), job({ 3 }) }
      calls[1](function() io.popen("kill -INT $PPID"):close() for _ = 1, 1e8 do end end)
      for i = 2, 3 do calls[i](function() print "not here" end) end]]
    for _, last in ipairs { "", "os.exit(0)" } do
      local out, err, status = run("-e", "dofile('" .. script .. "') " .. last)
      assert.equal("", out)
      assert.truthy(err:find("2 callbacks did not run", 1, true), err)
      assert.equal(last == "" and 130 or 1, status)
    end
  end)

  -- Kernels of oneDNN use memory of the heap as their stack, on which no handler may run.
  it("leaves memory whole in the midst of products of matrices", function()
    local script = helper.file [[
      local flow = require "jfl"
      local tp, N, STOPS = flow.typing, 200, 20
      local job = flow.global_function { name = "products", returns = tp.Numpy,
        inputs = { { "x", tp.Numpy.Placeholder { N, N } } },
        body = function(x)
          for _ = 1, 20 do x = flow.matmul(x, x) end
          return x
        end }
      local x, stops = flow.ndarray.zeros { N, N }, 0
      job:compile()
      -- A signal a moment after each line that it is given.
      local killer = io.popen("n=0; while read -r line; do n=$((n + 1)); "
        .. "sleep 0.$(printf %03d $((n * 37 % 60))); kill -INT "
        .. require("jfl.core").process() .. "; done", "w")
      for _ = 1, STOPS do
        local _, err = pcall(function()
          killer:write("\n")
          killer:flush()
          while true do job(x) end
        end)
        if err == "interrupted" then stops = stops + 1 end
      end
      killer:close()
      print(stops)]]
    local out, err, status = run(script)
    assert.same({ "20\n", "", 0 }, { out, said(err), status })
  end)

  -- Signals come at any time while callbacks with handlers run, each some time after the error of
  -- the one before: of what was registered all run, but for those in which an error was raised, and
  -- none is raised in Lua code of the front end.
  it("leaves the queue of calls whole", function()
    local script = helper.file [[
      local flow = require "jfl"
      local core, tp = require "jfl.core", flow.typing
      local shown, ran, made, registered, stops, inside = 0, {}, 0, {}, 0, 0
      local asked, STOPS = 0, 20
      local job = flow.global_function { name = "job", returns = tp.Callback(tp.Numpy),
        inputs = { { "x", tp.Numpy.Placeholder { 4 } } },
        body = function(x)
          flow.watch(x, function() shown = shown + 1 end)
          flow.watch(x + 1, function() shown = shown + 1 end)
          return x * 2
        end }
      local x = flow.ndarray.ones { 4 }
      job(x)
      flow.sync()
      shown = 0
      jit.off()
      -- A signal for each line that it is given.
      local killer = io.popen("n=0; while read -r line; do n=$((n + 1)); "
        .. "sleep 0.$(printf %03d $((n * 37 % 60))); kill -INT " .. core.process() .. "; done", "w")
      local function call()
        while stops < STOPS or made < 50 do
          if asked == stops and stops < STOPS then
            asked = asked + 1
            killer:write("\n")
            killer:flush()
          end
          for _ = 1, 5 do
            local n = made + 1
            made = n
            job(x)(function() ran[n] = (ran[n] or 0) + 1 end)
            registered[n] = true
          end
          flow.poll()
        end
      end
      local function note(err)
        assert(err == "interrupted", err)
        stops = stops + 1
        if debug.getinfo(2, "S").source:find("^=jfl/") then inside = inside + 1 end
      end
      local function go_on()
        while stops < STOPS or made < 50 do xpcall(call, note) end
      end
      for _ = 1, STOPS do xpcall(go_on, note) end   -- as a signal may come between two of them
      killer:close()
      for _ = 1, 5 do pcall(flow.sync) end
      flow.sync()
      local count, lost, twice = 0, 0, 0
      for n = 1, made do
        if registered[n] then count = count + 1 end
        if registered[n] and not ran[n] then lost = lost + 1 end
        if ran[n] and ran[n] > 1 then twice = twice + 1 end
      end
      assert(stops == STOPS, stops .. " stops")
      print(lost <= stops, twice, shown >= 2 * count - stops, inside, flow.poll())]]
    local out, err, status = run(script)
    assert.same({ "true\t0\ttrue\t0\t0\n", 0 }, { out, status }, err)
  end)
end)
