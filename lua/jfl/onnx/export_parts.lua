-- What a predict job describes, for the exporter: its graph's parts (job/parts.lua), where extents
-- and attributes that depend on the batch say how, if the batch is to be left free.
--
-- That is found by tracing the body for three batch sizes and comparing: whatever the body computes
-- from a shape, in Lua or by ops, shows as a number that differs.
local args = require "jfl.base.args"
local core = require "jfl.core"
local extent = require "jfl.onnx.export_extent"
local job_parts = require "jfl.job.parts"

local parts = {}

local TIMES = { 1, 2, 3 }                -- batch sizes that are compared, as multiples of the first

-- ---- comparing ----

-- The path of what is compared, for messages, and the batch sizes: what a comparison knows.
local function fail(c, form, ...)
  error({ at = c.at, why = ("%s depends on the batch size " .. form):format(c.what, ...) }, 0)
end

local merge

-- Lists or tables with the same keys, of which those that are numbers may differ.
local function merge_tables(c, values)
  local out = {}
  for key in pairs(values[1]) do
    local each = {}
    for i, value in ipairs(values) do each[i] = value[key] end
    if #each < #values or #values[1] ~= #values[2] or #values[1] ~= #values[3] then
      fail(c, "in length")
    end
    out[key] = merge(c, each)
  end
  return out
end

-- An array that the script gave.
local function merge_arrays(c, values)
  local first = values[1]
  for i = 2, #values do
    local other = values[i]
    if args.shape_text(first.shape) ~= args.shape_text(other.shape)
      or core.bytes(first) ~= core.bytes(other) then
      fail(c, "and is an array that the script makes")
    end
  end
  return first
end

-- One value of all traces: itself where it is the same in all, an extent, or a failure.
function merge(c, values)
  local first = values[1]
  if core.type(first) == "array" then return merge_arrays(c, values) end
  if type(first) == "table" then return merge_tables(c, values) end
  if rawequal(first, values[2]) and rawequal(first, values[3]) then return first end
  if first ~= first then return first end
  return type(first) == "number" and extent.of(c.sizes, values) or fail(c, "unevenly")
end

local function merge_shape(c, values, what)
  local shapes = {}
  c.what = what
  for i, value in ipairs(values) do shapes[i] = value.shape end
  return merge(c, shapes)
end

-- The i-th element of a field of all traces.
local function all(list, field, i)
  local out = {}
  for k, each in ipairs(list) do out[k] = each[field][i] end
  return out
end

-- Gives the values of the first trace the shapes that all traces have.
local function merge_values(c, traces, field, is_state)
  for i, value in ipairs(traces[1][field]) do
    c.at = value
    local each = all(traces, field, i)
    value.shape = merge_shape(c, each, ("the shape of '%s'"):format(value.name))
    if is_state and extent.varies(value.shape) then fail(c, "and is a variable's") end
    for _, other in ipairs(is_state and each or {}) do
      c.what = "which variable is read here"
      if other.name ~= value.name then fail(c, "") end
    end
  end
end

-- Numbers the values of a trace, to compare what nodes read.
local function numbered(trace)
  local number, n = {}, 0
  local function add(list)
    for _, value in ipairs(list) do n, number[value] = n + 1, n + 1 end
  end
  add(trace.inputs)
  add(trace.variables)
  for _, node in ipairs(trace.nodes) do add(node.outputs) end
  return number
end

local function same_node(numbers, nodes)
  for i = 2, #nodes do
    local a, b = nodes[1], nodes[i]
    if a.op ~= b.op or #a.inputs ~= #b.inputs or #a.outputs ~= #b.outputs then return false end
    for k, value in ipairs(a.inputs) do
      if numbers[1][value] ~= numbers[i][b.inputs[k]] then return false end
    end
  end
  return true
end

local function merge_node(c, node, nodes)
  c.at, node.varies = node, {}
  local attributes = {}
  for i, each in ipairs(nodes) do attributes[i] = each.attributes end
  for key in pairs(node.attributes) do
    local values = {}
    for i, each in ipairs(attributes) do values[i] = each[key] end
    c.what = key
    local merged = merge(c, values)
    local is_list = type(merged) == "table" and not extent.is(merged)
    node.varies[key] = extent.is(merged) or (is_list and extent.varies(merged)) or nil
    node.attributes[key] = merged
  end
  for i, value in ipairs(node.outputs) do
    value.shape = merge_shape(c, all(nodes, "outputs", i), ("the shape of '%s'"):format(value.name))
  end
