local flow = require "jfl"

local tp = flow.typing
local numpy, placement = tp.Numpy.Placeholder, flow.scope.placement

--- Runs fn with what it makes on the simulated device of that number; 0: on the CPU.
local function on(number, fn)
  if number == 0 then return placement("cpu", "0:0", fn) end
  return placement("sim", ("0:%d"):format(number - 1), fn)
end

local function job(name, body, kind)
  return flow.global_function {
    name = name, type = kind, returns = kind == "train" and tp.Numpy or nil,
    inputs = { { "x", numpy({ 4, 6 }) }, { "labels", numpy({ 4 }, { dtype = flow.int32 }) } },
    body = body,
  }
end

local function count(text, what) return select(2, text:gsub(what, "")) end

local X = {}
for i = 1, 4 do
  X[i] = {}
  for k = 1, 6 do X[i][k] = (i * k % 7) / 7 end
end
local LABELS = { 1, 0, 4, 2 }

--- A net of five layers, layer i on devices[i % #devices + 1]; nil: wherever jobs run.
local function train_job(name, devices)
  return job(name, function(x, labels)
    for i = 1, 5 do
      local function layer()
        return flow.layers.dense(x, 5, { name = "layer" .. i, activation = flow.math.tanh })
      end
      if devices then x = on(devices[i % #devices + 1], layer) else x = layer() end
    end
    local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, x)
    flow.optimizer.SGD(0.1, { momentum = 0.9 }):minimize(loss)
    return loss
  end, "train")
end

local function state()
  local out = {}
  for name, value in pairs(flow.get_all_variables()) do
    local flat = {}
    for i = 1, value.size do flat[i] = ("%.17g"):format(value:reshape(-1)[i]) end
    out[name] = table.concat(flat, " ")
  end
  return out
end

--- A new session whose jobs run on the CPU where they say nothing else.
local function begin()
  flow.clear_default_session()
  flow.config.device("cpu:0")
end

--- The losses of some steps, and the variables afterwards.
local function train(devices)
  begin()
  flow.config.kernels("reference")
  flow.random.seed(5)
  local step, losses = train_job("train", devices), {}
  for i = 1, 8 do losses[i] = tostring(step(X, LABELS)) end
  return losses, state(), step
end

describe("values", function()
  before_each(begin)
  teardown(flow.clear_default_session)

  it("are copied once to each device that reads them", function()
    local predict = job("predict", function(x)
      local a = on(1, function() return flow.math.exp(x) end)
      local b = on(2, function() return flow.math.add(flow.math.sin(a), flow.math.cos(a)) end)
      return on(1, function() return flow.math.add(a, b) end)
    end)
    predict(X, LABELS):get()
    local text = predict:plan()
    assert.truthy(text:find("on sim:[01], sim:[01]: "), text)
    assert.equal(4, count(text, " copy "), text)         -- the input, a, b, the result
    assert.equal(1, count(text, "sim:1  transfer"), text)
  end)

  it("are equal on two devices without being one", function()
    local predict = job("predict", function(x)
      local y = {}
      for i = 1, 2 do
        y[i] = on(i, function() return flow.math.multiply(flow.math.exp(x), flow.ones_like(x)) end)
      end
      return y[1] + y[2]
    end)
    local got = predict(X, LABELS):get()
    assert.equal(2, count(predict:plan(), "  exp "), predict:plan())
    for i = 1, 4 do
      for k = 1, 6 do assert.near(2 * math.exp(X[i][k]), got[i][k], 1e-5) end
    end
  end)

  it("say where they are in the plan alone where there is more than one place", function()
    local predict = job("predict", function(x) return flow.math.exp(x) end)
    predict(X, LABELS):get()
    assert.is_nil(predict:plan():find("\n *%d+  [a-z]+:%d"))
  end)
end)

describe("a job over several devices", function()
  teardown(flow.clear_default_session)

  for name, devices in pairs {
    ["two simulated ones"] = { 1, 2 }, ["a simulated one and the CPU"] = { 0, 1 },
    ["the CPU and three simulated ones"] = { 0, 1, 2, 3 },
  } do
    it("trains as on one, bit for bit: " .. name, function()
      local losses, variables = train()
      local split, split_variables, step = train(devices)
      assert.same(losses, split)
      assert.same(variables, split_variables)
      local text = step:plan()
      for _, number in ipairs(devices) do
        local device = number == 0 and "cpu:0" or "sim:" .. number - 1
        assert.truthy(text:find("\n *%d+  " .. device .. " .*weight"), text)
      end
    end)
  end

  --- Three convolutions, the one in the middle on the device of that number, or where jobs run.
  local function convolve(number)
    begin()
    flow.random.seed(5)
    local images = {}
    for i = 1, 2 * 8 * 8 do images[i] = math.sin(i * i) end
    local predict = flow.global_function {
      name = "predict", inputs = { { "x", numpy({ 2, 1, 8, 8 }) } }, returns = tp.Numpy,
      body = function(x)
        for i = 1, 3 do
          local function layer()
            return flow.layers.conv2d(x, 32, 3, {
              name = "conv" .. i, padding = "SAME", activation = flow.nn.relu,
            })
          end
          if i == 2 and number then x = on(number, layer) else x = layer() end
        end
        return x
      end,
    }
    return predict(flow.ndarray.array(images):reshape(2, 1, 8, 8)):reshape(-1), predict:plan()
  end

  it("is arranged for each as its kernels want it", function()
    local want, whole = convolve()
    local got, text = convolve(1)
    for i = 1, want.size do assert.near(want[i], got[i], 1e-5) end
    assert.truthy(text:find("\n *%d+  sim:0  conv2d[a-z_]* +plain "), text)
    local row = whole:match(" conv2d_fused  ([a-z_0-9]+) ")
    assert.truthy(row and text:find("\n *%d+  cpu:0  conv2d[a-z_]* +" .. row), whole .. text)
  end)

  it("fails for data that is wrong, wherever that is found, and changes no variable", function()
    local _, before, step = train { 1, 2, 3 }
    local ok, err = pcall(step, X, { 1, 0, 5, -1 })
    assert.is_false(ok)
    assert.truthy(tostring(err):find(
      "label at position 2 must be from 0 to 4, got 5; all count from 0", 1, true), err)
    assert.same(before, state())
    assert.truthy(pcall(step, X, LABELS))
  end)

  it("finds variables where an earlier job put them", function()
    local _, before = train { 1, 2 }
    local predict = job("predict", function(x)
      for i = 1, 5 do
        x = flow.layers.dense(x, 5, { name = "layer" .. i, activation = flow.math.tanh })
      end
      return x
    end)
    predict(X, LABELS):get()
    assert.truthy(predict:plan():find("layer%d%-weight%[variable%] %-> transfer"), predict:plan())
    for name, value in pairs(state()) do assert.equal(before[name], value) end
  end)

  it("is saved and loaded as one that runs on the CPU", function()
    local _, before = train { 1, 2 }
    local path = os.tmpname()
    os.remove(path)
    flow.train.CheckPoint():save(path)
    begin()
    train_job("train")(X, LABELS)
    flow.train.CheckPoint():load(path)
    assert.same(before, state())
    os.execute("rm -r " .. path)
  end)
end)
