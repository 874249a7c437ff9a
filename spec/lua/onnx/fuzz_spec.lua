--- Random ONNX files by their grammar: ops with any attributes, inputs and subgraphs end as models
-- or as errors, within bounds of instructions and memory. JFL_FUZZ=1000 makes more of them,
-- JFL_FUZZ_SEED=2 others.
local draws = require "spec.draws"
local flow = require "jfl"
local protobuf = require "jfl.onnx.protobuf"
local schema = require "jfl.onnx.schema"

local DOMAINS = {
  [""] = { "math", "shape", "find", "gather", "nn", "recurrent", "control", "resize", "grid",
    "boxes", "attention", "quantized", "signal" },
  ["ai.onnx.ml"] = { "ml" }, ["com.microsoft"] = { "microsoft" },
}
local NAMES = {}
for word in ([[allowzero alpha antialias auto_pad axes axis batch_axis batch_dims block_size
  blocksize ceil_mode center_point_box classlabels_ints coefficients
  coordinate_transformation_mode cubic_coeff_a dilations direction dtype end equation
  extrapolation_value group input_forget is_causal k keepdims kernel_params kernel_shape
  kv_num_heads largest layout mode n_supports num_groups num_heads num_outputs num_scan_inputs
  output_dtype output_height output_padding output_shape output_width p pads perm prob_a prob_b
  q_num_heads reduction rho rotary_embedding_dim sampling_ratio saturate scale scales
  scan_input_axes scan_output_axes shape size sorted spatial_scale split start strides
  support_vectors time_axis to vectors_per_class]]):gmatch "%S+" do
  NAMES[#NAMES + 1] = word
end
local WHOLE = { 0, 1, 2, 3, 5, 7, -1, -2, 100, -100, 2 ^ 31 - 1, -2 ^ 31, 2 ^ 40, 2 ^ 62, -2 ^ 53 }
local FLOATS = { 0, 1, -1, 0.5, 1e30, -1e30, 1 / 0, 0 / 0 }
local WORDS = { "SAME_UPPER", "constant", "linear", "cubic", "tf_crop_and_resize", "mean", "ij,jk",
  "i->iiii" }

local ops = {}
for domain, files in pairs(DOMAINS) do
  for _, file in ipairs(files) do
    for name in pairs(require("jfl.onnx.ops_" .. file)) do
      if name:find "^%u" then ops[#ops + 1] = domain .. "." .. name end
    end
  end
end
table.sort(ops)

local random

local function pick(list) return draws.pick(random, list) end

local function wholes()
  local list = {}
  for i = 1, random(5) - 1 do list[i] = random(3) == 1 and pick(WHOLE) or random(4) - 1 end
  return list
end

local function info(name, dims, elem_type)
  for i, extent in ipairs(dims) do dims[i] = { dim_value = extent } end
  return { name = name, type = { tensor_type = { elem_type = elem_type or 1,
    shape = { dim = dims } } } }
end

local function tensor(name)
  if random(4) == 1 then
    local shape, list, count = {}, {}, 1
    for i = 1, random(5) - 1 do
      shape[i] = random(4) - 1
      count = count * shape[i]
    end
    for i = 1, count do list[i] = pick(FLOATS) end
    return { name = name, dims = shape, data_type = 1, float_data = list }
  end
  local list = random(3) == 1 and { pick(WHOLE) } or wholes()
  local dims = #list == 1 and random(2) == 1 and {} or { #list }
  return { name = name, dims = dims, data_type = 7, int64_data = list }
end

local graph

local function attribute(name, depth)
  local kind = random(depth < 2 and 7 or 6)
  if kind == 1 then return { name = name, f = pick(FLOATS), type = 1 } end
  if kind == 2 then return { name = name, s = pick(WORDS), type = 3 } end
  if kind < 5 then return { name = name, i = pick(WHOLE), type = 2 } end
  if kind < 7 then return { name = name, ints = wholes(), type = 7 } end
  return { name = pick { "body", "then_branch", "else_branch" }, g = graph(depth + 1), type = 5 }
end

local function attributes(depth)
  local list, seen = {}, {}
  for _ = 1, random(5) - 1 do
    local a = attribute(pick(NAMES), depth)
    if not seen[a.name] then seen[a.name], list[#list + 1] = true, a end
  end
  return list
end

local made          -- names of this file

local function name_new(names)
  made = made + 1
  names[#names + 1] = "v" .. made
  return names[#names]
end

local function node(depth, names, tensors)
  local domain, op = pick(ops):match "^(.*)%.(.-)$"
  local n = { op_type = op, domain = domain, input = {}, output = {},
    attribute = attributes(depth) }
  for i = 1, random(5) - 1 do
    if random(2) == 1 then
      n.input[i] = name_new(names)
      tensors[#tensors + 1] = tensor(n.input[i])
    else
      n.input[i] = random(12) == 1 and "" or pick(names)
    end
  end
  for i = 1, random(2) do n.output[i] = name_new(names) end
  return n
end

function graph(depth)
  local g = { name = "g", node = {}, initializer = {}, input = {}, output = {} }
  local names = { "x", "y" }
  for i = 1, depth > 0 and random(4) - 1 or 0 do
    g.input[i] = info(name_new(names), { 2 }, pick { 1, 7 })
  end
  for i = 1, random(3) do g.node[i] = node(depth, names, g.initializer) end
  for i = 1, depth > 0 and random(3) or 1 do
    g.output[i] = info(depth > 0 and pick(names) or g.node[#g.node].output[1], { 2 })
  end
  return g
end

local function write(path)
  made = 0
  local g, texts = graph(0), {}
  g.input = { info("x", { 2, 3 }), info("y", { 1, 2, 4, 4 }) }
  protobuf.write((protobuf.encode(schema, "ModelProto", { ir_version = 8, graph = g,
    opset_import = { { domain = "", version = 6 + random(17) },
      { domain = "ai.onnx.ml", version = 3 }, { domain = "com.microsoft", version = 1 } } })),
    function(text) texts[#texts + 1] = text end)
  local file = assert(io.open(path, "wb"))
  file:write(table.concat(texts))
  file:close()
end

describe("random ONNX files", function()
  local folder

  setup(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir '" .. folder .. "'") == 0)
    random = draws.from(draws.seed())
  end)
  teardown(function() os.execute("rm -r '" .. folder .. "'") end)

  it("are models or errors", function()
    local good, box = 0, nil
    for i = 1, 10 * draws.trials(20) do
      if i % 100 == 1 then
        box = flow.sandbox { instructions = 1e8, seconds = 1000, memory = "512M", read = folder }
      end
      write(folder .. "/m.onnx")
      local ok, err = pcall(box.run, box, [[
        local flow, name = require "jfl", ...
        local Array = flow.typing.Numpy.Placeholder
        local net = flow.onnx.load("m.onnx", { name = name })
        local job = net:predict { inputs = { Array { 2, 3 }, Array { 1, 2, 4, 4 } } }
        job(flow.ndarray.ones { 2, 3 }, flow.ndarray.ones { 1, 2, 4, 4 })]], "text", "m" .. i)
      good = good + (ok and 1 or 0)
      for _, wrong in ipairs { "attempt to", "bad argument #%d+ to", "was ended", "jfl/",
        "stack overflow" } do
        assert.falsy(not ok and err:find(wrong), ("file %d: %s"):format(i, tostring(err)))
      end
    end
    assert.truthy(good > 0)
  end)
end)
