-- ONNX files that are damaged, that ask for what they must not have, and that jfl lacks ops for.
local flow = require "jfl"
local core = require "jfl.core"
local values = require "jfl.onnx.values"
local helper = require "spec.lua.helper"
local made = require "spec.lua.onnx.made"

local folder

local read, write = helper.read, helper.write

local info, node, floats = made.info, made.node, made.floats

local function model(...) return write(folder .. "/m.onnx", made.model(...)) end

-- What the job of a model gives for an array.
local function run(path, x, options)
  flow.clear_default_session()
  local net = flow.onnx.load(path, options or {})
  local job = net:predict { inputs = { flow.typing.Numpy.Placeholder(x.shape,
    { dtype = x.dtype }) } }
  return job(x)
end

local function fails(pattern, nodes, more, fields)
  local path = model(nodes, more, fields)
  assert.error_matches(function() run(path, flow.ndarray.ones { 2, 3 }) end, pattern)
end

describe("a stranger's ONNX file", function()
  setup(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir '" .. folder .. "'") == 0)
  end)
  teardown(function() os.execute("rm -r '" .. folder .. "'") end)

  it("takes inputs of which several extents are free, up to bounds", function()
    local function text_of(name, s) return { name = name, s = s, type = 3 } end
    local path = model({
      node("Shape", { "x" }, { "shape" }),
      node("Einsum", { "x", "w" }, { "a" }, { text_of("equation", "blk,kn->bln") }),
      node("Flatten", { "a" }, { "b" }, { { name = "axis", i = 2, type = 2 } }),
      node("Softmax", { "b" }, { "c" }),
      node("Reshape", { "c", "shape" }, { "y" }) },
      { input = { info("x", { "batch", "length", 3 }) }, output = { info("y", { "batch", "length",
        3 }) }, initializer = { floats("w", { 3, 3 }, { 1, 2, 3, 4, 5, 6, 7, 8, 9 }) } })
    flow.clear_default_session()
    local net = flow.onnx.load(path)
    local job = net:predict { inputs = { flow.float32 { -1, { max = 6 }, 3 } } }
    for batch = 1, 2 do
      for length = 1, 6 do
        local x = flow.ndarray.rand { batch, length, 3 }
        local w = flow.ndarray.array { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } }
        local want = flow.nn.softmax(flow.matmul(x:reshape { -1, 3 }, w))
        local off = flow.math.abs(job(x):reshape { -1, 3 } - want):max()
        assert.is_true(off < 1e-6)
      end
    end
    assert.error_matches(function() job(flow.ndarray.ones { 1, 7, 3 }) end, "1 to 6 long, got 7")
  end)

  it("is refused with all that jfl lacks in one list", function()
    fails("jfl does not have all of it: Det 'first' %(opset 17%): jfl has no such op; "
      .. "Other 'second' %(opset 17%): jfl has no such op", {
        node("Det", { "x" }, { "a" }, nil, "first"), node("Relu", { "a" }, { "b" }),
        node("Other", { "b" }, { "y" }, nil, "second") })
    local report = flow.onnx.check(model { node("Det", { "x" }, { "y" }, nil, "d") })
    assert.same({ { op = "Det", opset = 17, name = "d", why = "jfl has no such op" } },
      report.unsupported)
    report = flow.onnx.check(model({ node("MatMul", { "x", "w" }, { "a" }),
      node("Add", { "a", "b" }, { "y" }) }, { initializer = {
        floats("w", { 3, 2 }, { 1, 2, 3, 4, 5, 6 }), floats("b", { 2 }, { 1, 2 }) } }))
    assert.equal(8, report.weights)
    fails("Relu 'r' %(opset 99%): its op set must be 7 to 28, got 99",
      { node("Relu", { "x" }, { "y" }, nil, "r") }, nil,
      { opset_import = { { version = 99 } } })
  end)

  it("is refused where its graph cannot be", function()
    fails("there is a cycle", { node("Relu", { "y" }, { "a" }), node("Relu", { "a" }, { "y" }) })
    fails("reads 'z', which nothing gives", { node("Add", { "x", "z" }, { "y" }) })
    fails("two things have the name 'y'", { node("Relu", { "x" }, { "y" }),
      node("Abs", { "x" }, { "y" }) })
    fails("two things have the name 'x'", { node("Relu", { "x" }, { "x" }) })
    fails("two tensors have the name 'w'", { node("Add", { "x", "w" }, { "y" }) },
      { initializer = { floats("w", { 1 }, { 1 }), floats("w", { 1 }, { 2 }) } })
    fails("the output of 'g' reads 'y', which nothing gives", {})
    fails("has the attribute 'axis' twice", { node("Softmax", { "x" }, { "y" },
      { { name = "axis", i = 1, type = 2 }, { name = "axis", i = 0, type = 2 } }) })
  end)

  it("is refused where tensors are larger than what it holds", function()
    local function with(tensor)
      return { node("Add", { "x", "w" }, { "y" }) }, { initializer = { tensor } }
    end
    local short = floats("w", { 2, 3 }, { 1, 2 })
    fails("tensor 'w': it must have 24 bytes, got 8", with(short))
    short.dims = { 2 ^ 40, 2 ^ 40 }
    fails("its extents must multiply to at most 2%^47", with(short))
    short.dims = { -2 }
    fails("an extent must be at least 0, got %-2", with(short))
    short.dims = { 1, 1, 1, 1, 1, 1, 1, 1, 1 }
    fails("at most 8 dimensions, got 9", with(short))
    fails("its type must be from 1 to 26, got 77", with { name = "w", dims = { 1 },
      data_type = 77 })
    fails("tensor 'w' %(opset 17%): jfl has no elements of type string",
      with { name = "w", dims = { 1 }, data_type = 8 })
  end)

  it("is refused by the names of the types that jfl lacks", function()
    local LACKS = { [8] = "string", [14] = "complex64", [15] = "complex128" }
    for number, name in pairs(LACKS) do
      local nodes = { node("Add", { "x", "w" }, { "y" }) }
      fails("jfl has no elements of type " .. name .. "%f[^%w]", nodes, {
        initializer = { { name = "w", dims = { 1 }, data_type = number } } })
    end
  end)

  it("has no data but in its folder", function()
    local function outside(location, more)
      local entries = { { key = "location", value = location } }
      for key, value in pairs(more or {}) do
        entries[#entries + 1] = { key = key, value = value }
      end
      return { node("Add", { "x", "w" }, { "y" }) }, { initializer = { { name = "w",
        dims = { 2, 3 }, data_type = 1, data_location = 1, external_data = entries } } }
    end
    write(folder .. "/w.bin", ("\0"):rep(8) .. core.bytes(core.from_table({ 1, 2, 3, 4, 5, 6 },
      "float32")))
    local path = model(outside("w.bin", { offset = "8", length = "24" }))
    assert.equal(27, run(path, flow.ndarray.ones { 2, 3 }):sum())
    for _, location in ipairs { "../w.bin", "/etc/passwd", "a/../../w.bin", "", "a\\..\\w",
      "c:w" } do
      fails("its file must be in the model's folder", outside(location))
    end
    os.execute(("ln -s /etc/passwd '%s/link'"):format(folder))
    os.execute(("ln -s / '%s/root'"):format(folder))
    fails("it leads out of its folder", outside "link")
    fails("it leads out of its folder", outside "root/etc/passwd")
    fails("its file 'none.bin': No such file", outside "none.bin")
    fails("must have 24 bytes from byte 16 on, and ends before", outside("w.bin",
      { offset = "16" }))
    fails("the offset in 'w.bin' must be a whole number, got '%-1'", outside("w.bin",
      { offset = "-1" }))
    fails("it must have 24 bytes in 'w.bin', got 25", outside("w.bin", { length = "25" }))
  end)

  it("is read in a box, from the folder of the box", function()
    local entries = { { key = "location", value = "w.bin" }, { key = "offset", value = "8" } }
    write(folder .. "/w.bin", ("\0"):rep(8) .. core.bytes(core.from_table({ 1, 2, 3, 4, 5, 6 },
      "float32")))
    model({ node("Add", { "x", "w" }, { "y" }) }, { initializer = { { name = "w",
      dims = { 2, 3 }, data_type = 1, data_location = 1, external_data = entries } } })
    local box = flow.sandbox { read = folder }
    local sum = box:run [[
      local flow = require "jfl"
      local net = flow.onnx.load("m.onnx")
      local job = flow.global_function { name = "sum", inputs = { { "x",
        flow.typing.Numpy.Placeholder({ 2, 3 }) } }, returns = flow.typing.Numpy,
        body = function(x) return net(x) end }
      return job(flow.ndarray.ones { 2, 3 }):sum()
    ]]
    assert.equal(27, sum)
    local refused = 'require("jfl").onnx.load "/etc/passwd"'
    assert.error_matches(function() box:run(refused) end, "/etc/passwd: Permission denied")
  end)

  it("is refused where functions have no end", function()
    local own = { name = "F", domain = "d", input = { "a" }, output = { "b" },
      node = { { op_type = "F", domain = "d", input = { "a" }, output = { "b" } } } }
    fails("does it call itself", { { op_type = "F", domain = "d", input = { "x" },
      output = { "y" } } }, nil, { functions = { own } })
    local list = {}
    for i = 1, 12 do               -- each has ten of the next
      local nodes = {}
      for k = 1, 10 do
        nodes[k] = { op_type = "F" .. i + 1, domain = "d", input = { k == 1 and "a" or "t" .. k },
          output = { k == 10 and "b" or "t" .. k + 1 } }
      end
      list[i] = { name = "F" .. i, domain = "d", input = { "a" }, output = { "b" }, node = nodes }
    end
    fails("at most 200000 nodes", { { op_type = "F1", domain = "d", input = { "x" },
      output = { "y" } } }, nil, { functions = list })
    list[13] = { name = "F13", domain = "d", input = { "a" }, output = { "b" } }     -- of no nodes
    fails("its functions must have at most 4000000 fields in all calls", { { op_type = "F1",
      domain = "d", input = { "x" }, output = { "z" } }, node("Relu", { "x" }, { "y" }) }, nil,
      { functions = list })
  end)

  it("is refused where a node has more inputs or results than Lua can hand over", function()
    local names = {}
    for i = 1, 10000 do names[i] = i == 1 and "y" or "y" .. i end
    fails("a node of 'g' must have at most 4000 inputs", { node("Split", { "x" }, names) })
    for i = 1, 10000 do names[i] = "x" end
    fails("a node of 'g' must have at most 4000 inputs", { node("Sum", names, { "y" }) })
  end)

  it("is refused where it computes much more than its tensors when it is described", function()
    local body = { name = "b", input = { info("i", {}, 7), info("go", {}, 9), info "v" },
      output = { info("go", {}, 9), info "w" }, node = {
        node("ConstantOfShape", { "n" }, { "c" }, { { name = "value", t = { dims = { 1 },
          data_type = 3, int32_data = { 1 } }, type = 4 } }),
        node("Gather", { "c", "zero" }, { "one" }), node("Cast", { "one" }, { "f" },
          { { name = "to", i = 1, type = 2 } }), node("Add", { "v", "f" }, { "w" }) } }
    local function whole(name, dims, number)
      return { name = name, dims = dims, data_type = 7, int64_data = { number } }
    end
    for steps, each in pairs { [5] = 2 ^ 26, [4] = 2 ^ 20 } do
      local path = model({ node("Loop", { "m", "", "x" }, { "y" }, { { name = "body", g = body,
        type = 5 } }) }, { initializer = { whole("m", {}, steps), whole("n", { 1 }, each),
          whole("zero", {}, 0) } })
      local ok, sum = pcall(function() return run(path, flow.ndarray.ones { 2, 3 }):sum() end)
      if steps == 4 then assert.equal(30, sum)
      else
        assert.is_false(ok)
        assert.matches("before it runs must have at most 268435504 numbers", sum)
      end
    end
  end)

  it("is refused where each step of a loop copies or walks a sequence that grows", function()
    local function whole(name, number)
      return { name = name, dims = {}, data_type = 7, int64_data = { number } }
    end
    local GROWS = { node("SequenceInsert", { "v", "x" }, { "w" }) }
    for i = 1, 9 do
      GROWS[i + 1] = node("SequenceInsert", { GROWS[i].output[1], "x" }, { "w" .. i })
    end
    GROWS[10].output[1], GROWS[1].output[1], GROWS[2].input[1] = "w", "w0", "w0"
    local body = { name = "b", input = { info("i", {}, 7), info("go", {}, 9), info "v" },
      output = { info("go", {}, 9), info "w" }, node = GROWS }
    local path = model({ node("SequenceEmpty", {}, { "e" }), node("Loop", { "m", "", "e" }, { "l" },
      { { name = "body", g = body, type = 5 } }), node("SequenceAt", { "l", "zero" }, { "y" }) },
      { initializer = { whole("m", 9999), whole("zero", 0) } })
    assert.error_matches(function() run(path, flow.ndarray.ones { 2, 3 }) end,
      "must have at most %d+ numbers and parts of sequences in all")
  end)

  it("has loops that give more rows than Lua hands over at once", function()
    local body = { name = "b", input = { info("i", {}, 7), info("go", {}, 9), info "v" },
      output = { info("go", {}, 9), info "w", info "w" }, node = {
        node("Add", { "v", "one" }, { "w" }) } }
    local count = { name = "m", dims = {}, data_type = 7, int64_data = { 9001 } }
    local path = model({ node("Loop", { "m", "", "one" }, { "last", "rows" },
      { { name = "body", g = body, type = 5 } }), node("Add", { "x", "rows" }, { "y" }) },
      { initializer = { count, floats("one", {}, { 1 }) }, input = { info("x", { 1 }) },
        output = { info("y", { 9001 }) } })
    local y = run(path, flow.ndarray.zeros { 1 }):totable()
    for i = 1, 9001 do assert.equal(i + 1, y[i]) end
  end)

  it("is refused where a number of it says how long something takes", function()
    local function whole(name, ...)
      return { name = name, dims = { select("#", ...) }, data_type = 7, int64_data = { ... } }
    end
    local function scalar(name, number)
      return { name = name, dims = {}, data_type = 7, int64_data = { number } }
    end
    local function int(name, number) return { name = name, i = number, type = 2 } end
    local y = { output = { info("y", { 1 }) } }
    local function refused(pattern, nodes, ...)
      fails(pattern, nodes, { initializer = { ... }, output = y.output })
    end
    refused("num_outputs must be at most 1, got 4.6", { node("Split", { "x" }, { "y" },
      { int("num_outputs", 2 ^ 62) }) })
    refused("the size must be at most 16777216", { node("HannWindow", { "n" }, { "y" }) },
      scalar("n", 2 ^ 40))
    refused("there must be at most 2^26 numbers, got 1e%+12", { node("Range", { "a", "b", "c" },
      { "y" }) }, scalar("a", 0), scalar("b", 1e12), scalar("c", 1))
    for _, each in ipairs { 0, -1 } do
      refused("split must be at least 1", { node("SplitToSequence", { "x", "n" }, { "s" },
        { int("axis", 1) }), node("SequenceAt", { "s", "i" }, { "y" }) }, scalar("n", each),
        scalar("i", 0))
    end
    local large = { node("ConstantOfShape", { "n" }, { "c" }) }
    refused("the number of elements must be at most 16777216", { large[1],
      node("EyeLike", { "c" }, { "y" }) }, whole("n", 2 ^ 13, 2 ^ 13))
    local pool = { { name = "kernel_shape", ints = { 2 ^ 20, 2 ^ 20 }, type = 7 },
      { name = "dilations", ints = { 2, 2 }, type = 7 } }
    refused("cells of the window must be at most 10000", { large[1],
      node("MaxPool", { "c" }, { "y" }, pool) }, whole("n", 1, 1, 4, 4))
    local crop = { { name = "mode", s = "linear", type = 3 },
      { name = "coordinate_transformation_mode", s = "tf_crop_and_resize", type = 3 } }
    local path = model({ large[1], node("Resize", { "c", "roi", "s" }, { "y" }, crop) },
      { initializer = { whole("n", 1, 1, 4, 4), floats("s", { 4 }, { 1, 1, 2, 2 }),
        floats("roi", { 8 }, { 0, 0, 1e30, -1e30, 1, 1, 3e38, 0 / 0 }) } })
    assert.same({ 1, 1, 8, 8 }, run(path, flow.ndarray.ones { 2, 3 }).shape)
  end)

  it("is told where a node lacks what its op takes", function()
    local said = "LSTM 'l' %(opset 17%): its inputs and attributes must be those of the op; "
      .. "one is missing or of another kind %(onnx/ops_recurrent.lua:%d+%)"
    fails(said, { node("LSTM", { "", "x" }, { "y" }, nil, "l") })
    fails("Attention 'a' %(opset 23%): its inputs must have 3 or 4 axes, got %(2, 3%)",
      { node("Attention", { "x", "x", "x" }, { "y" }, nil, "a") }, nil,
      { opset_import = { { domain = "", version = 23 } } })
  end)

  it("is refused where scales of blocks do not go with what they scale", function()
    for op, from in pairs { QuantizeLinear = "x", DequantizeLinear = "x8" } do
      for _, block in ipairs { 0, 2 } do
        fails("block_size times its extent must be that of x", { node("Cast", { "x" }, { "x8" },
          { { name = "to", i = 3, type = 2 } }), node(op, { from, "s" }, { "a" },
            { { name = "block_size", i = block, type = 2 } }),
          node("Cast", { "a" }, { "y" }, { { name = "to", i = 1, type = 2 } }) },
          { initializer = { floats("s", { 2, 1 }, { 1, 2 }) } },
          { opset_import = { { domain = "", version = 21 } } })
      end
    end
  end)

  it("has weights of few bits, packed in bytes, in the file and beside it", function()
    -- Two rows of three numbers, of which the last byte has an unused half or more.
    local TYPES = { [22] = { "\x21\xf3\x87", { 1, 2, 3, -1, 7, -8 } },        -- int4
      [21] = { "\x21\xf3\x87", { 1, 2, 3, 15, 7, 8 } },                     -- uint4
      [26] = { "\xe4\x0d", { 0, 1, -2, -1, 1, -1 } },                       -- int2
      [23] = { "\x21\xf3\x87", { 0.5, 1, 1.5, -6, 6, -0 } },                -- float4e2m1
      [17] = { "\x38\xb8\x7e\x01\x00\x40", { 1, -1, 448, 2 ^ -9, 0, 2 } },  -- float8e4m3fn
      [20] = { "\x40\xc0\x7f\x01\x00\x44", { 1, -1, 57344, 2 ^ -17, 0, 2 } } }
    for number, case in pairs(TYPES) do
      local bytes = {}
      for i = 1, #case[1] do bytes[i] = case[1]:byte(i) end
      write(folder .. "/w.bin", "##" .. case[1])
      for _, w in ipairs { { raw_data = case[1] }, { int32_data = bytes }, { data_location = 1,
        external_data = { { key = "location", value = "w.bin" }, { key = "offset", value = "2" } }
        } } do
        w.name, w.dims, w.data_type = "w", { 2, 3 }, number
        local path = model({ node("DequantizeLinear", { "w", "s" }, { "d" }),
          node("Mul", { "d", "x" }, { "y" }) }, { initializer = { w, floats("s", {}, { 2 }) } },
          { opset_import = { { domain = "", version = 25 } } })
        local got = run(path, flow.ndarray.ones { 2, 3 }):reshape({ 6 }):totable()
        for i = 1, 6 do assert.equal(2 * case[2][i], got[i]) end
      end
      local short = { name = "w", dims = { 2, 3 }, data_type = number, raw_data = case[1] .. "x" }
      fails("tensor 'w': it must have " .. #case[1] .. " bytes, got " .. #case[1] + 1, { node(
        "DequantizeLinear", { "w", "s" }, { "y" }) }, { initializer = { short,
          floats("s", {}, { 2 }) } })
    end
  end)

  it("has matrices whose blocks have scales and zero points of their own", function()
    local w = { name = "w", dims = { 2, 4 }, data_type = 21, raw_data = "\x10\x32\x54\x76" }
    local zero = { name = "z", dims = { 2, 2 }, data_type = 21, raw_data = "\x10\x32" }
    local path = model({ node("DequantizeLinear", { "w", "s", "z" }, { "d" },
      { { name = "axis", i = 1, type = 2 }, { name = "block_size", i = 2, type = 2 } }),
      node("Gemm", { "x", "d" }, { "y" }) }, { input = { info("x", { 1, 2 }) },
        output = { info("y", { 1, 4 }) },
        initializer = { w, zero, floats("s", { 2, 2 }, { 1, 10, 100, 1000 }) } },
      { opset_import = { { domain = "", version = 21 } } })
    assert.same({ { 200, 301, 3010, 4020 } }, run(path, flow.ndarray.ones { 1, 2 }):totable())
  end)

  it("has onnxruntime's ops of 8 bits", function()
    local function zero(name, number)
      return { name = name, dims = {}, data_type = 2, int32_data = { number } }
    end
    local inits = { floats("s", {}, { 0.5 }), floats("t", {}, { 0.25 }), zero("z", 4),
      zero("o", 1) }
    local function each(op, inputs, attribute)
      return { op_type = op, domain = "com.microsoft", input = inputs, output = { "q" },
        attribute = { attribute } }
    end
    local two, one = { "a", "s", "z", "a", "s", "z", "t", "o" }, { "a", "s", "z", "t", "o" }
    for op, case in pairs { QLinearAdd = { two, { -0.25, 1, 3 } }, QLinearMul = { two, { 0.25, 0.25,
      2.25 } }, QLinearLeakyRelu = { one, { 0, 0.5, 1.5 }, { name = "alpha", f = 0.25,
      type = 1 } } } do
      local path = model({ node("QuantizeLinear", { "x", "s", "z" }, { "a" }), each(op, case[1],
        case[3]), node("DequantizeLinear", { "q", "t", "o" }, { "y" }) },
        { initializer = inits, input = { info("x", { 3 }) }, output = { info("y", { 3 }) } },
        { opset_import = { { version = 17 }, { domain = "com.microsoft", version = 1 } } })
      assert.same(case[2], run(path, flow.ndarray.array { -0.6, 0.5, 1.5 }):totable())
    end
  end)

  it("has functions in the place of their calls", function()
    local f = { name = "Twice", domain = "d", input = { "a" }, output = { "b" },
      attribute = { "alpha" }, opset_import = { { version = 17 } },
      node = { node("Add", { "a", "a" }, { "s" }), node("LeakyRelu", { "s" }, { "b" },
        { { name = "alpha", type = 1, ref_attr_name = "alpha" } }) } }
    local function call(from, to)
      return { op_type = "Twice", domain = "d", input = { from }, output = { to },
        attribute = { { name = "alpha", f = 0.5, type = 1 } } }
    end
    local path = model({ call("x", "m"), call("m", "y") }, nil, { functions = { f } })
    assert.equal(-6, run(path, flow.ndarray.ones { 2, 3 } * -1):sum())
  end)

  it("runs the branch and the steps that are known", function()
    local function graph(nodes, inputs, outputs)
      return { name = "inner", node = nodes, input = inputs, output = outputs }
    end
    local add = graph({ node("Add", { "x", "x" }, { "b" }) }, {}, { info "b" })
    local sub = graph({ node("Neg", { "x" }, { "c" }) }, {}, { info "c" })
    local yes = { name = "yes", dims = {}, data_type = 9, int32_data = { 1 } }
    local path = model({ node("If", { "yes" }, { "y" }, { { name = "then_branch", g = add,
      type = 5 }, { name = "else_branch", g = sub, type = 5 } }) }, { initializer = { yes } })
    assert.equal(12, run(path, flow.ndarray.ones { 2, 3 }):sum())
    local count = { name = "n", dims = {}, data_type = 7, int64_data = { 3 } }
    local body = graph({ node("Add", { "v", "x" }, { "w" }), node("Identity", { "go" }, { "g" }) },
      { info("i", {}, 7), info("go", {}, 9), info "v" }, { info("g", {}, 9), info "w" })
    path = model({ node("Loop", { "n", "", "x" }, { "y" }, { { name = "body", g = body,
      type = 5 } }) }, { initializer = { count } })
    assert.equal(24, run(path, flow.ndarray.ones { 2, 3 }):sum())
  end)

  it("puts the greatest of what meets in a place, and has gradients for that alone", function()
    local path = model({ node("ScatterElements", { "x", "ids", "u" }, { "y" },
      { { name = "reduction", s = "max", type = 3 } }) },
      { input = { info("x", { 3, 2 }), info("u", { 4, 2 }) }, output = { info("y", { 3, 2 }) },
        initializer = { { name = "ids", dims = { 4, 2 }, data_type = 7,
          int64_data = { 0, 2, 0, 2, -1, 2, 0, 0 } } } }, { opset_import = { {
        domain = "", version = 18 } } })
    flow.clear_default_session()
    local net, tp = flow.onnx.load(path), flow.typing
    local grow = flow.global_function { name = "grow", type = "train", returns = tp.Numpy,
      inputs = { x = tp.Numpy.Placeholder { 3, 2 } }, body = function(x)
        local u = flow.get_variable("u", { 4, 2 }, { initializer = flow.zeros_initializer() })
        local y = net(x, u)
        flow.optimizer.SGD(1):minimize(flow.math.reduce_sum(y))
        return y
      end }
    local x = flow.ndarray.array { { 0, 9 }, { 5, 5 }, { -3, 0 } }
    flow.load_variables { u = flow.ndarray.array { { 1, 2 }, { 7, 3 }, { -1, -4 }, { 4, 8 } } }
    assert.equal("[[ 7.  9.]\n [ 5.  5.]\n [-1.  3.]]", tostring(grow(x)))
    assert.equal("[[ 1.  2.]\n [ 6.  2.]\n [-2. -4.]\n [ 4.  8.]]",
      tostring(flow.get_all_variables().u))
  end)

  it("transforms frames of a sound as its spectrum says", function()
    local turn, list, frame = 2 * math.pi / 8, {}, {}
    for i = 0, 15 do list[i + 1] = 3 * math.cos(2 * turn * i) + math.sin(turn * i) end
    for i = 1, 8 do frame[i] = 1 end
    local path = model({ node("STFT", { "x", "step", "window" }, { "y" }) },
      { input = { info("x", { 1, 16 }) }, output = { info("y", { 1, 3, 5, 2 }) },
        initializer = { { name = "step", dims = {}, data_type = 7, int64_data = { 4 } },
          floats("window", { 8 }, frame) } })
    local y = run(path, flow.ndarray.array(list, flow.float32):reshape { 1, 16 })
    assert.same({ 1, 3, 5, 2 }, { unpack(y.shape) })
    local places = { [1] = { 0, -4 }, [2] = { 12, 0 } }      -- of a cosine and a sine of 8 steps
    for at = 0, 2 do
      for k = 0, 4 do
        local want = places[k] or { 0, 0 }
        local sign = at == 1 and k == 1 and -1 or 1          -- which begins half a turn later
        assert.is_true(math.abs(y[{ 1, at + 1, k + 1, 1 }] - sign * want[1]) < 1e-5)
        assert.is_true(math.abs(y[{ 1, at + 1, k + 1, 2 }] - sign * want[2]) < 1e-5)
      end
    end
    assert.error_matches(function()
      run(path, flow.ndarray.ones { 1, 7 })
    end, "must")
  end)

  it("is scanned from either end", function()
    local x = flow.ndarray.array { { 1, 2, 4 }, { 8, 16, 32 } }
    local body = { name = "inner", node = { node("Add", { "s", "row" }, { "t" }),
      node("Identity", { "t" }, { "each" }) }, input = { info("s", { 2 }), info("row", { 2 }) },
      output = { info("t", { 2 }), info("each", { 2 }) } }
    local zero = floats("zero", { 2 }, { 0, 0 })
    local function scan(from, to)
      local function ints(name, n) return { name = name, ints = { n }, type = 7 } end
      local path = model({ node("Scan", { "zero", "x" }, { "last", "y" }, {
        { name = "body", g = body, type = 5 }, { name = "num_scan_inputs", i = 1, type = 2 },
        ints("scan_input_axes", 1), ints("scan_output_axes", -1),
        ints("scan_input_directions", from), ints("scan_output_directions", to) }) },
        { initializer = { zero } })
      return run(path, x):totable()
    end
    assert.same({ { 1, 3, 7 }, { 8, 24, 56 } }, scan(0, 0))
    assert.same({ { 4, 6, 7 }, { 32, 48, 56 } }, scan(1, 0))
    assert.same({ { 7, 3, 1 }, { 56, 24, 8 } }, scan(0, 1))
    assert.same({ { 7, 6, 4 }, { 56, 48, 32 } }, scan(1, 1))
  end)

  it("is a classifier whose classes are numbers", function()
    local function attribute(name, kind, value)
      return { name = name, [kind] = value, type = ({ floats = 6, ints = 7, s = 3 })[kind] }
    end
    local function classify(rows, how)
      local classifier = node("LinearClassifier", { "x" }, { "y", "z" }, {
        attribute("coefficients", "floats", rows == 1 and { 1, 0, -1 } or { 1, 0, -1, 0, 2, 0 }),
        attribute("intercepts", "floats", rows == 1 and { 0.5 } or { 0.5, -3 }),
        attribute("classlabels_ints", "ints", { 5, 9 }), attribute("post_transform", "s", how) })
      classifier.domain = "ai.onnx.ml"
      local path = model({ classifier }, { output = { info("y", { 2 }, 7), info("z", { 2, 2 }) } },
        { opset_import = { { domain = "", version = 17 },
          { domain = "ai.onnx.ml", version = 1 } } })
      flow.clear_default_session()
      local job = flow.onnx.load(path):predict { inputs = { flow.float32 { 2, 3 } } }
      local labels, scores = job(flow.ndarray.array { { 1, 2, 3 }, { 4, 1, 1 } })
      return labels:totable(), scores:totable()
    end
    local labels, scores = classify(2, "NONE")
    assert.same({ 9, 5 }, labels)
    assert.same({ { -1.5, 1 }, { 3.5, -1 } }, scores)
    labels, scores = classify(1, "NONE")
    assert.same({ 5, 9 }, labels)
    assert.same({ { 1.5, -1.5 }, { -3.5, 3.5 } }, scores)
    labels, scores = classify(1, "LOGISTIC")
    assert.same({ 5, 9 }, labels)
    assert.near(1 / (1 + math.exp(1.5)), scores[1][2], 1e-6)
    assert.near(1, scores[1][1] + scores[1][2], 1e-6)
  end)

  describe("of trees", function()
    local function whole(name, list) return { name = name, ints = list, type = 7 } end
    local function reals(name, list) return { name = name, floats = list, type = 6 } end
    local ML = { opset_import = { { domain = "", version = 17 },
      { domain = "ai.onnx.ml", version = 3 } } }

    -- Two trees: x0 <= 1, and there x1 <= 2; and a leaf alone. change: attributes that differ.
    local function trees(change)
      local attributes = { whole("nodes_treeids", { 0, 0, 0, 0, 0, 7 }),
        whole("nodes_nodeids", { 0, 1, 2, 3, 4, 0 }),
        whole("nodes_featureids", { 0, 1, 0, 0, 0, 0 }),
        reals("nodes_values", { 1, 2, 0, 0, 0, 0 }),
        whole("nodes_truenodeids", { 1, 2, 0, 0, 0, 0 }),
        whole("nodes_falsenodeids", { 4, 3, 0, 0, 0, 0 }),
        { name = "nodes_modes", type = 8,
          strings = { "BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF", "LEAF" } },
        whole("target_treeids", { 0, 0, 0, 7 }), whole("target_nodeids", { 2, 3, 4, 0 }),
        whole("target_ids", { 0, 0, 0, 0 }), reals("target_weights", { 10, 20, 30, 0.5 }),
        reals("base_values", { 100 }) }
      for i, each in ipairs(attributes) do
        if change and change.name == each.name then attributes[i] = change end
      end
      local one = node("TreeEnsembleRegressor", { "x" }, { "y" }, attributes)
      one.domain = "ai.onnx.ml"
      return model({ one }, { input = { info("x", { 4, 2 }) }, output = { info("y", { 4, 1 }) } },
        ML)
    end
    local function rows()
      return flow.ndarray.array { { 1, 2 }, { 0, 3 }, { 1.5, 0 }, { 0 / 0, 0 } }
    end

    it("sums what their leaves give", function()
      assert.equal("[[110.5]\n [120.5]\n [130.5]\n [130.5]]", tostring(run(trees(), rows())))
    end)

    it("is refused where they are none", function()
      for pattern, change in pairs {
        ["two ways"] = whole("nodes_falsenodeids", { 1, 3, 0, 0, 0, 0 }),
        ["leads to none"] = whole("nodes_truenodeids", { 9, 2, 0, 0, 0, 0 }),
        ["nodes_featureids must have 6 numbers"] = whole("nodes_featureids", { 0, 2, 0, 0, 0, 0 }),
        ["nodes_values must have"] = reals("nodes_values", { 1, 2 }),
        ["weight 4"] = whole("target_treeids", { 0, 0, 0, 8 }),
      } do
        assert.error_matches(function() run(trees(change), rows()) end, pattern)
      end
      assert.error_matches(function()
        run(trees(whole("nodes_truenodeids", { 1, 0, 0, 0, 0, 0 })), rows())
      end, "two ways")
    end)

    it("may stand behind columns with holes, and classes", function()
      local fill = node("Imputer", { "x" }, { "full" }, { reals("imputed_value_floats", { 3, 7 }),
        { name = "replaced_value_float", f = 0 / 0, type = 1 } })
      local hot = node("OneHotEncoder", { "full" }, { "y" }, { whole("cats_int64s", { 1, 3 }) })
      fill.domain, hot.domain = "ai.onnx.ml", "ai.onnx.ml"
      local y = run(model({ fill, hot }, { input = { info("x", { 2, 2 }) },
        output = { info("y", { 2, 2, 2 }) } }, ML),
        flow.ndarray.array { { 0 / 0, 1 }, { 5, 3 } })
      assert.equal("[[[0. 1.]\n  [1. 0.]]\n\n [[0. 0.]\n  [0. 1.]]]", tostring(y))
    end)
  end)

  it("normalizes with scales of any shape", function()
    local rows = { { 1, 2, 6 }, { 0, 4, 5 } }
    local function normalize(axis, scale, dims)
      local path = model({ node("LayerNormalization", { "x", "w" }, { "y" },
        { { name = "axis", i = axis, type = 2 } }) },
        { initializer = { floats("w", dims, scale) } })
      return run(path, flow.ndarray.array(rows)):totable()
    end
    local function want(axis, scale)
      local out = {}
      for i = 1, 2 do
        local of, mean, square = {}, 0, 0
        for k = 1, 2 do
          if axis == 0 or k == i then for _, v in ipairs(rows[k]) do of[#of + 1] = v end end
        end
        for _, v in ipairs(of) do mean, square = mean + v / #of, square + v * v / #of end
        out[i] = {}
        for j, v in ipairs(rows[i]) do
          out[i][j] = (v - mean) / math.sqrt(square - mean * mean + 1e-5) * scale(i, j)
        end
      end
      return out
    end
    for _, axis in ipairs { 0, 1, -1 } do
      local kind = axis == 0 and 0 or 1
      for _, each in ipairs {
        { normalize(axis, { 2, 3, 5 }, { 3 }), function(_, j) return ({ 2, 3, 5 })[j] end },
        { normalize(axis, { 2, 3, 5, 7, 8, 9 }, { 2, 3 }),
          function(i, j) return ({ 2, 3, 5, 7, 8, 9 })[3 * i - 3 + j] end },
        { normalize(axis, { 4 }, { 1 }), function() return 4 end },
        { normalize(axis, { 4, 5 }, { 2, 1 }), function(i) return 3 + i end } } do
        local expected = want(kind, each[2])
        for i = 1, 2 do
          for j = 1, 3 do assert.near(expected[i][j], each[1][i][j], 1e-4) end
        end
      end
    end
  end)

  -- The place that stands for one outside of 0 to extent - 1, or nil for none.
  local function place(v, extent, border, aligned)
    local low, high = aligned and 0 or -0.5, aligned and extent - 1 or extent - 0.5
    if border == "zeros" then return v >= 0 and v <= extent - 1 and v or nil end
    while border == "reflection" and low < high and (v < low or v > high) do
      v = v < low and 2 * low - v or 2 * high - v
    end
    return math.min(math.max(v, 0), extent - 1)
  end

  it("is read between its numbers and outside, whatever the extent", function()
    local n = 24
    for case = 0, 4 * 2 * 3 * 2 - 1 do
      local extent, aligned = ({ 1, 2, 3, 5 })[case % 4 + 1], math.floor(case / 4) % 2 == 1
      local border = ({ "zeros", "border", "reflection" })[math.floor(case / 8) % 3 + 1]
      local mode = ({ "linear", "nearest" })[math.floor(case / 24) + 1]
      local grid = flow.random.uniform({ 2, n, 1 }, { minval = -3, maxval = 3 })
      local path = model({ node("GridSample", { "x", "grid" }, { "y" }, {
        { name = "mode", s = mode, type = 3 }, { name = "padding_mode", s = border, type = 3 },
        { name = "align_corners", i = aligned and 1 or 0, type = 2 } }) }, {
        input = { info("x", { 2, 1, extent }) }, output = { info("y", { 2, 1, n }) },
        initializer = { floats("grid", { 2, n, 1 }, grid:reshape({ -1 }):totable()) } },
        { opset_import = { { domain = "", version = 20 } } })
      local x = flow.ndarray.rand { 2, 1, extent }
      local y = run(path, x)
      for b = 1, 2 do
        local function at(v)
          local i = place(v, extent, border, aligned)
          return i and x[{ b, 1, i + 1 }] or 0
        end
        for i = 1, n do
          local g = grid[{ b, i, 1 }] + 1
          local v = aligned and g * (extent - 1) / 2 or (g * extent - 1) / 2
          if border ~= "zeros" then v = place(v, extent, border, aligned) end
          local first = math.floor(v)
          local want = mode == "nearest" and at(math.floor(v + 0.5))
            or at(first) * (first + 1 - v) + at(first + 1) * (v - first)
          assert.near(want, y[{ b, 1, i }], 1e-5, ("%s %s %d"):format(mode, border, extent))
        end
      end
    end
  end)

  it("turns a part of each vector, and leaves the rest", function()
    local function number(name, n) return { name = name, i = n, type = 2 } end
    local function turn(size, dims, interleaved)
      local tables = { floats("cos", { 1, 2, 1 }, { 0.6, 0.8 }),
        floats("sin", { 1, 2, 1 }, { 0.8, 0.6 }) }
      local path = model({ node("RotaryEmbedding", { "x", "cos", "sin" }, { "y" },
        { number("rotary_embedding_dim", dims), number("interleaved", interleaved) }) },
        { initializer = tables, input = { info("x", { 1, 1, 2, size }) },
          output = { info("y", { 1, 1, 2, size }) } },
        { opset_import = { { domain = "", version = 23 } } })
      local x = {}
      for i = 1, 2 do
        x[i] = {}
        for k = 1, size do x[i][k] = 10 * i + k end
      end
      return run(path, flow.ndarray.array { { x } }):totable()[1][1]
    end
    local function near(want, got)
      for i = 1, 2 do
        for k = 1, #want[i] do assert.near(want[i][k], got[i][k], 1e-4, i .. " " .. k) end
      end
    end
    local function turned(row, c, s) return c * row[1] - s * row[2], s * row[1] + c * row[2] end
    local want = { { turned({ 11, 12 }, 0.6, 0.8) }, { turned({ 21, 22 }, 0.8, 0.6) } }
    for interleaved = 0, 1 do
      near(want, turn(2, 0, interleaved))
      near(want, turn(2, 2, interleaved))
      near({ { want[1][1], want[1][2], 13, 14, 15 }, { want[2][1], want[2][2], 23, 24, 25 } },
        turn(5, 2, interleaved))
    end
  end)

  it("may give a constant, and other results than its own", function()
    local w = floats("w", { 2 }, { 3, 5 })
    local path = model({ node("Relu", { "x" }, { "a" }), node("Identity", { "w" }, { "y" }),
      node("Neg", { "a" }, { "z" }) }, { initializer = { w }, output = { info("y", { 2 }),
      info "z" } })
    assert.same({ 3, 5 }, run(path, flow.ndarray.ones { 2, 3 }, { outputs = { "y" } }):totable())
    assert.equal(6, run(path, flow.ndarray.ones { 2, 3 }, { outputs = { "a" } }):sum())
    assert.error_matches(function() flow.onnx.load(path, { outputs = "a" }) end,
      "outputs must be a table, got string 'a'")
    assert.error_matches(function() flow.onnx.load(path, { outputs = { 1 } }) end,
      "outputs must be a string, got number 1")
  end)

  it("chooses by conditions that are not known when the job is described", function()
    local function graph(nodes, inputs, outputs)
      return { name = "inner", node = nodes, input = inputs, output = outputs }
    end
    local function run_both(path, flag, options)
      flow.clear_default_session()
      local job = flow.onnx.load(path, options or {}):predict { inputs = { flow.float32 { 2, 3 },
        flow.typing.Numpy.Placeholder({}, { dtype = "float32" }) } }
      return job(flow.ndarray.ones { 2, 3 }, values.scalar(flag, "float32")):sum()
    end
    local inputs = { info "x", info("s", {}) }
    local add = graph({ node("Add", { "x", "x" }, { "b" }) }, {}, { info "b" })
    local sub = graph({ node("Neg", { "x" }, { "c" }) }, {}, { info "c" })
    local path = model({ node("Cast", { "s" }, { "yes" }, { { name = "to", i = 9, type = 2 } }),
      node("If", { "yes" }, { "y" }, { { name = "then_branch", g = add, type = 5 },
        { name = "else_branch", g = sub, type = 5 } }) }, { input = inputs })
    assert.equal(12, run_both(path, 1))
    assert.equal(-6, run_both(path, 0))
    -- Adds x to itself while the sum of all is less than s, at most 3 times.
    local count = { name = "n", dims = {}, data_type = 7, int64_data = { 3 } }
    local body = graph({ node("Add", { "v", "x" }, { "w" }), node("ReduceSum", { "w" }, { "t" },
      { { name = "keepdims", i = 0, type = 2 } }), node("Less", { "t", "s" }, { "g" }) },
      { info("i", {}, 7), info("go", {}, 9), info "v" }, { info("g", {}, 9), info "w" })
    path = model({ node("Loop", { "n", "", "x" }, { "y" }, { { name = "body", g = body,
      type = 5 } }) }, { input = inputs, initializer = { count } })
    assert.equal(12, run_both(path, 5))
    assert.equal(18, run_both(path, 13))
    assert.equal(24, run_both(path, 99))
    -- The same as often as s says.
    local steps = graph({ node("Add", { "v", "x" }, { "w" }), node("Identity", { "go" }, { "g" }) },
      { info("i", {}, 7), info("go", {}, 9), info "v" }, { info("g", {}, 9), info "w" })
    local function loop(outputs)
      return model({ node("Cast", { "s" }, { "n" }, { { name = "to", i = 7, type = 2 } }),
        node("Loop", { "n", "", "x" }, outputs, { { name = "body", g = steps, type = 5 } }) },
        { input = inputs })
    end
    for times, sum in pairs { [-1] = 6, [0] = 6, [1] = 12, [3] = 24, [4] = 30, [9] = 30 } do
      assert.equal(sum, run_both(loop { "y" }, times, { loop_steps = 4 }))
    end
    assert.error_matches(function() run_both(loop { "y" }, 1) end, "the trip count must be known")
    table.insert(steps.node, node("Identity", { "w" }, { "each" }))
    table.insert(steps.output, info "each")
    assert.error_matches(function() run_both(loop { "y", "rows" }, 1, { loop_steps = 4 }) end,
      "the trip count must be known when the job is described, as it gives a row a step")
    local flat = node("Flatten", { "x" }, { "c" }, { { name = "axis", i = 0, type = 2 } })
    local other = graph({ flat }, {}, { info("c", { 1, 6 }) })
    path = model({ node("Cast", { "s" }, { "yes" }, { { name = "to", i = 9, type = 2 } }),
      node("If", { "yes" }, { "y" }, { { name = "then_branch", g = add, type = 5 },
        { name = "else_branch", g = other, type = 5 } }) }, { input = inputs })
    assert.error_matches(function() run_both(path, 1) end,
      "the condition must be known .* what branches give is not alike: float32 %(2, 3%) and")
  end)

  it("gives as much as numbers say, at once and later", function()
    local path = model({ node("NonZero", { "x" }, { "places" }),
      node("Transpose", { "places" }, { "rows" }), node("GatherND", { "x", "rows" }, { "y" }),
      node("ReduceMax", { "y" }, { "most" }, { { name = "keepdims", i = 0, type = 2 } }) },
      { output = { info("y", { "n" }), info("rows", { "n", 2 }), info("most", {}) } })
    local x = flow.ndarray.array { { 0, -3, 0 }, { -1, 0, -2 } }
    flow.clear_default_session()
    local net = flow.onnx.load(path)
    local job = net:predict { inputs = { flow.float32 { 2, 3 } } }
    local y, rows, most = job(x)
    assert.same({ -3, -1, -2 }, y:totable())
    assert.same({ { 0, 1 }, { 1, 0 }, { 1, 2 } }, rows:totable())
    assert.equal(-1, most:item())
    assert.same({ 0, 2 }, select(2, job(x * 0)).shape)
    local later = net:predict { name = "later", inputs = { flow.float32 { 2, 3 } },
      returns = flow.typing.Callback(flow.typing.Tuple(flow.typing.Numpy, flow.typing.Numpy,
        flow.typing.Numpy)) }
    local got
    later(x)(function(value) got = value[1]:totable() end)
    flow.sync()
    assert.same({ -3, -1, -2 }, got)
  end)

  it("is refused where what is not there would count", function()
    local places = node("NonZero", { "x" }, { "p" })
    local function whole(name, ...)
      return { name = name, dims = { select("#", ...) }, data_type = 7, int64_data = { ... } }
    end
    -- Their order turned around, all but the last, and each beside each.
    for _, each in ipairs { { -1, -100, -1 }, { 0, -1, 1 } } do
      fails("Slice %(opset 17%): the extent of its input depends on numbers", { places,
        node("Slice", { "p", "from", "to", "on", "by" }, { "y" }) }, { initializer = {
          whole("from", each[1]), whole("to", each[2]), whole("on", 1), whole("by", each[3]) } })
    end
    fails("Add %(opset 17%): the extent of its input depends on numbers", { places,
      node("Transpose", { "p" }, { "t" }), node("Unsqueeze", { "t", "last" }, { "u" }),
      node("Add", { "p", "u" }, { "y" }) }, { initializer = { whole("last", 2) } })
    for op, pattern in pairs { CumSum = "CumSum %(opset 17%): the extent of its input depends on "
      .. "numbers, along an axis that it does not keep", Softmax = "along an axis that it does" } do
      fails(pattern, { places, node("Cast", { "p" }, { "f" }, { { name = "to", i = 1,
        type = 2 } }), node(op, { "f", op == "CumSum" and "one" or nil }, { "y" }) },
        { initializer = { { name = "one", dims = {}, data_type = 7, int64_data = { 1 } } } })
    end
  end)

  it("goes on beside an axis as long as numbers say, and along none by default", function()
    local places, turned = node("NonZero", { "x" }, { "p" }), node("Transpose", { "p" }, { "t" })
    local x = flow.ndarray.array { { 0, -3, 0 }, { -1, 0, -2 } }
    -- Of two rows, or columns, that are to be computed along each, the first result.
    local ROWS, COLUMNS = { { 0, 1, 1 }, { 1, 0, 2 } }, { { 0, 1 }, { 1, 0 }, { 1, 2 } }
    local AXES = { Softmax = "rows", LogSoftmax = "rows", LayerNormalization = "rows",
      Split = "columns" }
    for op, axis in pairs(AXES) do
      for from, numbers in pairs { p = ROWS, t = COLUMNS } do
        local weight = op == "LayerNormalization" and "one" or nil
        local nodes = { places, turned, node("Cast", { from }, { "f" },
          { { name = "to", i = 1, type = 2 } }),
          node(op, { "f", weight }, op == "Split" and { "y", "z" } or { "y" }) }
        local parts = { initializer = { floats("one", { 2 }, { 1, 1 }) } }
        if (from == "p") == (axis == "rows") then
          fails(op .. " %(opset 17%): the extent of its input depends on numbers", nodes, parts)
        else
          local got = run(model(nodes, parts), x)
          local own = flow.ndarray.array(numbers)
          local want = op == "Split" and own[1]:reshape { 1, 3 }
            or op == "LayerNormalization" and (own - own:mean(-1, true))
              / (((own - own:mean(-1, true)) ^ 2):mean(-1, true) + 1e-5) ^ 0.5
            or flow.nn[op == "Softmax" and "softmax" or "logsoftmax"](own)
          assert.near(0, flow.math.abs(got - want):max(), 1e-5, op)
        end
      end
    end
  end)

  it("says what must be known, and takes it as a constant", function()
    local path = model({ node("Reshape", { "x", "s" }, { "y" }) },
      { input = { info "x", info("s", { 1 }, 7) } })
    local two = { flow.float32 { 2, 3 }, flow.typing.Numpy.Placeholder({ 1 },
      { dtype = "int64" }) }
    flow.clear_default_session()
    local job = flow.onnx.load(path):predict { inputs = two }
    local six = core.from_table({ 6 }, "int64")
    assert.error_matches(function() job(flow.ndarray.ones { 2, 3 }, six) end,
      "Reshape %(opset 17%): the shape must be known when the job is described")
    assert.same({ 6 }, run(path, flow.ndarray.ones { 2, 3 }, { constants = { s = six } }).shape)
  end)

  -- Numbers that ops ask for, by input; shape: that of x.
  local ASKED = {
    { "ConstantOfShape", { [1] = { 2, 2 } } },
    { "Range", { [1] = { 1 }, [2] = { 7 }, [3] = { 2 } } },
    { "ReduceSum", { [2] = { 1 } } }, { "CumSum", { [2] = { 1 } } },
    { "Reshape", { [2] = { 3, 2 } } }, { "Squeeze", { [2] = { 0 } }, shape = { 1, 2, 3 } },
    { "Unsqueeze", { [2] = { 1 } } }, { "Expand", { [2] = { 2, 2, 3 } } },
    { "Tile", { [2] = { 1, 2 } } }, { "Split", { [2] = { 2 } } },
    { "Slice", { [2] = { 1 }, [3] = { 3 }, [4] = { 1 }, [5] = { 2 } } },
    { "TopK", { [2] = { 2 } } },
    { "Pad", { [2] = { 0, 1, 0, 2 } } }, { "Trilu", { [2] = { 1 } } },
    { "ReverseSequence", { [2] = { 2, 1, 2 } } },
    { "Resize", { [4] = { 4, 3 } } },
  }

  it("knows what constants become that an op asks the numbers of", function()
    for _, row in ipairs(ASKED) do
      local op, got = row[1], {}
      for as = 1, 2 do
        local nodes, tensors, inputs, last = {}, {}, { "x" }, 0
        for i, numbers in pairs(row[2]) do
          local dims = op == "Range" and {} or { #numbers }
          if as == 1 then
            tensors[#tensors + 1] = { name = "k" .. i, dims = dims, data_type = 7,
              raw_data = core.bytes(core.from_table(numbers, "int64")) }
          else
            tensors[#tensors + 1] = floats("f" .. i, dims, numbers)
            nodes[#nodes + 1] = node("Cast", { "f" .. i }, { "k" .. i },
              { { name = "to", i = 7, type = 2 } })
          end
          inputs[i], last = "k" .. i, math.max(last, i)
        end
        for i = 1, last do inputs[i] = inputs[i] or "" end
        nodes[#nodes + 1] = node(op, inputs, { "y" })
        local shape = row.shape or { 2, 3 }
        local path = model(nodes, { initializer = tensors, input = { info("x", shape) } })
        got[as] = run(path, flow.ndarray.arange(6):astype "float32":reshape(shape))
      end
      assert.same(got[1].shape, got[2].shape, op)
      assert.same(got[1]:totable(), got[2]:totable(), op)
    end
  end)

  it("says which inputs it takes", function()
    local path = model { node("Relu", { "x" }, { "y" }) }
    assert.error_matches(function() run(path, flow.ndarray.ones { 2, 4 }) end,
      "input 'x' must be float32 %(2, 3%), got float32 %(2, 4%)")
    assert.error_matches(function() flow.onnx.load(path, { constants = { z = flow.ndarray.ones { 1 }
      } }) end, "has no input 'z'")
    assert.error_matches(function() flow.onnx.load(folder .. "/none.onnx") end, "No such file")
    assert.error_matches(function() flow.onnx.load(write(folder .. "/t.onnx", "no model")) end,
      "it must be an ONNX model, got a file of another kind")
  end)

  it("is an error or a model where bytes of it are others, never more", function()
    local seed = 7
    local function random(n)
      seed = (seed * 16807) % 2147483647
      return seed % n
    end
    local text = read "spec/lua/onnx/cases/mlp.onnx"
    local refused = 0
    for i = 1, 400 do
      local at, changed = random(#text) + 1
      if i % 4 == 0 then changed = text:sub(1, at)
      else changed = text:sub(1, at - 1) .. string.char(random(256)) .. text:sub(at + 1) end
      local path = write(folder .. "/changed.onnx", changed)
      local ok, err = pcall(run, path, flow.ndarray.ones { 2, 4 })
      if not ok then
        refused = refused + 1
        assert.equal("string", type(err))
        assert.is_nil(err:find "attempt to", err)
        assert.is_nil(err:find "not enough memory", err)
      end
    end
    assert.is_true(refused > 100)
  end)
end)
