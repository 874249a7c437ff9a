-- The documents that describe the system train and evaluate two networks: every form of result
-- gives the same values, bit for bit.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local tp, nd = flow.typing, flow.ndarray
local N = tp.Numpy
local BATCH_SIZE, STEPS, SIDE = 4, 3, 8

local function mlp(data)
  local initializer = flow.truncated_normal(0.1)
  local reshape = flow.reshape(data, { data.shape[1], -1 })
  local hidden = flow.layers.dense(reshape, 16, { activation = flow.nn.relu,
    kernel_initializer = initializer, name = "hidden" })
  return flow.layers.dense(hidden, 10, { kernel_initializer = initializer, name = "output" })
end

local function lenet(data, train)
  local initializer = flow.truncated_normal(0.1)
  local conv1 = flow.layers.conv2d(data, 4, 5, { padding = "SAME", activation = flow.nn.relu,
    name = "conv1", kernel_initializer = initializer })
  local pool1 = flow.nn.max_pool2d(conv1,
    { ksize = 2, strides = 2, padding = "SAME", name = "pool1" })
  local conv2 = flow.layers.conv2d(pool1, 6, 5, { padding = "SAME", activation = flow.nn.relu,
    name = "conv2", kernel_initializer = initializer })
  local pool2 = flow.nn.max_pool2d(conv2,
    { ksize = 2, strides = 2, padding = "SAME", name = "pool2" })
  local reshape = flow.reshape(pool2, { pool2.shape[1], -1 })
  local hidden = flow.layers.dense(reshape, 16, { activation = flow.nn.relu,
    kernel_initializer = initializer, name = "dense1" })
  if train then hidden = flow.nn.dropout(hidden, { rate = 0.5, name = "dropout" }) end
  return flow.layers.dense(hidden, 10, { kernel_initializer = initializer, name = "dense2" })
end

local networks = { mlp = mlp, lenet = lenet }

-- How a body returns what it made, and how a call gives that to sink(a, b); some have no b.
local function direct(returns, give, read)
  return { returns = returns, give = give, run = function(job, images, labels, sink)
    sink(read(job(images, labels)))
  end }
end

local function later(returns, give, read)
  return { returns = tp.Callback(returns), give = give, run = function(job, images, labels, sink)
    job(images, labels)(function(value) sink(read(value)) end)
  end }
end

local function both(a, b) return a, b end
local function same(a) return a end
local function second_of_list(list) return list[1], list[2] end
local function keys(t) return t.a, t[7] end
local function nested(t) return t.a[1], t.b.deep end
local function one_each(a, b) return a[1], b[1] end

local forms = {
  ["Numpy"] = direct(N, same, same),
  ["Tuple"] = direct(tp.Tuple(N, N), both, both),
  ["Tuple as a list"] = direct(tp.Tuple(N, N), function(a, b) return { a, b } end, both),
  ["Dict"] = direct(tp.Dict(N), function(a, b) return { a = a, [7] = b } end, keys),
  ["List"] = direct(tp.List(N), function(a, b) return { a, b } end, second_of_list),
  ["Bundle"] = direct(tp.Bundle(N), function(a, b) return { a = { a }, b = { deep = b } } end,
    nested),
  ["ListNumpy"] = direct(tp.ListNumpy, same, function(list) return list[1] end),
  ["ListListNumpy"] = direct(tp.ListListNumpy, same, function(list) return list[1][1] end),
  ["Tuple of ListNumpy"] = direct(tp.Tuple(tp.ListNumpy, tp.ListNumpy), both, one_each),
  ["Dict of Tuple"] = direct(tp.Dict(tp.Tuple(N, N)),
    function(a, b) return { x = { a, b } } end, function(t) return t.x[1], t.x[2] end),
  ["Callback(Numpy)"] = later(N, same, same),
  ["Callback(Tuple)"] = later(tp.Tuple(N, N), both, second_of_list),
  ["Callback(Dict)"] = later(tp.Dict(N), function(a, b) return { a = a, [7] = b } end, keys),
  ["Callback(List)"] = later(tp.List(N), function(a, b) return { a, b } end, second_of_list),
  ["Callback(Bundle)"] = later(tp.Bundle(N),
    function(a, b) return { a = { a }, b = { deep = b } } end, nested),
  ["Callback(ListNumpy)"] = later(tp.ListNumpy, same, function(list) return list[1] end),
  ["get"] = { give = same, run = function(job, images, labels, sink)
    sink(job(images, labels):get())
  end },
  ["get of several"] = { give = both, run = function(job, images, labels, sink)
    sink(second_of_list(job(images, labels):get()))
  end },
  ["async_get"] = { give = same, run = function(job, images, labels, sink)
    job(images, labels):async_get(sink)
  end },
}

