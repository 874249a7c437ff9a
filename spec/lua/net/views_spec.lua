-- The mirrored and the consistent view, and what says how values lie, on two devices of the CPU.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd, tp = flow.ndarray, flow.typing
local split, broadcast = flow.distribute.split, flow.distribute.broadcast
local mirrored, consistent = flow.scope.mirrored_view, flow.scope.consistent_view
local cast = flow.cast_to_current_logical_view

local X = { { "x", tp.Numpy.Placeholder({ 4, 6 }) } }
local LIST = { { "x", tp.ListNumpy.Placeholder({ 2, 3 }) } }

local function in_mirrored_view()
  local config = flow.function_config()
  config.default_logical_view(mirrored())
  return config
end

-- A job named "job" of these fields.
local function job(t)
  t.name, t.returns, t.inputs = "job", t.returns or tp.Numpy, t.inputs or X
  return flow.global_function(t)
end

-- What body makes of a 4 by 6 array with the elements 0 to 23.
local function made(body, fields)
  local t = fields or {}
  t.body = body
  return job(t)(nd.arange(24):reshape({ 4, 6 }))
end

local function refuses(text, body, fields)
  local t = fields or {}
  t.body = body
  helper.fails(function() job(t):compile() end, text)
end

local one, two = nd.ones({ 2, 3 }), nd.ones({ 2, 3 }) * 2

