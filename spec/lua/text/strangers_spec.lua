--- Files of tokenizers that were made to do harm: what they ask for is bounded.
local flow = require "jfl"

local MODEL = '"model":{"type":"WordLevel","unk_token":"uh","vocab":{"uh":0}}'

local path

local function tokenizer(part)
  local file = assert(io.open(path, "w"))
  file:write('{"version":"1.0",' .. part .. "," .. MODEL .. "}")
  file:close()
  return flow.text.tokenizer(path)
end

local function list(text, n)
  local out = {}
  for i = 1, n do out[i] = text end
  return table.concat(out, ",")
end

local TOO_LONG = "rules must not make a text .*more than 64 times as long"

describe("a stranger's tokenizer", function()
  setup(function() path = os.tmpname() .. ".json" end)
  teardown(function() os.remove(path) end)

  it("makes texts so much longer and no more", function()
    local doubles = '{"type":"Replace","pattern":{%s},"content":"hh"}'
    local bytes = '{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,'
      .. '"use_regex":false}'
    for _, part in ipairs {
      '"normalizer":{"type":"Sequence","normalizers":['
        .. list(doubles:format '"String":"h"', 40) .. "]}",
      '"normalizer":{"type":"Sequence","normalizers":['
        .. list(doubles:format '"Regex":"h"', 40) .. "]}",
      '"normalizer":{"type":"Prepend","prepend":"' .. ("x"):rep(1e6) .. '"}',
      '"pre_tokenizer":{"type":"Sequence","pretokenizers":[' .. list(bytes, 40) .. "]}",
    } do
      local t = tokenizer(part)
      assert.error_matches(function() t:encode "h\195\164" end, TOO_LONG)
      assert.error_matches(function() t:batch { "h\195\164" } end, TOO_LONG)
    end
    local t = tokenizer('"decoder":{"type":"Sequence","decoders":['
      .. list(doubles:format '"String":"h"', 40) .. "]}")
    assert.equal(1, #t:encode "h")
    assert.error_matches(function() t:decode { 0 } end, TOO_LONG)
    t = tokenizer('"decoder":{"type":"Sequence","decoders":['
      .. list(doubles:format '"String":"h"', 5) .. "]}")
    assert.equal("u" .. ("h"):rep(32), t:decode { 0 })
  end)

  -- Each of these characters becomes a longer one, so that room for the text is out in the midst of
  -- it. That was an endless loop.
  it("ends where memory does", function()
    tokenizer '"normalizer":{"type":"Lowercase"}'
    local box = flow.sandbox { memory = "4M", seconds = 1000, read = path:match "^(.*)/" }
    local ok, err = pcall(box.run, box, [[
      local t = require("jfl").text.tokenizer(...)
      return #t:encode(("\196\176"):rep(60000))]], "text", path:match "[^/]*$")
    assert.is_false(ok)
    assert.matches("out of memory", err)
  end)

  it("adds so many tokens and no more", function()
    local template = '"post_processor":{"type":"TemplateProcessing","single":[%s],"pair":[],'
      .. '"special_tokens":{"x":{"id":"x","ids":[%s],"tokens":["x"]}}}'
    local part = '{"SpecialToken":{"id":"x","type_id":0}}'
    assert.equal(10000, #tokenizer(template:format(list(part, 10), list("0", 1000))):encode "h")
    assert.error_matches(function()
      tokenizer(template:format(list(part, 1000), list("0", 1000)))
    end, "single must add at most 65536 tokens")
    local text = '{"Sequence":{"id":"A","type_id":0}}'
    assert.equal(64, #tokenizer(template:format(list(text, 64), "0")):encode "h")
    assert.error_matches(function() tokenizer(template:format(list(text, 65), "0")) end,
      "single must name sequences at most 64 times")
    for _, padding in ipairs { '"strategy":{"Fixed":2000000000}', '"pad_to_multiple_of":2e9' } do
      assert.error_matches(function() tokenizer('"padding":{' .. padding .. "}") end,
        "must be a whole number from 0 to 1048576, got 2000000000")
    end
  end)
end)
