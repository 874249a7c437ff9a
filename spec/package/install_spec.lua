-- What `make install` puts in a folder is used from there, moved, with an environment that knows
-- nothing of the place where jfl was built.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local shell = require("spec.cmd.helper").shell

local place            -- the folder of it all: root, as it was installed; moved, the prefix alone

local function has(command) return (select(3, shell("command -v " .. command))) == 0 end

-- Runs a line in the scratch folder with an empty environment, and must succeed; gives its output.
local function run(line, ...)
  local out, err, status = shell(("cd %s && env -i PATH=/usr/bin:/bin HOME=%s sh -ec '%s'"):format(
    place, place, line:format(...)))
  assert(status == 0, ("%s\n%s%s"):format(line:format(...), out, err))
  return out, err
end

local function write(name, text)
  local file = assert(io.open(place .. "/" .. name, "w"))
  file:write(text)
  file:close()
end

local function make(goal, flags)
  local out, err, status = shell(
    ("env -u MAKEFLAGS -u CC make -s %s DESTDIR=%s/root PREFIX=/opt/jfl DOC= %s"):format(goal,
    place, flags or ""))
  assert(status == 0, out .. err)
end

local function installed(name, prefix)
  local file = io.open(("%s/%s/%s"):format(place, prefix or "root/opt/jfl", name))
  if file then file:close() end
  return file ~= nil
end

