-- flow.onnx.export: writes a predict job as an ONNX file.
---@box onnx.export
local args = require "jfl.base.args"
local core = require "jfl.core"
local export_parts = require "jfl.onnx.export_parts"
local file = require "jfl.onnx.export_file"
local graph = require "jfl.onnx.export_graph"
local job_parts = require "jfl.job.parts"
local text = require "jfl.base.text"
local variables = require "jfl.checkpoint.variables"

local onnx = {}

local WHO = "onnx.export"
local KINDS = { inputs = "an input", outputs = "a result" }

-- ---- names ----

local function check_name(what, name)
  if type(name) == "string" and name ~= "" and text.is_utf8(name) then return name end
  core.fail("%s: %s must hold texts that are not empty, got %s", WHO, what, args.describe(name))
end

-- The names that are used for `own`: those of a list in the same order, or of a table by own name.
local function chosen(what, given, own)
  if given == nil then return own end
  args.expect(WHO, what, given, "table")
  local names, known, is_list = {}, {}, #given > 0
  if is_list and #given ~= #own then
    core.fail("%s: %s must hold %d name%s (%s), got %d", WHO, what, #own, #own == 1 and "" or "s",
      table.concat(own, ", "), #given)
  end
  for i, name in ipairs(own) do
    known[name] = true
    local new = is_list and given[i] or given[name]
    names[i] = new == nil and name or check_name(what, new)
  end
  for name in pairs(given) do
    if not is_list and not known[name] then
      core.fail("%s: %s must name %s, got '%s'", WHO, what, table.concat(own, ", "),
        tostring(name))
    end
  end
  return names
end

-- What results are called: the keys that lead to them in what the body returns, or their own names.
local function own_names(parts)
  local names, taken = {}, {}
  for _, value in ipairs(parts.inputs) do taken[value.name] = true end
  for _, value in ipairs(parts.variables) do taken[value.name] = true end
  for i, path in ipairs(parts.paths) do
    local name = (path == "" or path:find("^[%d.]+$")) and parts.results[i].name or path
    local free, n = name, 1
    while taken[free] do
      n = n + 1
      free = ("%s_%d"):format(name, n)
    end
    taken[free], names[i] = true, free
  end
  return names
end

local function names_of(o, parts)
  local inputs, taken = {}, {}
  for i, value in ipairs(parts.inputs) do inputs[i] = value.name end
  for _, value in ipairs(parts.variables) do taken[value.name] = "a variable" end
  local names = { inputs = chosen("input_names", o.input_names, inputs),
    outputs = chosen("output_names", o.output_names, own_names(parts)) }
  for _, what in ipairs { "inputs", "outputs" } do
    for _, name in ipairs(names[what]) do
      if taken[name] then
        core.fail("%s: inputs and results must have names of their own, got '%s' for %s and %s",
          WHO, name, taken[name], KINDS[what])
      end
      taken[name] = KINDS[what]
    end
  end
  return names
end

-- ---- writing ----

-- A variable as a tensor of the file, which is read when it is written. Several ranks read it
-- together, so at once.
local function variable(name)
  local dtype, shape = core.variable_info(name)
  local function read() return core.variable_get(name) end
  if select(2, core.world()) == 1 then return { dtype = dtype, shape = shape, read = read } end
  local array = read()
  return { dtype = dtype, shape = shape, read = function() return array end }
end

local function check_batch(value)
  if value == nil or value == "any" then return value end
  if type(value) == "number" then return args.integer(WHO, "batch_size", value, 1) end
  core.fail("%s: batch_size must be a whole number or \"any\", got %s", WHO, args.describe(value))
end

-- Rank 0 writes, and all learn how it went.
local function write(o, job, g, tensors)
  local rank, size = core.world()
  if size == 1 then return file.write(WHO, o.path, job, g, tensors, o.external_data) end
  local ok, err = true, ""
  if rank == 0 then
    ok, err = pcall(file.write, WHO, o.path, job, g, tensors, o.external_data)
  end
  err = core.hand_out(("export job '%s'"):format(job.name), ok and "" or tostring(err))
  if err ~= "" then core.fail("%s%s", rank > 0 and "rank 0: " or "", err) end
end

--- Writes what a predict job computes, and its variables as they are now, as an ONNX file that
-- other programs run. The body is run again for that, without its numbers. A file that is there is
-- replaced when the new one is whole.
onnx.export = args.define(WHO, "Writes a predict job as an ONNX file.", {
  { "job", "what flow.global_function gave, of type \"predict\"", type = "Job" },
  { "path", "the file", type = "string" },
  { "batch_size", "the first extent of inputs; \"any\" leaves it free; without it, it is what the "
    .. "job's placeholders say, where -1 leaves it free", args.none, type = "integer|\"any\"" },
  { "input_names", "what the file calls the inputs: a list, or a table by the job's names",
    args.none, keyed = true, type = "table" },
  { "output_names", "the same for results, which are called by the keys of what the body returns, "
    .. "or as the blobs are", args.none, keyed = true, type = "table" },
  { "external_data", "whether large tensors are in a file beside it, `path` with .data behind; "
    .. "without it, where the file would be 2 GiB", args.none, type = "boolean" },
}, function(o)
  local job = job_parts.check(WHO, o.job)
  args.check(job.type == "predict", "%s: job must be of type \"predict\", got '%s' of type \"%s\"; "
    .. "a predict job with the same layers has the same variables", WHO, job.name, job.type)
  local batch_size = check_batch(o.batch_size)
  -- Creates the job's variables, which only a plan does.
  if not job._latest and type(batch_size) == "number" then job:compile(batch_size) end
  variables.settle()
  local parts = export_parts.of(WHO, job, batch_size)
  local g, tensors = graph.of(WHO, job, parts, names_of(o, parts), variable, file.tensor)
  write(o, job, g, tensors)
end)

return onnx
