-- flow.onnx.export: what it writes gives the same results when jfl reads it, here for two batch
-- sizes; scripts/oracles/onnx_out.lua has onnxruntime run the same files.
local cases = require "spec.lua.onnx.export_cases"
local core = require "jfl.core"
local counts = require "spec.lua.onnx.counts"
local flow = require "jfl"
local golden = require "spec.golden"
local helper = require "spec.lua.helper"
local jobs = require "spec.lua.onnx.export_helper"
local protobuf = require "jfl.onnx.protobuf"
local schema = require "jfl.onnx.schema"

local tp = flow.typing

local read = helper.read

local function exists(path)
  local file = io.open(path, "rb")
  if file then file:close() end
  return file ~= nil
end

-- The model in a file, as the schema has it.
local function model_of(path)
  return protobuf.decode(protobuf.of_text(path, read(path)), schema, "ModelProto")
end

-- The nodes of a file, a line each: "y = Add(x, const)".
local function listing(path)
  local lines = {}
  for _, node in ipairs(model_of(path).graph.node) do
    lines[#lines + 1] = ("%s = %s(%s)"):format(table.concat(node.output, ", "), node.op_type,
      table.concat(node.input, ", "))
  end
  return table.concat(lines, "\n")
end

local function dims_of(info)
  local dims = {}
  for i, dim in ipairs(info.type.tensor_type.shape.dim or {}) do
    dims[i] = dim.dim_param or dim.dim_value or 0
  end
  return dims
end

-- Runs fn(path) with the path of a file in a folder of its own, and removes both.
local function with_path(fn)
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute(("mkdir '%s'"):format(folder)))
  local ok, err = pcall(fn, folder .. "/model.onnx", folder)
  os.execute(("rm -rf '%s'"):format(folder))
  if not ok then error(err, 0) end
end

-- ---- results ----

local function near(a, b, dtype)
  if a == b or (a ~= a and b ~= b) then return true end
  if dtype == "uint8" then return math.abs(a - b) <= 1 end     -- what lies between is rounded
  return math.abs(a - b) <= 2e-6 + (dtype == "float16" and 2e-3 or 2e-5) * math.abs(b)
end

local function assert_same(name, got, want)
  assert.equal(#want, #got, name)
  for i, array in ipairs(want) do
    local other, label = got[i], ("%s, result %d"):format(name, i)
    assert.equal(array.dtype, other.dtype, label)
    assert.same({ unpack(array.shape) }, { unpack(other.shape) }, label)
    local x, y = other:reshape { -1 }:totable(), array:reshape { -1 }:totable()
    for k = 1, #y do
      assert(near(x[k], y[k], array.dtype), ("%s: %g for %g"):format(label, x[k], y[k]))
    end
  end
end

-- What a file gives for arrays by name.
local function results_of(path, case, arrays)
  local net, inputs = flow.onnx.load(path, { name = "again" }), {}
  for i, input in ipairs(case.inputs) do
    local array = arrays[input[1]]
    inputs[i] = { input[1], tp.Numpy.Placeholder({ unpack(array.shape) }, { dtype = array.dtype }) }
  end
  local job = flow.global_function { name = "again", inputs = inputs, returns = tp.Bundle(tp.Numpy),
    body = function(...)
      local results = { net(...) }
      return #results == 1 and results[1] or results
    end }
  return jobs.results(job, arrays)
end

describe("what a job writes as ONNX", function()
  before_each(flow.clear_default_session)

  for _, case in ipairs(cases) do
    it(("gives the same results as the job: %s"):format(case.name), function()
      with_path(function(path)
        local job, arrays = jobs.job(case)
        local want = { { arrays, jobs.results(job, arrays) } }
        flow.onnx.export(job, path, { batch_size = not case.fixed and "any" or nil })
        if not case.fixed then
          local larger, more = jobs.job(case, 2)
          want[2] = { more, jobs.results(larger, more) }
        end
        for _, each in ipairs(want) do
          flow.clear_default_session()
          assert_same(case.name, results_of(path, case, each[1]), each[2])
        end
      end)
    end)
  end

  it("has the nodes that it had", function()
    local lines = {}
    with_path(function(path)
      for i, case in ipairs(cases) do
        flow.clear_default_session()
        flow.onnx.export(jobs.job(case), path)
        lines[i] = ("%s: %s\n"):format(case.name, counts.text(model_of(path).graph.node, "op_type"))
      end
    end)
    table.sort(lines)
    golden.check("onnx_exports", table.concat(lines))
  end)

  it("is refused where the batch cannot be left free, by the node", function()
    for _, case in ipairs(cases) do
      if case.fixed then
        local job = jobs.job(case)
        helper.fails(function() flow.onnx.export(job, "unused", { batch_size = "any" }) end,
          case.fixed)
      end
    end
    assert.is_false(exists("unused"))
  end)
end)

-- ---- the form of the file ----

local function dense_job(fields)
  local t = { name = "classify", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ 4, 1, 2, 3 }) } },
    body = function(x)
      local y = flow.layers.dense(flow.reshape(x, { x.shape[1], -1 }), 3, { name = "out" })
      return flow.nn.softmax(y, { name = "chances" })
    end }
  for key, value in pairs(fields or {}) do t[key] = value end
  return flow.global_function(t)
