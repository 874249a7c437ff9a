--- What scripts/setup does on systems that are made up: it finds no programs but those of a folder,
--- where Debian's say what is installed, and write down what they are asked for.
local shell = require "spec.cmd.helper"

-- The lists of the table, each after those that it adds to.
local LISTS = { "demo", "doc", "test", "package", "systems", "hosts", "network", "deep" }
local TOOLS = "sh dirname awk sed cat grep env mktemp rm printf make gcc as ld"

-- Those that stand for Debian's: the files `installed` and `refused` have a package a line.
local DEBIAN = {
  ["dpkg-query"] = [[shift 2
    for name; do ! grep -qx -e "$name" installed || echo "installed $name"; done]],
  ["apt-get"] = [[echo "$*" >>asked
    [ "$1" = install ] || exit 0
    shift
    for name; do case $name in -*) ;; *) ! grep -qx -e "$name" refused || exit 100 ;; esac; done
    for name; do echo "$name" >>installed; done]],
  id = "cat user",
}

describe("scripts/setup #cpu", function()
  local place

  local function write(name, text) shell.write(place .. "/" .. name, text) end
  local function read(name) return shell.read(place .. "/" .. name) end

  local function program(name, text)
    write(name, ("#!/bin/sh\ncd %s\n%s\n"):format(place, text))
    shell.said("chmod +x %s/%s", place, name)
  end

  --- Gives its errors and its exit status.
  local function setup_for(arguments, environment)
    local _, err, status = shell.shell(("env -u MAKEFLAGS -u CC PATH=%s %s scripts/setup %s")
      :format(place, environment or "", arguments))
    return err, status
  end

  --- The packages of a list in their order, and what is said of each.
  local function packages(list)
    local out, err, status = shell.shell("scripts/setup --list " .. list)
    assert.equal(0, status, err)
    local names, rows = {}, {}
    for line in out:gmatch "[^\n]+" do
      local level, name, purpose = line:match "^  (%l+) +(%S+) +(%S.*)$"
      assert.truthy(level == "needed" or level == "optional", line)
      names[#names + 1], rows[name] = name, { level = level, purpose = purpose }
    end
    return names, rows
  end

  -- All of a list is installed, except those that are named.
  local function installed(list, ...)
    local lacks, there = {}, {}
    for _, name in ipairs { ... } do lacks[name] = true end
    for _, name in ipairs((packages(list))) do
      if not lacks[name] then there[#there + 1] = name .. "\n" end
    end
    write("installed", table.concat(there))
  end

  before_each(function()
    place = shell.said "mktemp -d":match "%S+"
    shell.said("cd /usr/bin && for name in %s; do ln -s $PWD/$name %s; done", TOOLS, place)
    for name, text in pairs(DEBIAN) do program(name, text) end
    write("refused", "")
    write("asked", "")
    write("user", "0\n")
  end)

  after_each(function()
    shell.clean()
    shell.said("rm -r %s", place)
  end)

  it("says of each package in each list what it does", function()
    for _, list in ipairs(LISTS) do
      local names, rows = packages(list)
      assert.truthy(#names > 0, list)
      for name, row in pairs(rows) do assert.truthy(#row.purpose > 10, name) end
    end
  end)

  it("has more for pages than for the demo, and more for tests than for pages", function()
    local lists = { (packages "demo"), (packages "doc"), (packages "test") }
    for i = 2, 3 do
      assert.truthy(#lists[i] > #lists[i - 1])
      for at, name in ipairs(lists[i - 1]) do assert.equal(name, lists[i][at]) end
    end
  end)

  it("takes no host, MPI or tool of tests for the demo", function()
    local _, demo = packages "demo"
    for name in ("love neovim xvfb mpich openmpi-bin lua-busted ccache g++ libopenblas0")
      :gmatch "%S+" do
      assert.is_nil(demo[name], name)
    end
  end)

  it("refuses a list that it does not know", function()
    for _, wrong in ipairs { "tests", "--all", "demo:" } do
      local err, status = setup_for(wrong)
      assert.equal(2, status)
      assert.equal("setup: LIST must be demo, doc, test, package, systems, hosts, network or deep, "
        .. "got '" .. wrong .. "'\n", err)
    end
  end)

  it("does nothing where all is there", function()
    for _, list in ipairs { "demo", "doc", "package", "network", "test" } do
      installed(list)
      assert.same({ "", 0 }, { setup_for(list) })
    end
    assert.same({ "", 0 }, { setup_for "" })
    assert.equal("", read "asked")
  end)

  it("installs what is missing and nothing else, and says what it is for", function()
    installed("test", "libpng16-16", "mpich")
    local err, status = setup_for "test"
    assert.equal(0, status, err)
    assert.matches("  needed +libpng16%-16 +reads PNG files\n", err)
    assert.equal("update -q\ninstall --no-install-recommends -y -q libpng16-16 mpich\n",
      read "asked")
  end)

  it("installs the others where one cannot be had", function()
    installed("demo", "gcc", "libdnnl-dev", "dataset-fashion-mnist")
    write("refused", "libdnnl-dev\n")
    local err, status = setup_for "demo"
    assert.equal(0, status, err)
    assert.matches("\nsetup: going on with less; root can add it: "
      .. "apt%-get install %-%-no%-install%-recommends libdnnl%-dev\n$", err)
    assert.matches("\ndataset%-fashion%-mnist\n", read "installed")
  end)

  it("tells another user in one line what to install, and goes on without what is optional",
    function()
      write("user", "1000\n")
      installed("test", "mpich", "ccache")
      assert.same({ "setup: going on with less; root can add it: "
        .. "apt-get install --no-install-recommends ccache mpich\n", 0 }, { setup_for "test" })
      assert.equal("", read "asked")
    end)

  it("asks sudo where it needs no password", function()
    write("user", "1000\n")
    installed("demo", "libdnnl-dev")
    program("sudo", '[ "$1" = -n ] || "$@"')
    local err, status = setup_for "demo"
    assert.equal(0, status, err)
    assert.matches("\ninstall .* libdnnl%-dev\n$", read "asked")
  end)

  it("goes on where something else serves", function()
    write("user", "1000\n")
    installed("demo", "gcc", "make", "zlib1g-dev", "libluajit-5.1-dev")
    assert.same({ "", 0 }, { setup_for "demo" })
  end)

  it("stops where nothing serves, and tells that in one line", function()
    write("user", "1000\n")
    installed("demo", "gcc", "zlib1g-dev", "libedit2")
    shell.said("rm %s/gcc", place)
    assert.same({ "setup: stopped, as gcc zlib1g-dev must be there; root can add it: "
      .. "apt-get install --no-install-recommends gcc zlib1g-dev libedit2\n", 1 },
      { setup_for "demo" })
  end)

  it("looks for LuaJIT where make is told that it is", function()
    write("user", "1000\n")
    installed("demo", "libluajit-5.1-dev")
    assert.same({ "", 0 }, { setup_for "demo" })
    local err, status = setup_for("demo", "LUAJIT_LIB=-lnowhere")
    assert.equal(1, status)
    assert.matches("^setup: stopped, as libluajit%-5%.1%-dev must be there", err)
  end)

  it("tells on other systems what to look for", function()
    shell.said("rm %s/apt-get %s/dpkg-query", place, place)
    local err, status = setup_for "demo"
    assert.equal(0, status)
    assert.matches("^setup: going on with less; this is no Debian, which calls it: libdnnl%-dev "
      .. "[^\n]*\n$", err)
  end)
end)
