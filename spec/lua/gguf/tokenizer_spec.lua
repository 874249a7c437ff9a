--- Tokenizers in GGUF files: each key that says how texts become tokens, with and without the
-- others.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local metadata = require "jfl.gguf.metadata"

local SPACE = "\226\150\129"
local NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6

describe("the tokenizer of a GGUF file", function()
  local within = helper.folder(setup, teardown)

  -- Of keys below tokenizer.ggml: { name, kind, value }, those without a value left out.
  local function tokenizer(keys)
    local list = {}
    for _, each in ipairs(keys) do
      if each[3] ~= nil then metadata.add(list, "tokenizer.ggml." .. each[1], each[2], each[3]) end
    end
    helper.write(within("a.gguf"), metadata.write(list, 0))
    return flow.text.tokenizer(within("a.gguf"))
  end

  -- The keys of pieces { text, score, type }, and more.
  local function pieces(list, more)
    local keys = { { "model", "string", "llama" }, { "tokens", { "string" }, {} },
      { "scores", { "float32" }, {} }, { "token_type", { "int32" }, {} } }
    for i, piece in ipairs(list) do
      keys[2][3][i], keys[3][3][i], keys[4][3][i] = piece[1], piece[2], piece[3] or NORMAL
    end
    for _, each in ipairs(more or {}) do keys[#keys + 1] = each end
    return keys
  end

  local FRAMED = { { "<s>", 0, CONTROL }, { "</s>", 0, CONTROL }, { "a", 0 }, { "b", 0 } }
  local KINDS = {
    llama = { begins = true, keys = function(more)
      more[#more + 1] = { "add_space_prefix", "boolean", false }
      return pieces(FRAMED, more)
    end },
  }
  for name, begins in pairs { ["gpt-2"] = false, ["llama-bpe"] = true, qwen2 = false } do
    KINDS[name] = { begins = begins, keys = function(more)
      local keys = { { "model", "string", "gpt2" }, { "pre", "string", name },
        { "tokens", { "string" }, { "<s>", "</s>", "a", "b" } }, { "merges", { "string" }, {} },
        { "token_type", { "int32" }, { CONTROL, CONTROL, NORMAL, NORMAL } } }
      for _, each in ipairs(more) do keys[#keys + 1] = each end
      return keys
    end }
  end

  for name, kind in pairs(KINDS) do
    it("puts around texts what the file asks for: " .. name, function()
      for case = 0, 2 ^ 2 * 3 ^ 2 - 1 do
        local function digit(of, base) return math.floor(case / of) % base end
        local bos, eos = digit(1, 2) == 1 and 0 or nil, digit(2, 2) == 1 and 1 or nil
        local WORDS = { [1] = true, [2] = false }
        local begins, ends = WORDS[digit(4, 3)], WORDS[digit(12, 3)]
        local t = tokenizer(kind.keys { { "bos_token_id", "uint32", bos },
          { "eos_token_id", "uint32", eos }, { "add_bos_token", "boolean", begins },
          { "add_eos_token", "boolean", ends } })
        if begins == nil then begins = kind.begins end
        local function framed(id)
          local list = { id }
          if bos and begins then table.insert(list, 1, bos) end
          if eos and ends then list[#list + 1] = eos end
          return list
        end
        local label = ("bos %s %s, eos %s %s"):format(tostring(bos), tostring(begins),
          tostring(eos), tostring(ends))
        assert.same(framed(2), t:encode("a"), label)
        local both = framed(2)
        for _, id in ipairs(framed(3)) do both[#both + 1] = id end
        assert.same(both, t:encode("a", { pair = "b" }), label)
        assert.same({ 2 }, t:encode("a", { special = false }), label)
      end
    end)
  end

  it("joins pieces in the order of their scores, of equal ones by their numbers", function()
    local function joined(ab, bc, is_later)
      local list = { { "?", 0, UNKNOWN }, { "a", 0 }, { "b", 0 }, { "c", 0 }, { "ab", ab },
        { "bc", bc } }
      if is_later then list[5], list[6] = list[6], list[5] end
      local t = tokenizer(pieces(list, { { "add_space_prefix", "boolean", false } }))
      return table.concat(t:encode("abc", { details = true }).tokens, " ")
    end
    assert.equal("ab c", joined(-1, -2))
    assert.equal("a bc", joined(-2, -1))
    assert.equal("ab c", joined(-1, -1))
    assert.equal("a bc", joined(-1, -1, true))
    assert.equal("ab c", joined(-1, -2, true))
  end)

  it("begins texts with a blank unless the file says not to", function()
    local list = { { "?", 0, UNKNOWN }, { SPACE, -9 }, { "a", -9 }, { SPACE .. "a", -1 } }
    for _, prefix in ipairs { 1, 2, 3 } do
      local is_set = ({ nil, true, false })[prefix]
      local t = tokenizer(pieces(list, { { "add_space_prefix", "boolean", is_set } }))
      assert.same(is_set == false and { 2, 3 } or { 3, 3 }, t:encode "a a")
      assert.equal("a a", t:decode(t:encode "a a"))
    end
  end)

  it("knows what is special, what is one token anywhere, and bytes of the rest", function()
    local t = tokenizer(pieces({ { "?", 0, UNKNOWN }, { "<c>", 0, CONTROL },
      { "<u>", 0, USER_DEFINED }, { "<n>", 0, NORMAL }, { "<0xC3>", 0, BYTE },
      { "<0xA4>", 0, BYTE }, { "<", 0 }, { "n", 0 }, { ">", 0 } },
      { { "add_space_prefix", "boolean", false } }))
    assert.same({ 1, 2, 6, 7, 8 }, t:encode "<c><u><n>")
    assert.equal("<u><n>", t:decode { 1, 2, 6, 7, 8 })
    assert.equal("<c><u>", t:decode({ 1, 2 }, { skip_special = false }))
    assert.same({ 4, 5 }, t:encode "\195\164")
    assert.equal("\195\164", t:decode { 4, 5 })
  end)
end)