end

describe("an ONNX file of a job", function()
  before_each(flow.clear_default_session)

  it("has variables under their names, and a layer as one node", function()
    with_path(function(path)
      flow.onnx.export(dense_job(), path)
      assert.equal("reshape_1 = Reshape(x, const)\n"
        .. "out-bias_add = Gemm(reshape_1, out-weight, out-bias)\n"
        .. "chances = Softmax(out-bias_add)", listing(path))
      local m = model_of(path)
      assert.equal("jfl", m.producer_name)
      assert.equal(17, m.opset_import[1].version)
      local names = {}
      for i, tensor in ipairs(m.graph.initializer) do names[i] = tensor.name end
      assert.same({ "out-weight", "out-bias", "const" }, names)
      assert.same({ 4, 1, 2, 3 }, dims_of(m.graph.input[1]))
      assert.same({ 4, 3 }, dims_of(m.graph.output[1]))
    end)
  end)

  it("has a batch norm as one node with its variables", function()
    with_path(function(path)
      flow.onnx.export(dense_job { body = function(x)
        local y = flow.layers.conv2d(x, 2, 1, { name = "c", use_bias = false })
        return flow.layers.batch_normalization(y, { axis = 1, name = "bn" })
      end }, path)
      assert.equal("c = Conv(x, c-weight)\n"
        .. "bn = BatchNormalization(c, bn-gamma, bn-beta, bn-moving_mean, bn-moving_variance)",
        listing(path))
      assert.equal(5, #model_of(path).graph.initializer)
    end)
  end)

  it("leaves the batch free where that is asked for, or where the job does", function()
    with_path(function(path)
      flow.onnx.export(dense_job(), path, { batch_size = "any" })
      local m = model_of(path)
      assert.same({ "batch", 1, 2, 3 }, dims_of(m.graph.input[1]))
      assert.same({ "batch", 3 }, dims_of(m.graph.output[1]))
      local job = dense_job { name = "any_batch",
        inputs = { { "x", tp.Numpy.Placeholder({ -1, 1, 2, 3 }) } } }
      flow.onnx.export(job, path)
      assert.same({ "batch", 1, 2, 3 }, dims_of(model_of(path).graph.input[1]))
      flow.onnx.export(job, path, { batch_size = 7 })
      assert.same({ 7, 1, 2, 3 }, dims_of(model_of(path).graph.input[1]))
    end)
  end)

  it("calls inputs and results as is asked for", function()
    with_path(function(path)
      local job = dense_job { returns = tp.Dict(tp.Numpy), body = function(x)
        return { sum = flow.math.reduce_sum(x), same = x }
      end }
      local function names(list)
        local out = {}
        for i, each in ipairs(list) do out[i] = each.name end
        return out
      end
      flow.onnx.export(job, path)
      local graph = model_of(path).graph
      assert.same({ { "x" }, { "same", "sum" } }, { names(graph.input), names(graph.output) })
      flow.onnx.export(job, path, { input_names = { "pixels" }, output_names = { sum = "total" } })
      graph = model_of(path).graph
      assert.same({ { "pixels" }, { "same", "total" } },
        { names(graph.input), names(graph.output) })
      assert.equal("same = Identity(pixels)", listing(path):match("same = [^\n]*"))
    end)
  end)

  it("has results that are called as something else is", function()
    with_path(function(path)
      local job = dense_job { body = function(x)
        return flow.math.exp(x, { name = "x_2" }) + flow.math.sin(x)
      end }
      flow.onnx.export(job, path, { output_names = { "x_2" } })
      assert.equal("x_2_2 = Exp(x)\nsin_1 = Sin(x)\nx_2 = Add(x_2_2, sin_1)", listing(path))
    end)
  end)

  it("has results that are variables, under other names", function()
    with_path(function(path)
      local arrays = { x = flow.ndarray.ones({ 4, 1, 2, 3 }) }
      local job = dense_job { returns = tp.Dict(tp.Numpy), body = function(x)
        local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
        return { w = w, x = x }
      end }
      flow.onnx.export(job, path)
      assert.equal("w_2 = Identity(w)\nx_2 = Identity(x)", listing(path))
      assert.same({ { 1, 1 } }, { results_of(path, { inputs = { { "x" } } }, arrays)[1]:totable() })
    end)
  end)

  it("keeps numbers in a file of their own where that is asked for", function()
    with_path(function(path, folder)
      local function make(seed)
        flow.clear_default_session()
        return dense_job { body = function(x)
          return flow.layers.dense(flow.reshape(x, { 4, 6 }), 300, { name = "wide",
            bias_initializer = flow.constant_initializer(seed) })
        end }
      end
      local function bias_of(tensor)
        local entries = {}
        for _, e in ipairs(tensor.external_data) do entries[e.key] = e.value end
        local text = read(folder .. "/" .. entries.location)
        assert.equal("1200", entries.length)
        text = text:sub(entries.offset + 1, entries.offset + 4)
        return core.from_bytes(text, "float32", { 1 })[1], entries.location
      end
      local names = {}
      for seed = 1, 3 do
        flow.onnx.export(make(seed), path, { external_data = true })
        local tensors = model_of(path).graph.initializer
        local value, name = bias_of(tensors[2])
        assert.equal(seed, value)
        assert.equal(nil, tensors[3].external_data)         -- a shape stays in the model
        names[seed] = name
      end
      assert.same({ "model.onnx.data", "model.onnx.2.data", "model.onnx.data" }, names)
      assert.is_false(exists(folder .. "/model.onnx.2.data"))
      flow.onnx.export(make(4), path)
      assert.is_false(exists(folder .. "/model.onnx.data"))
      flow.onnx.export(make(3), path, { external_data = true })
      local case = { inputs = { { "x" } } }
      local arrays = { x = flow.ndarray.ones({ 4, 1, 2, 3 }) }
      local want = jobs.results(make(3), arrays)
      flow.clear_default_session()
      local got = results_of(path, case, arrays)
      assert.same({ unpack(want[1].shape) }, { unpack(got[1].shape) })
    end)
  end)

  it("puts casts around ops that take fewer dtypes than jfl's", function()
    with_path(function(path)
      local case = { inputs = { { "x" } } }
      local arrays = { x = flow.ndarray.ones({ 4, 1, 2, 3 }) }
      local job = dense_job { body = function(x)
        local w = flow.get_variable("w", { shape = { 2, 1, 1, 2 }, dtype = flow.bfloat16,
          initializer = flow.constant_initializer(1.5) })
        local y = flow.nn.conv2d(flow.cast(x, { dtype = flow.bfloat16 }), w, 1, "VALID")
        return flow.cast(flow.nn.elu(y), { dtype = flow.float32 })
      end }
      local want = jobs.results(job, arrays)
      flow.onnx.export(job, path)
      local m = model_of(path)
      assert.equal(16, m.graph.initializer[1].data_type)
      local ops = listing(path):gsub("[^\n]*= (%w+)[^\n]*\n?", "%1 ")
      assert.equal("Cast Cast Cast Conv Cast Cast Elu Cast Cast ", ops)
      flow.clear_default_session()
      assert_same("bfloat16", results_of(path, case, arrays), want)
    end)
  end)

  it("is the same file each time", function()
    with_path(function(path)
      local job = dense_job()
      flow.onnx.export(job, path)
      local first = read(path)
      flow.onnx.export(job, path)
      assert.equal(first, read(path))
    end)
  end)

  it("does nothing to the job", function()
    with_path(function(path)
      local job, x = dense_job(), flow.ndarray.ones({ 4, 1, 2, 3 })
      local before = job(x):totable()
      flow.onnx.export(job, path, { batch_size = "any" })
      assert.same(before, job(x):totable())
    end)
  end)
end)

-- ---- mistakes ----

describe("onnx.export", function()
  before_each(flow.clear_default_session)

  it("lists all nodes that cannot be written, and leaves the old file", function()
    with_path(function(path)
      flow.onnx.export(dense_job(), path)
      local before = read(path)
      local job = dense_job { name = "odd", body = function(x)
        local y = flow.math.lgamma(x, { name = "first" })
        local unused = flow.math.digamma(x)
        return flow.math.reduce_sum(y + flow.random.uniform(x.shape) + unused * 0,
          { name = "unlisted" })
      end }
      local err = helper.fails(function() flow.onnx.export(job, path) end,
        "onnx.export: job 'odd' has 3 nodes that cannot be written for ONNX (opset 17); nothing "
          .. "was written")
      assert.truthy(err:find("\n  lgamma 'first' at [^\n]*export_spec.lua:%d+: ONNX has no form"))
      assert.truthy(err:find("\n  digamma '", 1, true))
      assert.truthy(err:find("\n  random_uniform '", 1, true))
      assert.is_nil(err:find("unlisted", 1, true))
      assert.equal(before, read(path))
    end)
  end)

  it("does not need what no result needs", function()
    with_path(function(path)
      flow.onnx.export(dense_job { body = function(x)
        flow.math.lgamma(x)
        return flow.math.exp(x)
      end }, path)
      assert.equal("exp_1 = Exp(x)", listing(path))
    end)
  end)

  it("says at which node the batch cannot be left free", function()
    local function here() return debug.getinfo(2, "l").currentline - 1 end
    local function fails(body, text)
      local job = dense_job { body = body }
      helper.fails(function() flow.onnx.export(job, "unused", { batch_size = "any" }) end, text)
    end
    fails(function(x) return x * x.shape[1] end, ": its value depends on the batch size")
    fails(function(x) return flow.reshape(x, { 24 }) end,
      "the batch cannot be left free: the body does not take a batch of 8: ")
    fails(function(x) return flow.math.clip_by_value(x, { max_value = x.shape[1] }) end,
      "export_spec.lua:" .. here() .. ": its max_value depends on the batch size")
    fails(function(x) return x + flow.ndarray.ones(x.shape) end,
      "'array_1' (array)")
    fails(function(x) return x.shape[1] > 4 and flow.math.exp(x) or flow.math.sin(x) end,
      "what the body describes here depends on the batch size")
    fails(function(x)
      return x + flow.get_variable("w", { shape = { x.shape[1], 1, 1, 1 },
        initializer = flow.ones_initializer(), reuse = true })
    end, "'w'")
    local function reads_its_own(name, extents_of)
      return function(x)
        return x + flow.get_variable(name .. x.shape[1], { shape = extents_of(x.shape[1]),
          initializer = flow.ones_initializer(), reuse = true })
      end
    end
    fails(reads_its_own("own", function(n) return { n, 1, 1, 1 } end),
      "the shape of 'own4' depends on the batch size and is a variable's")
    fails(reads_its_own("alike", function() return { 1 } end),
      "which variable is read here depends on the batch size")
    assert.is_false(exists("unused"))
  end)

  it("takes jobs that predict, and options that fit them", function()
    local function fails(job, o, text)
      helper.fails(function() flow.onnx.export(job, "unused", o) end, text)
    end
    fails("job", nil, "onnx.export: job must be a job, got string 'job'")
    fails(helper.train("train"), nil, "onnx.export: job must be of type \"predict\", got 'train'")
    local job = dense_job()
    fails(job, { batch_size = 5 }, "onnx.export: batch_size must be 4, which the inputs of job "
      .. "'classify' say, or \"any\", got 5")
    fails(job, { batch_size = "free" }, "batch_size must be a whole number or \"any\", got string")
    fails(job, { input_names = { "a", "b" } }, "input_names must hold 1 name (x), got 2")
    fails(job, { input_names = { y = "a" } }, "input_names must name x, got 'y'")
    fails(job, { output_names = { "" } }, "output_names must hold texts that are not empty")
    fails(job, { output_names = { "x" } },
      "must have names of their own, got 'x' for an input and a result")
    fails(job, { input_names = { "out-bias" } }, "got 'out-bias' for a variable and an input")
    fails(job, { external_data = 1 }, "external_data must be a boolean, got number 1")
    helper.fails(function() flow.onnx.export(job, "/nowhere/at/all.onnx") end, "onnx.export: ")
    assert.is_false(exists("unused"))
    local none = flow.global_function { name = "none", returns = tp.Numpy, inputs = {},
      body = function() return flow.constant(1, { shape = { 2 } }) end }
    fails(none, { batch_size = "any" }, "job 'none' has no input with a first extent")
  end)
end)
