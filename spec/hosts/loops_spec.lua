-- jfl in the event loops that Lua has as modules, in coroutines, with the JIT off, and beside the
-- library that has a LuaJIT of its own.
local helper = require "spec.hosts.helper"

-- Runs a script in stock LuaJIT, which must say no more than this.
local function run(script, expected, arguments)
  local out, err, status = helper.run { "/usr/bin/luajit", helper.write("main.lua", script),
    unpack(arguments or {}) }
  assert.same({ expected, "", 0 }, { out, err, status })
end

describe("an event loop in Lua #cpu #hosts", function()
  after_each(helper.clean)

  it("is that of cqueues", function()
    local missing = helper.missing("/usr/bin/luajit", "/usr/share/lua/5.1/cqueues.lua")
    if missing then return pending(missing) end
    run([[
      package.path = package.path .. ";" .. arg[1]
      package.cpath = package.cpath .. ";" .. arg[2]
      local cqueues = require "cqueues"
      local loop, ticks = cqueues.new(), 0
      local done = false
      loop:wrap(function()
        local guest = require "spec.hosts.guest"
        print(guest.all("saved", function(fd)
          cqueues.poll { pollfd = fd, events = "r" }
        end))
        done = true
      end)
      loop:wrap(function()
        while not done do
          ticks = ticks + 1
          cqueues.sleep(0.001)
        end
      end)
      assert(loop:loop())
      assert(ticks > 0, "the loop stood still")
    ]], "learnt, 150 callbacks, saved and loaded\n",
      { helper.file "/usr/share/lua/5.1" .. "/?.lua", helper.modules "_cqueues" })
    helper.row("cqueues", helper.version "lua-cqueues", "a coroutine waits for the descriptor"
      .. " while another goes on: learnt, 150 callbacks, saved and loaded")
  end)

  it("is that of luv", function()
    local place = helper.modules "luv"
    local missing = helper.missing("/usr/bin/luajit") or not place and "needs lua-luv"
    if missing then return pending(missing) end
    run([[
      package.cpath = package.cpath .. ";" .. arg[1]
      local uv = require "luv"
      local guest = require("spec.hosts.guest").define()
      local first, last = guest.train(150)
      assert(last < first / 4)
      local due, timer, ticks = uv.new_poll(guest.fd()), uv.new_timer(), 0
      guest.submit(150)
      timer:start(0, 1, function() ticks = ticks + 1 end)
      due:start("r", function(err)
        assert(not err, err)
        guest.poll(0.002)
        if guest.delivered < 150 then return end
        due:close()
        timer:close()
      end)
      uv.run()
      assert(ticks > 0, "the loop stood still")
      guest.keep "saved"
      print(guest.delivered)
    ]], "150\n", { place })
    helper.row("luv", helper.version "lua-luv", "uv_poll on the descriptor beside a timer: "
      .. "learnt, 150 callbacks, saved and loaded")
  end)

  it("runs jfl in coroutines, with the JIT compiler off and on", function()
    local missing = helper.missing "/usr/bin/luajit"
    if missing then return pending(missing) end
    run([[
      local guest = require "spec.hosts.guest"
      -- One coroutine computes, is resumed by another, and callbacks run in whichever polls.
      local function all(name)
        local worker = coroutine.wrap(function()
          return guest.all(name, function() coroutine.yield() end)
        end)
        local said
        repeat said = coroutine.wrap(worker)() until said
        return said
      end
      jit.off()
      print(all "one")
      jit.on()
      jit.opt.start("hotloop=2", "hotexit=2")
      print((all("two"):gsub("%d+", "150")))
      jit.flush()
      for i = 1, 3 do
        local thread = coroutine.create(function() guest.submit(10) error "left" end)
        assert(not coroutine.resume(thread))
      end
      collectgarbage()
      require("jfl").sync()
      print(guest.delivered)
    ]], ("learnt, 150 callbacks, saved and loaded\n"):rep(2) .. "330\n")
  end)

  it("has libjfl.so beside the module in one process", function()
    local missing = helper.missing "/usr/bin/luajit"
      or not helper.exists "build/libjfl.so" and "needs build/libjfl.so: run make"
    if missing then return pending(missing) end
    run([[
      local ffi = require "ffi"
      ffi.cdef "typedef struct jfl_script jfl_script; const char *jfl_errmsg(void);"
      ffi.cdef "int jfl_script_new(const void *, jfl_script **);"
      ffi.cdef "int jfl_script_run(jfl_script *, const char *, size_t, const char *);"
      ffi.cdef "void jfl_script_free(jfl_script *);"
      local library = ffi.load(arg[1] .. "/build/libjfl.so")
      local function check(status)
        if status ~= 0 then error(ffi.string(library.jfl_errmsg())) end
      end
      local script = ffi.new "jfl_script *[1]"
      check(library.jfl_script_new(nil, script))
      local function run(text) check(library.jfl_script_run(script[0], text, #text, "=host")) end
      run("package.path = '" .. arg[1] .. "/?.lua;' .. package.path")
      run "guest = require('spec.hosts.guest').define()  guest.train(150)  guest.submit(150)"
      print((require("spec.hosts.guest").all("saved", function() end)))
      run "require('jfl').sync()  assert(guest.delivered == 150)  guest.keep 'other'"
      library.jfl_script_free(script[0])
    ]], "learnt, 150 callbacks, saved and loaded\n", { helper.root })
    helper.row("luajit with libjfl.so", helper.version "luajit", "the library's own LuaJIT trains"
      .. " in one process with the module in luajit's")
  end)
end)
