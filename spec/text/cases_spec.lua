--- Tokenizers give what Hugging Face's give: the small ones of cases.txt, which
-- scripts/oracles/texts/make.py writes. Of each step, option and model there is one that has it.
local compare = require "spec.text.compare"
local flow = require "jfl"
local helper = require "spec.lua.helper"

-- The file's blocks: a tokenizer as JSON, then lines of what it gives.
local function blocks()
  local list, block = {}, {}
  for line in io.lines("spec/text/cases.txt") do
    if line == "" then
      list[#list + 1], block = block, {}
    else
      block[#block + 1] = line
    end
  end
  return list
end

-- The kinds of steps that a tokenizer has, to name it by.
local function kinds_of(json)
  local list = {}
  for kind in json:gmatch('"type":"(%w+)"') do list[#list + 1] = kind end
  return table.concat(list, " ")
end

describe("tokenizers", function()
  local folder
  setup(function() folder = helper.directory() end)
  teardown(function() helper.remove(folder) end)

  for i, block in ipairs(blocks()) do
    it(("give what others do: %d, %s"):format(i, kinds_of(block[1])), function()
      local path, at = folder .. "/tokenizer.json", 1
      helper.write(path, block[1])
      local _, wrong = compare.lines(flow.text.tokenizer(path), function()
        at = at + 1
        return block[at]
      end, "case " .. i)
      assert.same({}, wrong)
    end)
  end
end)
