--- What ops that move and order elements say of arguments that do not fit, and of indices that name
--- nothing, at once and in a job.
local core = require "jfl.core"
local support = require "spec.op.support"

local says = support.says(it)

teardown(core.reset)

local function zeros(shape, dtype) return core.array(dtype or "float32", shape) end
local function ids(data, dtype) return core.from_table(data, dtype or "int32") end
local x23, x234 = zeros { 2, 3 }, zeros { 2, 3, 4 }

describe("a mistake is named:", function()
  says("gather", "indices must be int32 or int64, got float32", x23, x23)
  says("reshape", "'shape' must be a list of numbers, got a table with the name 'dtype'", x23,
    { shape = { 6, dtype = "float32" } })
  says("flatten", "end_dim must be from -2 to 1, got 2; axes count from 0", x23, { end_dim = 2 })
  says("transpose", "perm must be from -2 to 1, got 2; axes count from 0", x23, { perm = { 2, 0 } })
  says("zeros", "shape must have no negative extent, got -1 on axis 0", { shape = { -1 } })
  says("broadcast_to", "shape must have at most 2^47 elements", zeros { 1 },
    { shape = { 2 ^ 46, 2 ^ 46 } })
  says("gather", "index at position 0 must not be given where there is nothing to name, got 4",
    zeros { 0, 3 }, ids { 4 })
  says("unsorted_segment_sum", "ignored must be -1 or one of 3 segments, got 3", x23,
    ids { 0, 2 }, { num_segments = 3, ignored = 3 })
  says("gather", "batch_dims must be from 0 to 1, got 2", x234, ids { 0 }, { batch_dims = 2 })
  says("gather", "indices must have the first 1 extents of params (2, 3, 4), got (3)", x234,
    ids { 0, 1, 2 }, { batch_dims = 1 })
  says("gather", "padding_idx must be -1 or an index of axis 0 of extent 2, got 2", x23, ids { 0 },
    { padding_idx = 2 })
  says("unsorted_segment_sum", "data must have the extents of segment_ids (2) from axis 1 on, got "
    .. "(2, 3)", x23, ids { { 0, 1 }, { 1, 0 } }, { num_segments = 2, batch_dims = 1 })
  says("gather_nd", "indices must have along the last axis a number for each of the first axes of "
    .. "params (2, 3), got (1, 3)", x23, ids { { 0, 0, 0 } })
  says("gather_nd", "indices must be int32 or int64, got int8", x23, zeros({ 1, 2 }, "int8"))
  says("scatter_nd", "updates must be float32 (1, 3), got float32 (3)", ids { { 1 } }, zeros { 3 },
    { shape = { 2, 3 } })
  says("scatter_nd", "shape must have no negative extent, got -2 on axis 0", ids { { 1 } },
    zeros { 3 }, { shape = { -2, 3 } })
  says("tensor_scatter_nd_update", "updates must be float32 (1), got int32 (1)", x23,
    ids { { 1, 2 } }, ids { 5 })
  says("tensor_scatter_nd_add", "updates must be float32 (1), got float32 (2)", x23,
    ids { { 1, 2 } }, zeros { 2 })
  says("dim_gather", "dim must be from -2 to 1, got 2; axes count from 0", x23, ids { { 0 } },
    { dim = 2 })
  says("dim_gather", "index must have 2 dimensions, and except for axis 1 no larger extents than "
    .. "input (2, 3), got (3, 1)", x23, ids { { 0 }, { 0 }, { 0 } }, { dim = 1 })
  says("dim_scatter_add", "src must be float32 (1, 1) like index, got float32 (2, 3)", x23,
    ids { { 0 } }, x23, { dim = 1 })
  says("strided_slice", "step must not be 0, as on axis 1", x23, { begin = { 0, 0 },
    step = { 1, 0 }, size = { 1, 1 } })
  says("strided_slice", "begin must have 2 numbers, one for each axis, got 1", x23,
    { begin = { 0 }, step = { 1, 1 }, size = { 1, 1 } })
  says("strided_slice", "begin 3 is out of range for axis 1 of extent 3", x23, { begin = { 0, 3 },
    step = { 1, 1 }, size = { 1, 1 } })
  says("strided_slice", "size must be from 0 to 2 on axis 1 of extent 3, from 2 in steps of -2, "
    .. "got 3", x23, { begin = { 0, 2 }, step = { 1, -2 }, size = { 1, 3 } })
  says("strided_slice_update", "update must be float32 like x, got int32; cast converts", x23,
    ids { { 1 } }, { begin = { 0, 0 }, step = { 1, 1 } })
  says("split", "sizes must cut axis into at most 4096 parts, got 5000", zeros { 5000 },
    { sizes = 1 })
  says("pad", "paddings must have two numbers for each of 2 axes, got 3 numbers", x23,
    { paddings = { 1, 2, 3 } })
  says("pad", "paddings must be from 0 to 1 on axis 0 of extent 2 in mode reflect, got 2", x23,
    { paddings = { 2, 0, 0, 0 }, mode = "reflect" })
  says("pad", "paddings must be from 0 to 3 on axis 1 of extent 3 in mode circular, got -1", x23,
    { paddings = { 0, 0, -1, 0 }, mode = "circular" })
  says("pad", "constant_value must fit int32, got 0.5", ids { 1 }, { paddings = { 1, 1 },
    constant_value = 0.5 })
  says("sort", "axis must be from -2 to 1, got -3; axes count from 0", x23, { axis = -3 })
  says("non_max_suppression", "scores must be (batch, classes, boxes) for boxes (1, 3, 4), got "
    .. "(1, 2, 2)", zeros { 1, 3, 4 }, zeros { 1, 2, 2 }, { max_output = 1 })
  says("top_k", "k must be from 0 to 3, the extent of axis 1, got 4", x23, { k = 4 })
  says("cumsum", "axis must be from -2 to 1, got 2; axes count from 0", x23, { axis = 2 })
end)

