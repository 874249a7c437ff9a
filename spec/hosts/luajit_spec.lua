-- jfl.so in stock LuaJITs: Debian's, and OpenResty's fork of it.
local helper = require "spec.hosts.helper"

-- Waits by poll(2), as a loop of one's own would.
local script = [[
  local ffi = require "ffi"
  ffi.cdef "struct pollfd { int fd; short events, revents; }; int poll(struct pollfd *, long, int);"
  local guest = require "spec.hosts.guest"
  io.write(guest.all("saved", function(fd)
    local due = ffi.new("struct pollfd[1]", { { fd, 1, 0 } })
    assert(ffi.C.poll(due, 1, 300000) == 1, "no callback came")
  end), "\n")
  assert(guest.changed() == "os.exit", guest.changed())
]]

describe("stock luajit #cpu #hosts", function()
  after_each(helper.clean)

  local hosts = {
    { title = "LuaJIT", package = "luajit", program = "/usr/bin/luajit" },
    { title = "LuaJIT of OpenResty", package = "luajit2",
      program = helper.root .. "/build/hosts/usr/bin/luajit" },
  }
  for _, host in ipairs(hosts) do
    it(("is %s: it learns, answers, saves and ends"):format(host.title), function()
      local missing = helper.missing(host.program)
      if missing then return pending(missing) end
      local out, err, status = helper.run { host.program, helper.write("main.lua", script) }
      assert.same({ "learnt, 150 callbacks, saved and loaded\n", "", 0 }, { out, err, status })
      helper.row(host.title, helper.version(host.package),
        "a script with a loop of poll(2): " .. out:gsub("\n", ""))
    end)
  end
end)
