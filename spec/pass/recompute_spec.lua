local core = require "jfl.core"
local flow = require "jfl"
local tp = flow.typing

--- A train job of some blocks, of which those for which `again` is true are computed again.
local function network(again, dtype, body)
  local config = flow.function_config()
  config.default_data_type(dtype)
  config.default_initializer_conf(flow.random_normal_initializer(1, 0.1))
  return flow.global_function {
    name = "net", type = "train", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ 16, 8, 4, 4 }, dtype) } },
    function_config = config,
    body = function(x)
      local loss = body(x, function(i, fn)
        if again(i) then return flow.scope.recompute(fn) end
        return fn()
      end)
      flow.optimizer.Adam(0.01):minimize(loss)
      return loss
    end,
  }
end

local function norm(x, i)
  return flow.layers.batch_normalization(x, { axis = 1, name = "n" .. i })
end

--- Convolutions, norms with moving averages, dropout, sums over several uses and views.
local function deep(x, region)
  for i = 1, 3 do
    x = region(i, function()
      local h = flow.nn.relu(norm(x, i))
      h = flow.layers.conv2d(h, 8, 3, { padding = "SAME", name = "c" .. i })
      h = flow.nn.dropout(h, { rate = 0.25, name = "d" .. i })
      return x + flow.nn.gelu(flow.reshape(flow.reshape(h, { 16, -1 }), { 16, 8, 4, 4 }))
    end)
  end
  return flow.math.reduce_mean(flow.math.square(x))
end

--- What some steps from one seed give, losses and variables, and the job's plan.
local function trained(again, dtype, body)
  flow.clear_default_session()
  flow.random.seed(3)
  local job, out = network(again, dtype, body), {}
  local x = flow.random.uniform({ 16, 8, 4, 4 }, { minval = -1, maxval = 1, dtype = dtype })
  for _ = 1, 3 do out[#out + 1] = tostring(job(x)) end
  for name, v in pairs(flow.get_all_variables()) do
    if not name:find("^System") then out[#out + 1] = name .. tostring(v) end
  end
  table.sort(out)
  return out, job:plan()
end

local function none() return false end
local function all() return true end

local function temporaries(plan)
  local n, unit = plan:match("temporaries of ([%d.]+) (%a+)")
  return tonumber(n) * ({ B = 1, KB = 1e3, MB = 1e6 })[unit]
end

describe("values that are computed again", function()
  local kernels
  before_each(function() kernels = flow.config.kernels() end)
  after_each(function()
    flow.config.kernels(kernels)
    flow.clear_default_session()
  end)

  for _, dtype in ipairs { "float32", "float64" } do
    it("change no bit of what plain kernels give, in " .. dtype, function()
      flow.config.kernels("reference")
      local want = trained(none, flow[dtype], deep)
      assert.same(want, (trained(all, flow[dtype], deep)))
      assert.same(want, (trained(function(i) return i == 2 end, flow[dtype], deep)))
    end)
  end

  it("take less memory, and more steps", function()
    local function blocks(x, region)
      for i = 1, 8 do
        x = region(i, function()
          return x + flow.math.sin(flow.math.exp(flow.math.cumsum(x, { axis = 1 })))
        end)
      end
      return flow.math.reduce_mean(x * flow.get_variable("w", { 4 }))
    end
    local function wide(x, region) return blocks(x * flow.get_variable("v", { 4 }), region) end
    local _, kept = trained(none, flow.float, wide)
    local _, again = trained(all, flow.float, wide)
    assert.is_true(temporaries(again) < 0.75 * temporaries(kept),
      ("%g of %g bytes"):format(temporaries(again), temporaries(kept)))
  end)

  -- What is kept is what each region begins with, so long regions save more than short ones.
  it("take the memory of one value for each region of a chain, if all are elementwise", function()
    local function chain(x, region)
      x = x * flow.get_variable("v", { 4 })
      for i = 1, 8 do
        x = region(i, function()
          return x + flow.math.sin(flow.math.exp(flow.math.cos(flow.math.sin(x))))
        end)
      end
      return flow.math.reduce_mean(x)
    end
    local value = 16 * 8 * 4 * 4 * 4
    local _, kept = trained(none, flow.float, chain)
    local _, again = trained(all, flow.float, chain)
    assert.is_true(temporaries(kept) > 16 * value, kept)
    assert.is_true(temporaries(again) < 10 * value, again)
  end)

  -- Where steps are fused too: as parts of the steps that computed them first, they would be kept.
  it("have steps of their own, one for each region", function()
    local function steps(again)
      local _, plan = trained(again, flow.float, function(x, region)
        for i = 1, 3 do
          local w = flow.get_variable("w" .. i, { 4 })
          x = region(i, function()
            return flow.math.sigmoid(flow.math.exp(flow.math.sin(x))) * w + x
          end)
        end
        return flow.math.reduce_mean(flow.math.square(x))
      end)
      return select(2, plan:gsub("fused%(sin, exp, sigmoid", ""))
    end
    assert.equal(steps(none) + 3, steps(all))
  end)

  it("are left out where nothing needs them, or other steps keep them", function()
    local function count_of(again, op, fn)
      local _, plan = trained(again, flow.float, function(x, region)
        local w = flow.get_variable("w", { 4 })
        local y = region(1, function() return fn(x * w) end)
        return flow.math.reduce_mean(y)                    -- its gradient reads no y
      end)
      return select(2, plan:gsub("%f[%w]" .. op .. "%f[^%w]", ""))
    end
    for op, fn in pairs {
      cumsum = function(x) return flow.math.cumsum(x, { axis = 1 }) end, softmax = flow.nn.softmax,
    } do
      assert.equal(count_of(none, op, fn), count_of(all, op, fn), op)
    end
  end)

  it("may be asked for in predict jobs, within another region and outside of a body", function()
    assert.equal(7, flow.scope.recompute(function() return 7 end))
    local job = flow.global_function {
      name = "predict", inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } }, returns = tp.Numpy,
      body = function(x)
        return flow.scope.recompute(function()
          return flow.scope.recompute(function() return x + 1 end) * 2
        end)
      end,
    }
    assert.same({ 4, 6 }, job({ 1, 2 }):totable())
  end)

  it("end with an error inside", function()
    local g = core.graph("failing", "train")
    core.recompute(g, true)
    core.recompute(g, false)
    assert.has_error(function() flow.scope.recompute(3) end)
    local job = network(all, flow.float, function(x, region)
      assert(not pcall(region, 1, function() error("inside") end))
      return deep(x, region)
    end)
    job:compile()
  end)
end)
