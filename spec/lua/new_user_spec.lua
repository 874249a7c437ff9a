--- Days of somebody who is new to jfl: each test is one piece of work from beginning to end, by
-- public functions alone. What each function does is tested beside the others of its file.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd = flow.ndarray

describe("a new user", function()
  local place
  before_each(function()
    flow.clear_default_session()
    flow.random.seed(1)
    place = helper.directory()
  end)
  after_each(function() helper.remove(place) end)
  teardown(flow.clear_default_session)

  local function dense(units)
    return function(x) return flow.layers.dense(x, units, { name = "out" }) end
  end

  local function trainer(net, inputs)
    return net:train { inputs = { flow.float32 { -1, inputs }, flow.int32 { -1 } },
      loss = flow.nn.cross_entropy, optimizer = flow.optimizer.Adam(0.1) }
  end

  local function batches_of(data)
    local n = 0
    for _ in flow.data.batches(data, { batch_size = 2, shuffle = true }) do n = n + 1 end
    return n
  end

  it("goes back to the best epoch and trains on, with all data", function()
    local data = { nd.rand { 8, 3 }, nd.array({ 0, 1, 0, 1, 0, 1, 0, 1 }, "int32") }
    local train = trainer(flow.model("net", dense(2)), 3)
    for _, i, x, y in flow.data.batches(data, { batch_size = 2, shuffle = true }) do
      train(x, y)
      if i == 3 then flow.checkpoint.save(place .. "/middle") end
    end
    flow.checkpoint.load(place .. "/middle")
    assert.equal(4, batches_of(data))
    flow.checkpoint.load(place .. "/middle", { resume = true })
    assert.equal(1, batches_of(data))
    assert.equal(4, batches_of { nd.rand { 8, 3 } })
  end)

  it("goes through data within data, and breaks off", function()
    local outer, inner = { nd.arange(3) }, { nd.arange(2) }
    local steps = 0
    for _ in flow.data.loop(outer) do
      for _ in flow.data.loop(inner) do steps = steps + 1 end
    end
    for _ in flow.data.loop(outer) do break end            -- luacheck: ignore 512
    for _ in flow.data.loop(outer) do steps = steps + 1 end
    assert.equal(3 * 2 + 3, steps)
  end)

  it("loads weights of others, and learns which names do not fit", function()
    flow.model("net", dense(2)):predict { inputs = { flow.float32 { -1, 3 } } }
    local found
    local said = helper.stderr_of(function()
      found = flow.load_variables { ["net.out.weight"] = nd.ones { 2, 3 },
        ["net-out-bias"] = nd.ones { 2 } }
    end)
    assert.same({ "net-out-bias" }, found.loaded)
    assert.same({ "net-out-weight" }, found.missing)
    assert.same({ "net.out.weight" }, found.unexpected)
    assert.truthy(said:find("net.out.weight", 1, true), said)
    helper.fails(function() flow.load_variables { ["net-out-bias"] = nd.ones { 3 } } end,
      "must be float32 (2), got float32 (3); nothing was set")
  end)

  it("predicts from a table with the categories that the model was trained with", function()
    helper.write(place .. "/train.csv", "city,size,sold\nRome,3,yes\nOslo,4,no\nParis,2,yes\n")
    helper.write(place .. "/new.csv", "city,size\nParis,2\nOslo,1\n")
    local known = flow.data.csv(place .. "/train.csv", { categories = { "city", "sold" } })
    local net = flow.model("net", dense(2))
    trainer(net, 3)(flow.one_hot(known.city, 3), known.sold)
    net:save(place .. "/model", { notes = { categories = known.categories } })

    local notes = flow.checkpoint.notes(place .. "/model")
    local cities = { city = notes.categories.city }
    local new = flow.data.csv(place .. "/new.csv", { categories = cities })
    assert.same({ 2, 1 }, new.city:totable())
    assert.equal("no", notes.categories.sold[2])
    helper.write(place .. "/new.csv", "city,size\nLima,2\n")
    helper.fails(function() flow.data.csv(place .. "/new.csv", { categories = cities }) end,
      "row 1: 'Lima' is none of the categories of column 'city': Rome, Oslo, Paris")
    assert.same({ 3 }, flow.data.csv(place .. "/new.csv", { categories = cities,
      unknown = "class" }).city:totable())
  end)

  it("gives a layer another width, by pasting what the error says", function()
    local env = setmetatable({ flow = flow, body = dense }, { __index = _G })
    local function typed(text) return setfenv(assert(loadstring(text, "=stdin")), env)() end
    local text = [[return flow.model("net", body(%d)):predict {
      inputs = { flow.float32 { 1, 3 } } }({ { 1, 2, 3 } })]]
    typed(text:format(2))
    local ok, message = pcall(typed, text:format(5))
    assert.is_false(ok)
    typed(assert(message:match("flow%.drop_variables{[^}]*}"), message))
    assert.same({ 1, 5 }, typed(text:format(5)).shape)
  end)

  it("has a folder of pictures, splits it and is told what is not read", function()
    for _, class in ipairs { "cat", "dog" } do
      os.execute(("mkdir -p %s/pets/%s"):format(place, class))
      for i = 1, 4 do
        flow.data.save_image(("%s/pets/%s/%d.png"):format(place, class, i), nd.ones { 3, 4, 4 })
      end
    end
    helper.write(place .. "/pets/cat/5.webp", "RIFF")
    local pets
    local said = helper.stderr_of(function()
      pets = flow.data.folder(place .. "/pets", { size = 4 })
    end)
    assert.truthy(said:find("pictures that are not read: 1 .webp", 1, true), said)
    local train, test = flow.data.split(pets, { 0.75, 0.25, seed = 1, by_class = true })
    assert.equal(6, #train.images)
    assert.equal(1, test.labels:sum())
    os.execute(("mkdir %s/pets/bird"):format(place))
    helper.fails(function() flow.data.folder(place .. "/pets", { size = 4 }) end,
      "pets/bird' must have .jpg, .jpeg or .png files, as each folder there is a class")
  end)

  it("trains until nothing is gained, and looks at what it got wrong", function()
    local x = nd.rand { 60, 2 }
    local y = x:sum(1):gt(1):astype "int32"
    local train, test = flow.data.split({ x, y }, { 0.8, 0.2, seed = 1 })
    local net = flow.model("net", dense(2))
    local run = flow.fit(net, train, { epochs = 40, batch_size = 8, validation = test, patience = 4,
      keep_best = true, show = false, loss = flow.nn.cross_entropy, reduce_rate = true,
      optimizer = flow.optimizer.Adam(0.05), metrics = { "accuracy", "confusion", "f1", "auc" } })
    local last = run.history.confusion[run.epoch]
    assert.equal(12, last:sum())
    assert.equal(last[1][1] + last[2][2], math.floor(12 * run.history.accuracy[run.epoch] + 0.5))
    local logits = net:predict { inputs = { flow.float32 { -1, 2 } } }(x)
    local drawn = flow.random.choice(logits, { logits = true, temperature = 0, top_k = 1 })
    assert.is_true(drawn:eq(logits:argmax(1)):all())
  end)

  it("groups points around their means", function()
    local points = nd.array { { 0, 0 }, { 5, 5 }, { 0, 1 }, { 6, 5 }, { 5, 6 } }
    local centers = points:slice(1, 2)
    local function group()
      local d = ((points:reshape(5, 1, 2) - centers:reshape(1, 2, 2)) ^ 2):sum(2)
      return d:argmin(1)
    end
    local new = {}
    for k = 0, 1 do new[k + 1] = points:boolean_mask(group():eq(k)):mean(0) end
    centers = nd.stack(new)
    assert.same({ 0, 0.5 }, centers[1]:totable())
    assert.near(16 / 3, centers[2]:mean(), 1e-6)
    helper.fails(function() return points[group():eq(1)] end, "a:boolean_mask(mask)")
    helper.fails(function() points = points:matmul(centers[1]) end, "expand_dims(b, 1)")
    assert.same({ 5, 1 }, points:matmul(centers[1]:expand_dims(1)).shape)
  end)

  it("trains two networks against each other, one by a job without inputs", function()
    local maker, judge = flow.model("maker", dense(1)), flow.model("judge", dense(1))
    local function train(name, variables)
      return flow.global_function { name = name, type = "train", inputs = {}, body = function()
        local loss = flow.math.square(judge(maker(flow.random.normal { 8, 1 })) - 1):mean()
        variables = variables or judge:variables()       -- of a session, which has none yet
        flow.optimizer.SGD(0.1, { variables = variables }):minimize(loss)
        return loss
      end }
    end
    helper.fails(function() train("early")() end,
      "variables must not be empty; { variables = net } trains those of a model")
    assert.equal("float32", train("judging", judge)().dtype)
    local before = judge:variables()["out-bias"][1]
    assert.equal("float32", train("making", maker)().dtype)
    assert.equal(before, judge:variables()["out-bias"][1])
  end)

  it("prints what she has, and no addresses", function()
    local net = flow.model("net", dense(2))
    local job = net:predict { inputs = { flow.float32 { -1, 3 } } }
    local x = nd.ones { 2, 3 }
    for _, value in ipairs { x, x.shape, x.dtype, net, net:summary(), job, job(x), job(x)[{ 1, 2 }],
      net:variables()["out-bias"].shape, flow.optimizer.Adam(0.1) } do
      assert.falsy(tostring(value):find("0x%x+"), tostring(value))
    end
  end)

  it("takes numbers for scalars, places in arrays, and jobs that only set variables", function()
    local scale = flow.global_function { name = "scale",
      inputs = { flow.float32 {}, flow.float32 { -1 } },
      body = function(by, x) return x * by end }
    assert.same({ 3, 6 }, scale(3, { 1, 2 }):totable())
    assert.same({ 3, 1 }, nd.array { 1, 2, 3 }:take(nd.array({ 3, 1 }, "int32")):totable())
    helper.fails(function() flow.float32 { 3, -1 } end, "up to a bound: { max = 512 }")
    flow.global_function { name = "count", returns = flow.typing.Numpy, body = function()
      local n = flow.get_variable("n", { shape = { 1 }, initializer = flow.zeros_initializer() })
      return flow.assign(n, n + 1)
    end }()
    assert.same({ 1 }, flow.get_all_variables().n:totable())
  end)
end)
