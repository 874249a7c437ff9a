--- The tests of one source, and the lists that `make map` writes.
local helper = require "spec.cmd.helper"

local folder

local function make_folder()
  folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir " .. folder) == 0)
end

local function remove_folder() os.execute("rm -rf " .. folder) end

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
  setup(make_folder)
  teardown(remove_folder)

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

--- A tree of these files by path, in git, with a script of scripts/map.
local function tree_with(script, files)
  local root = folder .. "/tree"
  assert(os.execute(("rm -rf %s && mkdir -p %s/scripts/map %s/spec %s/src %s/lua %s/kernels && "
    .. "cp scripts/map/%s %s/scripts/map"):format(root, root, root, root, root, root, script,
    root)) == 0)
  for path, text in pairs(files) do
    local file = assert(io.open(root .. "/" .. path, "w"))
    file:write(text)
    file:close()
  end
  assert(os.execute(("cd %s && git init -q && git add ."):format(root)) == 0)
  return root .. "/scripts/map/" .. script
end

describe("what lint asks of the map #cpu", function()
  setup(make_folder)
  teardown(remove_folder)

  it("is that it has each source with functions", function()
    local function missing(map)
      return { helper.said(tree_with("missing", { ["spec/map"] = map,
        ["src/old.c"] = "int old(void)\n{\n  return 1;\n}\n",
        ["src/table.c"] = "const int table = 1;\n",
        ["lua/new.lua"] = "return function() end\n" })) }
    end
    assert.same({ "lua/new.lua\n", 1 }, missing "# Tests.\nsrc/old.c: spec/old_test.c\n")
    assert.same({ "", 0 },
      missing "src/old.c: spec/old_test.c\nlua/new.lua: spec/new_spec.lua\n")
  end)

  it("is that a test of each source in C runs sanitized", function()
    local function unsanitized(specs)
      return { helper.said(tree_with("unsanitized", { ["spec/sanitized"] = specs, ["spec/map"] =
        "# Tests.\nlua/a.lua: spec/x_spec.lua\nsrc/a.c: spec/x_spec.lua spec/a_test.c\n"
        .. "src/b.c: spec/b_spec.lua::one spec/c_test.c:gpu\nsrc/c.c: spec/c_test.c:gpu\n" })) }
    end
    assert.same({ "src/b.c\n", 1 }, unsanitized "# Specs.\nspec/x_spec.lua\n")
    assert.same({ "", 0 }, unsanitized "spec/b_spec.lua\n")
  end)
end)

describe("spec/sanitized #cpu", function()
  it("names specs that there are", function()
    for _, path in ipairs(lines_of "spec/sanitized") do
      assert.truthy(exists(path), path .. " is gone: run make map")
    end
  end)
end)
