local flow = require "jfl"
local helper = require "spec.lua.helper"

describe("CheckPoint", function()
  local directory, check_point

  before_each(function()
    flow.clear_default_session()
    directory = helper.directory()
    check_point = flow.train.CheckPoint()
  end)

  after_each(function() helper.remove(directory) end)

  local function net(name, layer)
    return helper.predict(name, { 1, 2 }, function(x)
      return flow.layers.dense(x, 2, { name = layer })
    end)
  end

  it("creates the variables of every job, also of those for any batch size", function()
    net("a", "one")
    helper.predict("b", { -1, 3 }, function(x) return flow.layers.dense(x, 4, { name = "two" }) end)
    check_point:init()
    local all = flow.get_all_variables()
    assert.same({ 2, 2 }, all["one-weight"].shape)
    assert.same({ 4, 3 }, all["two-weight"].shape)
  end)

  it("gives back what was saved, before any call and in other jobs", function()
    local path = directory .. "/model"
    local y = helper.list(net("a", "one")({ { 1, 2 } }))
    check_point:save(path)
    flow.clear_default_session()
    local job = net("other", "one")
    local report = check_point:load(path)
    table.sort(report.loaded)
    assert.same({ "one-bias", "one-weight" }, report.loaded)
    assert.same({}, report.missing)
    assert.same({}, report.unexpected)
    assert.same(y, helper.list(job({ { 1, 2 } })))
  end)

  it("delivers outstanding callbacks first", function()
    local train = helper.train("t", { returns = flow.typing.Callback(flow.typing.Numpy) })
    local count = 0
    for _ = 1, 3 do train({ 1, 2 })(function() count = count + 1 end) end
    check_point:save(directory .. "/model")
    assert.equal(3, count)
  end)

  it("tells of names that match nothing, and refuses them if strict", function()
    local path = directory .. "/model"
    net("a", "one"):compile()
    check_point:save(path)
    flow.clear_default_session()
    net("a", "two"):compile()
    local report
    local text = helper.stderr_of(function() report = check_point:load(path) end)
    assert.truthy(text:find("variables that it does not have keep their values: "
      .. "two-bias, two-weight", 1, true))
    assert.truthy(text:find("holds variables that no job here has: one-bias, one-weight", 1, true))
    assert.equal(2, #report.missing)
    helper.fails(function() check_point:load(path, { strict = true }) end, "two-")
  end)

  it("does not replace a directory unless told to", function()
    local path = directory .. "/model"
    net("a", "one"):compile()
    check_point:save(path)
    helper.fails(function() check_point:save(path) end, "overwrite")
    check_point:save(path, { overwrite = true })
  end)

  it("names what is wrong", function()
    helper.fails(function() check_point.save("x") end, "save: call it with a colon")
    helper.fails(function() check_point:save(5) end, "save: path must be a string, got number 5")
    helper.fails(function() check_point:load(directory .. "/none") end, directory .. "/none")
    helper.fails(function() check_point:save("a", { overwrite = "no" }) end,
      "save: overwrite must be a boolean, got string 'no'")
    helper.fails(function() check_point:load("a", { strict = 1 }) end,
      "load: strict must be a boolean, got number 1")
    helper.fails(function() check_point:save(directory .. "/a\0b") end,
      "path must not hold a zero byte")
    helper.fails(function() check_point:load(directory .. "/a\0b") end,
      "path must not hold a zero byte")
    helper.fails(function() check_point:load() end, "argument 1 'path' is missing")
  end)
end)

local function write(path, text)
  local f = assert(io.open(path, "wb"))
  f:write(text)
  f:close()
end

local function dense(name, layers)
  return helper.predict(name, { 1, 2 }, function(x)
    for _, layer in ipairs(layers) do x = flow.layers.dense(x, 2, { name = layer }) end
    return x
  end)
end

local values = helper.variables

-- The names of a table in order.
local function names(t)
  local list = {}
  for name in pairs(t) do list[#list + 1] = name end
  table.sort(list)
  return table.concat(list, " ")
end

describe("checkpoint", function()
  local directory, path

  before_each(function()
    flow.clear_default_session()
    directory = helper.directory()
    path = directory .. "/model"
  end)

  after_each(function() helper.remove(directory) end)

  it("is read as arrays by name, without any job", function()
    local train = helper.train("t", { name = "t" })
    train({ 1, 2 })
    flow.checkpoint.save(path)
    local saved = values()
    flow.clear_default_session()
    local all = flow.checkpoint.get(path)
    assert.equal("System-Train-TrainStep-t w", names(all))
    assert.same(saved.w, all.w:totable())
    assert.equal("int64", all["System-Train-TrainStep-t"].dtype)
    assert.equal("w", names(flow.checkpoint.get(path, { only = "w" })))
    assert.equal("w", names(flow.checkpoint.get(path .. "/model.safetensors",
      { only = { "w", "x" } })))
    helper.fails(function() flow.checkpoint.get(path, { only = { "x", "y" } }) end,
      "checkpoint.get: " .. path .. ": only: no name in it begins with 'x' or 'y'")
    assert.same({}, flow.get_all_variables())
  end)

  it("is written from arrays by name", function()
    local nd = flow.ndarray
    dense("a", { "one" }):compile()
    local own = values()
    flow.checkpoint.save(path, { var_dict = { ["one-bias"] = { 5, 6 },
      x = nd.ones({ 2 }, "int32") } })
    local all = flow.checkpoint.get(path)
    assert.equal("one-bias x", names(all))
    assert.equal("float32 int32", all["one-bias"].dtype .. " " .. all.x.dtype)
    helper.fails(function() flow.checkpoint.save(path, { x = { 1 } }) end, "is not empty")
    flow.checkpoint.save(path, { x = { 1 } }, { overwrite = true })
    flow.checkpoint.save(path, { var_dict = { ["one-bias"] = { 7, 8 } }, overwrite = true })
    helper.stderr_of(function() flow.checkpoint.load(path) end)
    assert.same({ 7, 8 }, values()["one-bias"])
    assert.same(own["one-weight"], values()["one-weight"])
  end)

  it("is loaded in part", function()
    dense("a", { "one", "two", "twofold" }):compile()
    local saved = values()
    flow.checkpoint.save(path)
    flow.clear_default_session()
    dense("a", { "one", "two", "three" }):compile()
    local before = values()
    local report
    assert.equal("", helper.stderr_of(function()
      report = flow.train.CheckPoint():load(path, { only = { "one", "two-" }, strict = true })
    end))
    assert.equal(4, #report.loaded)
    for name, value in pairs(values()) do
      local loaded = name:match("^one") or name:match("^two%-")
      assert.same((loaded and saved or before)[name], value, name)
    end
    helper.fails(function() flow.checkpoint.load(path, { only = { "one", "tow" } }) end,
      "load: " .. path .. ": only: no name in it, nor of a variable here, begins with 'tow'")
    helper.fails(function() flow.checkpoint.load(path, { only = {} }) end, "got an empty table")
    helper.fails(function() flow.checkpoint.load(path, { only = 5 }) end, "got number 5")
  end)

  it("fine-tunes: what a name begins with is taken over", function()
    dense("a", { "one", "two" }):compile()
    local saved = values()
    flow.checkpoint.save(path)
    flow.clear_default_session()
    dense("a", { "one", "three" }):compile()
    local kept = {}
    for name, value in pairs(flow.checkpoint.get(path)) do
      if name:match("^one%-") then kept[name] = value end
    end
    flow.load_variables(kept, { ignore_mismatch = false })
    assert.same(saved["one-weight"], values()["one-weight"])
  end)

  it("keeps where rand and randn are", function()
    flow.ndarray.randn({ 3 })
    flow.checkpoint.save(path)
    local want = flow.ndarray.rand({ 4 }):totable()
    flow.clear_default_session()
    flow.ndarray.randn({ 3, 3 })
    flow.checkpoint.load(path)
    assert.same(want, flow.ndarray.rand({ 4 }):totable())
  end)

  -- A checkpoint whose metadata hold this text after the format.
  local function with_notes(text)
    flow.checkpoint.save(path, { overwrite = true })
    local f = assert(io.open(path .. "/model.safetensors", "rb"))
    local header = f:read("*a"):sub(9)
    f:close()
    header = header:gsub('"format":"jfl"', '%0,' .. text):gsub(" +$", "")
    header = header .. (" "):rep(-#header % 8)
    write(path .. "/model.safetensors", string.char(#header % 256, math.floor(#header / 256), 0, 0,
      0, 0, 0, 0) .. header)
  end

  it("refuses notes that make no sense, and changes nothing", function()
    flow.random.seed(4)
    local want = flow.ndarray.rand({ 4 }):totable()
    for _, text in ipairs { "1", "0 1 0 4 -", "1 1 5 4 -", "1 1 1 4 x", "1 1 1 4", "",
      "1 1 0 56294995562949953421313421311 -", "1 1 0 4 99999999999999999",
      "1 1 0 4 -, 1 1 0 4 -", "1 1 0 4 -," } do
      with_notes(('"note.loop.l":"%s"'):format(text))
      flow.random.seed(4)
      helper.fails(function() flow.checkpoint.load(path, { resume = true }) end,
        "loop 'l': it makes no sense")
      assert.same(want, flow.ndarray.rand({ 4 }):totable())
    end
    with_notes('"note.lua":"[1"')
    helper.fails(function() flow.checkpoint.load(path) end, "its notes make no sense")
    helper.fails(function() flow.checkpoint.notes(path) end, "its notes make no sense")
    with_notes('"note.unknown":"5"')
    flow.checkpoint.load(path, { resume = true })
  end)

  it("says of files of other kinds what can be read", function()
    for _, name in ipairs { "model.ckpt", "model.onnx", "model.pt", "model" } do
      helper.write(directory .. "/" .. name, "GGUF")
      helper.fails(function() flow.checkpoint.load(directory .. "/" .. name) end, name
        .. ": it must be a .safetensors or .gguf file, what PyTorch's save writes, the index of "
        .. "shards or the directory of a checkpoint, got a file of another kind")
    end
  end)

  it("says why it cannot be saved, and leaves nothing behind", function()
    dense("a", { "one" }):compile()
    local save = function(where) flow.checkpoint.save(where) end
    write(directory .. "/file", "x")
    helper.fails(function() save(directory .. "/file/below") end, "Not a directory")
    helper.fails(function() save("/proc/none/model") end, "/proc/none")
    helper.fails(function() flow.checkpoint.save(5) end, "path must be a string, got number 5")
    local bad = function(...) flow.checkpoint.save(path, ...) end
    helper.fails(function() bad { var_dict = 5 } end, "var_dict must be a table, got number 5")
    helper.fails(function() bad { var_dict = {} } end, "var_dict must hold arrays by name")
    helper.fails(function() bad { var_dict = { 1, 2 } } end,
      "keys must be names of arrays, got number 1")
    helper.fails(function() bad { x = "one" } end, "'x' must be an NdArray or a table of numbers")
    helper.fails(function() bad { x = { 1, "b" } } end, "'x'")
    helper.fails(function() bad({ x = { 1 } }, { overwite = true }) end,
      "unknown option 'overwite'")
    assert.equal(0, os.execute(("test ! -e '%s'"):format(path)))
  end)

  it("says which name is wrong when it is read", function()
    helper.fails(function() flow.checkpoint.get(path) end, path .. ": no such directory")
    helper.fails(function() flow.checkpoint.get() end, "argument 1 'path' is missing")
    helper.fails(function() flow.checkpoint.get(5) end, "path must be a string, got number 5")
  end)
end)

describe("OneFlow's layout", function()
  local path

  local function put(name, file, text)
    os.execute(("mkdir -p '%s/%s'"):format(path, name))
    write(("%s/%s/%s"):format(path, name, file), text)
  end

  before_each(function()
    flow.clear_default_session()
    path = helper.directory()
  end)

  after_each(function() helper.remove(path) end)

  local ONES = ("\0\0\128\63"):rep(4)

  it("is read with its meta, and one variable by its own directory", function()
    put("one-weight", "out", ONES)
    put("one-weight", "meta", "shape {\n  dim: 2\n  dim: 2\n}\ndata_type: kFloat\n")
    put("", "snapshot_done", "")
    assert.same({ { 1, 1 }, { 1, 1 } }, flow.checkpoint.get(path)["one-weight"]:totable())
    assert.same({ 2, 2 }, flow.checkpoint.get(path .. "/one-weight").shape)
    assert.same({ 2, 2 }, flow.checkpoint.get(path .. "/one-weight/").shape)
  end)

  it("is read without a meta, as the variable of the name is or flat", function()
    put("one-weight", "out", ONES)
    put("other", "out", ONES)
    put("System-Train-TrainStep-train", "out", "\7\0\0\0\0\0\0\0")
    assert.same({ 4 }, flow.checkpoint.get(path)["one-weight"].shape)
    dense("a", { "one" })
    local all = flow.checkpoint.get(path)
    assert.same({ 2, 2 }, all["one-weight"].shape)
    assert.same({ 1, 1, 1, 1 }, all.other:totable())
    assert.equal("int64", all["System-Train-TrainStep-train"].dtype)
    assert.same({ 7 }, all["System-Train-TrainStep-train"]:totable())
    put("odd", "out", "123")
    helper.fails(function() flow.checkpoint.get(path) end,
      path .. ": 'odd': 3 bytes without a meta are no float32")
    put("one-weight", "out", ONES .. ONES)
    helper.fails(function() flow.checkpoint.get(path, { only = "one" }) end,
      "one-weight: 32 bytes do not hold float32 (2, 2)")
  end)

  it("tells that saving it may have been cut short", function()
    put("one-weight", "out", ONES)
    dense("a", { "one" })
    local report
    local said = helper.stderr_of(function() report = flow.checkpoint.load(path) end)
    assert.truthy(said:find("has no snapshot_done", 1, true))
    assert.is_true(report.unfinished)
    put("", "snapshot_done", "")
    said = helper.stderr_of(function() report = flow.checkpoint.load(path) end)
    assert.falsy(said:find("has no snapshot_done", 1, true))
    assert.is_false(report.unfinished)
    assert.same({ 1, 1, 1, 1 }, values()["one-weight"])
  end)

  it("resumes momentum and the train step", function()
    local function define()
      return helper.train("t", { body = function(x)
        local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
        local loss = x * w
        flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler({ 2 }, { 1, 0 }),
          { momentum = 0.5 }):minimize(loss)
        return loss
      end })
    end
    put("w", "out", ONES:sub(1, 8))
    put("w-momentum", "out", ONES:sub(1, 8))
    put("System-Train-TrainStep-t", "out", "\1\0\0\0\0\0\0\0")
    put("System-Train-TrainStep-t", "meta", "shape { dim: 1 } data_type: kInt64")
    put("", "snapshot_done", "")
    local job = define()
    assert.equal("", helper.stderr_of(function() flow.checkpoint.load(path, { strict = true }) end))
    job({ 0, 0 })
    local after = values()
    assert.same({ 2 }, after["System-Train-TrainStep-t"])
    assert.are_not.same({ 1, 1 }, after.w)
    job({ 0, 0 })
    job({ 0, 0 })
    assert.same({ 4 }, values()["System-Train-TrainStep-t"])
  end)

  it("names what is damaged, and changes nothing", function()
    dense("a", { "one" }):compile()
    local before = values()
    local function fails(text)
      helper.fails(function() flow.checkpoint.load(path) end, text)
      assert.same(before, values())
    end
    put("one-bias", "out", ONES:sub(1, 8))
    put("one-weight", "out", ONES:sub(1, 12))
    fails("variable one-weight must be float32 (2, 2), got 12 bytes in the file")
    put("one-weight", "meta", "shape { dim: 2 dim: 2 } data_type: kFloat")
    fails("float32 (2, 2) does not fill the 12 bytes of one-weight/out")
    put("one-weight", "out", ONES)
    put("one-weight", "meta", "shape { dim: 2 dim: 2 } data_type: kTensorBuffer")
    fails("got kTensorBuffer (2, 2) in the file")
    put("one-weight", "meta", "shape { dim: 2 dim: 2 } data_type: kFloat")
    os.remove(path .. "/one-weight/out")
    fails("one-weight: has a meta, but the file out is missing")
  end)
end)

describe("notes", function()
  local directory, path

  before_each(function()
    flow.clear_default_session()
    directory = helper.directory()
    path = directory .. "/model"
    helper.predict("net", { 1, 2 }, function(x) return flow.layers.dense(x, 2, { name = "fc" }) end)
  end)

  after_each(function()
    flow.clear_default_session()
    helper.remove(directory)
  end)

  local NOTES = { classes = { "cat", "dog" }, mean = { 0.1, 1 / 3 }, size = 32, [0] = "zero" }

  it("come back with the model, and before it", function()
    local check_point = flow.train.CheckPoint()
    check_point:save(path, { notes = NOTES })
    assert.same(NOTES, flow.checkpoint.notes(path))
    assert.same(NOTES, check_point:load(path).notes)
    assert.same(NOTES, flow.checkpoint.load(path, { only = "fc" }).notes)
    assert.same(NOTES, flow.checkpoint.notes(path .. "/model.safetensors"))
    flow.checkpoint.save(path, { overwrite = true })
    assert.is_nil(flow.checkpoint.notes(path))
    assert.is_nil(check_point:load(path).notes)
  end)

  it("are taken by a manager of checkpoints", function()
    local manager = flow.train.SimpleCheckPointManager(directory)
    local name = manager:save({ notes = NOTES })
    assert.same(NOTES, flow.checkpoint.notes(directory .. "/" .. name))
    assert.same(NOTES, manager:initialize_or_restore().notes)
  end)

  it("may be as long as a vocabulary", function()
    local words = {}
    for i = 1, 50000 do words[i] = "word " .. i end
    flow.checkpoint.save(path, { notes = { words = words } })
    assert.same(words, flow.checkpoint.notes(path).words)
  end)

  it("are plain values", function()
    local mean = flow.ndarray.ones({ 2 })
    helper.fails(function() flow.checkpoint.save(path, { notes = { mean = mean } }) end,
      "save: notes.mean must be a table, string, number or boolean, got an NdArray")
    helper.fails(function() flow.checkpoint.save(path, { notes = 3 }) end, "notes must be a table")
    assert.is_nil(io.open(path))
  end)
end)

describe("load_variables", function()
  before_each(flow.clear_default_session)

  it("sets what is named and skips unknown names unless told not to", function()
    helper.predict("a", { 1, 1 }, function(x)
      return flow.layers.dense(x, 1, { name = "l" })
    end):compile()
    flow.load_variables { ["l-weight"] = { { 4 } }, other = { 1 } }
    assert.same({ { 4 } }, flow.get_all_variables()["l-weight"]:totable())
    helper.fails(function() flow.load_variables({ other = { 1 } }, { ignore_mismatch = false }) end,
      "load_variables: 'other' is not a variable of any job")
    helper.fails(function() flow.load_variables { ["l-weight"] = { 4 } } end, "l-weight")
  end)

  it("sets all or none", function()
    dense("a", { "one", "two" }):compile()
    local before, nd = values(), flow.ndarray
    local function fails(wrong, text, options)
      wrong["one-bias"] = { 5, 5 }
      wrong["two-bias"] = wrong["two-bias"] or { 5, 5 }
      helper.fails(function() flow.load_variables(wrong, options) end, text)
      assert.same(before, values())
    end
    fails({ ["two-weight"] = nd.zeros({ 2, 3 }) },
      "variable 'two-weight' must be float32 (2, 2), got float32 (2, 3); nothing was set")
    fails({ ["two-weight"] = nd.zeros({ 2, 2 }, "float64") }, "got float64 (2, 2)")
    fails({ ["two-bias"] = { 1, 2, 3 } }, "'two-bias' must be float32 (2), got float32 (3)")
    fails({ ["two-bias"] = { 1, {} } }, "two-bias")
    fails({ ["two-bias"] = "x" }, "'two-bias' must be an NdArray or a table of numbers")
    fails({ x = { 1 } }, "'x' is not a variable of any job; nothing was set",
      { ignore_mismatch = false })
    fails({ [1] = { 1 } }, "keys must be names of arrays, got number 1")
    helper.fails(function() flow.load_variables() end, "argument 1 'values' is missing")
    helper.fails(function() flow.load_variables(3) end, "values must be a table, got number 3")
    helper.fails(function() flow.load_variables({}, { ignore_mismatch = 1 }) end,
      "ignore_mismatch must be a boolean")
    flow.load_variables { ["one-bias"] = nd.array { 3, 4 }, ["two-bias"] = { 5, 6 } }
    assert.same({ 3, 4 }, values()["one-bias"])
    assert.same({ 5, 6 }, values()["two-bias"])
  end)
end)