end

-- Compares traces at these batch sizes; returns the first with what differs as extents.
local function compared(sizes, traces)
  local c, numbers = { sizes = sizes }, {}
  for i, trace in ipairs(traces) do numbers[i] = numbered(trace) end
  merge_values(c, traces, "inputs")
  for _, field in ipairs { "variables", "nodes" } do
    c.at, c.what = nil, ("how many %s there are"):format(field)
    if #traces[1][field] ~= #traces[2][field] or #traces[1][field] ~= #traces[3][field] then
      fail(c, "")
    end
  end
  merge_values(c, traces, "variables", true)
  for i, node in ipairs(traces[1].nodes) do
    local nodes = all(traces, "nodes", i)
    c.at, c.what = node, "what the body describes here"
    if not same_node(numbers, nodes) then fail(c, "") end
    merge_node(c, node, nodes)
  end
  return traces[1]
end

-- ---- batch sizes ----

-- The shapes of a job's inputs where the first extent of those that is the batch is `size`, and
-- others that vary are at their bounds.
local function shapes_for(job, is_batch, size)
  local shapes = {}
  for i, input in ipairs(job._inputs) do
    local shape = { unpack(input.type.shape) }
    for _, each in ipairs(input.type.varies or {}) do shape[each.axis] = each.max end
    if is_batch[i] then shape[1] = size end
    shapes[i] = shape
  end
  return shapes
end

-- Which inputs begin with the batch: those whose first extent is -1, or where there are none those
-- whose first extent is that of the first input.
local function batch_of(job)
  local is_batch, any, size = {}, false, nil
  for i, input in ipairs(job._inputs) do
    is_batch[i] = input.type.shape[1] == -1
    any = any or is_batch[i]
  end
  if any then return is_batch, nil end
  for i, input in ipairs(job._inputs) do
    size = size or input.type.shape[1]
    is_batch[i] = size ~= nil and input.type.shape[1] == size
  end
  return is_batch, size
end

local function at_node(c)
  local at = c.at
  if not at then return "" end
  local op = at.op and (" (%s)"):format(at.op) or ""
  return ("'%s'%s%s: "):format(at.name, op, at.line and ", " .. at.line or "")
end

local function free(who, job, is_batch, size)
  local sizes, traces = {}, {}
  size = size == 1 and 2 or size or 2
  for i, times in ipairs(TIMES) do
    sizes[i] = times * size
    local ok, trace = pcall(job_parts.traced, job, shapes_for(job, is_batch, sizes[i]))
    args.check(ok, "%s: the batch cannot be left free: the body does not take a batch of %d: %s",
      who, sizes[i], tostring(trace))
    traces[i] = trace
  end
  local ok, result = pcall(compared, sizes, traces)
  if ok then return result end
  if type(result) ~= "table" then error(result, 0) end
  core.fail("%s: the batch cannot be left free: %s%s", who, at_node(result), result.why)
end

--- The parts of a job's graph for inputs of these shapes.
function parts.fixed(job, shapes) return job_parts.traced(job, shapes) end

--- The parts of a job's graph. batch_size: a number; "any", which leaves the batch free; or nil,
-- which is what the job's placeholders say.
function parts.of(who, job, batch_size)
  local is_batch, size = batch_of(job)
  if batch_size == nil then batch_size = size or "any" end
  local has_batch = false
  for i = 1, #job._inputs do has_batch = has_batch or is_batch[i] end
  if batch_size == "any" and has_batch then return free(who, job, is_batch, size) end
  args.check(batch_size ~= "any", "%s: job '%s' has no input with a first extent that could be the "
    .. "batch", who, job.name)
  if size and batch_size ~= size then
    core.fail("%s: batch_size must be %d, which the inputs of job '%s' say, or \"any\", got %d",
      who, size, job.name, batch_size)
  end
  return job_parts.traced(job, shapes_for(job, is_batch, batch_size))
end

return parts
