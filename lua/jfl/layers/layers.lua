-- flow.layers: ops together with their variables.
---@space layers
--[==[ guide 7: Layers and optimizers
Layers make their variables: `flow.layers.dense(x, units, options)` has `NAME-weight` of shape
(units, inputs) and `NAME-bias`, `flow.layers.conv2d(x, filters, kernel_size, options)` likewise.
Without a name they are numbered in the order of calls in each job (`dense_1`, `dense_2`), so a
train job and an evaluation job that build the same network share its variables. A name stands for
one layer of a job; with `reuse = true` it may stand for one that the job has, whose variables then
serve twice, as in a network that compares two inputs.

```lua
local function network(x)
  x = flow.layers.conv2d(x, 4, 3, { padding = "SAME", activation = flow.nn.relu, name = "conv" })
  x = flow.nn.max_pool2d(x, { ksize = 2, strides = 2 })
  x = flow.reshape(x, { x.shape[1], -1 })
  x = flow.layers.dense(x, 16, { activation = flow.nn.relu })
  return flow.layers.dense(flow.nn.dropout(x, 0.5), 10)
end

local train = flow.global_function {
  name = "train",
  type = "train",
  inputs = {
    { "images", tp.Numpy.Placeholder({ 8, 1, 12, 12 }) },
    { "labels", tp.Numpy.Placeholder({ 8 }, flow.int32) },
  },
  returns = tp.Numpy,
  body = function(images, labels)
    local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, network(images))
    local rate = flow.optimizer.PiecewiseConstantScheduler({ 100 }, { 0.1, 0.01 },
      { warmup = flow.optimizer.warmup.linear(10, 0.1) })
    flow.optimizer.SGD(rate, { momentum = 0.9,
      grad_clipping = flow.optimizer.grad_clipping.by_global_norm(1) }):minimize(loss)
    return loss
  end,
}

local classify = flow.global_function {
  name = "classify",
  inputs = { { "images", tp.Numpy.Placeholder({ 8, 1, 12, 12 }) } },
  returns = tp.Numpy,
  body = function(images) return flow.math.argmax(network(images), 1) end,
}

flow.random.seed(1)
local images, labels = flow.ndarray.rand({ 8, 1, 12, 12 }), flow.ndarray.arange(8)
print(#train(images, labels:astype(flow.int32)), classify(images).dtype)   --> 8	int32
```

A loss is given unreduced, one number a sample; gradients are divided by how many there are.
`minimize` takes a list of losses too, and `variables = { "conv-weight", ... }`, or a function that
says of a name whether it is trained, trains only some. A body may call `minimize` for several
optimizers, each for variables of its own, with its own schedule, clipping and losses: a variable of
two is an error. Each gets the gradients of its own losses, and all of these are taken before any
variable changes.

```lua
local head                                       -- an optimizer that the script keeps
local both = flow.global_function {
  name = "both",
  type = "train",
  inputs = { { "x", tp.Numpy.Placeholder({ 4, 3 }) } },
  returns = tp.Numpy,
  body = function(x)
    local features = flow.layers.dense(x, 5, { activation = flow.nn.relu, name = "body" })
    local y = flow.layers.dense(features, 1, { name = "head",
      kernel_regularizer = flow.regularizers.l2(0.001) })
    local function of_body(name) return name:find("^body") ~= nil end
    flow.optimizer.Adam(0.001, { variables = of_body }):minimize(y)
    head = flow.optimizer.SGD(0.1, { variables = { "head-weight", "head-bias" } })
    head:minimize(y)
    return y
  end,
}
both(flow.ndarray.ones({ 4, 3 }))
head:set_lr(head.lr / 2)                         -- between calls; nothing is compiled anew
print(head.lr)                                   --> 0.05
```

A rate that `set_lr` has set rules over the schedule until `set_lr(nil)`; checkpoints keep it.
Dropout drops in train jobs only; `training = true` or `false` overrides that. A rate is a number,
a scheduler, or a function of the step, counted from 0, which every call asks before it begins.
Gradients can be taken of whatever has one; `flow.help` says so of those that have none.

Other optimizers, schedules, decay of weights and averages of them have
[a page of their own](guide-rates-decay-and-averages.md).

Convolutions, `conv1d`, `conv2d` and `conv3d`, have weights (filters, inputs / groups, ...). With as
many groups as channels they are depthwise; `dilation_rate` puts distance between a window's cells.
Padding is "VALID" (none), "SAME" (as many cells as before over strides, an odd one in front),
"SAME_UPPER" (the odd one behind, as in TensorFlow) or a list: cells on all sides, on each axis, or
before and after each axis. With `data_format = "NHWC"` channels are last, in weights too. Pictures
become larger by `conv2d_transpose`, whose weights are (inputs, filters / groups, ...), by
`flow.nn.interpolate` and by `flow.nn.PixelShuffle`.

```lua
local shapes = flow.global_function {
  name = "shapes",
  inputs = { { "pictures", tp.Numpy.Placeholder({ 2, 3, 32, 32 }) } },
  returns = tp.Numpy,
  body = function(x)
    x = flow.layers.conv2d(x, 16, 3, { padding = "SAME" })                    -- (2, 16, 32, 32)
    x = flow.layers.conv2d(x, 16, 3, { padding = 1, groups = 16 })            -- depthwise
    x = flow.nn.max_pool2d(x, 2)                                              -- (2, 16, 16, 16)
    x = flow.layers.conv2d_transpose(x, 8, 4, { strides = 2, padding = 1 })   -- (2, 8, 32, 32)
    x = flow.layers.upsample_2d(x, { interpolation = "bilinear" })            -- (2, 8, 64, 64)
    return flow.nn.adaptive_avg_pool2d(x, 7)
  end,
}
print(shapes(flow.ndarray.ones({ 2, 3, 32, 32 })).shape[4])   --> 7
```

Initializers are `flow.truncated_normal(stddev)`, `flow.constant_initializer(value)`,
`flow.glorot_uniform_initializer()` (what weights get if nothing is said), and more:
`flow.help("initializer")` suggests them.
]==]
-- The layers are in modules of their own, a family in each.
return {}
