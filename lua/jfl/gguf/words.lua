-- The metadata of a GGUF file for a tokenizer: byte pairs on bytes, or pieces with a fallback to
-- bytes.
local args = require "jfl.base.args"
local core = require "jfl.core"
local metadata = require "jfl.gguf.metadata"
local plain = require "jfl.base.plain"
local tokenizer = require "jfl.gguf.tokenizer"

local words = {}

local NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6

-- All tokens in their order, and the types of those that were added.
local function tokens_of(who, t)
  local list, types, n = {}, {}, 0
  local function put(token, id)
    if list[id + 1] == nil then n = n + 1 end
    list[id + 1] = token
  end
  for token, id in pairs(t.model.vocab) do put(token, id) end
  for _, each in ipairs(t.added_tokens or {}) do
    put(each.content, each.id)
    types[each.id + 1] = each.special and CONTROL or USER_DEFINED
  end
  args.check(#list == n, "%s: tokenizer: numbers of tokens must be 0 to %d, each once", who, n - 1)
  return list, types
end

-- Merges as lists of two.
local function merges_of(t)
  local merges = {}
  for i, merge in ipairs(t.model.merges) do
    merges[i] = type(merge) == "table" and merge or { merge:match("^(.-) (.+)$") }
  end
  return merges
end

-- The tokens that are put around a text: the numbers of those before and behind it.
local function frame_of(t)
  local post, before, behind = t.post_processor, nil, nil
  if not post or post.type ~= "TemplateProcessing" then return nil, nil end
  local seen = false
  for _, piece in ipairs(post.single) do
    local special = piece.SpecialToken and post.special_tokens[piece.SpecialToken.id].ids[1]
    if piece.Sequence then seen = true
    elseif seen then behind = special
    else before = special end
  end
  return before, behind
end

local function put_byte_level(who, list, t, tokens, types)
  local pre = tokenizer.pre_of(t)
  args.check(pre, "%s: tokenizer: it must cut words as those of GPT-2, Llama 3 or Qwen 2 do; the "
    .. "file has names for such alone", who)
  local merges = {}
  for i, merge in ipairs(merges_of(t)) do merges[i] = merge[1] .. " " .. merge[2] end
  for i = 1, #tokens do types[i] = types[i] or NORMAL end
  metadata.add(list, "tokenizer.ggml.model", "string", "gpt2")
  metadata.add(list, "tokenizer.ggml.pre", "string", pre)
  metadata.add(list, "tokenizer.ggml.merges", { "string" }, merges)
end

-- What a merge gives has a score that falls from the first to the last.
local function put_pieces(_, list, t, tokens, types)
  local scores, number, merges = {}, {}, merges_of(t)
  for i, token in ipairs(tokens) do
    number[token], scores[i] = i, -#merges - 1
    local kind = token:find("^<0x%x%x>$") and BYTE or NORMAL
    if token == t.model.unk_token then
      types[i] = UNKNOWN
      metadata.add(list, "tokenizer.ggml.unknown_token_id", "uint32", i - 1)
    end
    types[i] = types[i] or kind
    if types[i] ~= NORMAL then scores[i] = 0 end
  end
  for rank = #merges, 1, -1 do
    local i = number[merges[rank][1] .. merges[rank][2]]
    if i then scores[i] = -rank end
  end
  local text = plain.write(t.normalizer or {}, "normalizer")
  metadata.add(list, "tokenizer.ggml.model", "string", "llama")
  metadata.add(list, "tokenizer.ggml.pre", "string", "default")
  metadata.add(list, "tokenizer.ggml.scores", { "float32" }, scores)
  metadata.add(list, "tokenizer.ggml.add_space_prefix", "boolean",
    text:find("Prepend", 1, true) ~= nil)
end

--- Adds the keys of a tokenizer to a list.
function words.write(who, given, list)
  args.must(type(given) == "table" and rawget(given, "_core"), given,
    "%s: tokenizer must be what flow.text gives", who)
  local t = plain.read(core.tokenizer_json(given._core))
  args.check(t.model.type == "BPE", "%s: tokenizer must be one of byte pairs, got one of type %s",
    who, t.model.type)
  local tokens, types = tokens_of(who, t)
  local put = t.model.byte_fallback and put_pieces or put_byte_level
  put(who, list, t, tokens, types)
  metadata.add(list, "tokenizer.ggml.tokens", { "string" }, tokens)
  metadata.add(list, "tokenizer.ggml.token_type", { "int32" }, types)
  local before, behind = frame_of(t)
  local function add(key, id) metadata.add(list, "tokenizer.ggml." .. key, "uint32", id) end
  if before then add("bos_token_id", before) end
  for i, token in ipairs(tokens) do
    if not behind and (token == "</s>" or token == "<|endoftext|>") then behind = i - 1 end
  end
  if behind then add("eos_token_id", behind) end
  metadata.add(list, "tokenizer.ggml.add_bos_token", "boolean", before ~= nil)
  metadata.add(list, "tokenizer.ggml.add_eos_token", "boolean", select(2, frame_of(t)) ~= nil)
end

return words
