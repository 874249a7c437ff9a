-- gpu_roof.lua [PRODUCT [NUMBERS]]: what the GPU makes of big products of bfloat16 and of a big
-- copy: prints TFLOP/s and GB/s (read and written). PRODUCT is the extent of the matrices, NUMBERS
-- how many float32 are copied.
local core = require "jfl.core"
local flow = require "jfl"

local tp = flow.typing
local N, NUMBERS = tonumber((...) or 8192), tonumber(select(2, ...) or 2 ^ 29)
local ROUNDS = 7

--- The least seconds of some calls.
local function least(f)
  f()
  local best = math.huge
  for _ = 1, ROUNDS do
    local start = core.now()
    f()
    best = math.min(best, core.now() - start)
  end
  return best
end

--- A job that multiplies so many times, each product by the one before.
local function products(count)
  local job = flow.global_function { name = "products" .. count, returns = tp.Numpy,
    body = function()
      local init = { initializer = flow.random_normal_initializer(0, 1 / math.sqrt(N)) }
      local w = flow.cast(flow.get_variable("w", { N, N }, init), flow.bfloat16)
      local x = w
      for _ = 1, count do x = flow.matmul(x, w) end
      return flow.math.reduce_sum(flow.cast(flow.slice(x, { 0, 0 }, { 1, 64 }), flow.float))
    end }
  return least(function() job() end)
end

local function copies()
  local job = flow.global_function { name = "copies", returns = tp.Numpy,
    body = function()
      local from = flow.get_variable("from", { NUMBERS }, {
        initializer = flow.ones_initializer() })
      local to = flow.get_variable("to", { NUMBERS }, { initializer = flow.zeros_initializer() })
      flow.assign(to, flow.math.negative(from))
      return flow.slice(from, { 0 }, { 1 })
    end }
  return least(function() job() end)
end

local MORE = 11
local seconds = (products(MORE) - products(1)) / (MORE - 1)
flow.clear_default_session()
print(("%.4g TFLOP/s %.4g GB/s"):format(2 * N ^ 3 / seconds / 1e12, 8 * NUMBERS / copies() / 1e9))
