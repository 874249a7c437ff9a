-- seeds.lua TARGET FOLDER: writes the small files that specs have for a target of the fuzzer into
-- the folder, from which it goes on: node tests of ONNX, tokenizers with a text for each.
local archive = require "jfl.data.archive"
local core = require "jfl.core"

local MOST = 8192              -- bytes that the fuzzer reads of a file
local target, folder = ...

local function write(name, text)
  if #text > MOST then return end
  local file = assert(io.open(folder .. "/" .. name, "wb"))
  file:write(text)
  file:close()
end

local seeds = {}

function seeds.onnx()
  local path = "spec/lua/onnx/cases/nodes.zip"
  local zip = assert(archive.read(path))
  local text = core.bytes(archive.extract(path, zip, "nodes", archive.members(path, zip).nodes))
  local at = 1
  while at <= #text do
    local test, name, size, first = text:match("^([%w_]+)/(%S+) (%d+)\n()", at)
    if name == "model.onnx" then write("seed_" .. test, text:sub(first, first + size - 1)) end
    at = first + size
  end
end

function seeds.tokenizer()
  local json, n, left = nil, 0, 0
  for line in io.lines "spec/text/cases.txt" do
    if line:find "^{" then
      json, left = line, 3
    elseif left > 0 and line ~= "" then
      n, left = n + 1, left - 1
      write("seed_" .. n, json .. "\0" .. line:match "[^\t]*")
    end
  end
end

if seeds[target] then
  core.make_directory(folder)
  seeds[target]()
end
