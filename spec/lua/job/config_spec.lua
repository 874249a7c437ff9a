local flow = require "jfl"
local helper = require "spec.lua.helper"

describe("config", function()
  before_each(flow.clear_default_session)
  teardown(flow.clear_default_session)

  it("sets and gives settings", function()
    assert.equal(8, flow.config.max_plans())
    assert.equal(3, flow.config.max_plans(3))
    assert.equal(3, flow.config.max_plans())
    flow.config.threads(1)
    assert.equal(1, flow.config.threads())
    assert.equal(2, flow.config.max_inflight())
  end)

  it("goes back to its defaults with a new session", function()
    flow.config.max_plans(3)
    flow.config.strict_placement(true)
    flow.clear_default_session()
    assert.equal(8, flow.config.max_plans())
    assert.is_false(flow.config.strict_placement())
  end)

  it("names the valid options beside an unknown one", function()
    helper.fails(function() flow.config.gpu_num(1) end,
      "config: unknown option 'gpu_num'; options are background, callback_seconds, "
        .. "check_finite, cpu_device_num, device, ")
    helper.fails(function() flow.config.threads = 5 end, "config: options are functions")
  end)

  it("checks values", function()
    helper.fails(function() flow.config.max_plans(0) end,
      "config.max_plans: value must be a whole number of at least 1, got number 0")
    helper.fails(function() flow.config.threads("two") end, "got string 'two'")
    helper.fails(function() flow.config.kernels("slow") end,
      "must be \"fast\", \"direct\" or \"reference\"")
    local before = flow.config.kernels()
    flow.config.kernels("reference")
    assert.equal("reference", flow.config.kernels())
    flow.config.kernels(before)
    assert.equal(before, flow.config.kernels())
  end)

  it("rounds products to TF32 unless told otherwise", function()
    local name = "enable_tensor_float_32_compute"
    local before = flow.config[name]()
    assert.is_false(flow.config[name](false))
    assert.is_true(flow.config[name](true))
    flow.config[name](before)
    local SHOW = 'print(require("jfl").config.' .. name .. '())'
    assert.equal("true\n", (helper.script(SHOW, "JFL_TF32=")))
    assert.equal("false\n", (helper.script(SHOW, "JFL_TF32=0")))
    local out, status = helper.script(SHOW, "JFL_TF32=no")
    assert.equal(1, status)
    assert.truthy(out:find("JFL_TF32: tf32 must be 0 or 1, got 'no'", 1, true), out)
  end)

  it("takes the first seed from outside", function()
    local SHOW = 'print(require("jfl").ndarray.rand({ 1 })[1])'
    local seeded = 'require("jfl").random.seed(7) ' .. SHOW
    local one, two = helper.script(SHOW, "JFL_SEED=7"), helper.script(SHOW, "JFL_SEED=8")
    assert.equal((helper.script(seeded, "JFL_SEED=8")), one)
    assert.are_not.equal(one, two)
    assert.are_not.equal((helper.script(SHOW, "JFL_SEED=")), (helper.script(SHOW, "JFL_SEED=")))
    for _, seed in ipairs { "seven", "9007199254740993", "-9223372036854775808" } do
      local out, status = helper.script(SHOW, "JFL_SEED=" .. seed)
      assert.equal(1, status)
      assert.truthy(out:find("JFL_SEED: seed must be a whole number from -9007199254740992 "
        .. "to 9007199254740992, got '" .. seed .. "'", 1, true), out)
    end
  end)

  it("takes the number of the CPU's devices from outside", function()
    local SHOW = 'print(require("jfl").config.cpu_device_num())'
    assert.equal("3\n", (helper.script(SHOW, "JFL_CPU_DEVICES=3")))
    for _, n in ipairs { "0", "65", "2.5" } do
      local out, status = helper.script(SHOW, "JFL_CPU_DEVICES=" .. n)
      assert.equal(1, status)
      assert.truthy(out:find("JFL_CPU_DEVICES: cpu_devices must be a whole number from 1 to 64, "
        .. "got '" .. n .. "'", 1, true), out)
    end
  end)

  it("gives warnings to a function, and to stderr again", function()
    assert.is_false(flow.config.on_warning())
    local told = {}
    local function note(text) told[#told + 1] = text end
    assert.equal(note, flow.config.on_warning(note))
    require("jfl.base.warn").say("%d of %s", 1, "them")
    assert.same({ "1 of them" }, told)
    assert.is_false(flow.config.on_warning(false))
    helper.fails(function() flow.config.on_warning(true) end,
      "config.on_warning: value must be a function, or false for stderr, got boolean true")
    flow.config.on_warning(note)
    flow.clear_default_session()
    assert.is_false(flow.config.on_warning())
  end)

  it("names the device of jobs and of ops on arrays", function()
    local before = flow.config.device()
    flow.config.device("sim:1")
    assert.equal("sim:1", flow.config.device())
    local job = flow.global_function {
      name = "job", inputs = { { "x", flow.typing.Numpy.Placeholder({ 2 }) } },
      body = function(x) return flow.math.exp(x) end,
    }
    local x = job({ 0, 0 }):get()
    assert.truthy(job:plan():find("on sim:1: ", 1, true), job:plan())
    assert.equal(2, flow.math.add(x, x)[1])
    flow.config.device(before)
    assert.equal(before, flow.config.device())
    helper.fails(function() flow.config.device("tpu:0") end,
      "device must be a kind and numbers, as in cpu:0, gpu:0-3 or gpu 0:0-3,1:0-3, got 'tpu:0'")
    helper.fails(function() flow.config.device("sim:99") end, "got 'sim:99'")
    helper.fails(function() flow.config.device("null:0") end, "null:0 computes nothing")
    helper.fails(function() flow.config.device(1) end, "got number 1")
  end)

  it("leaves passes out of the jobs compiled later", function()
    assert.equal("", flow.config.passes())
    assert.equal("-fold -cse", flow.config.passes("-cse, -fold"))
    assert.equal("-fold -cse", flow.config.passes())
    local function twice(x) return (x * 3) * (x * 3) end
    local job = helper.predict("apart", { 4 }, twice)
    local _, without = job:graph("optimized"):gsub("multiply%(", "")
    assert.equal("", flow.config.passes(""))
    local _, with = helper.predict("together", { 4 }, twice):graph("optimized")
      :gsub("multiply%(", "")
    assert.equal(3, without)
    assert.equal(2, with)
    assert.same({ 81 }, { job({ 3, 3, 3, 3 })[1] })
  end)

  it("checks the names of passes", function()
    helper.fails(function() flow.config.passes("-cce") end,
      "config.passes: unknown pass 'cce'; passes are ")
    helper.fails(function() flow.config.passes("-cce") end, "; did you mean cse?")
    helper.fails(function() flow.config.passes("-dce") end, "unknown pass 'dce'")
    helper.fails(function() flow.config.passes("cse") end, "as in \"-cse\", got 'cse'")
    helper.fails(function() flow.config.passes(3) end, "must be a string, got number 3")
    assert.equal("", flow.config.passes())
  end)

  it("refuses a plan above the memory limit before it is run", function()
    flow.config.memory_limit(1000)
    local job = helper.predict("big", { 1000 }, function(x) return flow.nn.softmax(x) * x end)
    local ok, err = pcall(function() job:compile() end)
    assert.is_false(ok)
    assert.truthy(err:find("big", 1, true))
  end)
end)

describe("function_config", function()
  it("is called with a dot or a colon", function()
    local config = flow.function_config()
    config.default_data_type(flow.double)
    config:enable_auto_mixed_precision(true)
    config.train.primary_lr(0.5)
    local options = require("jfl.job.config").snapshot(config)
    assert.equal("float64", options.default_data_type)
    assert.is_true(options.enable_auto_mixed_precision)
    assert.equal(0.5, options.train.primary_lr)
  end)

  it("names the valid options beside an unknown one", function()
    local config = flow.function_config()
    helper.fails(function() config.default_type(flow.float) end,
      "function_config: unknown option 'default_type'; options are concurrency_width, ")
    helper.fails(function() config.default_data_typ(flow.float) end,
      "unknown option 'default_data_typ'; did you mean default_data_type?")
    helper.fails(function() config.train.lr(1) end,
      "function_config.train: unknown option 'lr'; options are ")
    helper.fails(function() config.default_data_typ = flow.float end,
      "unknown option 'default_data_typ'; did you mean default_data_type?")
    helper.fails(function() config.train = {} end, "function_config: train is a group of options")
  end)

  it("takes options by assignment as by calls", function()
    local config = flow.function_config()
    config.default_data_type = flow.double
    config.enable_inplace = false
    local training = flow.function_config()
    training.train.primary_lr = 0.5
    training.train.model_update_conf = { naive_conf = {} }
    helper.fails(function() training.train.primary_lr = -1 end,
      "train.primary_lr: value must be a number of at least 0, got number -1")
    local w = helper.train("old", { function_config = training, body = function(x)
      local v = flow.get_variable("v", { 2 }, { initializer = flow.ones_initializer() })
      flow.losses.add_loss(x * v)
      return v
    end })
    w({ 1, 1 })
    assert.same({ 0.75, 0.75 }, w({ 1, 1 }):totable())
    local job = helper.predict("double", { 1 }, function()
      return flow.get_variable("d", { 1 }, { initializer = flow.zeros_initializer() })
    end, { function_config = config })
    assert.equal("float64", job({ 1 }).dtype)
  end)

  it("checks values", function()
    local config = flow.function_config()
    helper.fails(function() config.default_data_type("f32") end,
      "default_data_type: value must be one of")
    helper.fails(function() config.default_logical_view(5) end,
      "default_logical_view: value must be what flow.scope.consistent_view()")
    helper.fails(function() config.default_placement_scope("gpu") end,
      "must be what flow.scope.placement(")
    config.default_logical_view(flow.scope.mirrored_view())
    config.default_placement_scope(flow.scope.placement("cpu", "0:0"))
  end)

  it("is copied whole when a job is defined", function()
    flow.clear_default_session()
    local config = flow.function_config()
    local conf = { momentum_conf = { beta = 0.5 } }
    config.train.model_update_conf(conf)
    local job = flow.global_function(config, { name = "copied", body = function() end })
    conf.momentum_conf.beta = 0
    assert.equal(0.5, job.config.train.model_update_conf.options.momentum)
  end)

  it("sets the dtype of variables", function()
    flow.clear_default_session()
    local config = flow.function_config()
    config.default_data_type(flow.double)
    local job = flow.global_function {
      name = "wide", returns = flow.typing.Numpy, function_config = config,
      body = function()
        return flow.get_variable("v", { 2 }, { initializer = flow.ones_initializer() })
      end,
    }
    assert.equal("float64", job().dtype)
  end)
end)
