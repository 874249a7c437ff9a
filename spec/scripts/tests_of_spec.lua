--- The tests of one source, and the lists that `make map` writes.
local helper = require "spec.cmd.helper"

local folder

--- A spec file of this text, below the folder.
local function spec_file(name, text)
  local path = ("%s/%s_spec.lua"):format(folder, name)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  return path
end

local function exists(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

--- What each line says that is no comment.
local function lines_of(path)
  local list = {}
  for line in io.lines(path) do
    if line:sub(1, 1) ~= "#" then list[#list + 1] = line end
  end
  return list
end

describe("scripts/tests_of.sh #cpu", function()
  setup(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder) == 0)
  end)
  teardown(function() os.execute("rm -r " .. folder) end)

  it("lists what the map names for sources, each test once", function()
    local out, status = helper.said("scripts/tests_of.sh --list %s %s %s", "src/base/json.c",
      "./src/base/json.c", "lua/jfl/nd/array.lua")
    assert.equal(0, status, out)
    assert.truthy(out:find("json_test.c\n", 1, true), out)
    assert.truthy(out:find("spec/lua/nd/array_spec.lua\n", 1, true), out)
    assert.equal(1, select(2, out:gsub("/json_test%.c\n", "")), out)
  end)

  it("takes the tests of the C file for a header without code", function()
    local header, status = helper.said("scripts/tests_of.sh --list src/plan/plan.h")
    assert.equal(0, status, header)
    assert.equal(helper.said("scripts/tests_of.sh --list src/plan/plan.c"), header)
  end)

  it("says that it knows no test, and how to change that", function()
    local out, status = helper.said("scripts/tests_of.sh --list Makefile")
    assert.equal(2, status)
    assert.equal("tests_of.sh: no test is known for Makefile; run make map, which measures\n", out)
    out, status = helper.said("scripts/tests_of.sh --list src/base/jsn.c")
    assert.equal(2, status)
    assert.equal("tests_of.sh: there is no src/base/jsn.c\n", out)
  end)

  -- They take what is built: another spec may run make in this folder at the same time.
  it("adds up, and names what fails and what does not end", function()
    local good = spec_file("good", 'it("is", function() end) it("is too", function() end)')
    local bad = spec_file("bad", 'it("fails", function() error "so" end)')
    local endless = spec_file("endless", 'it("hangs", function() while true do end end)')
    local out, status = helper.said("scripts/tests_of.sh --built --tests %s", good)
    assert.equal(0, status, out)
    assert.truthy(out:find("\n2 passed, 0 failed\n$"), out)
    out, status = helper.said("scripts/tests_of.sh --built --tests %s %s", bad, good)
    assert.equal(1, status, out)
    assert.truthy(out:find("\n2 passed, 1 failed\n$"), out)
    out, status = helper.said("scripts/tests_of.sh --limit=1 --built --tests %s", endless)
    assert.equal(1, status, out)
    assert.truthy(out:find(endless .. " did not end within 1 s\n", 1, true), out)
    assert.truthy(out:find("\n0 passed, 1 failed\n$"), out)
    out, status = helper.said("scripts/tests_of.sh --first --built --tests %s %s", bad, good)
    assert.equal(1, status, out)
    assert.truthy(out:find("\n0 passed, 1 failed\n$"), out)
  end)
end)

describe("spec/map #cpu", function()
  it("names sources and tests that there are", function()
    for _, line in ipairs(lines_of "spec/map") do
      local source, tests = line:match "^(%S+): (.+)$"
      assert.truthy(exists(source), source .. " is gone: run make map")
      for test in tests:gmatch "%S+" do
        local path = test:match "^[^:]+"
        assert.truthy(exists(path), path .. " is gone: run make map")
      end
    end
  end)
end)

describe("scripts/map/missing #cpu", function()
  it("fails for sources with functions that the map lacks, and names them", function()
    local root = os.tmpname()
    os.remove(root)
    local function write(path, text)
      local file = assert(io.open(root .. "/" .. path, "w"))
      file:write(text)
      file:close()
    end
    assert.equal(0, os.execute(("mkdir -p %s/scripts/map %s/spec %s/src %s/lua %s/kernels && "
      .. "cp scripts/map/missing %s/scripts/map"):format(root, root, root, root, root, root)))
    write("src/old.c", "int old(void)\n{\n  return 1;\n}\n")
    write("src/table.c", "const int table = 1;\n")
    write("lua/new.lua", "return function() end\n")
    write("spec/map", "# What tests a source.\nsrc/old.c: spec/old_test.c\n")
    assert.equal(0, os.execute(("cd %s && git init -q && git add ."):format(root)))
    local out, status = helper.said("%s/scripts/map/missing", root)
    assert.same({ "lua/new.lua\n", 1 }, { out, status })
    write("spec/map", "src/old.c: spec/old_test.c\nlua/new.lua: spec/new_spec.lua\n")
    out, status = helper.said("%s/scripts/map/missing", root)
    assert.same({ "", 0 }, { out, status })
    os.execute("rm -r " .. root)
  end)
end)

describe("spec/sanitized #cpu", function()
  it("names specs that there are", function()
    for _, path in ipairs(lines_of "spec/sanitized") do
      assert.truthy(exists(path), path .. " is gone: run make map")
    end
  end)
end)
