-- ONNX's Attention: what jfl's own op gives, and what single steps do where their scores are asked
-- for, in all kinds of calls.
local core = require "jfl.core"
local flow = require "jfl"
local ops = require "jfl.onnx.ops_attention"

local tp = flow.typing

-- A node with these attributes, whose scores are asked for or not.
local function node_with(attributes, by_steps)
  return {
    attr = function(_, name, default)
      if attributes[name] == nil then return default end
      return attributes[name]
    end,
    flag = function(self, name) return self:attr(name, 0) ~= 0 end,
    wants = function(_, i) return by_steps and i == 4 end,
    times = function() end,
    fail = function(_, ...) error(string.format(...)) end,
  }
end

local function attended(attributes, by_steps, arrays, mask)
  flow.clear_default_session()
  local inputs = {}
  for i, a in ipairs(arrays) do
    inputs[i] = { "x" .. i, tp.Numpy.Placeholder(a.shape, { dtype = a.dtype }) }
  end
  local job = flow.global_function { name = "attended", inputs = inputs, returns = tp.Numpy,
    body = function(q, k, v)
      return (ops.Attention(node_with(attributes, by_steps), q, k, v, mask))
    end }
  return core.cast(job(unpack(arrays)), "float64")
end

local MASKS = {
  none = function() end,
  truths = function() return flow.ndarray.array({ { 1, 0, 1, 1 }, { 0, 1, 0, 0 }, { 1, 1, 1, 1 } },
    { dtype = "int8" }) end,
  numbers = function(dtype) return flow.ndarray.array({ { 0, -math.huge, 1, 2 },
    { -math.huge, 0, -1, 0.5 }, { 0, 0, 0, 0 } }, { dtype = dtype }) end,
}
local CALLS = {
  ["plain"] = {}, ["of scores far below 0"] = { scale = -1e6 }, ["with a scale"] = { scale = 0.5 },
  ["of what came before"] = { is_causal = 1 }, ["in windows"] = { left_window_size = 1 },
  ["in softmax of float32"] = { softmax_precision = 1 },
}

describe("ONNX's Attention", function()
  before_each(function() flow.random.seed(7) end)

  for what, attributes in pairs(CALLS) do
    it("gives the same by steps: " .. what, function()
      for _, dtype in ipairs { "float32", "float16" } do
        local arrays = {}
        for i, length in ipairs { 3, 4, 4 } do        -- two heads of queries for each of keys
          local shape = { 2, i == 1 and 4 or 2, length, 5 }
          arrays[i] = flow.random.uniform(shape, { minval = 0, maxval = 1 }):astype(dtype)
        end
        for name, mask_of in pairs(MASKS) do
          -- Numbers of 16 bits hold no lower scores.
          if dtype == "float32" or not attributes.scale or attributes.scale > 0 then
            local want = attended(attributes, false, arrays, mask_of(dtype))
            local got = attended(attributes, true, arrays, mask_of(dtype))
            local far = flow.math.abs(want - got):max()
            assert(far < (dtype == "float16" and 4e-3 or 1e-5),
              ("%s, mask %s: off by %g"):format(dtype, name, far))
          end
        end
      end
    end)
  end

  it("gives 0 for what sees nothing", function()
    for _, dtype in ipairs { "float32", "float16" } do
      local x = flow.ndarray.ones({ 1, 1, 2, 3 }):astype(dtype)
      local mask = flow.ndarray.array({ { 0, 0 }, { 1, 0 } }, { dtype = "int8" })
      for _, by_steps in ipairs { false, true } do
        assert.same({ 0, 0, 0, 1, 1, 1 },
          attended({}, by_steps, { x, x, x }, mask):reshape({ 6 }):totable())
      end
    end
  end)
end)
