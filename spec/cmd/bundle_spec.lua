-- jfl --bundle: programs in one file.
local command = require "spec.cmd.helper"
local core = require "jfl.core"
local helper = require "spec.lua.helper"

local jfl = arg[-1]:find("/") and arg[-1] or "build/jfl"

local sh, write = command.said, command.write

local function read(path) return assert(command.read(path), path) end

describe("a bundle", function()
  local root, there

  setup(function()
    root = sh("mktemp -d /tmp/jfl-test-XXXXXX"):match("%S+")
    local folder, name = jfl:match("^(.*)/([^/]*)$")
    there = sh("cd '%s' && pwd", folder):match("%S+") .. "/" .. name
    core.make_directory(root .. "/in/lib")
    core.make_directory(root .. "/in/a folder")
    write(root .. "/in/app.lua", [[
      print("args", #arg, ...)
      print(require("helper").x, require("lib.more"), require("lib"))
      print(io.open("a folder/a file.txt"):read("*a"))
      for line in io.lines("a folder/a file.txt") do print(line) end
      print(table.concat(require("jfl").bundle.list(), ","))
    ]])
    write(root .. "/in/helper.lua", "return { x = 42 }")
    write(root .. "/in/lib/more.lua", "return 'more'")
    write(root .. "/in/lib/init.lua", "return 'all'")
    write(root .. "/in/a folder/a file.txt", "hello")
    local out, status = sh("cd %s/in && %s --bundle app.lua helper.lua lib 'a folder' -o ../app",
      root, there)
    assert.equal(0, status, out)
  end)

  teardown(function() sh("rm -rf %s", root) end)

  it("runs elsewhere, with an empty environment and without its sources", function()
    local out, status = sh("cd %s && mkdir x && cp app x/moved && cd / && "
      .. "env -i %s/x/moved one 'two 2'", root, root)
    assert.equal(0, status, out)
    assert.equal("args\t2\tone\ttwo 2\n42\tmore\tall\nhello\nhello\n"
      .. "app.lua,a folder/a file.txt,helper.lua,lib/init.lua,lib/more.lua\n", out)
  end)

  it("leaves options and LUA_INIT to the script", function()
    local out = sh("LUA_INIT='print(1)' %s/app --help -v", root)
    assert(out:find("^args\t2\t%-%-help\t%-v\n"), out)
  end)

  it("leaves no copies behind", function()
    core.make_directory(root .. "/tmp")
    sh("TMPDIR=%s/tmp %s/app", root, root)
    assert.equal("", (sh("ls -A %s/tmp", root)))
    write(root .. "/ends.lua", [[
      print(io.open(require("jfl").bundle.path("in/helper.lua")):read("*a"))
      if arg[1] then error "no" end
      os.exit(3)
    ]])
    sh("cd %s && %s --bundle ends.lua in/helper.lua -o ends", root, there)
    local out, status = sh("TMPDIR=%s/tmp %s/ends", root, root)
    assert.equal("return { x = 42 }\n", out)
    assert.equal(3, status)
    assert.equal(1, select(2, sh("TMPDIR=%s/tmp %s/ends with_error", root, root)))
    assert.equal("", (sh("ls -A %s/tmp", root)))
  end)

  it("leaves nothing where a program was killed, once another one makes copies", function()
    local function program(name, text)
      write(root .. "/killed.lua",
        "local path = require'jfl'.bundle.path 'in/helper.lua'\n" .. text)
      sh("cd %s && mkdir -p killed && %s --bundle killed.lua in/helper.lua -o %s", root, there,
        name)
    end
    local function left() return select(2, sh("ls -A %s/killed", root):gsub("jfl%-", "")) end
    program("dies", "os.execute 'kill -KILL $PPID'")
    program("ends", "print(io.open(path):read '*a')")
    program("waits", "print(path) io.stdout:flush() io.read() print(io.open(path):read '*a')")
    sh("TMPDIR=%s/killed %s/dies 2>&1", root, root)
    assert.equal(1, left())
    sh("mkdir %s/killed/jfl-%s %s/killed/jfl-other", root, ("a"):rep(16), root)
    local out = sh("cd %s/killed && mkfifo ../go && : >../said && export TMPDIR=$PWD && "
      .. "(../waits <../go >../said &) && exec 9>../go && until grep -q jfl ../said; do :; done && "
      .. "../ends && ls -d $(head -n 1 ../said) && echo >&9 && "
      .. "until grep -q 42 ../said; do :; done && tail -n 1 ../said", root)
    assert.truthy(out:find("^return { x = 42 }\n+[^\n]*/in/helper.lua\nreturn"), out)
    sh("while ls $(head -n 1 %s/said); do :; done", root)
    assert.equal("jfl-other\n", (sh("ls %s/killed", root)))
  end)

  it("keeps its copies when a forked child ends", function()
    write(root .. "/forks.lua", [[
      local ffi = require "ffi"
      ffi.cdef "int fork(void); int waitpid(int, int *, int);"
      local path = require("jfl").bundle.path "in/helper.lua"
      if ffi.C.fork() == 0 then os.exit(0, true) end
      ffi.C.waitpid(-1, nil, 0)
      print(io.open(path):read "*a")
    ]])
    sh("cd %s && %s --bundle forks.lua in/helper.lua -o forks", root, there)
    assert.equal("return { x = 42 }\n", (sh("TMPDIR=%s/tmp %s/forks", root, root)))
    assert.equal("", (sh("ls -A %s/tmp", root)))
  end)

  it("is the same for the same files", function()
    sh("cd %s/in && touch * && %s --bundle app.lua 'a folder' lib helper.lua -o ../again", root,
      there)
    assert.equal(core.crc32(read(root .. "/app")), core.crc32(read(root .. "/again")))
  end)

  it("takes the place of an older one, and of no file that it is made of", function()
    write(root .. "/number.lua", "print(1)")
    write(root .. "/old", "no program")
    for _, number in ipairs { 2, 3 } do
      write(root .. "/number.lua", ("print(%d)"):format(number))
      local out, status = sh("cd %s && %s --bundle number.lua -o old", root, there)
      assert.equal(0, status, out)
      assert.equal(number .. "\n", (sh("%s/old", root)))
    end
    sh("cp %s %s/runtime", there, root)
    for _, output in ipairs { "runtime", "./runtime", "number.lua" } do
      local out, status = sh("cd %s && %s --bundle --runtime runtime number.lua -o %s", root, there,
        output)
      assert.equal(1, status, out)
      assert(out:find("must name another file than .*, got " .. output), out)
    end
    assert.equal(core.crc32(read(there)), core.crc32(read(root .. "/runtime")))
  end)

  it("ends with the script's status and error", function()
    write(root .. "/fails.lua", "local t = nil\nprint(t.x)")
    sh("cd %s && %s --bundle fails.lua -o fails", root, there)
    local out, status = sh("%s/fails", root)
    assert.equal(1, status)
    assert(out:find("^jfl: fails.lua:2: attempt to index local 't'"), out)
  end)

  it("brings a model along", function()
    write(root .. "/train.lua", [[
      local flow = require "jfl"
      net = flow.global_function { name = "net", returns = flow.typing.Numpy,
        inputs = { { "x", flow.typing.Numpy.Placeholder({ 1, 2 }) } },
        body = function(x) return flow.layers.dense(x, 1, { name = "fc" }) end }
      if arg[1] then net({ { 1, 2 } }) flow.train.CheckPoint():save(arg[1])
      else flow.train.CheckPoint():load("model") end
      print(net({ { 1, 2 } }))
    ]])
    local out, status = sh("cd %s && %s train.lua model && %s --bundle train.lua model -o net",
      root, there, there)
    assert.equal(0, status, out)
    assert.equal(out, (sh("cd / && env -i %s/net", root)))
  end)

  it("keeps files under names that are given", function()
    write(root .. "/named.lua", [[
      print(io.open("data/words"):read("*a"), io.open("file.txt"):read("*a"))
    ]])
    local out = sh("cd %s && %s --bundle named.lua 'data/words=in/a folder/a file.txt' "
      .. "'file.txt=%s/in/helper.lua' -o named && cd / && %s/named", root, there, root, root)
    assert.equal("hello\treturn { x = 42 }\n", out)
  end)

  it("takes the folder that one is in", function()
    local out, status = sh("cd %s/in && %s --bundle app.lua . -o ../all && cd / && %s/all", root,
      there, root)
    assert.equal(0, status, out)
    assert(out:find("\n42\tmore\tall\nhello\nhello\napp.lua,a folder/a file.txt,", 1, true), out)
  end)

  it("ends where a link leads back", function()
    sh("mkdir -p %s/round && cd %s/round && ln -sf .. up && ln -sf . here", root, root)
    local out, status = sh("cd %s && %s --bundle in/app.lua round -o cut", root, there)
    assert.equal(1, status, out)
    assert.equal("jfl: --bundle: round/here leads back to round, without end\n", out)
    sh("rm -r %s/round", root)
  end)

  it("names what it cannot write", function()
    local out, status = sh("cd %s && (ulimit -f 100; trap '' XFSZ; %s --bundle in/app.lua -o cut)",
      root, there)
    assert.equal(1, status, out)
    assert(out:find("^jfl: %-%-bundle: cannot write cut: ."), out)
    assert.equal("", (sh("ls %s | grep cut", root)))
  end)

  it("reads large files without holding them", function()
    write(root .. "/large.lua", [[
      local path = require("jfl").bundle.path("large")
      local file = io.open(path, "rb")
      print(file:seek("end"))
      for line in io.lines("/proc/self/status") do
        local peak = line:match("^VmHWM:%s+(%d+)")
        if peak then print(tonumber(peak) < 60000 and "small" or peak) end
      end
    ]])
    local out, status = sh("cd %s && head -c 100000000 /dev/zero >large && "
      .. "%s --bundle large.lua large -o big && rm large && ./big", root, there)
    assert.equal(0, status, out)
    if core.is_file("/proc/self/status") and not helper.sanitized() then
      assert.equal("100000000\nsmall\n", out)
    end
    sh("rm %s/big", root)
  end)

  it("says that it is cut off or damaged", function()
    local text = read(root .. "/app")
    write(root .. "/cut", text:sub(1, -2))
    local out, status = sh("chmod +x %s/cut && %s/cut", root, root)
    assert.equal(1, status)
    assert(out:find("this program is cut off: [^\n]*/cut has %d+ of %d+ bytes"), out)
    local at = select(2, text:find("hello.*")) and text:find("hello", -200, true)
    write(root .. "/cut", text:sub(1, at - 1) .. "jello" .. text:sub(at + 5))
    out, status = sh("%s/cut", root)
    assert.equal(1, status)
    assert(out:find("a folder/a file.txt in this program is damaged", 1, true), out)
  end)

  it("says so, and does nothing, whatever of its mark and index is changed", function()
    local text = read(root .. "/app")
    local head, tail = text:find("JFL " .. "BUNDLE " .. "MARK:" .. ("%x"):rep(64))
    local mark = tail - 63
    assert.truthy(head)
    local first, size = tonumber(text:sub(mark, mark + 15), 16), tonumber(
      text:sub(mark + 16, mark + 31), 16)
    local tried = 0
    local function try(changed)
      tried = tried + 1
      write(root .. "/cut", changed)
      local out, status = sh("chmod +x %s/cut && %s/cut", root, root)
      assert.equal(1, status, out)
      assert(out:find("this program[^\n]*/cut") and out:find("damaged", 1, true)
        or out:find("/cut has %d+ of %d+ bytes") or out:find("in this program is damaged"), out)
    end
    local function with(at, byte) return text:sub(1, at - 1) .. byte .. text:sub(at + 1) end
    for at = mark, tail, 5 do try(with(at, text:sub(at, at) == "f" and "1" or "f")) end
    for at = mark, tail, 16 do
      try(text:sub(1, at - 1) .. ("f"):rep(16) .. text:sub(at + 16))
      try(with(at + 15, "\0"))
    end
    for at = first + 1, first + size, 17 do try(with(at, "\n")) end
    assert(tried > 25, tried)
  end)

  it("cannot begin another", function()
    local out, status = sh("cd %s && %s --bundle --runtime ./app in/app.lua -o two", root, there)
    assert.equal(1, status)
    assert(out:find("./app is a bundle itself", 1, true), out)
    out = sh("cd %s && %s --bundle --runtime /bin/sh in/app.lua -o two", root, there)
    assert(out:find("/bin/sh is no jfl command", 1, true), out)
    assert.is_false(core.is_file(root .. "/two"))
  end)

  it("is not made of what is wrong, and names that", function()
    for words, says in pairs {
      [""] = "a script must follow", ["-o x"] = "a script must follow", ["a.lua"] = "by %-o",
      ["a.lua -o x"] = "no script a.lua", ["in/app.lua nothing -o x"] = "no file or folder nothing",
      ["in/app.lua -o"] = "must follow %-o", ["in/app.lua -x"] = "unknown option %-x",
      ["in/app.lua -o no/where"] = "cannot write no/where",
      ["in/app.lua in/helper.lua in/helper.lua=in/app.lua -o x"] = "would both be named",
      ["in/app.lua -o ./in/app.lua"] = "must name another file than .*, got ./in/app.lua",
      ["in/app.lua in -o in/helper.lua"] = "must name another file than .*, got in/helper.lua",
      ["in/app.lua -o in"] = "must name a file, got in",
    } do
      local out, status = sh("cd %s && %s --bundle %s", root, there, words)
      assert.equal(1, status, words)
      assert(out:find("^jfl: %-%-bundle: ") and out:find(says), out)
    end
  end)
end)
