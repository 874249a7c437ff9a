-- The node tests of the Python package onnx: the list of all, and the smallest of each way to call
-- an op, which are in a file here (scripts/oracles/onnx_cases/pack.py). What they give is the same
-- where attributes that a model leaves out have the values that ONNX says.
require "jfl"
local archive = require "jfl.data.archive"
local core = require "jfl.core"
local nodes = require "spec.lua.onnx.nodes"

local LIST, PACK = "spec/lua/onnx/node_tests.txt", "spec/lua/onnx/cases/nodes.zip"

local function read_list()
  local verdicts, counts, n = {}, { passes = 0, fixed = 0, fails = 0 }, 0
  for line in io.lines(LIST) do
    local what, name, why = line:match "^(%l+) ([%w_]+):? ?(.*)$"
    if what then
      verdicts[name], counts[what], n = { what, why }, counts[what] + 1, n + 1
    end
  end
  return verdicts, counts, n
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

-- Unpacks all tests, of whose files each has its path and size before it; gives the folder and
-- their names.
local function unpack_all()
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir '" .. folder .. "'") == 0)
  local zip = assert(archive.read(PACK))
  local text = core.bytes(archive.extract(PACK, zip, "nodes", archive.members(PACK, zip).nodes))
  local names, at = {}, 1
  while at <= #text do
    local test, name, size, first = text:match("^([%w_]+)/(%S+) (%d+)\n()", at)
    if test ~= names[#names] then
      names[#names + 1] = test
      core.make_directory(folder .. "/" .. test)
    end
    write(folder .. "/" .. test .. "/" .. name, text:sub(first, first + size - 1))
    at = first + size
  end
  return folder, names
end

describe("a node test of onnx", function()
  local verdicts, counts, n = read_list()
  local folder, names = unpack_all()
  teardown(function() os.execute("rm -r '" .. folder .. "'") end)

  for _, name in ipairs(names) do
    it("gives what the list says: " .. name, function()
      local case = nodes.read(folder, name)
      assert.same(verdicts[name][1], (nodes.verdict(case)))
      if core.is_file(folder .. "/" .. name .. "/explicit.onnx") then
        assert.is_nil(nodes.differs(case, "explicit.onnx"))
      end
    end)
  end

  it("is counted in the guide", function()
    local file = assert(io.open "lua/jfl/doc/guide/a_model_from_onnx.md")
    local text = file:read("*a"):gsub("%s+", " ")
    file:close()
    assert.truthy(text:find(("onnx has %d node tests"):format(n), 1, true))
    assert.truthy(text:find(("gives what %d of them say, %d of these"):format(
      counts.passes + counts.fixed, counts.fixed), 1, true))
  end)

  it("says why where it fails", function()
    for name, verdict in pairs(verdicts) do
      if verdict[1] == "fails" then assert.truthy(#verdict[2] > 5, name) end
    end
  end)
end)