describe("an index that names nothing is found", function()
  local function finds(name, message, inputs, options)
    it("by " .. name, function()
      local op, call = core.ops()[name], { inputs = inputs, options = options }
      local specs = {}
      for i, a in ipairs(inputs) do specs[i] = { dtype = a.dtype, shape = a.shape } end
      local plan = support.plan(specs, function(_, blobs)
        return { support.call(op, call, blobs) }
      end)
      for _, kernels in ipairs { "fast", "reference" } do
        finally(function() core.set("kernels", "fast") end)
        core.set("kernels", kernels)
        local ok, got = pcall(support.call, op, call, inputs)
        assert.is_false(ok)
        assert.truthy(got:find(message, 1, true), got)
      end
      local ok, got = pcall(core.run, plan, unpack(inputs))
      assert.is_false(ok)
      assert.truthy(got:find(message, 1, true), got)
    end)
  end
  local negative = "index at position 1 must be from 0 to 1, got -1; all count from 0"
  finds("gather", negative, { x23, ids { 0, -1 } })
  finds("gather", "index at position 3 must be from 0 to 2, got 2147483648", { x23,
    ids({ { 0, 1 }, { 2, 2 ^ 31 } }, "int64") }, { batch_dims = 1 })
  finds("gather_nd", "index at position 1 must be from 0 to 2, got 3", { x23, ids { { 1, 3 } } })
  finds("scatter_nd", negative, { ids { { 0 }, { -1 } }, zeros { 2 } }, { shape = { 2 } })
  finds("tensor_scatter_nd_update", negative, { zeros { 2 }, ids { { 0 }, { -1 } }, zeros { 2 } })
  finds("tensor_scatter_nd_add", negative, { zeros { 2 }, ids { { 0 }, { -1 } }, zeros { 2 } })
  finds("dim_gather", negative, { zeros { 2 }, ids { 0, -1 } }, { dim = 0 })
  finds("dim_scatter_add", negative, { zeros { 2 }, ids { 0, -1 }, zeros { 2 } }, { dim = 0 })
  -- Of many indices the first wrong one, whichever part of the loop comes upon one first.
  for _, dtype in ipairs { "int32", "int64" } do
    local many = core.array(dtype, { 100000 })
    many[95001], many[70001] = 2, -1
    local first = "index at position 70000 must be from 0 to 1, got -1"
    finds("gather", first, { zeros { 2 }, many })
    finds("dim_gather", first, { zeros { 2 }, many }, { dim = 0 })
    finds("gather_nd", first, { zeros { 2 }, core.reshape(many, { 100000, 1 }) })
  end
  finds("unsorted_segment_sum", "segment id at position 2 must be from 0 to 1, got 7",
    { zeros { 3 }, ids { 0, 1, 7 } }, { num_segments = 2 })
end)
