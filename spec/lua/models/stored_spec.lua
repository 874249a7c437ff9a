-- Networks of flow.models that are saved in few bits, and loaded as they are or as float32.
local flow = require "jfl"

local nd = flow.ndarray

before_each(flow.clear_default_session)
after_each(flow.clear_default_session)

local function distance(a, b) return (a - b):abs():max() end

local function with_path(use)
  local path = os.tmpname()
  os.remove(path)
  local ok, err = pcall(use, path)
  os.execute("rm -rf " .. path)
  assert(ok, err)
end

-- Saves a network that was quantized so, and gives what it predicts then and loaded again.
local function through(make, input, x, options, load)
  local before, after, dtypes
  with_path(function(path)
    local net = make()
    local job = net:predict { name = "first", inputs = { input } }
    job(x)
    options.job, options.batches = options.form == "int8" and job or nil,
      options.form == "int8" and { x } or nil
    flow.quantization.quantize(net, options)
    before = job(x)
    net:save(path)
    flow.clear_default_session()
    local other = flow.models.load(path, load)
    after, dtypes = other:predict { name = "again", inputs = { input } }(x), {}
    for _, array in pairs(flow.get_all_variables()) do dtypes[array.dtype] = true end
    other:save(path .. ".again")
    os.execute("rm -rf " .. path .. ".again")
  end)
  return before, after, dtypes
end

local function gpt2()
  return flow.models.gpt2({ vocab_size = 64, n_positions = 32, n_embd = 32, n_layer = 1,
    n_head = 2 })
end
local function resnet()
  return flow.models.resnet({ num_labels = 5, depths = { 1, 1 }, hidden_sizes = { 16, 32 },
    embedding_size = 8, layer_type = "basic" })
end

describe("networks in few bits", function()
  local words, ids = flow.int32 { 1, 4 }, nd.array({ { 1, 5, 9, 2 } }, "int32")
  local picture = flow.float32 { 2, 3, 32, 32 }

  it("are loaded as they are saved", function()
    local before, after, dtypes = through(gpt2, words, ids, { form = "q8_0" })
    assert.equal(0, distance(before, after))
    assert.is_true(dtypes.q8_0)
    before, after, dtypes = through(resnet, picture, nd.rand { 2, 3, 32, 32 }, { form = "int8" })
    assert.equal(0, distance(before, after))
    assert.is_true(dtypes.int8)
  end)

  it("are loaded as float32 where that is asked for", function()
    local before, after, dtypes = through(gpt2, words, ids, { form = "q8_0" },
      { dtype = "float32" })
    assert.is_true(distance(before, after) < 0.02 * before:abs():max())
    assert.same({ float32 = true }, dtypes)
    before, after, dtypes = through(resnet, picture, nd.rand { 2, 3, 32, 32 }, { form = "int8" },
      { dtype = "float32" })
    assert.is_true(distance(before, after) < 0.1 * before:abs():max())
    assert.same({ float32 = true }, dtypes)
  end)
end)
