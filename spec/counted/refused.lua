-- What is refused where half a second is left, which never grows less here:
--   build/counted spec/counted/refused.lua
-- prints a line for each call, with the error's message or the result's shape.
local ffi = require "ffi"
local flow = require "jfl"
local core = require "jfl.core"
local nd = flow.ndarray

ffi.cdef "void count_asks(double left, int looks);"
ffi.C.count_asks(0.5, 2 ^ 31 - 1)
core.reset()
core.set("threads", 1)

local function job(kind, shape, body)
  return flow.global_function { name = "of_" .. kind, type = kind, returns = flow.typing.Numpy,
    inputs = { { "x", flow.typing.Numpy.Placeholder(shape) } }, body = body }(nd.ones(shape))
end

local function part(x, filter)
  return flow.nn.conv2d(x, filter or nd.ones { 1, 1, 100, 100 }, 1, "VALID")
end

local function part_in(kind)
  flow.clear_default_session()
  return job(kind, { 1, 1, 600, 600 }, function(x)
    local y = flow.math.reduce_mean(part(x, flow.get_variable { name = "w",
      shape = { 1, 1, 100, 100 }, initializer = flow.ones_initializer() }))
    if kind == "train" then flow.optimizer.SGD(0.1):minimize(y) end
    return y
  end)
end

local calls = {
  { "conv", function()
    return flow.nn.conv2d(nd.ones { 1, 1, 1400, 1400 }, nd.ones { 1, 1, 700, 700 }, 1, "VALID")
  end },
  { "max_pool", function()
    return flow.nn.max_pool2d(nd.ones { 1, 1, 2000, 2000 }, 1000, 1, "VALID")
  end },
  { "avg_pool", function()
    return flow.nn.avg_pool2d(nd.ones { 1, 1, 2000, 2000 }, 1000, 1, "VALID")
  end },
  { "attention", function()
    local x = nd.ones { 1, 1, 2e5, 8 }
    return flow.nn.scaled_dot_product_attention(x, x, x)
  end },
  { "job", function()
    return job("predict", { 1, 1, 2000, 2000 }, function(x)
      return flow.nn.max_pool2d(x, 1000, 1, "VALID")
    end)
  end },
  { "part", function() return part(nd.ones { 1, 1, 600, 600 }) end },
  { "part in predict", function() return part_in "predict" end },
  { "part in train", function() return part_in "train" end },
  { "few", function()
    return flow.nn.conv2d(nd.ones { 1, 3, 128, 128 }, nd.ones { 8, 3, 31, 31 }, 1, "SAME")
  end },
}
print()
for _, call in ipairs(calls) do
  local ok, got = pcall(call[2])
  print(call[1] .. ": " .. (ok and table.concat(got.shape, " ") or tostring(got):gsub("\n", " ")))
end
