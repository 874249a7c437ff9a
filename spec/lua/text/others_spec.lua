--- Tokenizers that Hugging Face's program made, and what it gives for texts in many scripts
-- (scripts/oracles/texts/make.py).
require "jfl"
local archive = require "jfl.data.archive"
local compare = require "spec.text.compare"
local core = require "jfl.core"
local helper = require "spec.lua.helper"

local CASES = "spec/text/cases.zip"

describe("a tokenizer of others", function()
  local folder = helper.directory()
  teardown(function() helper.remove(folder) end)

  local zip = assert(archive.read(CASES))
  local members = archive.members(CASES, zip)
  for name, member in pairs(members) do
    helper.write(folder .. "/" .. name, core.bytes(archive.extract(CASES, zip, name, member)))
  end

  for file in pairs(members) do
    local name = file:match "^(.*)%.json$"
    if name then
      it("gives the numbers, places and texts that it gives there: " .. name, function()
        local n, wrong = compare.one(folder, name)
        assert.equal(23, n)
        assert.same({}, wrong)
      end)
    end
  end
end)
