-- flow.text: tokenizers, read and learned.
---@space text
---@box text.tokenizer text.train
local archive = require "jfl.data.archive"
local args = require "jfl.base.args"
local core = require "jfl.core"
local files = require "jfl.text.files"
local gguf = require "jfl.gguf.tokenizer"
local header = require "jfl.gguf.header"
local tokenizer = require "jfl.text.tokenizer"

local text = {}

local WHO = "text.tokenizer"

-- Whether a file is there that can be read.
local function is_there(path)
  local file = core.file_open(path)
  if file then core.file_close(file) end
  return file ~= nil
end

-- What is in a folder of a model: a tokenizer.json, or files of old.
local function open_folder(path)
  local function at(name) return path:gsub("/$", "") .. "/" .. name end
  if is_there(at "tokenizer.json") then
    return core.tokenizer(at "tokenizer.json", WHO)
  elseif is_there(at "vocab.json") and is_there(at "merges.txt") then
    return core.tokenizer_parse(files.merges(WHO, at "vocab.json", at "merges.txt"), WHO)
  elseif is_there(at "vocab.txt") then
    return core.tokenizer_parse(files.words(WHO, at "vocab.txt"), WHO)
  end
  core.fail("%s: %s: it must be a tokenizer.json, or a folder that has one, or vocab.json and "
    .. "merges.txt, or vocab.txt; got a folder without them, or nothing", WHO, path)
end

local function open(path)
  if path:find("merges%.txt$") or path:find("vocab%.json$") then
    local folder = path:match("^(.*/)") or ""
    return core.tokenizer_parse(files.merges(WHO, folder .. "vocab.json", folder .. "merges.txt"),
      WHO)
  elseif path:find("%.txt$") then
    return core.tokenizer_parse(files.words(WHO, path), WHO)
  elseif path:find("%.json$") then
    return core.tokenizer(path, WHO)
  elseif header.is(path) then
    return core.tokenizer_parse(gguf.read(WHO, path), WHO)
  end
  return open_folder(path)
end

--- Reads what makes numbers of texts: a tokenizer.json, as Hugging Face's tokenizers writes it, or
-- the folder of a model that has one; also vocab.json with merges.txt, vocab.txt, and what a GGUF
-- file has. What the file asks for and jfl lacks is an error that names it. Results are those of
-- tokenizers.
text.tokenizer = args.define(WHO, "Reads what makes numbers of texts: a tokenizer.json, or the "
  .. "folder of a model.", {
  { "path", "of the file or folder", type = "string" },
  returns = "Tokenizer",
}, function(o)
  return tokenizer.new(open(o.path))
end)

-- ---- learning ----

local TRAIN = "text.train"

local function strings(name, list) return args.list(TRAIN, name, list, "string") end

-- All texts: those given, and the contents of files.
local function collect(o)
  local texts = {}
  for i, each in ipairs(strings("texts", o.texts)) do texts[i] = each end
  for _, path in ipairs(strings("files", o.files)) do
    local contents, why = archive.read(path)
    if not contents then core.fail("%s: %s", TRAIN, why) end
    texts[#texts + 1] = contents
  end
  args.check(#texts > 0, "%s: texts must be a list of strings, or files one of paths, got neither",
    TRAIN)
  return texts
end

--- Learns a vocabulary of byte pairs (byte-level BPE) from texts: of all pairs of neighbours within
-- words the one that occurs most becomes a token, until there are `size`. What
-- tokenizer:save("tokenizer.json") writes, Hugging Face's tokenizers reads, and the same texts give
-- the same tokens there.
text.train = args.define(TRAIN, "Learns a vocabulary of byte pairs (BPE) from texts.", {
  { "texts", "strings to learn from", {}, type = "string[]" },
  { "files", "paths of texts to learn from, too", {}, type = "string[]" },
  { "size", "of the vocabulary, at least 256 and the special tokens", 8000, type = "integer" },
  { "special_tokens", "which texts never become of themselves: {\"<|endoftext|>\"}; they have the "
    .. "first numbers", {}, type = "string[]" },
  { "min_frequency", "how often a pair must occur", 2, type = "integer" },
  { "pattern", "a regular expression that cuts texts into words; that of GPT-2 by itself",
    args.none, type = "string" },
  returns = "Tokenizer",
}, function(o)
  local special = strings("special_tokens", o.special_tokens)
  return tokenizer.new(core.tokenizer_train(collect(o), {
    size = args.integer(TRAIN, "size", o.size, 256 + #special),
    least = args.integer(TRAIN, "min_frequency", o.min_frequency, 1),
    pattern = o.pattern, special = special }, TRAIN))
end)

return text
