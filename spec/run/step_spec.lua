-- What goes wrong, and what takes time, while a plan runs is told with the line of the body that
-- asked for it.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local profile = require "jfl.tools.profile"

local nd, tp = flow.ndarray, flow.typing
local FILE = debug.getinfo(1, "S").short_src

after_each(flow.clear_default_session)

-- The caller's line, as texts tell it; `before`: how many lines before it.
local function here(before)
  return FILE .. ":" .. debug.getinfo(2, "l").currentline - (before or 0)
end

local function ids(name, n)
  return { name, tp.Numpy.Placeholder({ n }, { dtype = flow.int32 }) }
end

local function int32(t) return nd.array(t, flow.int32) end

describe("a step that fails", function()
  local at

  local function network(look)
    return helper.train("net", { inputs = { ids("words", 3), ids("labels", 3) },
      body = function(words, labels)
        local table = flow.get_variable("table", { 10, 4 },
          { initializer = flow.ones_initializer() })
        local x = look(table, words)
        x = flow.layers.dense(x, 6, { activation = flow.nn.relu, name = "hidden" })
        local logits = flow.layers.dense(x, 3, { name = "output" })
        local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        at.loss = here(1)
        flow.optimizer.SGD(0.1):minimize(loss)
        return loss
      end })
  end

  local function gathered(table, words)
    local x = flow.gather(table, words)
    at.gather = here(1)
    return x
  end

  before_each(function() at = {} end)

  it("names the line in the middle of the body, and where its error ends", function()
    for _, device in ipairs { "cpu", "sim" } do
      flow.clear_default_session()
      flow.config.device(device)
      local job = network(gathered)
      job(int32 { 1, 2, 3 }, int32 { 0, 1, 2 })
      helper.fails(function() job(int32 { 1, 20, 3 }, int32 { 0, 1, 2 }) end,
        "net: gather_1: index at position 1 must be from 0 to 9, got 20; all count from 0; see "
        .. at.gather)
      helper.fails(function() job(int32 { 1, 2, 3 }, int32 { 0, 1, 3 }) end,
        "net: sparse_softmax_cross_entropy_with_logits_1: label at position 2 must be from 0 to "
        .. "2, got 3; all count from 0; see " .. at.loss)
    end
  end)

  it("names the line whose gradient it computes", function()
    local job = helper.train("net", { inputs = { ids("words", 3) }, body = function(words)
      local table = flow.get_variable("table", { 10, 4 }, { initializer = flow.ones_initializer() })
      local rows = gathered(table, words)
      flow.optimizer.SGD(0.1):minimize(flow.math.reduce_sum(rows))
      return words
    end })
    job:compile()
    helper.fails(function() job(int32 { 1, 20, 3 }) end,
      "net: unsorted_segment_sum_1: segment id at position 1 must be from 0 to 9, got 20; all "
      .. "count from 0; see " .. at.gather)
  end)

  it("names the file of a function that is defined in another", function()
    local look = assert(loadstring([[
local flow = require "jfl"
return function(table, words)
  local x = flow.gather(table, words)
  return x
end]], "@models/words.lua"))()
    local job = network(look)
    helper.fails(function() job(int32 { -1, 2, 3 }, int32 { 0, 1, 2 }) end,
      "got -1; all count from 0; see models/words.lua:3")
  end)

  it("names the line of a body that returns what an op gives", function()
    local job = flow.global_function { name = "one", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder({ 3 }) }, ids("i", 2) },
      body = function(x, i)
        return flow.gather(x, i)
      end }
    local line = here(2)
    helper.fails(function() job({ 1, 2, 3 }, int32 { 0, 3 }) end, "; see " .. line)
  end)

  it("does so in a call whose result is fetched later", function()
    local job = flow.global_function { name = "later", returns = tp.Callback(tp.Numpy),
      inputs = { { "x", tp.Numpy.Placeholder({ 3 }) }, ids("i", 2) }, body = gathered }
    local message
    job({ 1, 2, 3 }, int32 { 0, 3 })(function() end, function(m) message = m end)
    flow.sync()
    assert.truthy(message:find("; see " .. at.gather, 1, true), message)
  end)
end)

describe("a checked run", function()
  -- The loss is the sum of f(x, w), of which `line` asks for the op.
  local function checked(f)
    flow.config.check_finite(true)
    return helper.train("net", { body = function(x)
      local w = flow.get_variable("w", { 2 }, { initializer = flow.ones_initializer() })
      local loss = flow.math.reduce_sum(f(flow.math.multiply(x, w)))
      flow.optimizer.SGD(0.1):minimize(loss)
      return loss
    end })
  end

  it("names the line of a value that is not finite", function()
    local line
    local job = checked(function(x)
      local y = flow.math.log(x)
      line = here(1)
      return y
    end)
    job:compile()
    helper.fails(function() job({ 0, 1 }) end, "net: log: 'log_1' must be finite in step 1, got "
      .. "-inf in 1 of 2 elements; variables are as they were before it; see " .. line)
  end)

  it("names the line whose gradient is not finite", function()
    local line
    local job = checked(function(x)
      local y = flow.math.sqrt(x)
      line = here(1)
      return y
    end)
    job:compile()
    helper.fails(function() job({ 0, 1 }) end, "'divide_1', computed for 'sqrt_1', must be finite "
      .. "in step 1, got inf in 1 of 2 elements; variables are as they were before it; see "
      .. line)
  end)
end)

