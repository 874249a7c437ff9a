--- Ops that move elements: the CPU's fast kernel gives what the plain one gives, for sizes that
-- take one part or several, runs that are long, short or a number, axes in any order, and results
-- that lie in their input's memory.
local core = require "jfl.core"
local flow = require "jfl"
local nd = flow.ndarray

teardown(core.reset)

local DTYPES = { "float32", "float64", "int8", "float16", "int32" }

local function numbers(shape, dtype)
  local n = 1
  for _, d in ipairs(shape) do n = n * d end
  local x = nd.arange(n)
  local values = x - flow.math.floor(x / 101) * 101
  return flow.cast(values:reshape(unpack(shape)), flow[dtype])
end

--- Fails unless the op gives the same bytes by both kernels, from several threads too.
local function check(name, shapes, options)
  local takes_list = name == "concat" or name == "stack"
  for i, dtype in ipairs(DTYPES) do
    local arrays = {}
    for j, shape in ipairs(shapes) do arrays[j] = numbers(shape, dtype) end
    local function run(kernels)
      core.set("kernels", kernels)
      core.set("threads", i % 3 + 1)
      local op = core.op(name)
      if takes_list then return { op(arrays, options) } end
      if arrays[2] then return { op(arrays[1], arrays[2], options) } end
      return { op(arrays[1], options) }
    end
    local want, got = run "reference", run "fast"
    for j, a in ipairs(want) do
      assert.equal(core.bytes(a), core.bytes(got[j]), ("%s of %s"):format(name, dtype))
    end
  end
end

describe("the fast kernel of ops that move elements", function()
  it("cuts boxes", function()
    check("slice", { { 9, 41 } }, { begin = { 2, 3 }, size = { 5, 24 } })
    check("slice", { { 70, 500, 7 } }, { begin = { 1, 3, 2 }, size = { 68, 490, 2 } })
    check("slice", { { 200000 } }, { begin = { 3 }, size = { 190001 } })
    check("strided_slice_grad", { { 65, 300, 3 } }, { begin = { 2, 1, 1 }, step = { 1, 1, 1 },
      shape = { 70, 310, 5 } })
    check("strided_slice_grad", { { 5 } }, { begin = { 2 }, step = { 1 }, shape = { 100003 } })
  end)

  it("takes and puts elements that lie apart", function()
    for _, step in ipairs { -1, 2, -2, 3 } do
      local begin = step > 0 and 1 or 2099
      check("strided_slice", { { 40, 2100 } }, { begin = { 3, begin }, step = { 2, step },
        size = { -1, -1 } })
      check("strided_slice_grad", { { 40, 650 } }, { begin = { 3, begin }, step = { 1, step },
        shape = { 47, 2100 } })
      check("strided_slice_update", { { 47, 2100 }, { 40, 650 } }, { begin = { 3, begin },
        step = { 1, step } })
    end
    check("strided_slice", { { 6000, 3, 4 } }, { begin = { 0, 0, 2 }, step = { 2, 1, 1 },
      size = { -1, -1, 2 } })
  end)

  it("joins and parts, by runs, by numbers, in pairs and one after another", function()
    for _, widths in ipairs { { 1, 1 }, { 2, 2 }, { 8, 3 }, { 100, 33, 70 }, { 40000, 30000 } } do
      local rows, list, all = widths[1] > 1000 and 2 or 9001, {}, 0
      for i, n in ipairs(widths) do list[i], all = { rows, n }, all + n end
      check("concat", list, { axis = 1 })
      check("split", { { rows, all } }, { sizes = widths, axis = 1 })
    end
    check("concat", { { 40000 }, { 7 }, { 30001 } }, { axis = 0 })
    check("stack", { { 300, 70 }, { 300, 70 } }, { axis = 2 })
    check("stack", { { 300, 70 }, { 300, 70 }, { 300, 70 } }, { axis = 1 })
  end)

  it("turns, rolls and repeats", function()
    check("transpose", { { 301, 205 } }, { perm = { 1, 0 } })
    check("transpose", { { 3, 40, 170, 2 } }, { perm = { 0, 3, 2, 1 } })
    check("transpose", { { 200, 3, 64 } }, { perm = { 1, 0, 2 } })
    check("transpose", { { 15, 65, 5, 31 } }, { perm = { 3, 0, 2, 1 } })
    check("roll", { { 70, 330, 6 } }, { shift = 5, axis = 1 })
    check("roll", { { 100003 } }, { shift = -40, axis = 0 })
    check("broadcast_to", { { 33, 1, 8 } }, { shape = { 20, 33, 30, 8 } })
    check("broadcast_to", { { 330, 1 } }, { shape = { 330, 700 } })
    check("identity", { { 100003 } })
    check("pad", { { 20, 30, 33 } }, { paddings = { 1, 0, 5, 3, 1, 30 }, constant_value = 2 })
  end)

  it("changes a result that lies in its input's memory", function()
    local x, u = numbers({ 300, 40, 50 }, "float32"), numbers({ 300, 2, 50 }, "float32")
    local job = flow.global_function { name = "put", returns = flow.typing.Numpy,
      inputs = { { "x", flow.typing.Numpy.Placeholder { 300, 40, 50 } },
        { "u", flow.typing.Numpy.Placeholder { 300, 2, 50 } } },
      body = function(a, b)
        return core.op("strided_slice_update")(flow.math.add(a, 1), b,
          { begin = { 0, 7, 0 }, step = { 1, 1, 1 } })
      end }
    local want = core.op("strided_slice_update")(flow.math.add(x, 1), u,
      { begin = { 0, 7, 0 }, step = { 1, 1, 1 } })
    assert.equal(core.bytes(want), core.bytes(job(x, u)))
  end)
end)
