-- jfl --sandbox: what a script in it tries in vain. On kernels without Landlock it must refuse.
local command = require "spec.cmd.helper"
local core = require "jfl.core"
local ffi = require "ffi"
local helper = require "spec.lua.helper"

local jfl = arg[-1]:find("/") and arg[-1] or "build/jfl"

local sh, write, read = command.said, command.write, command.read

local out = sh("%s --sandbox -e 'print(1)'", jfl)
local there = out == "1\n"

describe("jfl --sandbox", function()
  if helper.sanitized() then
    pending("leaves a sanitizer no room for its own memory")
    return
  end

  if not there then
    it("refuses to run a script with less than it promises", function()
      assert(out:find("^jfl: %-%-sandbox: the script was not run: ")
        or out:find("cannot do it"), out)
    end)
    return
  end

  local root

  -- Runs a text with the folders `in` to read and `out` to write, and more time than it needs on a
  -- busy machine.
  local function run(text, options)
    write(root .. "/script.lua", text)
    return sh("cd %s && timeout 600 %s --sandbox --read in --write out --seconds 500 %s script.lua",
      root, jfl, options or "")
  end

  -- The text prints what it got; it must have got nothing.
  local function gets(want, text, options)
    local got, status = run(text, options)
    assert.same({ want, 0 }, { got, status })
  end

  local function call(declaration, expression)
    gets("-1\n", ('local ffi = require "ffi" ffi.cdef [[%s]] print(tonumber(%s))'):format(
      declaration, expression))
  end

  setup(function()
    root = sh("mktemp -d /tmp/jfl-test-XXXXXX"):match("%S+")
    if not jfl:find("^/") then jfl = sh("pwd"):match("%S+") .. "/" .. jfl end
    for _, name in ipairs { "in", "out", "other" } do core.make_directory(root .. "/" .. name) end
    write(root .. "/in/file", "hello")
    write(root .. "/other/secret", "secret")
    sh("ln -s ../other/secret %s/in/link; ln -s ../other %s/out/link", root, root)
  end)
  teardown(function() sh("rm -rf %s", root) end)

  it("runs a script with its arguments, jit and ffi, and gives its status", function()
    write(root .. "/a.lua", 'print(jit.status(), require("ffi").sizeof("int"), ...) os.exit(3)')
    local got, status = sh("cd %s && %s --sandbox a.lua x 'y z'", root, jfl)
    assert.equal(3, status)
    assert(got:find("4\tx\ty z\n$"), got)
  end)

  it("trains, saves and loads", function()
    local got, status = run [[
      local flow = require "jfl"
      local tp = flow.typing
      local job = flow.global_function { name = "train", type = "train", returns = tp.Numpy,
        inputs = { { "x", tp.Numpy.Placeholder({ 64, 64 }) } },
        body = function(x)
          local loss = flow.math.square(flow.layers.dense(x, 8, { name = "fc" }))
          flow.optimizer.SGD(0.01):minimize(loss)
          return loss
        end }
      local x = flow.ndarray.ones({ 64, 64 })
      for _ = 1, 10 do job(x) end
      flow.train.CheckPoint():save("out/model")
      flow.train.CheckPoint():load("out/model")
      print(#flow.checkpoint.get("out/model")["fc-bias"])
    ]]
    assert.same({ "8\n", 0 }, { got, status })
  end)

  it("runs jobs on its own thread, which need not wait for another #cpu", function()
    gets("true\n", [[
      local ffi, flow = require "ffi", require "jfl"
      local tp = flow.typing
      local job = flow.global_function { name = "square", type = "predict", returns = tp.Numpy,
        inputs = { { "x", tp.Numpy.Placeholder({ 4 }) } }, body = flow.math.square }
      ffi.cdef "int getrusage(int, long *);"
      local x, before, after = flow.ndarray.ones({ 4 }), ffi.new("long[64]"), ffi.new("long[64]")
      job(x)
      local THREAD, SLEEPS = 1, 16          -- RUSAGE_THREAD; where ru_nvcsw is
      assert(ffi.C.getrusage(THREAD, before) == 0)
      for _ = 1, 200 do job(x) end
      assert(ffi.C.getrusage(THREAD, after) == 0)
      print(after[SLEEPS] - before[SLEEPS] < 100)
    ]])
  end)

  it("reads and writes where it may", function()
    gets("hello\n", [[print(io.open("in/file"):read("*a"))
      local f = io.open("out/new", "w") f:write("new") f:close()
      os.rename("out/new", "out/newer")]])
    assert.equal("new", read(root .. "/out/newer"))
    gets("nil\n", 'print((io.open("in/new", "w")))')
    gets("nil\n", 'print((io.open("in/file", "a")))')
    gets("nil\n", 'print((os.remove("in/file")))')
  end)

  it("reads no other file", function()
    for _, path in ipairs { "/etc/passwd", "/etc/shadow", "other/secret", "in/../other/secret",
      "in/link", "out/link/secret", "/proc/self/mem", "/proc/self/environ", "/proc/1/environ",
      "/proc/self/root/etc/passwd", "/proc/self/cwd/other/secret", "/dev/mem", "/root/.bashrc" } do
      gets("nil\n", ('print((io.open("%s", "rb")))'):format(path))
    end
  end)

  it("writes no other file", function()
    for _, path in ipairs { "other/new", "out/../other/new", "out/link/new", "/tmp/jfl-test-new",
      "script.lua", "/proc/self/mem", "/dev/sda", "/dev/kmsg" } do
      gets("nil\n", ('print((io.open("%s", "a")))'):format(path))
    end
    call("int symlink(const char *, const char *);", 'ffi.C.symlink("/etc", "out/etc")')
    call("int link(const char *, const char *);", 'ffi.C.link("other/secret", "out/secret")')
    call("int truncate(const char *, long);", 'ffi.C.truncate("in/file", 0)')
    call("int chmod(const char *, int);", 'ffi.C.chmod("in/file", 511)')
    for _, flags in ipairs { 512, 515 } do       -- O_TRUNC, for reading and for nothing
      gets("-1\t1\n", ([[local ffi = require "ffi" ffi.cdef "int open(const char *, int, ...);"
        print(ffi.C.open("in/file", %d), ffi.errno())]]):format(flags))
    end
    gets("", [[local ffi = require "ffi"
      ffi.cdef "int fileno(void *); int fchmod(int, int);"
      ffi.C.fchmod(ffi.C.fileno(io.open("in/file")), 0)]])
    assert.equal("hello", read(root .. "/in/file"))
    assert.is_nil(sh("ls -l %s/in/file", root):find("^%-%-%-"))
    assert.equal("secret", read(root .. "/other/secret"))
  end)

  it("has no network", function()
    for family = 1, 17, 8 do
      call("int socket(int, int, int);", ("ffi.C.socket(%d, 1, 0)"):format(family))
    end
    call("int socket(int, int, int);", "ffi.C.socket(2, 2, 0)")
    call("int socketpair(int, int, int, int *);", 'ffi.C.socketpair(1, 1, 0, ffi.new("int[2]"))')
  end)

  it("starts no process and touches none", function()
    gets("nil\n", 'print((io.popen("true")))')
    assert.is_nil((run('print("got" .. tostring(os.execute("touch out/touched")))')):find("got0"))
    assert.is_nil(read(root .. "/out/touched"))
    call("int fork(void);", "ffi.C.fork()")
    call("int execv(const char *, void *);", 'ffi.C.execv("/bin/true", nil)')
    call("int kill(int, int); int getppid(void);", "ffi.C.kill(ffi.C.getppid(), 9)")
    call("int kill(int, int);", "ffi.C.kill(-1, 9)")
    call("long ptrace(int, int, void *, void *); int getppid(void);",
      "ffi.C.ptrace(16, ffi.C.getppid(), nil, nil)")
    call("long syscall(long, ...); int getppid(void);",
      "ffi.C.syscall(310, ffi.cast('long', ffi.C.getppid()), nil, 0LL, nil, 0LL, 0LL)")
    gets("-1\n", [[local ffi, cores = require "ffi", require("ffi").new("char[1024]")
      ffi.cdef "int getppid(void); int sched_getaffinity(int, size_t, void *);"
      ffi.cdef "int sched_setaffinity(int, size_t, const void *);"
      assert(ffi.C.sched_getaffinity(0, 1024, cores) >= 0)
      print(ffi.C.sched_setaffinity(ffi.C.getppid(), 1024, cores))]])
    call("int setuid(int);", "ffi.C.setuid(1)")
    call("int unshare(int);", "ffi.C.unshare(0x10000000)")
    call("int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long);",
      "ffi.C.prctl(4, 1, 0, 0, 0)")
  end)

  it("types nothing into the terminal, and leaves it as it is", function()
    call("int ioctl(int, unsigned long, ...);", 'ffi.C.ioctl(0, 0x5412, "x")')
    call("int ioctl(int, unsigned long, ...);", 'ffi.C.ioctl(0, 0x5421, ffi.new("int[1]", 1))')
    call("int fcntl(int, int, ...);", 'ffi.C.fcntl(0, 4, ffi.cast("int", 2048))')   -- O_NONBLOCK
  end)

  it("has no secrets of the environment, not even in its memory", function()
    write(root .. "/script.lua", [[
      local ffi = require "ffi"
      ffi.cdef "char **environ;"
      local from, to = ffi.C.environ[0], ffi.C.environ[1]
      print(os.getenv "LANG", os.getenv "TZ", os.getenv "KEY", ffi.C.environ[2] == nil)
      print(to > from, ffi.string(from, to - from):find("hunter2"))
    ]])
    local got = sh("cd %s && env -i LANG=C KEY=hunter2 JFL_LAUNCHER=0 JFL_SECRET=hunter2 TZ=UTC "
      .. "%s --sandbox script.lua", root, jfl)
    assert.equal("C\tUTC\tnil\ttrue\ntrue\tnil\n", got)
  end)

  it("has no memory that others could see, nor more than its own limits", function()
    if ffi.abi("64bit") then
      gets("true\n", [[local ffi = require "ffi"
        ffi.cdef "void *mmap(void *, size_t, int, int, int, long);"
        print(ffi.C.mmap(nil, 2 ^ 20, 3, 0x21, -1, 0) == ffi.cast("void *", -1))]])
    end
    call("int setrlimit(int, const unsigned long *);",
      'ffi.C.setrlimit(2, ffi.new("unsigned long[2]", 2 ^ 40, 2 ^ 40))')
  end)

  it("sets no limit of another process, from whatever address", function()
    if not ffi.abi("64bit") then return end
    call([[void *mmap(void *, size_t, int, int, int, long); int getppid(void);
      int prlimit(int, int, const unsigned long *, unsigned long *);]],
      [[ffi.C.prlimit(ffi.C.getppid(), 4, ffi.cast("unsigned long *",
        ffi.C.mmap(ffi.cast("void *", 2 ^ 32), 4096, 3, 0x22, -1, 0)), nil)]])
  end)

  it("has no files that were open before", function()
    local got = sh("cd %s && exec 7<other/secret && %s --sandbox -e 'local ffi = require \"ffi\" "
      .. "ffi.cdef \"long read(int, void *, size_t);\" "
      .. "print(tonumber(ffi.C.read(7, ffi.new(\"char[9]\"), 9)))'", root, jfl)
    assert.equal("-1\n", got)
  end)

  it("is ended in time, also by loops of the compiler", function()
    for _, text in ipairs { "while true do end", "while true do pcall(error) end",
      "local s = ('a'):rep(40) s:find(('a*'):rep(30) .. 'b')" } do
      local got, status = run(text, "--seconds 0.3")
      assert.equal(137, status)
      assert.equal("jfl: the script was ended: it ran for more than 0.3 s\n", got)
    end
  end)

  it("is ended where it takes too much memory", function()
    for _, text in ipairs {
      "local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end",
      "local f, t = require 'ffi', {} while true do t[#t + 1] = f.new('char[1000000]', 1) end",
      "local t, nd = {}, require('jfl').ndarray while true do t[#t + 1] = nd.ones({ 1e6 }) end",
    } do
      local got, status = run(text, "--memory 64M")
      assert(status ~= 0)
      assert(got:find("more than 64 MB") or got:find("not enough memory")
        or got:find("out of memory"), got)
    end
  end)

  it("is ended where it has too many threads", function()
    local got, status = run([[
      local ffi = require "ffi"
      ffi.cdef [=[
        int pthread_attr_init(void *); int pthread_attr_setstacksize(void *, size_t);
        int pthread_create(unsigned long *, void *, void *, uintptr_t); unsigned sleep(unsigned);
      ]=]
      local attr, thread = ffi.new("char[256]"), ffi.new("unsigned long[1]")
      ffi.C.pthread_attr_init(attr)
      ffi.C.pthread_attr_setstacksize(attr, 65536)
      for _ = 1, 1100 do
        if ffi.C.pthread_create(thread, attr, ffi.cast("void *", ffi.C.sleep), 1000) ~= 0 then
          print "the system has no more"
          os.exit(7)
        end
      end
      while true do end
    ]])
    if status == 7 then return pending("the system bears no 1100 threads") end
    assert.equal("jfl: the script was ended: it had more than 1000 threads\n", got)
    assert.equal(137, status)
  end)

  it("refuses what it does not understand", function()
    for words, says in pairs {
      [""] = "a script must follow", ["--read"] = "a value must follow %-%-read",
      ["--memory 3 a.lua"] = "%-%-memory must be at least 16M, got 3",
      ["--seconds x a.lua"] = "%-%-seconds must be a number above 0, got x",
      ["--net a.lua"] = "unknown option %-%-net", ["no/where.lua"] = "no/where.lua: No such file",
      ["--read no/where -e ''"] = "no/where: No such file",
    } do
      local got, status = sh("%s --sandbox %s", jfl, words)
      assert.equal(1, status, words)
      assert(got:find(says), got)
    end
  end)
end)
