-- ONNX's Slice beside its definition, for starts, ends and steps on either side of what there is.
local core = require "jfl.core"
local flow = require "jfl"
local ops = require "jfl.onnx.ops_shape"

local EXTENT = 4

-- A node of opset 13, whose lists are known.
local node = {
  opset = 13,
  list = function(_, list) return list end,
  axis = function(_, axis, n) return axis < 0 and axis + n or axis end,
  fail = function(_, ...) error(string.format(...)) end,
}

-- The places that a slice takes, counted from 1: those from first on, as far as before last. It
-- begins within the axis whichever way it goes.
local function places(first, last, step)
  local function from_front(i) return i < 0 and i + EXTENT or i end
  first, last = from_front(first), from_front(last)
  local list = {}
  if step > 0 then
    for i = math.max(first, 0), math.min(last, EXTENT) - 1, step do list[#list + 1] = i + 1 end
  else
    first = math.max(0, math.min(first, EXTENT - 1))
    for i = first, math.max(last, -1) + 1, step do list[#list + 1] = i + 1 end
  end
  return list
end

describe("Slice of ONNX", function()
  teardown(core.reset)

  it("takes what its definition says", function()
    local x = flow.ndarray.array { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } }
    local calls = {}
    for first = -6, 6 do
      for last = -6, 6 do
        for _, step in ipairs { -3, -1, 1, 2 } do calls[#calls + 1] = { first, last, step } end
      end
    end
    local job = flow.global_function { name = "slices", inputs = { flow.float32 { 2, 4 } },
      body = function(blob)
        local list = {}
        for i, call in ipairs(calls) do
          local part = ops.Slice[1](node, blob, { call[1] }, { call[2] }, { -1 }, { call[3] })
          list[i] = #places(unpack(call)) > 0 and part or nil
          assert.same({ 2, #places(unpack(call)) }, part.shape, table.concat(call, " "))
        end
        local whole = {}
        for i = 1, #calls do whole[#whole + 1] = list[i] end
        return flow.concat(whole, 1)
      end }
    local got, at = job(x):totable(), 0
    for _, call in ipairs(calls) do
      for _, place in ipairs(places(unpack(call))) do
        at = at + 1
        assert.same({ place, place + 4 }, { got[1][at], got[2][at] }, table.concat(call, " "))
      end
    end
    assert.equal(at, #got[1])
  end)
end)
