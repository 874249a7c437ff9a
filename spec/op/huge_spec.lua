--- Calls whose extents no memory holds: they fail by a message, and nothing overflows on the way,
--- which the sanitizers would tell. The random ones are in fuzz_spec.lua.
local core = require "jfl.core"
local support = require "spec.op.support"

teardown(core.reset)

-- sums: of the result, which is no result of the plan then.
local function says(message, name, inputs, options, sums)
  it(("%s says: %s"):format(name, message), function()
    core.set("memory_limit", 1e8)
    finally(function() core.set("memory_limit", 0) end)
    local op = core.ops()[name]
    local ok, got = pcall(support.plan, inputs, function(_, blobs)
      local y = support.call(op, { inputs = inputs, options = options }, blobs)
      return { sums and core.op "reduce_sum"(y) or y }
    end)
    if ok then core.plan_free(got) end
    assert.is_false(ok)
    assert.truthy(got:find(message, 1, true), got)
  end)
end

--- The most memory that this process had so far, in bytes; 0 where the system does not tell.
local function peak()
  local file = io.open "/proc/self/status"
  local text = file and file:read "*a" or ""
  if file then file:close() end
  return 1024 * tonumber(text:match "VmHWM:%s*(%d+)" or 0)
end

local function float(...) return { dtype = "float32", shape = { ... } } end
local function half(...) return { dtype = "bfloat16", shape = { ... } } end
local function ids(...) return { dtype = "int32", shape = { ... } } end

describe("of extents that no memory holds", function()
  local labels, times = 2 ^ 30, 2 ^ 30
  says("temporaries take", "ctc_loss", { float(times, 2, 3), ids(2, labels), ids(2), ids(2) })
  local long, before = 2 ^ 26, nil
  setup(function() before = peak() end)
  says("temporaries take", "conv3d", { half(1, 2, long, 4, 5), half(3, 2, long, 3, 2) },
    { padding = "SAME" })
  it("takes little memory to find that out", function()
    assert.is_true(peak() - before < 2 ^ 30, "a table of all places of a window was made")
  end)
  -- Loops over the phases of strides, of which there may be as many as results have cells, would
  -- take hours before the memory of these is looked at.
  for n, stride in ipairs { 2 ^ 30, 300000, 5000 } do
    for _, channels in ipairs { 1, 32 } do
      local filters, dy = { channels, channels }, { 1, channels }
      local strides, size = {}, {}
      for i = 1, n do
        filters[i + 2], dy[i + 2], strides[i], size[i] = 3, 2, stride, stride + 3
      end
      says("temporaries take", ("conv%dd_data_grad"):format(n), { float(unpack(filters)),
        float(unpack(dy)) }, { strides = strides, padding = "VALID", size = size }, true)
    end
  end
  local wide = 2 ^ 40
  says("groups must be at most 8388607 for 1099511627776 channels in each, got 1099511627776",
    "conv2d", { float(1, 3, 4, 4), float(0, wide, 3, 3) }, { groups = wide })
  says("groups must be at most 8388607 for 1099511627776 channels in each, got 1099511627776",
    "conv2d_data_grad", { float(0, wide, 3, 3), float(1, 0, 2, 2) },
    { groups = wide, size = { 4, 4 } })
end)
