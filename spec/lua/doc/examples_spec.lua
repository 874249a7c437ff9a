-- Every entry of the reference has an example, and each runs and prints what it says.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local blocks = require "scripts.doc.blocks"
local examples = require "jfl.doc.examples"
local index = require "jfl.doc.index"
local ffi = require "ffi"

pcall(ffi.cdef, "int mkdir(const char *path, unsigned mode);")

local all = helper.directory()             -- of all examples, one in it for each
local count = 0

-- Runs fn in a directory of its own and with print as given. The directory has a little data if fn
-- reads some.
local function within(fn, replaced, needs_data)
  local real = print
  count = count + 1
  local directory = all .. "/" .. count
  assert(ffi.C.mkdir(directory, 448) == 0)
  if needs_data then blocks.write_data(directory) end
  local leave = helper.enter(directory)
  rawset(_G, "print", replaced)
  local ok, err = pcall(fn)
  rawset(_G, "print", real)
  leave()
  if not ok then error(err, 0) end
end

-- Runs an example in the session as it is; gives what is wrong with it, or nil.
local function wrong_with(code)
  local lines = {}
  local function note(...)
    local parts = {}
    for i = 1, select("#", ...) do parts[i] = tostring((select(i, ...))) end
    lines[#lines + 1] = table.concat(parts, "\t")
  end
  local chunk, bad = loadstring(code, "=example")
  if not chunk then return bad end
  setfenv(chunk, setmetatable({ flow = flow }, { __index = _G }))
  helper.stderr_of(function()
    within(function()
      local _
      _, bad = xpcall(function()
        chunk()
        flow.sync()
        flow.clear_default_session()
      end, tostring)
    end, note, code:find("load_mnist", 1, true))
  end)
  local output = table.concat(lines, "\n") .. "\n"
  local missing = not bad and blocks.missing(code, output)
  return bad or missing and ("did not print: %s\nbut:\n%s"):format(missing, output) or nil
end

-- #cpu: some show plans and profiles.
describe("the examples #cpu", function()
  before_each(function() flow.clear_default_session() end)
  after_each(function() flow.clear_default_session() end)
  teardown(function() helper.remove(all) end)

  local paths = {}                         -- by code, which several may share
  for path, code in pairs(examples.by_path) do
    paths[code] = paths[code] and paths[code] .. " " .. path or path
  end
  for code, all_paths in pairs(paths) do
    it("run: " .. all_paths, function()
      assert.truthy(code:find("-->", 1, true), all_paths .. " prints nothing")
      local bad = wrong_with(code)
      assert.is_nil(bad, bad)
    end)
  end

  it("are there for every entry of the reference", function()
    local without = {}
    for path, e in pairs(index.entries()) do
      if not examples.of(path, e or nil) then without[#without + 1] = path end
    end
    table.sort(without)
    assert.same({}, without)
  end)

  it("are of names that there are", function()
    local gone, used, entries = {}, {}, index.entries()
    for path, e in pairs(entries) do used[examples.of(path, e or nil) or ""] = true end
    for path, code in pairs(examples.by_path) do
      if not used[code] then gone[#gone + 1] = path end
    end
    assert.same({}, gone)
  end)

  it("use the names that they are about", function()
    for path, code in pairs(examples.by_path) do
      local name = path:match("[%w_]+$")
      local operator = path:find("^%u") ~= nil or code:find(name, 1, true) ~= nil
      assert.truthy(operator, path .. " does not use it")
    end
  end)

  it("that are wrong would be found", function()
    assert.truthy(wrong_with("print(1)  --> 2"):find("did not print: 2", 1, true))
    assert.truthy(wrong_with("flow.nn.rellu()"):find("there is no flow.nn.rellu", 1, true))
    assert.truthy(wrong_with("local = 3"))
  end)
end)
