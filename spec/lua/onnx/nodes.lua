-- Runs node tests of the Python package onnx, which are folders with a model, its inputs and its
-- results, in jobs. An input that an op must know when the job is described, such as the shape of a
-- Reshape, is fixed by { constants = ... } when the test runs again.
local flow = require "jfl"
local core = require "jfl.core"
local model = require "jfl.onnx.model"
local protobuf = require "jfl.onnx.protobuf"
local schema = require "jfl.onnx.schema"
local tensor = require "jfl.onnx.tensor"

local nodes = {}

local function read_tensor(path)
  local file = assert(core.file_open(path))
  local source = protobuf.of_file(path, file)
  local value = tensor.of(protobuf.decode(source, schema, "TensorProto"), source).read()
  core.file_close(file)
  return value
end

--- A node test in a folder: its tensors by kind and number, and the tolerances.
function nodes.read(folder, name)
  local at = folder .. "/" .. name
  local case = { name = name, path = at .. "/model.onnx", input = {}, output = {}, kinds = {} }
  for line in io.lines(at .. "/about") do
    local kind, i, what = line:match "^(%a+) (%d+) (%S+)"
    if kind then
      local ok, value = false, nil
      if what == "tensor" then
        ok, value = pcall(read_tensor, ("%s/%s_%s.pb"):format(at, kind, i))
      end
      if what ~= "none" then case[kind][i + 1] = ok and value or { why = value or what } end
      case["n_" .. kind] = i + 1
    else
      case.rtol, case.atol = line:match "(%S+) (%S+)"
    end
  end
  return case
end

local function close(want, got, case)
  if table.concat(want.shape, ",") ~= table.concat(got.shape, ",") then
    return ("its shape is (%s), not (%s)"):format(table.concat(got.shape, ", "),
      table.concat(want.shape, ", "))
  end
  local n = 1
  for _, extent in ipairs(want.shape) do n = n * extent end
  if n == 0 then return nil end
  local a, b = core.to_table(core.reshape(want, { n })), core.to_table(core.reshape(got, { n }))
  for i = 1, n do
    local x, y = tonumber(a[i]), tonumber(b[i])
    local same = x == y or x ~= x and y ~= y
    local far = math.abs(x - y) / (case.atol + case.rtol * math.abs(x))
    if not same and (far > 1 or far ~= far) then
      return ("number %d is %g, not %g"):format(i, y, x)
    end
  end
end

-- What a model gives for the inputs of a test, of which these are fixed, or nil and why not.
local function run(case, fixed, path)
  flow.clear_default_session()
  local m = model.open(path)
  local constants, types, values = {}, {}, {}
  for i, input in ipairs(m.graph.inputs) do
    local value = case.input[i]
    if value == nil then return nil, "an optional input is left out" end
    if type(value) == "table" then return nil, "an input is no tensor: " .. tostring(value.why) end
    if fixed[input.name] then
      constants[input.name] = value
    else
      types[#types + 1] = flow.typing.Numpy.Placeholder(value.shape, { dtype = value.dtype })
      values[#values + 1] = value
    end
  end
  local net = flow.onnx.load(path, { constants = constants, name = "node" })
  local job = net:predict { inputs = types }
  return { job(unpack(values)) }
end

-- What a run with these inputs fixed gives: nil, or why it is not what the test says.
local function attempt(case, fixed)
  local got, wrong = run(case, fixed, case.path)
  case.fixed, case.got = fixed, got
  if not got then return wrong end
  for i, want in pairs(case.output) do
    if type(want) == "table" then return "a result is no tensor: " .. tostring(want.why) end
    local why = close(want, got[i], case)
    if why then return ("result %d: %s"):format(i, why) end
  end
end

local function words(err)
  return (tostring(err):gsub("^[^\n]-:%d+: ", ""):gsub("\n.*", ""):gsub("%S*model%.onnx: ", ""))
end

-- Fixes all inputs of integers of one axis or none at first, then all.
local function fixed_inputs(case, round)
  local m, fixed, names = model.open(case.path), {}, {}
  for i, input in ipairs(m.graph.inputs) do
    local a = case.input[i]
    local small = a and type(a) ~= "table" and #a.shape <= 1
    if round == 2 and small and a.dtype:find "int" or round == 3 and small or round == 4 then
      fixed[input.name] = true
      names[#names + 1] = input.name
    end
  end
  return fixed, names
end

--- Runs a test: "passes", "fixed" and the inputs that were, or "fails" and why.
function nodes.verdict(case)
  local ok, why = pcall(attempt, case, {})
  if ok and not why then return "passes" end
  local first = words(why)
  if not first:find "must be known when the job is described" then return "fails", first end
  for round = 2, 4 do
    local fixed, names = fixed_inputs(case, round)
    ok, why = pcall(attempt, case, fixed)
    if ok and not why then return "fixed", table.concat(names, " ") end
  end
  return "fails", words(why)
end

-- An attribute is a float32, what stands in its place may have more bits.
local ROUNDED = { rtol = 1e-6, atol = 1e-12 }

--- Of a test that passed: nil where a model beside its own gives the same, or why it does not.
function nodes.differs(case, name)
  local got = run(case, case.fixed, (case.path:gsub("model%.onnx$", name)))
  for i, want in ipairs(case.got) do
    local why = close(want, got[i], ROUNDED)
    if why then return ("result %d of %s: %s"):format(i, name, why) end
  end
end

nodes.words = words

return nodes
