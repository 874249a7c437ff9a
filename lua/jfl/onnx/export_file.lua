-- The bytes of an ONNX file: tensors within the model, or beside it in a file of their own.
local args = require "jfl.base.args"
local archive = require "jfl.data.archive"
local builder = require "jfl.onnx.export_builder"
local core = require "jfl.core"
local graph = require "jfl.onnx.export_graph"
local protobuf = require "jfl.onnx.protobuf"
local schema = require "jfl.onnx.schema"

local file = {}

local MOST = 2 ^ 31 - 2 ^ 20             -- bytes of a model, of which protobuf reads less than 2^31
local CHUNK = 2 ^ 20                     -- bytes that are written at once
local LEAST = 1024                       -- bytes of a tensor that is worth a place in another file
local ALIGNED = 4096                     -- where tensors begin there, so that they can be mapped
local OUTSIDE = 1                        -- TensorProto.DataLocation.EXTERNAL

local WIDTHS = { float32 = 4, uint8 = 1, int8 = 1, int32 = 4, int64 = 8, bool = 1, float16 = 2,
  float64 = 8, bfloat16 = 2 }

local function size_of(tensor)
  local n = WIDTHS[tensor.dtype]
  for _, e in ipairs(tensor.shape) do n = n * e end
  return n
end

-- Gives the bytes of a tensor to write(text), some at a time.
local function write_array(tensor, write)
  local flat, width = core.reshape(tensor.read(), { -1 }), WIDTHS[tensor.dtype]
  local count, step = size_of(tensor) / width, CHUNK / width
  for at = 0, count - 1, step do
    write(core.bytes(core.rows(flat, at, math.min(step, count - at))))
  end
end

--- A tensor as the schema has it, with its numbers inside.
function file.tensor(tensor)
  local size = size_of(tensor)
  return { name = tensor.name, dims = tensor.shape, data_type = builder.TYPES[tensor.dtype],
    raw_data = size > 0 and { size = size, write = function(write) write_array(tensor, write) end }
      or "" }
end

-- A tensor as the schema has it, with its numbers in the file `name`, from `at` on.
local function tensor_outside(tensor, name, at)
  local entries = { { key = "location", value = name },
    { key = "offset", value = ("%.0f"):format(at) },
    { key = "length", value = ("%.0f"):format(size_of(tensor)) } }
  return { name = tensor.name, dims = tensor.shape, data_type = builder.TYPES[tensor.dtype],
    external_data = entries, data_location = OUTSIDE }
end

-- Where each tensor begins in a file of their own; those that stay in the model have none.
local function places_of(tensors)
  local places, at = {}, 0
  for i, tensor in ipairs(tensors) do
    local size = size_of(tensor)
    if size >= LEAST then
      at = math.ceil(at / ALIGNED) * ALIGNED
      places[i], at = at, at + size
    end
  end
  return places
end

local function write_places(tensors, places, write)
  local at = 0
  for i, tensor in ipairs(tensors) do
    if places[i] then
      write(("\0"):rep(places[i] - at))
      write_array(tensor, write)
      at = places[i] + size_of(tensor)
    end
  end
end

-- A model whose tensors are a list of TensorProto.
local function encode(job, g, tensors)
  return protobuf.encode(schema, "ModelProto", {
    ir_version = graph.IR_VERSION, producer_name = "jfl", producer_version = core.version,
    opset_import = { { domain = "", version = graph.OPSET } },
    graph = { name = job.name, node = g.node, initializer = tensors, input = g.input,
      output = g.output },
  })
end

--- The bytes of a model whose tensors are a list of TensorProto.
function file.text(job, g, tensors)
  local texts = {}
  protobuf.write(encode(job, g, tensors), function(each) texts[#texts + 1] = each end)
  return table.concat(texts)
end

local function total(tensors)
  local size = 0
  for _, tensor in ipairs(tensors) do size = size + size_of(tensor) end
  return size
end

-- The files that the model at a path has its tensors in, by name; none where there is no model.
local function data_files(path)
  local found, handle = {}, core.is_file(path) and core.file_open(path)
  if not handle then return found end
  pcall(function()
    local source = protobuf.of_file(path, handle)
    local m = protobuf.decode(source, schema, "ModelProto")
    for _, tensor in ipairs(m.graph and m.graph.initializer or {}) do
      for _, entry in ipairs(tensor.external_data or {}) do
        if entry.key == "location" then found[entry.value] = true end
      end
    end
  end)
  core.file_close(handle)
  return found
end

-- The folder of a path with its "/", and the names that files of its tensors may have there. There
-- are two, as a new one is not to take the place of that which the model there reads: that stays
-- whole until the new model takes its place.
local function data_names(path)
  local folder, base = path:match("^(.*[/\\])([^/\\]*)$")
  return folder or "", { (base or path) .. ".data", (base or path) .. ".2.data" }
end

local function write_outside(who, path, job, g, tensors, name)
  local places, inside, folder = places_of(tensors), {}, data_names(path)
  for i, tensor in ipairs(tensors) do
    inside[i] = places[i] and tensor_outside(tensor, name, places[i]) or file.tensor(tensor)
  end
  local pieces = encode(job, g, inside)
  archive.replace(who, folder .. name, function(write) write_places(tensors, places, write) end)
  archive.replace(who, path, function(write) protobuf.write(pieces, write) end)
end

local function write_inside(who, path, job, g, tensors)
  local inside = {}
  for i, tensor in ipairs(tensors) do inside[i] = file.tensor(tensor) end
  local pieces, size = encode(job, g, inside)
  args.check(size < 2 ^ 31, "%s: a model must be of less than 2 GiB, got %.0f bytes; external_data "
    .. "= true writes its tensors to a file beside it", who, size)
  archive.replace(who, path, function(write) protobuf.write(pieces, write) end)
end

--- Writes a graph and its tensors, a list of { name =, dtype =, shape =, read = }, as the file at a
-- path. external_data: whether tensors are in a file of their own; nil: where they must be.
function file.write(who, path, job, g, tensors, external_data)
  if external_data == nil then external_data = total(tensors) > MOST end
  local used, folder, names = data_files(path), data_names(path)
  local name = external_data and names[used[names[1]] and 2 or 1]
  if name then write_outside(who, path, job, g, tensors, name)
  else write_inside(who, path, job, g, tensors) end
  for _, old in ipairs(names) do
    if used[old] and old ~= name then core.file_remove(folder .. old) end
  end
end

return file
