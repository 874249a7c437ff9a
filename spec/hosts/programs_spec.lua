-- jfl.so in programs of one's own, in C and C++, with all that hosts do to themselves: threads,
-- small stacks, forks, signals, locales, limits, and ends in any order.
local helper = require "spec.hosts.helper"

local include = "/usr/include/luajit-2.1"

-- Compiles spec/hosts/NAME without a warning, unless that was done since it was changed, and gives
-- the program's path. libraries: what it takes, else LuaJIT.
local function compiled(name, compiler, libraries)
  local source = ("%s/spec/hosts/%s"):format(helper.root, name)
  local path = ("%s/build/hosts_%s"):format(helper.root, name:gsub("%.", "_"))
  local out, err, status = helper.run { "sh", "-c", ("test %s -nt %s || %s -Wall -Wextra "
    .. "-Wpedantic -Werror -O1 -I%s %s -o %s %s -pthread"):format(path, source, compiler, include,
    source, path, libraries or "-lluajit-5.1") }
  assert.equal(0, status, out .. err)
  return path
end

local modes = {
  plain = "one state",
  threads = "4 threads with a state each",
  ["small stacks"] = "4 threads with 64 kB of stack each",
  ["handed on"] = "a state opened, used and closed by three threads",
  fibre = "a fibre on 64 kB of its own",
  ["starts programs"] = "programs started, which inherit nothing",
  ["own allocator"] = "an allocator of the host's that runs out",
  forks = "forks with calls in flight",
  ["forks and exits"] = "a child that ends by exit",
  ["left open"] = "an end without closing",
  ["closed late"] = "closing at exit with calls in flight",
  again = "closing and opening",
  german = "a locale with commas",
  ["closed files"] = "standard files closed",
  elsewhere = "another working directory",
  ["little memory"] = "a limit on memory",
  alarmed = "handlers of its own and a timer",
}

describe("a C program #cpu #hosts", function()
  after_each(helper.clean)

  local passed, count = {}, 0
  for mode, title in pairs(modes) do
    count = count + 1
    it("trains and answers with " .. title, function()
      local missing = helper.missing("cc", "/usr/include/luajit-2.1/lua.h",
        mode == "german" and "/usr/share/i18n/locales/de_DE" or nil)
      if missing then return pending(missing) end
      local program = compiled("program.c", "cc -std=c11 -D_GNU_SOURCE")
      local env = {}
      if mode == "german" then
        env.LOCPATH = helper.place()
        env.I18NPATH = helper.file "/usr/share/i18n"
        local out, err, status = helper.run { "localedef", "--no-archive", "-i", "de_DE", "-f",
          "UTF-8", helper.place() .. "/de_DE.UTF-8", env = env }
        assert.equal(0, status, out .. err)
      end
      local out, err, status = helper.run { program, helper.root, helper.place(), mode, env = env }
      -- Where the host gives no memory, the end of a state says so if that needs some.
      if mode == "own allocator" then err = err:gsub("jfl: not enough memory\n", "") end
      assert.same({ "well\n", "", 0 }, { out, err, status })
      passed[#passed + 1] = title
      if #passed == count then
        table.sort(passed)
        helper.row("a C program", helper.version "libluajit-5.1-2", table.concat(passed, "; "))
      end
    end)
  end

  it("in C++ trains in threads and ends with static objects", function()
    local missing = helper.missing("c++", "/usr/include/luajit-2.1/lua.hpp")
    if missing then return pending(missing) end
    local program = compiled("program.cc", "c++ -std=c++17")
    local out, err, status = helper.run { program, helper.root, helper.place() }
    assert.same({ "well\n", "", 0 }, { out, err, status })
    helper.row("a C++ program", helper.version "libluajit-5.1-2", "4 threads with a state each, "
      .. "errors as exceptions, a state closed by a static destructor with calls in flight")
  end)

  it("in C++ is told what it does wrong, and goes on", function()
    local missing = helper.missing("c++", helper.root .. "/build/libjfl.so")
    if missing then return pending(missing) end
    local program = compiled("misuse.cc", ("c++ -std=c++17 -I'%s/src'"):format(helper.root),
      ("'%s/build/libjfl.so' -Wl,-rpath,'%s/build'"):format(helper.root, helper.root))
    local out, err, status = helper.run { program }
    assert.same({ "well\n", "", 0 }, { out, err, status })
  end)
end)
