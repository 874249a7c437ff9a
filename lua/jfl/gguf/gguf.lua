-- flow.gguf: networks and tokenizers in the files of llama.cpp.
---@space gguf
---@box gguf.read gguf.save
local archive = require "jfl.data.archive"
local args = require "jfl.base.args"
local core = require "jfl.core"
local header = require "jfl.gguf.header"
local metadata = require "jfl.gguf.metadata"
local model = require "jfl.net.model"
local pack = require "jfl.gguf.pack"
local plain = require "jfl.base.plain"
local words = require "jfl.gguf.words"
local writer = require "jfl.gguf.writer"

local gguf = {}

local WHO = "gguf.save"
local ALIGN = 32                 -- where tensors begin
local FORMS = { "float32", "float16", "bfloat16", "q8_0", "q4_0" }
local CHUNK = 2 ^ 18             -- numbers that are written at once, a multiple of all blocks

--- What is in a file: its version, metadata by keys, and its tensors in their order.
gguf.read = args.define("gguf.read", "Tells what a GGUF file has: { version, metadata, tensors }, "
  .. "metadata by their keys and of each tensor name, type and shape.", {
  { "path", "of the file", type = "string" },
  returns = "table",
}, function(o)
  local h = header.read("gguf.read", o.path)
  return { version = h.version, metadata = h.metadata, tensors = h.tensors }
end)

-- ---- writing ----

-- Tensors of matrices are of the form that is asked for, others float32.
local function lay(list, name)
  local at = 0
  for _, tensor in ipairs(list) do
    local form = pack.forms[#tensor.shape > 1 and name or "float32"]
    local row = tensor.shape[#tensor.shape]
    args.check(row % form.multiple == 0, "%s: tensor %s: rows of %s must be a multiple of %d, got "
      .. "%d; { dtype = \"float16\" } has no blocks", WHO, tensor.name, name, form.multiple, row)
    tensor.form, tensor.at = form, at
    at = at + math.ceil(pack.size(form, args.count(tensor.shape)) / ALIGN) * ALIGN
  end
end

local function write_tensor(tensor, write)
  local flat = core.reshape(core.cast(tensor.read(), "float32"), { -1 })
  local n = args.count(tensor.shape)
  for at = 0, n - 1, CHUNK do
    write(tensor.form.bytes(core.rows(flat, at, math.min(CHUNK, n - at))))
  end
  write(("\0"):rep(-pack.size(tensor.form, n) % ALIGN))
end

local function write_file(tensors, pairs_text, write)
  local texts = { pairs_text }
  for _, tensor in ipairs(tensors) do texts[#texts + 1] = metadata.tensor(tensor) end
  local head = table.concat(texts)
  write(head .. ("\0"):rep(-#head % ALIGN))
  for _, tensor in ipairs(tensors) do write_tensor(tensor, write) end
end

--- Writes a network of flow.models, gpt2 or llama, as a GGUF file, which llama.cpp reads.
gguf.save = args.define(WHO, "Writes a network of flow.models, one of gpt2 and llama, as a GGUF "
  .. "file, which llama.cpp and others read.", {
  { "net", "the network", type = "Model" },
  { "path", "of the file", type = "string" },
  { "dtype", "the form of matrices: float32, float16, bfloat16, q8_0 or q4_0, in which 32 numbers "
    .. "share a scale", "float16", words = FORMS },
  { "tokenizer", "what makes numbers of texts, byte pairs as flow.text.train learns them or what "
    .. "came from such a file", args.none, type = "Tokenizer" },
  { "metadata", "more of the file's keys: strings, numbers, booleans and lists of strings by name, "
    .. "such as { [\"general.name\"] = \"owl\" }", args.none, keyed = true, type = "table" },
}, function(o)
  args.must(model.is(o.net) and o.net._description, o.net,
    "%s: net must be a network of flow.models", WHO)
  local own = plain.read(o.net._description)
  local list, tensors = writer.write(WHO, own.type, own.config, o.net:variables())
  if o.tokenizer ~= nil then words.write(WHO, o.tokenizer, list) end
  metadata.more(WHO, o.metadata, list)
  lay(tensors, o.dtype)
  local text = metadata.write(list, #tensors)
  archive.replace(WHO, o.path, function(write) write_file(tensors, text, write) end)
end)

return gguf
