-- The node tests of the Python package onnx: the list of all, and the smallest of each op, which
-- are in a file here (scripts/oracles/onnx_cases/pack.py).
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

-- Writes the files of a test, each of which has its name and size before it.
local function unpack_one(text, folder)
  local at = 1
  while at <= #text do
    local name, size, first = text:match("^(%S+) (%d+)\n()", at)
    write(folder .. "/" .. name, text:sub(first, first + size - 1))
    at = first + size
  end
end

-- Unpacks all tests; gives the folder and their names.
local function unpack_all()
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir '" .. folder .. "'") == 0)
  local zip = assert(archive.read(PACK))
  local names, members = {}, archive.members(PACK, zip)
  for name in pairs(members) do names[#names + 1] = name end
  table.sort(names)
  assert(os.execute(("cd '%s' && mkdir %s"):format(folder, table.concat(names, " "))) == 0)
  for name, member in pairs(members) do
    unpack_one(core.bytes(archive.extract(PACK, zip, name, member)), folder .. "/" .. name)
  end
  return folder, names
end

describe("a node test of onnx", function()
  local verdicts, counts, n = read_list()
  local folder, names = unpack_all()
  teardown(function() os.execute("rm -r '" .. folder .. "'") end)

  for _, name in ipairs(names) do
    it("gives what the list says: " .. name, function()
      assert.same(verdicts[name][1], (nodes.verdict(nodes.read(folder, name))))
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