local function batches()
  local images, labels = {}, {}
  flow.random.seed(11)
  for i = 1, STEPS do
    images[i] = nd.rand({ BATCH_SIZE, 1, SIDE, SIDE })
    labels[i] = nd.array({ i, 3, 9 - i, 0 }, "int32")
  end
  return images, labels
end

local function inputs()
  return {
    { "images", N.Placeholder({ BATCH_SIZE, 1, SIDE, SIDE }, { dtype = flow.float }) },
    { "labels", N.Placeholder({ BATCH_SIZE }, { dtype = flow.int32 }) },
  }
end

local function train_job(network, form)
  return flow.global_function {
    name = "train_job", type = "train", inputs = inputs(), returns = form.returns,
    body = function(images, labels)
      local logits, loss
      flow.scope.placement("cpu", "0:0", function()
        logits = network(images, true)
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits,
          { name = "softmax_loss" })
      end)
      local lr_scheduler = flow.optimizer.PiecewiseConstantScheduler({}, { 0.1 })
      flow.optimizer.SGD(lr_scheduler, { momentum = 0 }):minimize(loss)
      return form.give(loss, logits)
    end,
  }
end

local function old_train_job(network)
  local config = flow.function_config()
  config.default_data_type(flow.float)
  config.train.primary_lr(0.1)
  config.train.model_update_conf { naive_conf = {} }
  return flow.global_function(config, {
    name = "train_job",
    inputs = {
      { "images", flow.FixedTensorDef({ BATCH_SIZE, 1, SIDE, SIDE }, { dtype = flow.float }) },
      { "labels", flow.FixedTensorDef({ BATCH_SIZE }, { dtype = flow.int32 }) },
    },
    body = function(images, labels)
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, network(images, true),
        { name = "softmax_loss" })
      flow.losses.add_loss(loss)
      return loss
    end,
  })
end

local function eval_job(network, form)
  return flow.global_function {
    name = "eval_job", type = "predict", inputs = inputs(), returns = form.returns,
    body = function(images, labels)
      return flow.scope.placement("cpu", "0:0", function()
        local logits = network(images, false)
        return form.give(logits, flow.identity(labels))
      end)
    end,
  }
end

-- The values that the calls of a job give, as tables: the first, and the second where it has one.
local function values_of(job, form)
  local images, labels = batches()
  local first, second = {}, {}
  for i, x, y in flow.zip(images, labels) do
    form.run(job, x, y, function(a, b)
      first[i], second[i] = a:totable(), b and b:totable()
    end)
  end
  flow.sync()
  return first, second
end

local function trained(make, form)
  flow.clear_default_session()
  flow.random.seed(5)
  local job = make(form)
  flow.train.CheckPoint():init()
  return values_of(job, form)
end

for kind, network in pairs(networks) do
  describe("the " .. kind .. " of the documents", function()
    local want_loss, want_logits, want_eval, want_labels, path

    setup(function()
      want_loss, want_logits = trained(function(form) return train_job(network, form) end,
        forms.Tuple)
      path = helper.directory()
      flow.train.CheckPoint():save(path .. "/models")
      want_eval, want_labels = values_of(eval_job(network, forms.Tuple), forms.Tuple)
    end)

    teardown(function() helper.remove(path) end)

    it("learns, and evaluates to what its labels are", function()
      assert.equal(STEPS, #want_loss)
      assert.equal(BATCH_SIZE, #want_loss[1])
      assert.equal(10, #want_logits[1][1])
      assert.same({ 2, 3, 7, 0 }, want_labels[2])
      assert.is_true(want_logits[1][1][1] ~= want_eval[1][1][1])
    end)

    for name, form in pairs(forms) do
      it("trains with " .. name, function()
        local loss, logits = trained(function() return train_job(network, form) end, form)
        assert.same(want_loss, loss)
        if #logits > 0 then assert.same(want_logits, logits) end
      end)

      it("evaluates with " .. name, function()
        flow.clear_default_session()
        local job = eval_job(network, form)
        flow.train.CheckPoint():load(path .. "/models")
        local logits, labels = values_of(job, form)
        assert.same(want_eval, logits)
        if #labels > 0 then assert.same(want_labels, labels) end
      end)
    end

    for _, name in ipairs { "get", "async_get" } do
      -- #cpu: the old spelling places work on "cpu", the new one leaves it to the session.
      it("trains in the old spelling with " .. name .. " #cpu", function()
        local loss = trained(function() return old_train_job(network) end, forms[name])
        assert.same(want_loss, loss)
      end)
    end
  end)
end
