-- Vocabularies in files of old, written as a tokenizer.json: vocab.json with merges.txt, as GPT-2
-- has them, and vocab.txt, as BERT has it.
local archive = require "jfl.data.archive"
local core = require "jfl.core"

local files = {}

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\" }

--- A text as JSON has it.
function files.quote(text)
  return '"' .. text:gsub('[%c"\\]', function(c)
    return ESCAPES[c] or ("\\u%04x"):format(c:byte())
  end) .. '"'
end

local quote = files.quote

local function read(who, path)
  local text, why = archive.read(path)
  if not text then core.fail("%s: %s", who, why) end
  return text
end

local function lines(text)
  local list = {}
  for line in (text:gsub("\n$", "") .. "\n"):gmatch("(.-)\r?\n") do list[#list + 1] = line end
  return list
end

--- A tokenizer.json of its parts, each in JSON.
function files.json(o)
  return table.concat { '{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [',
    o.added, '], "normalizer": ', o.normalizer, ', "pre_tokenizer": ', o.words,
    ', "post_processor": ', o.frame, ', "decoder": ', o.decoder, ', "model": ', o.model, "}" }
end

local ADDED = '{"id": %d, "content": %s, "single_word": false, "lstrip": false, "rstrip": false, '
  .. '"normalized": false, "special": true}'
local LEVEL = '{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, '
  .. '"use_regex": true}'

--- A byte-level BPE of a vocab.json and a merges.txt.
function files.merges(who, vocab_path, merges_path)
  local merges = {}
  for i, line in ipairs(lines(read(who, merges_path))) do
    if line ~= "" and not (i == 1 and line:find("^#version")) then
      merges[#merges + 1] = quote(line)
    end
  end
  local vocabulary, added = read(who, vocab_path), ""
  local last = vocabulary:match('"<|endoftext|>"%s*:%s*(%d+)')
  if last then added = ADDED:format(tonumber(last), '"<|endoftext|>"') end
  local model = '{"type": "BPE", "merges": [' .. table.concat(merges, ",") .. '], "vocab": '
    .. vocabulary .. "}"
  return files.json { added = added, normalizer = "null", words = LEVEL, frame = LEVEL,
    decoder = LEVEL, model = model }
end

-- What a tokenizer_config.json beside the vocabulary says of case; true where it says nothing.
local function lowers(path)
  local text = archive.read((path:gsub("[^/]*$", "")) .. "tokenizer_config.json")
  return not (text and text:find('"do_lower_case"%s*:%s*false'))
end

--- A WordPiece model of a vocab.txt: a token in each line.
function files.words(who, path)
  local list, ids, added = lines(read(who, path)), {}, {}
  for i, line in ipairs(list) do
    ids[line] = i - 1
    list[i] = quote(line) .. ": " .. i - 1
  end
  for _, name in ipairs { "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]" } do
    if ids[name] then added[#added + 1] = ADDED:format(ids[name], quote(name)) end
  end
  for _, name in ipairs { "[UNK]", "[CLS]", "[SEP]" } do
    if not ids[name] then core.fail("%s: %s: it must have a line '%s'", who, path, name) end
  end
  local lower = tostring(lowers(path))
  local normalizer = '{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, '
    .. '"strip_accents": null, "lowercase": ' .. lower .. "}"
  local around = ('{"type": "BertProcessing", "sep": ["[SEP]", %d], "cls": ["[CLS]", %d]}'):format(
    ids["[SEP]"], ids["[CLS]"])
  local model = '{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", '
    .. '"max_input_chars_per_word": 100, "vocab": {' .. table.concat(list, ",\n") .. "}}"
  return files.json { added = table.concat(added, ","), normalizer = normalizer,
    words = '{"type": "BertPreTokenizer"}', frame = around, model = model,
    decoder = '{"type": "WordPiece", "prefix": "##", "cleanup": true}' }
end

return files
