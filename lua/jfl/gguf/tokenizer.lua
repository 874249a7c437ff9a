-- The tokenizer in a GGUF file, written as a tokenizer.json.
local core = require "jfl.core"
local files = require "jfl.text.files"
local header = require "jfl.gguf.header"
local names = require "jfl.base.names"
local texts = require "jfl.base.text"

local tokenizer = {}

local TOKENS, TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
local CONTROL, USER_DEFINED, UNKNOWN = 3, 4, 2         -- types of tokens

-- ---- words of texts ----

local LEVEL = '{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, '
  .. '"use_regex": %s}'
local LLAMA_3 = [[(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|]]
  .. [[ ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+]]
local QWEN_2 = LLAMA_3:gsub("{1,3}", "", 1)

-- By the name that a file gives them: the pattern that cuts words, GPT-2's where there is none.
local PRE = { ["gpt-2"] = {}, ["default"] = {}, ["phi-2"] = {}, ["olmo"] = {},
  ["llama-bpe"] = { pattern = LLAMA_3, ignore_merges = true, begins = true },
  ["llama3"] = { pattern = LLAMA_3, ignore_merges = true, begins = true },
  ["llama-v3"] = { pattern = LLAMA_3, ignore_merges = true, begins = true },
  ["qwen2"] = { pattern = QWEN_2, normalizer = '{"type": "NFC"}' },
  ["deepseek-r1-qwen"] = { pattern = QWEN_2 } }

local function words_of(pre)
  if not pre.pattern then return LEVEL:format("true") end
  return ('{"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": %s}, '
    .. '"behavior": "Isolated", "invert": false}, %s]}'):format(files.quote(pre.pattern),
    LEVEL:format("false"))
end

-- The pattern of a pre-tokenizer, "" for that of GPT-2, or nil for others.
local function pattern_of(pre)
  if not pre then return nil end
  if pre.type == "ByteLevel" and pre.use_regex ~= false and not pre.add_prefix_space then
    return ""
  end
  local list = pre.type == "Sequence" and pre.pretokenizers or {}
  local first, last = list[1] or {}, list[2] or {}
  if first.type ~= "Split" or last.type ~= "ByteLevel" or #list ~= 2 then return nil end
  return first.pattern.Regex
end

--- The name that files have for how a tokenizer.json, as a table, cuts words; nil: there is none.
function tokenizer.pre_of(t)
  local pattern, normalizer = pattern_of(t.pre_tokenizer), t.normalizer and t.normalizer.type
  for _, name in ipairs { "gpt-2", "llama-bpe", "qwen2" } do
    local pre = PRE[name]
    if pattern == (pre.pattern or "") and (pre.ignore_merges or false)
      == (t.model.ignore_merges or false) and (not normalizer or name == "qwen2") then
      return name
    end
  end
  return nil
end

-- ---- vocabularies ----

local function tokens_of(h)
  local list = header.list(h, TOKENS, "string")
  for i, token in ipairs(list) do
    if not texts.is_utf8(token) then header.wrong(h, TOKENS, ("UTF-8 at %d"):format(i - 1)) end
  end
  return list
end

local function types_of(h, n)
  if h.metadata[TYPES] == nil then return {} end
  local list = header.list(h, TYPES, "number")
  if #list ~= n then header.wrong(h, TYPES, ("a list of %d"):format(n)) end
  return list
end

local function vocabulary(tokens)
  local parts = {}
  for i, token in ipairs(tokens) do parts[i] = files.quote(token) .. ": " .. i - 1 end
  return "{" .. table.concat(parts, ",\n") .. "}"
end

-- What texts never become of themselves, and what is one token wherever it occurs.
local function added(tokens, types)
  local parts = {}
  for i, token in ipairs(tokens) do
    local kind = types[i]
    if kind == CONTROL or kind == USER_DEFINED or kind == UNKNOWN then
      parts[#parts + 1] = ('{"id": %d, "content": %s, "single_word": false, "lstrip": false, '
        .. '"rstrip": false, "normalized": false, "special": %s}'):format(i - 1, files.quote(token),
        tostring(kind ~= USER_DEFINED))
    end
  end
  return table.concat(parts, ",\n")
end

-- The token of a key that has its number; nil where the file has none.
local function token_of(h, tokens, key)
  local id = h.metadata[key]
  if id == nil then return nil end
  local token = type(id) == "number" and tokens[id + 1]
  if not token then header.wrong(h, key, ("a number of a token, below %d"):format(#tokens)) end
  return token, id
end

-- What is put around texts: the tokens that begin and end them, where the file asks for that.
local function frame(h, tokens, begins)
  local list = {}
  local function put(key, asks, default)
    local token, id = token_of(h, tokens, "tokenizer.ggml." .. key)
    if not token or not header.get(h, "tokenizer.ggml." .. asks, "boolean", default) then
      return ""
    end
    list[#list + 1] = ('%s: {"id": %s, "ids": [%d], "tokens": [%s]}'):format(files.quote(token),
      files.quote(token), id, files.quote(token))
    return ('{"SpecialToken": {"id": %s, "type_id": 0}}'):format(files.quote(token))
  end
  local first = put("bos_token_id", "add_bos_token", begins)
  local last = put("eos_token_id", "add_eos_token", false)
  if #list == 0 then return "null" end
  local function around(name)
    local all = {}
    for _, each in ipairs { first, ('{"Sequence": {"id": "%s", "type_id": 0}}'):format(name),
      last } do
      if each ~= "" then all[#all + 1] = each end
    end
    return table.concat(all, ", ")
  end
  return ('{"type": "TemplateProcessing", "single": [%s], "pair": [%s, %s], '
    .. '"special_tokens": {%s}}'):format(around "A", around "A", around "B",
    table.concat(list, ", "))
end

-- ---- the two kinds ----

local function byte_level(h)
  local tokens = tokens_of(h)
  local types, name = types_of(h, #tokens), header.get(h, "tokenizer.ggml.pre", "string", "gpt-2")
  local pre, merges = PRE[name], {}
  if not pre then
      core.fail("%s: %s: tokenizer.ggml.pre: \"%s\" is not known%s", h.who, h.path, name,
      names.suggest(name, PRE))
  end
  for i, merge in ipairs(header.list(h, "tokenizer.ggml.merges", "string")) do
    merges[i] = files.quote(merge)
  end
  return files.json { added = added(tokens, types), normalizer = pre.normalizer or "null",
    words = words_of(pre), frame = frame(h, tokens, pre.begins or false),
    decoder = LEVEL:format("true"),
    model = ('{"type": "BPE", "ignore_merges": %s, "merges": [%s], "vocab": %s}'):format(
      tostring(pre.ignore_merges or false), table.concat(merges, ",\n"), vocabulary(tokens)) }
end

-- Merges that give the pieces, those with the highest scores first.
local function merges_of(tokens, scores)
  local ids, order, merges = {}, {}, {}
  for i, token in ipairs(tokens) do ids[token], order[i] = ids[token] or i, i end
  table.sort(order, function(a, b)
    if scores[a] ~= scores[b] then return scores[a] > scores[b] end
    return a < b
  end)
  for _, i in ipairs(order) do
    local token, halves = tokens[i], {}
    for at in token:gmatch("()[^\128-\191]") do
      local left, right = token:sub(1, at - 1), token:sub(at)
      if ids[left] and ids[right] then halves[#halves + 1] = { left, right } end
    end
    table.sort(halves, function(a, b)
      if ids[a[1]] ~= ids[b[1]] then return ids[a[1]] < ids[b[1]] end
      return ids[a[2]] < ids[b[2]]
    end)
    for _, each in ipairs(halves) do
      merges[#merges + 1] = ("[%s, %s]"):format(files.quote(each[1]), files.quote(each[2]))
    end
  end
  return table.concat(merges, ",\n")
end

local SPACE = "\226\150\129"                           -- stands for a blank in pieces

local function pieces(h)
  local tokens = tokens_of(h)
  local types, scores = types_of(h, #tokens), header.list(h, "tokenizer.ggml.scores", "number")
  if #scores ~= #tokens then
    header.wrong(h, "tokenizer.ggml.scores", ("a list of %d"):format(#tokens))
  end
  local unknown = token_of(h, tokens, "tokenizer.ggml.unknown_token_id") or tokens[1]
  local prefix = header.get(h, "tokenizer.ggml.add_space_prefix", "boolean", true)
  local blanks = ('{"type": "Replace", "pattern": {"String": " "}, "content": "%s"}'):format(SPACE)
  return files.json { added = added(tokens, types), words = "null", frame = frame(h, tokens, true),
    normalizer = prefix and ('{"type": "Sequence", "normalizers": [{"type": "Prepend", '
      .. '"prepend": "%s"}, %s]}'):format(SPACE, blanks) or blanks,
    decoder = ('{"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "%s"}, '
      .. '"content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}%s]}'):format(SPACE, prefix
        and ', {"type": "Strip", "content": " ", "start": 1, "stop": 0}' or ""),
    model = ('{"type": "BPE", "unk_token": %s, "fuse_unk": true, "byte_fallback": true, '
      .. '"merges": [%s], "vocab": %s}'):format(files.quote(unknown), merges_of(tokens, scores),
      vocabulary(tokens)) }
end

local MODELS = { gpt2 = byte_level, llama = pieces }

--- The text of a tokenizer.json that does what the file's tokenizer does.
function tokenizer.read(who, path)
  local h = header.read(who, path)
  local model = header.get(h, "tokenizer.ggml.model", "string")
  if not MODELS[model] then
    header.wrong(h, "tokenizer.ggml.model", '"gpt2" or "llama"')
  end
  return MODELS[model](h)
end

return tokenizer