describe("what is installed #cpu", function()
  if helper.sanitized() then
    pending("is not looked at in a build for a sanitizer")
    return
  end

  setup(function()
    place = os.tmpname()
    os.remove(place)
    assert(os.execute("mkdir " .. place) == 0)
    make "install"
    assert(os.execute(("mv %s/root/opt/jfl %s/moved"):format(place, place)) == 0)
    local files = "spec/package/program.c spec/package/train.lua spec/dev/ranks.lua"
    assert(os.execute(("cp %s %s"):format(files, place)) == 0)
  end)

  teardown(function() os.execute("rm -rf " .. place) end)

  it("has a command that trains", function()
    assert.equal("learned\n", run "moved/bin/jfl train.lua")
    assert.matches("^jfl " .. flow.version:gsub("%p", "%%%0") .. " ", (run "moved/bin/jfl -v"))
  end)

  it("has a module that a stock luajit requires", function()
    assert.equal("learned\n", run "LUA_CPATH=moved/lib/lua/5.1/?.so luajit train.lua")
  end)

  for name, flags in pairs { openmpi = "--allow-run-as-root --oversubscribe", mpich = "" } do
    it("trains on ranks that mpirun starts: " .. name, function()
      if not installed("lib/jfl/jfl-mpi-" .. name .. ".so", "moved") or not has("mpirun." .. name)
      then
        return pending(name .. " is not installed")
      end
      assert.matches("^%S+\n%S+\n%S+\n%S+\n$",
        (run("mpirun.%s %s -n 2 moved/bin/jfl ranks.lua", name, flags)))
    end)
  end

  it("has a library that a C program finds by pkg-config", function()
    if not has "pkg-config" then return pending "pkg-config is not installed" end
    run [[PKG_CONFIG_PATH=moved/lib/pkgconfig; export PKG_CONFIG_PATH
      shared=$(pkg-config --define-prefix --cflags --libs jfl)
      archive=$(pkg-config --define-prefix --cflags --libs jfl-static)
      cc -Wall -Werror -DWITH_SCRIPT program.c -o shared $shared
      cc -Wall -Werror program.c -o archive $archive
      cc -Wall -Werror -DWITH_SCRIPT program.c -o script $archive
      test $(pkg-config --modversion jfl) = $(pkg-config --modversion jfl-static)]]
    local said = "runs with jfl " .. flow.version .. "\n"
    assert.equal(said, run "./shared")
    -- Another Lua, whose functions have the same names, comes first in the process.
    assert.equal(said, run [[for lua in "" $(find /usr/lib -name "liblua5.?.so.?"); do
      LD_PRELOAD=$lua LD_LIBRARY_PATH=moved/lib ./shared; done | sort -u]])
    assert.matches("libjfl%.so%.1", (run "readelf -d shared"))
    assert.equal(said, run "./archive")
    assert.equal(said, run "./script")
    assert.is_nil(run("nm archive"):match " lua_newstate")
  end)

  it("has what CMake finds, in the version that is asked for", function()
    if not has "cmake" then return pending "cmake is not installed" end
    run "mkdir -p project && cp program.c project"
    write("project/CMakeLists.txt", [[
cmake_minimum_required(VERSION 3.13)
project(program C)
find_package(jfl 9 QUIET)
if(jfl_FOUND)
  message(FATAL_ERROR "a version that is not there was found")
endif()
find_package(jfl 1.0 REQUIRED)
add_executable(shared program.c)
target_compile_definitions(shared PRIVATE WITH_SCRIPT)
target_link_libraries(shared jfl::jfl)
add_executable(archive program.c)
target_link_libraries(archive jfl::jfl_static)
]])
    run "cmake -S project -B built -DCMAKE_PREFIX_PATH=$PWD/moved && cmake --build built"
    local said = "runs with jfl " .. flow.version .. "\n"
    assert.equal(said, run "built/shared")
    assert.equal(said, run "built/archive")
  end)

  it("has a page of the manual with every option of the help", function()
    local page = run("cat moved/share/man/man1/jfl.1"):gsub("\\%-", "-")
    for option in run("moved/bin/jfl --help"):gmatch "\n  (%-%-?%w[%w-]*)" do
      assert.is_truthy(page:find(".B " .. option, 1, true), option)
    end
    if not has "man" then return pending "man is not installed" end
    assert.equal("", (select(2, run "MANWIDTH=80 man --warnings -l moved/share/man/man1/jfl.1")))
  end)

  it("completes options and files in bash", function()
    write("complete.sh", [[
. moved/share/bash-completion/completions/jfl
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _jfl; echo "${COMPREPLY[@]}"; }
try jfl --prof
try jfl -j o
try jfl tra
try jfl --profile = tra
]])
    assert.equal("--profile --profile=\non off\ntrain.lua\ntrain.lua\n", run "bash complete.sh")
  end)

  it("completes options and files in fish and zsh", function()
    if has "fish" then
      local out = run [[fish -N -c "source moved/share/fish/vendor_completions.d/jfl.fish
        complete -C \"jfl --no-\"; complete -C \"jfl tra\"; complete -C \"jfl -j of\""]]
      assert.matches("^%-%-no%-startup\t[^\n]+\ntrain.lua[^\n]*\noff[^\n]*\n$", out)
    end
    if not has "zsh" then return pending "zsh is not installed" end
    run "zsh -f -n moved/share/zsh/site-functions/_jfl"
    assert.matches("'%-%-ranks%[", (run "cat moved/share/zsh/site-functions/_jfl"))
  end)

  it("is taken away again, and nothing else is", function()
    run "rm -rf root && mkdir root"
    make "install"
    run "touch root/opt/jfl/lib/jfl/old.so root/opt/jfl/lib/other.so"
    run "echo /opt/jfl/lib/jfl/old.so >>root/opt/jfl/share/jfl/installed"
    make("install", "STRIP=strip")
    assert.is_false(installed "lib/jfl/old.so")    -- an older version's
    assert.is_true(installed "lib/other.so")
    assert.matches("^%d+\n$", (run "wc -c <root/opt/jfl/lib/libjfl.so.1"))
    make "uninstall"
    assert.equal("root/opt/jfl/lib/other.so\n", run "find root -type f")
    run "rm -rf root && mkdir root"
    make "install"
    make "uninstall"
    assert.equal("root\n", run "find root")
  end)
end)
