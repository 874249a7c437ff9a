--- GGUF files as Python's gguf writes them: scripts/oracles/gguf/make.py made the cases.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local CASES = "spec/lua/gguf/cases/"

describe("gguf", function()
  before_each(flow.clear_default_session)
  after_each(flow.clear_default_session)

  it("reads numbers of all forms as gguf does", function()
    local got = flow.checkpoint.get(CASES .. "types.gguf")
    local want = flow.checkpoint.get(CASES .. "types.safetensors")
    for name, array in pairs(want) do
      assert.equal(array.dtype, got[name].dtype, name)
      assert.same(array:totable(), got[name]:totable(), name)
      got[name] = nil
    end
    assert.is_nil(next(got))
  end)

  it("reads metadata of all types", function()
    local file = flow.gguf.read(CASES .. "types.gguf")
    local want = { uint8 = 255, int8 = -128, uint16 = 65535, int16 = -32768, uint32 = 4294967295,
      int32 = -2147483648, bool = true, string = 'é "\\\n\127', uint64 = 2 ^ 53,
      int64 = -2 ^ 53, float64 = 0.1, infinity = -math.huge, texts = { "x", "", "y" },
      numbers = { 1, -2, 3 }, flags = { true, false } }
    for name, value in pairs(want) do assert.same(value, file.metadata["a." .. name], name) end
    assert.near(0.1, file.metadata["a.float32"], 1e-8)
    assert.equal(3, file.version)
    assert.same({ name = "q4_k", type = "Q4_K", shape = { 3, 512 } }, file.tensors[10])
    helper.fails(function() flow.gguf.read(CASES .. "types.safetensors") end,
      "it must be a GGUF file, whose name ends with .gguf")
  end)

  for _, case in ipairs { "llama", "llama3", "linear", "yarn", "qwen2", "gpt2" } do
    it("gives the logits of transformers for " .. case, function()
      local net = flow.models.load(CASES .. case .. ".gguf", { dtype = "float32" })
      local c = flow.checkpoint.get(CASES .. case .. ".safetensors")
      local got = net:predict { inputs = { flow.int32(c.ids.shape) } }(c.ids)
      local list, want, at = got:totable(), c.out:totable(), 0
      for s, rows in ipairs(want) do
        for p, row in ipairs(rows) do
          for i, value in ipairs(row) do
            at = at + 1
            assert.near(value, list[s][4 * p - 2][i], 2e-5 * math.max(1, math.abs(value)))
          end
        end
      end
      assert.equal(c.out.size, at)
    end)
  end

  -- Lines of a text, with Python's escapes, and its numbers.
  local function texts(case)
    local list = {}
    for text, ids in helper.read(CASES .. case .. ".txt"):gmatch("([^\n]-)\t([^\n]*)\n") do
      text = text:gsub("\\x(%x%x)", function(two) return string.char(tonumber(two, 16)) end)
      text = text:gsub("\\n", "\n")
      local numbers = {}
      for id in ids:gmatch("%d+") do numbers[#numbers + 1] = tonumber(id) end
      list[#list + 1] = { text, numbers }
    end
    return list
  end

  for _, case in ipairs { "llama", "llama3", "qwen2", "gpt2" } do
    it("has the tokenizer of " .. case, function()
      local t = flow.text.tokenizer(CASES .. case .. ".gguf")
      local list = texts(case)
      assert.equal(7, #list)
      for _, each in ipairs(list) do assert.same(each[2], t:encode(each[1]), each[1]) end
    end)
  end
end)
