-- All ops of ONNX that jfl describes, by domain and name.

local TABLES = {
  [""] = { "ops_math", "ops_shape", "ops_find", "ops_gather", "ops_nn", "ops_recurrent",
    "ops_control", "ops_resize", "ops_grid", "ops_boxes", "ops_attention", "ops_quantized",
    "ops_signal" },
  ["ai.onnx.ml"] = { "ops_ml" }, ["com.microsoft"] = { "ops_microsoft" },
  jfl = { "ops_jfl" },
}

local ops = {
  --- The op sets of the domain "" that are read.
  least = 7, most = 28,
}

-- An entry of a table is a function, or { function, static = the inputs that must be known when a
-- job is described, is_random = whether it gives something else each time }.
local function entry_of(given)
  if type(given) == "function" then return { run = given, static = {} } end
  local static = {}
  for _, i in ipairs(given.static or {}) do static[i] = true end
  return { run = given[1], static = static, is_random = given.is_random }
end

local found = {}

local function domain(name)
  if found[name] then return found[name] end
  local entries = {}
  for _, file in ipairs(TABLES[name] or {}) do
    for op, given in pairs(require("jfl.onnx." .. file)) do
      if op:find "^%u" then entries[op] = entry_of(given) end
    end
  end
  found[name] = entries
  return entries
end

--- What describes a node's op: { run, static, is_random }; nil and why there is nothing.
function ops.find(node)
  local entry = domain(node.domain)[node.op]
  if not entry then return nil, "jfl has no such op" end
  if node.domain ~= "" or (node.opset >= ops.least and node.opset <= ops.most) then return entry end
  return nil, ("its op set must be %d to %d, got %d"):format(ops.least, ops.most, node.opset)
end

return ops
