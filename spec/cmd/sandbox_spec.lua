-- jfl --sandbox: what a script in it tries in vain. On kernels without Landlock it must refuse.
local command = require "spec.cmd.helper"
local core = require "jfl.core"
local ffi = require "ffi"
local helper = require "spec.lua.helper"

local jfl = arg[-1]:find("/") and arg[-1] or "build/jfl"

local sh, write, read = command.said, command.write, command.read

-- Whether the system can keep files from a process, as it says itself.
local function has_landlock()
  ffi.cdef "long syscall(long number, ...);"
  local VERSION, call = ffi.cast("long", 1), ffi.cast("long", 444)    -- on all processors
  return ffi.os == "Linux" and ffi.C.syscall(call, nil, ffi.cast("size_t", 0), VERSION) >= 1
end

local out = sh("%s --sandbox -e 'print(1)'", jfl)
local there = has_landlock()

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

  it("names the options that open files, where one is refused", function()
    local hint = ": Permission denied: jfl --sandbox opens what --read DIR and --write DIR name"
    local got, status = run [[
      local flow = require "jfl"
      local other = "other"
      print(select(2, io.open(other .. "/secret")))
      print(select(2, io.open("in/file", "w")))
      print(select(2, pcall(flow.data.csv, other .. "/secret")))
      print(select(2, pcall(flow.checkpoint.save, other .. "/model")))
      print(select(2, pcall(flow.ndarray.save, other .. "/x.npy", flow.ndarray.ones({ 2 }))))
      print(select("#", io.open("in/file")), (select(2, io.open("in/none"))))]]
    local count = select(2, got:gsub(hint:gsub("%p", "%%%0"), ""))
    assert.same({ 5, 0 }, { count, status }, got)
    assert.truthy(got:find("1\tin/none: No such file or directory", 1, true))
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
      "/proc/self/root/etc/passwd", "/proc/self/cwd/other/secret", "/dev/mem",
      os.getenv "HOME" .. "/.profile" } do
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

  -- What the texts below declare.
  local C = [[
    local ffi = require "ffi"
    ffi.cdef [=[
      int ftruncate(int, long); long pread(int, void *, size_t, long);
      long pwrite(int, const void *, size_t, long); long lseek(int, long, int);
      int fallocate(int, int, long, long); int flock(int, int); int dup(int); int dup2(int, int);
      int fcntl(int, int, ...); int open(const char *, int, ...); int close(int);
      long read(int, void *, size_t); long write(int, const void *, size_t);
      void *mmap(void *, size_t, int, int, int, long); int fchmod(int, int);
      int futimens(int, const long *); long syscall(long, ...); int isatty(int);
      long copy_file_range(int, long *, int, long *, size_t, unsigned);
      long sendfile(int, int, long *, size_t); long splice(int, long *, int, long *, size_t, int);
      int usleep(unsigned);
    ]=]
    local C, room = ffi.C, ffi.new("char[65536]")
    local function int(x) return ffi.cast("int", x) end
  ]]

  -- Files that are standard input, output and errors, and what a script does to them.
  it("changes no file that it was given, but by printing", function()
    write(root .. "/script.lua", C .. [[
      for fd = 0, 2 do
        local copy = C.dup(fd)
        assert(copy > 2 and C.dup2(fd, 30 + fd) == 30 + fd and C.fcntl(fd, 0, int(40)) >= 40)
        for _, f in ipairs { fd, copy, 30 + fd, C.open("/proc/self/fd/" .. fd, 2),
          C.open("/dev/fd/" .. fd, 1), C.open("/dev/fd/" .. fd, 0) } do
          C.ftruncate(f, 0)
          C.fallocate(f, 0, 0, 100000)
          C.lseek(f, 0, 0)
          C.lseek(f, 1, 2)
          C.pwrite(f, "pwrite", 6, 0)
          C.fchmod(f, 0)
          C.futimens(f, nil)
          C.flock(f, 2 + 4)
          C.fcntl(f, 4, int(2048))
          C.copy_file_range(f, nil, 1, nil, 9, 0)
          C.sendfile(1, f, nil, 9)
          C.splice(f, nil, 1, nil, 9, 0)
          for flags = 1, 3 do
            local at = C.mmap(nil, 4096, 3, flags, f, 0)
            if at ~= ffi.cast("void *", -1) then ffi.copy(at, "mapped") end
          end
        end
      end
      C.write(0, "to the input", 12)
      assert(C.pread(1, room, 9, 0) < 0 and C.pread(2, room, 9, 0) < 0)
      io.stdout:write("said\n")
      io.stderr:write("complained\n")
    ]])
    for name, text in pairs { input = "of the user\n", log = "before\n", errors = "earlier\n" } do
      write(root .. "/" .. name, text)
    end
    local before = sh("stat -c '%%a %%Y' %s/input", root)
    local said, status = sh("cd %s && %s --sandbox --seconds 500 script.lua 0<>input 1>>log "
      .. "2>>errors; flock -n input true && flock -n log true && echo free", root, jfl)
    assert.same({ "free\n", 0 }, { said, status })
    assert.equal("of the user\n", read(root .. "/input"))
    assert.equal("before\nsaid\n", read(root .. "/log"))
    assert.equal("earlier\ncomplained\n", read(root .. "/errors"))
    assert.equal(before, sh("stat -c '%%a %%Y' %s/input", root))
  end)

  -- By /proc the other end of a pipe can be opened, which others may write to or read.
  it("writes into no pipe that others read, and reads none of theirs", function()
    write(root .. "/script.lua", C .. [[
      for fd = 0, 2 do
        local other = C.open("/proc/self/fd/" .. fd, 2 + 2048)
        C.write(other, "echo harm\n", 10)
        if fd > 0 then C.read(other, room, 65536) end
      end
    ]])
    local got = sh("cd %s && (echo 'echo fine' | (%s --sandbox script.lua >/dev/null 2>&1; cat)) "
      .. "| grep -v harm", root, jfl)
    assert.equal("echo fine\n", got)
    got = sh("cd %s && (echo of others; %s --sandbox script.lua 2>/dev/null; echo end >ended; "
      .. "echo end) | (until [ -e ended ]; do sleep 0.05; done; cat) | grep -v harm", root, jfl)
    assert.equal("of others\nend\n", got)
  end)

  it("takes from its input what it reads, and leaves the rest to others", function()
    write(root .. "/script.lua", C .. [[
      local n = C.read(0, room, 4)
      C.write(1, room, n)
    ]])
    write(root .. "/lines", "one\ntwo\nthree\n")
    for _, before in ipairs { "(", "cat lines | (" } do
      local line = "cd %s && " .. before .. "%s --sandbox script.lua; echo and; %s --sandbox "
        .. "script.lua; echo rest; cat)" .. (before == "(" and " <lines" or "")
      assert.equal("one\nand\ntwo\nrest\nthree\n", (sh(line, root, jfl, jfl)))
    end
    assert.equal("nil\n", (sh("cd %s && %s --sandbox -e 'print(io.read())' </dev/null", root, jfl)))
    assert.equal("nil\n", (sh("cd %s && %s --sandbox -e 'print(io.read())' <&-", root, jfl)))
    assert.equal("nil\n", (sh("cd %s && %s --sandbox -e 'print(io.read())' <.", root, jfl)))
  end)

  it("reads and prints much, in order", function()
    write(root .. "/script.lua", [[
      local text = io.read("*a")
      for i = 1, 3 do
        io.stdout:write(text)
        io.stdout:flush()
        io.stderr:write("part ", i, "\n")
      end
    ]])
    local text = {}
    for i = 1, 100000 do text[i] = ("line %d\n"):format(i) end
    text = table.concat(text)
    write(root .. "/much", text)
    local want = text .. "part 1\n" .. text .. "part 2\n" .. text .. "part 3\n"
    for _, line in ipairs { "cd %s && %s --sandbox script.lua <much 2>&1",
      "cd %s && cat much | %s --sandbox script.lua 2>&1 | cat",
      "cd %s && cat much | %s --sandbox script.lua >printed 2>&1; cat printed" } do
      local got = sh(line, root, jfl)
      assert.equal(#want, #got)
      assert.truthy(want == got)
    end
  end)

  it("hears that nobody reads what it prints, and says what was lost", function()
    local got = sh("cd %s && (%s --sandbox -e 'while true do print(1) end'; echo $? >status) "
      .. "| head -n 2; cat status", root, jfl)
    assert.equal("1\n1\njfl: the script was ended: it got signal 13 (Broken pipe)\n141\n", got)
    got = sh("%s --sandbox -e 'print(1)' >/dev/full", jfl)
    assert.equal("jfl: output of the script was lost: No space left on device\n", got)
    got = sh("%s --sandbox -e 'print(1)' >&-", jfl)
    assert.equal("", got)
  end)

  it("has a terminal where it was given one", function()
    if not sh("command -v script"):find("script") then return pending("script is not installed") end
    write(root .. "/script.lua", C .. [[
      print(C.isatty(0), C.isatty(1), C.isatty(2), io.read())]])
    local got = sh("cd %s && echo typed | script -qec '%s --sandbox script.lua' /dev/null", root,
      jfl)
    assert(got:find("1\t1\t1\ttyped\r?\n"), got)
  end)

  it("has no rights of root, nor gives its own away", function()
    local function refused(expression)
      gets("-1\t1\n", C .. ("print(tonumber(%s), ffi.errno())"):format(expression))
    end
    local number = ({ x64 = { clone = 56, chroot = 161, capget = 125 },
                      arm64 = { clone = 220, chroot = 51, capget = 90 } })[jit.arch]
    local long = "ffi.cast('long', %d)"
    for _, more in ipairs { 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000,
      0x40000000 } do
      refused(("C.syscall(%d, %s, nil, nil, nil, nil)"):format(number.clone,
        long:format(0x3d0f00 + more)))
    end
    refused(("C.syscall(%d, '/')"):format(number.chroot))
    refused("C.open('out/as-owner', 0x41, int(0x9ff))")          -- S_ISUID, S_ISGID, S_ISVTX
    refused("C.open('out/as-owner', 0x41, int(0x5ff))")
    assert.is_nil(read(root .. "/out/as-owner"))
    gets("0\t0\n", C .. ([[
      local head, set = ffi.new("unsigned[2]", 0x20080522, 0), ffi.new("unsigned[6]")
      C.syscall(%d, head, set)
      print(bit.band(set[0], bit.bnot(6)), set[3])       -- but CAP_DAC_OVERRIDE and _READ_SEARCH
    ]]):format(number.capget))
  end)

  it("gives no advice about memory and no order to threads that others feel", function()
    local futex = "ffi.C.syscall(%d, ffi.new('int[1]', 1), ffi.cast('long', %d), "
      .. "ffi.cast('long', 0), nil, nil, ffi.cast('long', 0))"
    for _, advice in ipairs { 12, 100, 101 } do
      call("int madvise(void *, size_t, int);", ("ffi.C.madvise(nil, 0, %d)"):format(advice))
    end
    for _, what in ipairs { 6, 7, 8, 11, 13 } do
      call("long syscall(long, ...);", futex:format(jit.arch == "x64" and 202 or 98, what))
    end
    call("int epoll_create1(int);", "ffi.C.epoll_create1(0)")
    call("int renameat2(int, const char *, int, const char *, unsigned);",
      "ffi.C.renameat2(-100, 'out/newer', -100, 'out/x', 4)")
  end)

  it("is ended where it writes too much, into however many files", function()
    local got, status = run([[
      local text = ("x"):rep(2 ^ 20)
      for i = 1, 100000 do
        local f = io.open("out/part" .. i % 4, "w")
        f:write(text)
        f:close()
      end]], "--disk 32M")
    assert.equal("jfl: the script was ended: it wrote more than 32 MB\n", got)
    assert.equal(137, status)
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
      -- The last is LuaJIT's, which ends the process where it has no memory to protect code.
      assert(got:find("more than 64 MB") or got:find("not enough memory")
        or got:find("out of memory") or got:find("runtime code generation failed"), got)
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

  it("renames what it may write, unless it would exchange two files", function()
    local text = [[
      local ffi = require "ffi"
      ffi.cdef "long syscall(long number, ...);"
      local int = ffi.typeof "int"
      local number = ({ x64 = 316, arm64 = 276 })[ffi.arch]
      io.open("out/a", "w"):close()
      for flags = 0, 2 do
        print(tonumber(ffi.C.syscall(number, int(-100), "out/a", int(-100), "out/b", int(flags))))
        os.rename("out/b", "out/a")
      end]]
    gets("0\n0\n-1\n", text)
  end)

  it("opens 16 folders", function()
    gets("hello\n", 'print(io.open("in/file"):read("*a"))', ("--read out "):rep(15))
    local got, status = run("print(1)", ("--read out "):rep(16))
    assert.equal(1, status)
    assert(got:find("--read can be given 16 times at most", 1, true), got)
  end)

  it("refuses what it does not understand", function()
    for words, says in pairs {
      [""] = "a script must follow", ["--read"] = "a value must follow %-%-read",
      ["--memory 3 a.lua"] = "%-%-memory must be at least 16M, got 3",
      ["--disk 3 a.lua"] = "%-%-disk must be at least 16M, got 3",
      ["--seconds x a.lua"] = "%-%-seconds must be a number above 0, got x",
      ["--net a.lua"] = "unknown option %-%-net",
      ["no/where.lua"] = "the script was not run: no/where.lua: No such file",
      ["--read no/where -e ''"] = "the script was not run: no/where: No such file",
      ["--write no/where -e ''"] = "the script was not run: no/where: No such file",
    } do
      local got, status = sh("%s --sandbox %s", jfl, words)
      assert.equal(1, status, words)
      assert(got:find(says), got)
    end
  end)
end)