describe("a job that takes too much memory", function()
  it("names the largest temporary, and the line that asked for it", function()
    local line
    local job = flow.global_function { name = "big", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder({ 100, 1 }) },
        { "y", tp.Numpy.Placeholder({ 1, 1000 }) } },
      body = function(x, y)
        local z = flow.matmul(x, y)
        line = here(1)
        return flow.matmul(z, flow.math.reduce_sum(y) + flow.zeros({ 1000, 1 }))
      end }
    flow.config.memory_limit(1000)
    assert.is_false(pcall(job.compile, job))
    helper.fails(function() job:compile() end,
      "memory_limit is 1000; the largest, 'matmul_1', takes 400000; see " .. line)
    flow.config.memory_limit(1e9)
    assert.equal(100, #job(nd.ones { 100, 1 }, nd.ones { 1, 1000 }):totable())
  end)
end)

describe("a profile", function()
  -- A network with what passes add nodes for, trained on `device`. Its lines are those from `first`
  -- to `last`.
  local first, last

  local function network(device, config)
    local function stage(i, f)
      if device == "cpu" then return f() end
      return flow.scope.placement(device, "0:" .. i, f)
    end
    return flow.global_function { name = "net", type = "train",
      returns = tp.Tuple(tp.Numpy, tp.Numpy),
      function_config = config,
      inputs = { { "x", tp.Numpy.Placeholder({ 4, 3, 8, 8 }) }, ids("labels", 4) },
      body = function(x, labels)
        first = tonumber(here():match("%d+$"))
        x = stage(0, function()
          local y = flow.layers.conv2d(x, 8, 3, { padding = "SAME", activation = flow.nn.relu,
            kernel_regularizer = flow.regularizers.l2(0.1) })
          y = flow.nn.max_pool2d(flow.layers.batch_normalization(y, { axis = 1 }), 2, 2, "SAME")
          return flow.reshape(flow.math.tanh(y), { 4, -1 })
        end)
        local logits = stage(1, function()
          local y = flow.nn.dropout(flow.layers.dense(x, 16), { rate = 0.5 })
          return flow.layers.dense(flow.math.sigmoid(y), 3)
        end)
        local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        flow.optimizer.Adam(0.1, { grad_clipping = flow.optimizer.grad_clipping.by_global_norm(1) })
          :minimize(loss)
        last = tonumber(here(1):match("%d+$"))
        return loss, x
      end }
  end

  local function rows_of(device, set)
    flow.clear_default_session()
    local config = flow.function_config()
    if set then set(config) end
    local job = network(device, config)
    local data, labels = nd.rand { 4, 3, 8, 8 }, int32 { 0, 1, 2, 0 }
    profile.start()
    job(data, labels)
    return (profile.finish())
  end

  it("tells the line of every step, whatever passes added it", function()
    for _, device in ipairs { "cpu", "sim" } do
      for name, set in pairs {
        plain = false,
        ["micro-batches"] = function(c) c.micro_batches(2) end,
        float16 = function(c) c.enable_auto_mixed_precision("float16") end,
      } do
        local rows = rows_of(device, set)
        assert.is_true(#rows > 10)
        for _, row in ipairs(rows) do
          local at = tonumber((row.line or ""):match("^" .. FILE:gsub("%p", "%%%0") .. ":(%d+)$"))
          assert.truthy(at and at > first and at <= last, ("%s, %s: %s %s (%s) at %s"):format(
            device, name, row.op, row.name, row.serves or "", row.line or "no line"))
        end
      end
    end
  end)
end)

describe("a step that fails on one of several ranks", function()
  local command = require "spec.cmd.helper"

  after_each(command.clean)

  it("names its line on all of them", function()
    local out, err, status = command.run("--ranks", "2", command.file [[
local flow = require "jfl"
local nd, tp = flow.ndarray, flow.typing
local rank, line = require "jfl.core".world()
local job = flow.global_function { name = "look", returns = tp.Numpy,
  inputs = { { "i", tp.Numpy.Placeholder({ 4 }, { dtype = flow.int32 }) } },
  body = function(i)
    local w = flow.get_variable("w", { 3, 2 }, { initializer = flow.ones_initializer() })
    local rows = flow.gather(w, i)
    line = debug.getinfo(1, "S").short_src .. ":" .. debug.getinfo(1, "l").currentline - 1
    return rows
  end }
job(nd.array({ 0, 1, 2, 0 }, flow.int32))
for bad = 0, 3 do
  local i = nd.zeros({ 4 }, { dtype = flow.int32 })
  i[bad + 1] = 7
  local ok, message = pcall(job, i)
  local ending = "must be from 0 to 2, got 7; all count from 0; see " .. line
  assert(not ok and message:sub(-#ending) == ending, message)
  local other = bad < 2 and 0 or 1
  assert((rank == other) == not message:find("rank " .. other .. " (", 1, true), message)
end
if rank == 0 then print "done" end
]])
    assert.same({ "done\n", "", 0 }, { out, err, status })
  end)
end)
