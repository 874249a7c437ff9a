--- What SentencePiece's maps replace, in clusters of any length and at any place of a text.
local ffi = require "ffi"
local flow = require "jfl"
local helper = require "spec.lua.helper"

local ACUTE = "\204\129"                -- U+0301, which is no cluster alone
local DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

local function base64(text)
  local out = text:gsub("..?.?", function(part)
    local a, b, c = part:byte(1, 3)
    local n, list = a * 65536 + (b or 0) * 256 + (c or 0), {}
    for i = 1, 4 do
      local digit = math.floor(n / 64 ^ (4 - i)) % 64
      list[i] = i <= #part + 1 and DIGITS:sub(digit + 1, digit + 1) or "="
    end
    return table.concat(list)
  end)
  return out
end

-- A double array of keys that begin with different bytes: { key, place of its text }.
local function trie_of(keys)
  local units, free = ffi.new("uint32_t[4096]"), 512
  local function offset() free = free + 256 return free - 256 end
  local root = offset()
  units[0] = root * 1024
  for _, each in ipairs(keys) do
    local at = root
    for i = 1, #each[1] do
      local byte, to = each[1]:byte(i), offset()
      at = bit.bxor(at, byte)
      units[at] = byte + (i == #each[1] and 256 or 0) + bit.bxor(at, to) * 1024
      at = to
    end
    units[at] = each[2]
  end
  return ffi.string(units, 4 * 4096)
end

describe("a map of SentencePiece's", function()
  local folder, tokenizer

  setup(function()
    folder = helper.directory()
    local trie = trie_of { { "q", 0 }, { ACUTE, 3 }, { "w", 5 } }
    local map = ffi.string(ffi.new("uint32_t[1]", #trie), 4) .. trie .. "xy\0z\0\0"
    helper.write(folder .. "/tokenizer.json", ([[{"normalizer":{"type":"Precompiled",
      "precompiled_charsmap":"%s"},"pre_tokenizer":{"type":"Split","pattern":{"Regex":"."},
      "behavior":"Isolated","invert":false},"model":{"type":"WordLevel","vocab":{"?":0,"a":1,
      "x":2,"y":3,"z":4,"b":5,"q":6,"w":7},"unk_token":"?"}}]]):format(base64(map)))
    tokenizer = flow.text.tokenizer(folder .. "/tokenizer.json")
  end)
  teardown(function() helper.remove(folder) end)

  local function tokens(text)
    return table.concat(tokenizer:encode(text, { details = true }).tokens)
  end

  it("replaces what a cluster begins with, and characters of others", function()
    local CASES = { { "a", "a" }, { "q", "xy" }, { "w", "" }, { "a" .. ACUTE, "az" },
      { "q" .. ACUTE, "xy" }, { "b" .. ACUTE .. ACUTE, "bzz" },
      -- Of longer clusters each character is looked at.
      { "q" .. ACUTE .. ACUTE .. ACUTE, "xyzzz" } }
    for _, before in ipairs(CASES) do
      for _, case in ipairs(CASES) do
        for _, after in ipairs(CASES) do
          assert.equal(before[2] .. case[2] .. after[2], tokens(before[1] .. case[1] .. after[1]))
        end
      end
    end
  end)
end)