-- #cpu: the devices are shares of the CPU.
describe("on two devices #cpu", function()
  before_each(function()
    flow.clear_default_session()
    flow.config.cpu_device_num(2)
  end)
  teardown(flow.clear_default_session)

  describe("the mirrored view", function()
    it("gives each device an array of its own", function()
      local sums = job({ inputs = LIST, returns = tp.ListNumpy, body = function(x)
        return flow.math.reduce_sum(x, 1)
      end })({ one, two })
      assert.same({ { 3, 3 }, { 6, 6 } }, { sums[1]:totable(), sums[2]:totable() })
    end)

    it("is that of blobs, and known in the body", function()
      local seen
      job({ inputs = LIST, returns = tp.ListNumpy, body = function(x)
        local y = x * 2
        seen = { tostring(y.distribute), y.placement, y.shape[1],
          flow.scope.mirrored_view_enabled(), consistent(flow.scope.mirrored_view_enabled) }
        return y
      end, function_config = in_mirrored_view() }):compile()
      assert.same({ "mirrored()", "cpu 0:0-1", 2, true, false }, seen)
    end)

    it("takes smaller arrays", function()
      local double = job({ inputs = LIST, returns = tp.ListNumpy,
        body = function(x) return x * 2 end })
      local row = nd.ones({ 1, 3 })
      assert.same({ { 2, 2, 2 } }, double({ row, row })[2]:totable())
      assert.same({ { 2, 2, 2 } }, double({ one, row })[2]:totable())
      helper.fails(function() double({ one, nd.ones({ 3, 3 }) }) end,
        "job: x[2] must be of at most shape (2, 3), got (3, 3)")
    end)

    it("takes as many arrays as there are devices", function()
      local double = job({ inputs = LIST, returns = tp.ListNumpy,
        body = function(x) return x * 2 end })
      helper.fails(function() double({ one, two, one }) end,
        "job: x must be a list of 2 NdArrays, one for each device, got 3 items")
      helper.fails(function() double({ one }) end, "one for each device, got 1 item")
      helper.fails(function() double(one) end,
        "job: x must be a list of one NdArray for each device, got an NdArray (2, 3)")
      helper.fails(function() double({ one, "b" }) end,
        "job: x[2] must be an NdArray or a table, got string 'b'")
      assert.equal(2, #double({ one, two }))
    end)

    it("takes a list of one array for each device as ListListNumpy", function()
      local lists = job({ inputs = { { "x", tp.ListListNumpy.Placeholder({ 2, 3 }) } },
        returns = tp.ListListNumpy, body = function(x) return x + 1 end })
      assert.equal(3, lists({ { one }, { two } })[2][1]:max())
      helper.fails(function() lists({ { one }, { two, one } }) end,
        "job: x[2] must be a list of one NdArray, got 2 items")
    end)

    it("nests in results", function()
      local result = job({ inputs = LIST, returns = tp.Dict(tp.List(tp.ListNumpy)),
        body = function(x) return { a = { x, x + 1 } } end })({ one, two })
      assert.equal(3, result.a[2][2]:max())
      assert.equal(1, result.a[1][1]:max())
    end)

    it("is told by the types of results", function()
      refuses("must return blobs shaped as Numpy, got mirrored blob; a mirrored blob has a value "
        .. "on each device: its type is flow.typing.ListNumpy", function(x) return x end,
        { inputs = LIST })
      refuses("ListNumpy has a value for each of 2 devices", function(x) return x end,
        { returns = tp.ListNumpy })
    end)

    it("cuts arrays of the whole, unless each device shall have all", function()
      local function sums(d)
        local t = { inputs = { { "x", tp.Numpy.Placeholder({ 4, 6 }, { distribute = d }) },
            { "y", tp.ListNumpy.Placeholder({ 1 }) } },
          returns = tp.ListNumpy, function_config = in_mirrored_view(),
          body = function(x, y) return flow.math.reduce_sum(x) + y end }
        local list = job(t)(nd.arange(24):reshape({ 4, 6 }), { { 0 }, { 1 } })
        return { list[1]:item(), list[2]:item() }
      end
      assert.same({ 66, 211 }, sums())
      assert.same({ 276, 277 }, sums(broadcast()))
    end)

    it("draws other random bits on each device", function()
      local x = nd.ones({ 2, 300 })
      local list = job({ inputs = { { "x", tp.ListNumpy.Placeholder({ 2, 300 }) } },
        returns = tp.ListNumpy, body = function(y)
          return flow.nn.dropout(y, 0.5, { training = true })
        end })({ x, x })
      assert.is_false(list[1]:eq(list[2]):min() == 1)
    end)

    it("averages gradients, as if the arrays were one", function()
      local function trained(kind, shape, ...)
        flow.clear_default_session()
        flow.config.cpu_device_num(2)
        job({ type = "train", inputs = { { "x", tp[kind].Placeholder(shape) } },
          returns = tp[kind], body = function(x)
            local w = flow.get_variable("w", { 3 }, { initializer = flow.ones_initializer() })
            local loss = flow.math.square(x * w)
            flow.optimizer.SGD(0.1, { momentum = 0 }):minimize(loss)
            return loss
          end })(...)
        return flow.get_all_variables().w:totable()
      end
      local want = trained("Numpy", { 4, 3 }, nd.concat({ one, two }, 0))
      local got = trained("ListNumpy", { 2, 3 }, { one, two })
      for i, v in ipairs(want) do assert.is_true(v < 1 and math.abs(v - got[i]) < 1e-6) end
    end)

    it("gives lists to callbacks, and to jobs that say nothing of results", function()
      local seen
      job({ inputs = LIST, returns = tp.Callback(tp.ListNumpy), body = function(x)
        return x * 2
      end })({ one, two })(function(list) seen = list end)
      flow.sync()
      assert.same({ 2, 4 }, { seen[1]:max(), seen[2]:max() })
      local future = flow.global_function { name = "old", inputs = LIST, body = function(x)
        return x, { y = x }
      end } ({ one, two })
      assert.equal(2, future:get()[2].y[2]:max())
    end)

    it("shows gradients to watchers as lists, whatever they depend on", function()
      local seen
      job({ type = "train", inputs = LIST, returns = tp.ListNumpy, body = function(x)
        local y = flow.layers.dense(x, 2)
        flow.optimizer.SGD(0.1):minimize(y)
        flow.watch_diff(y, function(list) seen = list end)
        return y
      end })({ one, two })
      assert.equal(2, #seen)
      assert.same({ { 0.25, 0.25 }, { 0.25, 0.25 } }, seen[2]:totable())
    end)

    it("shows values to watchers as lists", function()
      local seen
      job({ inputs = LIST, returns = tp.ListNumpy, body = function(x)
        flow.watch(x * 3, function(list) seen = list end)
        return x
      end })({ one, two })
      assert.same({ 3, 6 }, { seen[1]:max(), seen[2]:max() })
    end)
  end)

  describe("a cast to the current view", function()
    it("cuts a blob, and puts parts together", function()
      local y = made(function(x)
        local part = mirrored(function() return cast(x) + 0.5 end)
        assert.equal(2, part.shape[1])
        return cast(part)
      end)
      assert.same((nd.arange(24):reshape({ 4, 6 }) + 0.5):totable(), y:totable())
    end)

    it("needs rows that the devices can share", function()
      refuses("cast_to_current_logical_view: blob 'x' must have a first extent that the 2 devices "
        .. "of cpu 0:0-1 can share evenly, got shape (3)", function(x)
          return mirrored(function() return cast(x) end)
        end, { inputs = { { "x", tp.Numpy.Placeholder({ 3 }) } } })
    end)

    it("is asked for where the views are mixed", function()
      helper.fails(function()
        job({ inputs = { LIST[1], { "y", tp.Numpy.Placeholder({ 4, 3 }) } }, returns = tp.ListNumpy,
          body = function(x, y) return x + y end }):compile()
      end, "with 'x' mirrored, the shape being each device's own, and 'y' not, shapes (2, 3)")
    end)

    it("trains through both views as in one", function()
      local function trained(body)
        flow.clear_default_session()
        flow.config.cpu_device_num(2)
        flow.random.seed(1)
        local train = job({ type = "train", body = function(x)
          local y = body(flow.layers.dense(x, 5, { name = "a" }))
          flow.optimizer.SGD(0.001):minimize(y)
          return y
        end })
        for _ = 1, 3 do train(nd.arange(24):reshape({ 4, 6 }) / 24) end
        return helper.variables()
      end
      local function head(x)
        return flow.layers.dense(flow.math.tanh(x), 2, { name = "b" })
      end
      local want = trained(head)
      local got = trained(function(x)
        return cast(mirrored(function() return head(cast(x)) end))
      end)
      for name, values in pairs(want) do
        for i, v in ipairs(values) do
          assert.is_true(math.abs(v - got[name][i]) < 1e-5, name)
        end
      end
    end)
  end)

  describe("a distribution", function()
    it("is one object for each axis", function()
      assert.equal(split(1), split(1))
      assert.equal("split(1)", tostring(split(1)))
      assert.equal("broadcast()", tostring(flow.distribute.broadcast()))
      helper.fails(function() split(-1) end,
        "distribute.split: axis must be a whole number of at least 0, got number -1")
    end)

    it("is seen at the blob that was cast", function()
      local seen
      local y = made(function(x)
        local wide = x:with_distribute(split(1))
        seen = { tostring(x.distribute), tostring(wide.distribute) }
        return wide * 2
      end)
      assert.same({ "auto()", "split(1)" }, seen)
      assert.same((nd.arange(24):reshape({ 4, 6 }) * 2):totable(), y:totable())
    end)

    it("has an axis that is there, and elements for all devices", function()
      refuses("with_distribute: distribute must split along an axis from 0 to 1",
        function(x) return x:with_distribute(split(2)) end)
      refuses("with_distribute: distribute must be a distribution such as "
        .. "flow.distribute.split(0), got number 0", function(x) return x:with_distribute(0) end)
      refuses("with_gradient_distribute: gradient_distribute must be a distribution such as "
        .. "flow.distribute.split(0), got nil", function(x) return x:with_gradient_distribute() end)
      refuses("axis 0 of 'dense_1-weight' must have an element for each of the 2 devices of "
        .. "cpu 0:0-1, got 1", function(x)
          return flow.layers.dense(x, 1, { model_distribute = split(0) })
        end)
    end)

    it("of a mirrored blob is its own", function()
      refuses("with_distribute: 'x' is mirrored", function(x)
        return x:with_distribute(split(0))
      end, { inputs = LIST })
    end)

    it("splits the units of a layer, weight and bias", function()
      local function weights(d)
        flow.clear_default_session()
        flow.config.cpu_device_num(2)
        flow.random.seed(2)
        local y = made(function(x)
          return flow.layers.dense(x, 4, { model_distribute = d, name = "d" })
        end)
        return y:totable(), helper.variables()
      end
      local want, variables = weights()
      local got, own = weights(split(0))
      for i, row in ipairs(want) do
        for k, v in ipairs(row) do assert.is_true(math.abs(v - got[i][k]) < 1e-5) end
      end
      assert.same(variables, own)
    end)

    it("of a layer is that of its first axis, and of two axes", function()
      refuses("layers.dense: model_distribute must be auto(), broadcast() or split(0), got "
        .. "split(1)", function(x)
          return flow.layers.dense(x, 4, { model_distribute = split(1) })
        end)
      refuses("flow.reshape(x, {-1, 6}) makes them so", function(x)
        return flow.layers.dense(flow.reshape(x, { 2, 2, 6 }), 4, { model_distribute = split(0) })
      end)
    end)

    it("is a placeholder's, too", function()
      local t = tp.Numpy.Placeholder({ 4, 6 }, { distribute = split(1) })
      assert.equal(276, made(flow.math.reduce_sum, { inputs = { { "x", t } } }):item())
      helper.fails(function() tp.Numpy.Placeholder({ 4 }, { distribute = split(1) }) end,
        "typing.Numpy.Placeholder: distribute must split along an axis from 0 to 0")
      helper.fails(function() tp.Numpy.Placeholder(4, { distribute = split(0) }) end,
        "typing.Numpy.Placeholder: shape must be a list of extents")
    end)
  end)

  describe("flow.advanced", function()
    local advanced = flow.advanced

    it("gives a blob to each device, and puts results together", function()
      assert.same({ 36, 40, 44, 48, 52, 56 }, made(function(x)
        local parts = advanced.distribute_split(x, 1)
        assert.same({ 4, 3 }, parts[2].shape)
        assert.not_equal(parts[1].placement, parts[2].placement)
        local whole = advanced.distribute_concat(parts, 1)
        whole = advanced.distribute_map(whole, function(part) return part / 4 end)
        return flow.math.reduce_sum(advanced.distribute_add(advanced.distribute_clone(whole)), 0)
          * 2
      end):totable())
    end)

    it("says what does not fit", function()
      refuses("advanced.distribute_split: axis 0 of 'x' must have an element for each of 2 "
        .. "devices, got 1", function(x) return advanced.distribute_split(x, 0)[1] end,
        { inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } } })
      refuses("advanced.distribute_add: xs[2] must be a blob, got number 3",
        function(x) return advanced.distribute_add({ x, 3 }) end)
      refuses("advanced.distribute_map: the result of f must be a blob, got nil",
        function(x) return advanced.distribute_map(x, function() end) end)
    end)
  end)
end)
