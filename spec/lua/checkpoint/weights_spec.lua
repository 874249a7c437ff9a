-- Weights that other programs wrote: PyTorch's files, shards, other names, axes and dtypes.
local core = require "jfl.core"
local flow = require "jfl"
local helper = require "spec.lua.helper"

local TORCH = "spec/fuzz/corpus/torch/"

-- The bytes of a safetensors file of { name, dtype, shape, bytes }.
local function safetensors(list)
  local header, data = {}, {}
  local at = 0
  for i, t in ipairs(list) do
    header[i] = ('"%s":{"dtype":"%s","shape":[%s],"data_offsets":[%d,%d]}'):format(t[1], t[2],
      table.concat(t[3], ","), at, at + #t[4])
    data[i], at = t[4], at + #t[4]
  end
  local text = "{" .. table.concat(header, ",") .. "}"
  return string.char(#text % 256, math.floor(#text / 256), 0, 0, 0, 0, 0, 0) .. text
    .. table.concat(data)
end

-- float32 0, 1, 2, ... as bytes.
local function floats(n)
  local parts = { [0] = "\0\0\0\0", "\0\0\128\63", "\0\0\0\64", "\0\0\64\64", "\0\0\128\64",
    "\0\0\160\64" }
  local list = {}
  for i = 1, n do list[i] = parts[i - 1] end
  return table.concat(list)
end

describe("weights of others", function()
  local directory

  before_each(function()
    flow.clear_default_session()
    directory = helper.directory()
  end)

  after_each(function() helper.remove(directory) end)

  -- Variables by name, { shape, dtype }, which start as -1.
  local function variables(specs)
    helper.predict("holder", { 1 }, function(x)
      for name, spec in pairs(specs) do
        flow.get_variable(name, { shape = spec[1], dtype = spec[2],
          initializer = flow.constant_initializer(-1) })
      end
      return x
    end):compile()
  end

  local function file(name, list)
    return helper.write(directory .. "/" .. name, safetensors(list))
  end

  local function values(name) return helper.list(flow.get_all_variables()[name]) end

  local function little(n, size)
    local bytes = {}
    for i = 1, size do bytes[i], n = string.char(n % 256), math.floor(n / 256) end
    return table.concat(bytes)
  end

  local function number_at(text, at, size)
    local n = 0
    for i = at + size, at + 1, -1 do n = n * 256 + text:byte(i) end
    return n
  end

  -- A zip archive with these of a member's numbers (size, packed size, place) where those of files
  -- of more than 4 GB stand: behind its name, after something else. ends: the archive's own, too.
  local function widened(text, fields, ends)
    local NONE, ends_at = ("\255"):rep(4), text:find("PK\5\6[^P]*$") - 1
    local size, first = number_at(text, ends_at + 12, 4), number_at(text, ends_at + 16, 4)
    local list, at = {}, first
    while at < first + size do
      local n, extra = number_at(text, at + 28, 2), number_at(text, at + 30, 2)
      local entry, more = text:sub(at + 1, at + 46), ""
      for _, place in ipairs(fields) do
        more = more .. entry:sub(place + 1, place + 4) .. "\0\0\0\0"
        entry = entry:sub(1, place) .. NONE .. entry:sub(place + 5)
      end
      more = "xx\3\0abc\1\0" .. little(#more, 2) .. more
      list[#list + 1] = entry:sub(1, 30) .. little(#more, 2) .. "\0\0" .. entry:sub(35)
        .. text:sub(at + 47, at + 46 + n) .. more
      at = at + 46 + n + extra + number_at(text, at + 32, 2)
    end
    local members = table.concat(list)
    local place, length = little(first, 4), little(#members, 4)
    local wide = "PK\6\6" .. ("\0"):rep(36) .. length .. "\0\0\0\0" .. place .. "\0\0\0\0"
      .. "PK\6\7\0\0\0\0" .. little(first + #members, 8) .. "\1\0\0\0"
    return text:sub(1, first) .. members .. (ends and wide or "")
      .. text:sub(ends_at + 1, ends_at + 12) .. (ends and NONE .. NONE or length .. place) .. "\0\0"
  end

  describe("of PyTorch", function()
    it("are read from archives whose numbers have 64 bits", function()
      local SIZE, PACKED, PLACE = 24, 20, 42
      local text = helper.read(TORCH .. "training")
      local want = flow.checkpoint.get(TORCH .. "training")
      for _, fields in ipairs { {}, { SIZE }, { PLACE }, { PACKED }, { SIZE, PACKED },
        { SIZE, PLACE }, { SIZE, PACKED, PLACE } } do
        for _, ends in ipairs { false, true } do
          local path = helper.write(directory .. "/wide.pt", widened(text, fields, ends))
          local all = flow.checkpoint.get(path)
          for name, array in pairs(want) do assert.same(array:totable(), all[name]:totable()) end
          local less = widened(text, { SIZE }, ends):gsub("xx\3%zabc\1%z\8", "xx\3\0abc\1\0\7")
          helper.write(path, less)
          helper.fails(function() flow.checkpoint.get(path) end,
            "damaged zip archive: a size is missing")
        end
      end
    end)

    it("are read in every dtype and with every order of their elements", function()
      local all
      local told = helper.stderr_of(function() all = flow.checkpoint.get(TORCH .. "plain") end)
      assert.same({ { 0, 1, 2 }, { 3, 4, 5 } }, all["fc.weight"]:totable())
      assert.same({ 0, 1 }, all["fc.bias"]:totable())
      assert.same({ { 0, 3 }, { 1, 4 }, { 2, 5 } }, all.turned:totable())
      assert.same({ { 8, 9, 10 }, { 14, 15, 16 } }, all.cut:totable())
      assert.same({ 0, 2, 4, 6, 8 }, all.every_second:totable())
      assert.same({ 0, 3 }, all.none.shape)
      assert.same({ 7 }, helper.list(all.scalar))
      local permuted = helper.list(all.permuted)
      for a = 0, 3 do
        for b = 0, 1 do
          for c = 0, 2 do
            assert.equal(b * 12 + c * 4 + a, permuted[a * 6 + b * 3 + c + 1])
          end
        end
      end
      for name, dtype in pairs { half = "float16", brain = "bfloat16", double = "float64",
        byte = "uint8", small = "int8", whole = "int32" } do
        assert.equal(dtype, all[name].dtype)
        assert.same({ 0, 1, 2 }, helper.list(all[name]:astype("float32")))
      end
      assert.truthy(told:find("skipped, as jfl has no such dtypes: complex (complex64), float8 "
        .. "(float8_e4m3fn), short (int16), truth (bool)", 1, true), told)
    end)

    it("lie in a training program's state_dict, with the rest under its own names", function()
      local all = flow.checkpoint.get(TORCH .. "training")
      assert.same({ { 0, 1, 2 }, { 3, 4, 5 } }, all["0.weight"]:totable())
      assert.same({ 0, 1, 2 }, all["list.1.0"]:totable())
      assert.same({ 2, 2 }, all["optimizer.state.3.momentum_buffer"]:totable())
      assert.is_nil(all.epoch)
      assert.same({ 0, 1 }, flow.checkpoint.get(TORCH .. "protocol4")["deep.er.0"]:totable())
    end)

    it("are never run", function()
      helper.fails(function() flow.checkpoint.get(TORCH .. "module") end,
        "it asks for torch.nn.modules.linear.Linear, and only tensors")
      helper.fails(function() flow.checkpoint.get(TORCH .. "namespace") end,
        "it asks for argparse.Namespace")
      helper.fails(function() flow.checkpoint.get(TORCH .. "old") end,
        "write it again: torch.save(torch.load(path), path)")
    end)

    it("are loaded into layers by names that are alike", function()
      helper.predict("net", { 2, 3 }, function(x)
        x = flow.layers.dense(x, 2, { name = "0" })
        return flow.layers.batch_normalization(x, { name = "1", axis = 1, training = false })
      end):compile()
      local report = flow.checkpoint.load(TORCH .. "training", { rename = "alike",
        skip = { "^optimizer", "^list", "num_batches" } })
      assert.same({}, report.missing)
      assert.same({}, report.unexpected)
      assert.same({ 0, 1, 2, 3, 4, 5 }, values("0-weight"))
      assert.same({ 0, 1 }, values("1-moving_variance"))
    end)
  end)

  describe("under other names", function()
    it("are loaded by patterns, names and functions, in one step", function()
      local path = file("w.safetensors", { { "m.fc.weight", "F32", { 2, 3 }, floats(6) },
        { "m.fc.bias", "F32", { 2 }, floats(2) }, { "m.steps", "I64", {}, ("\0"):rep(8) } })
      variables { ["fc-weight"] = { { 2, 3 } }, b = { { 2 } } }
      local report = flow.checkpoint.load(path, { strict = true, skip = "steps",
        rename = { { "^m%.", "" }, { "%.", "-" }, ["m.fc.bias"] = "b" } })
      table.sort(report.loaded)
      assert.same({ "b", "fc-weight" }, report.loaded)
      assert.same({ 0, 1, 2, 3, 4, 5 }, values("fc-weight"))
      flow.load_variables { b = { 5, 5 } }
      flow.checkpoint.load(path, { strict = true,
        rename = function(name) return ({ ["m.fc.bias"] = "b" })[name] end, only = "b" })
      assert.same({ 0, 1 }, values("b"))
      local all = flow.checkpoint.get(path, { rename = { ["m.steps"] = false, { "m.", "" } } })
      assert.same({ 0, 1 }, all["fc.bias"]:totable())
      assert.is_nil(all["m.steps"])
    end)

    it("are refused where two become one, or a pattern finds none, and nothing changes", function()
      local path = file("w.safetensors", { { "a.w", "F32", { 2 }, floats(2) },
        { "b.w", "F32", { 2 }, floats(2) } })
      variables { w = { { 2 } } }
      local function load(o) return function() flow.checkpoint.load(path, o) end end
      helper.fails(load { rename = { { "^.%.", "" } } },
        "w.safetensors: tensors a.w and b.w must get names of their own, got w for both")
      helper.fails(load { rename = { { "^c%.", "" } } },
        "w.safetensors: rename: no name in it is found by the pattern '^c%.'")
      helper.fails(load { rename = { ["other"] = "w" } },
        "w.safetensors: rename: no name in it is 'other'; nothing was changed")
      helper.fails(load { skip = "bias" }, "skip: no name in it is found by the pattern 'bias'")
      helper.fails(load { skip = "[a" }, "skip: pattern '[a': malformed pattern")
      helper.fails(load { rename = { { "a", "%9" } } }, "rename: '%9': invalid capture index")
      helper.fails(load { rename = 5 }, "rename must be")
      helper.fails(load { rename = "alyke" }, "rename must be a function, a table or \"alike\"")
      helper.fails(load { rename = function() return 5 end }, "must be a string, got number 5")
      assert.same({ -1, -1 }, values("w"))
    end)

    it("are those of load_variables, too", function()
      variables { ["fc-w"] = { { 3, 2 } }, ["fc-b"] = { { 2 } } }
      local source = { ["fc.w"] = flow.ndarray.array({ { 0, 1, 2 }, { 3, 4, 5 } }),
        ["fc.b"] = { 7, 8 }, extra = { 1 } }
      flow.load_variables(source, { ignore_mismatch = false, rename = { { "%.", "-" } },
        transpose = "w$", skip = "extra" })
      assert.same({ 0, 3, 1, 4, 2, 5 }, values("fc-w"))
      assert.same({ 7, 8 }, values("fc-b"))
      helper.fails(function() flow.load_variables(source, { rename = { { ".+", "fc-b" } } }) end,
        "'extra' and 'fc.b' must get names of their own, got 'fc-b' for both")
    end)

    it("are those of a model, within it", function()
      local net = flow.model("net", function(x) return flow.layers.dense(x, 2, { name = "fc" }) end)
      net:predict { inputs = { flow.float32 { 2, 3 } } }
      local path = file("w.safetensors", { { "fc.weight", "F32", { 3, 2 }, floats(6) },
        { "fc.bias", "F32", { 2 }, floats(2) } })
      local report = net:load(path, { rename = { { "%.", "-" } }, transpose = "weight" })
      table.sort(report.loaded)
      assert.same({ "fc-bias", "fc-weight" }, report.loaded)
      assert.same({ 0, 2, 4, 1, 3, 5 }, values("net-fc-weight"))
    end)
  end)

  describe("with other axes", function()
    it("are turned while they are read", function()
      local path = file("w.safetensors", { { "w", "F32", { 1, 2, 3 }, floats(6) } })
      variables { w = { { 3, 2, 1 } } }
      flow.checkpoint.load(path, { transpose = "^w$" })
      assert.same({ 0, 3, 1, 4, 2, 5 }, values("w"))
      local all = flow.checkpoint.get(path, { transpose = { w = { 1, 0, 2 } } })
      assert.same({ { { 0, 1, 2 } }, { { 3, 4, 5 } } }, all.w:totable())
      all = flow.checkpoint.get(path, { transpose = function(_, shape) return #shape == 3 end })
      assert.same({ { { 0 }, { 3 } }, { { 1 }, { 4 } }, { { 2 }, { 5 } } }, all.w:totable())
    end)

    -- Rows are read in runs, of which these have several.
    it("are turned whatever the dtype, in rows of any length", function()
      for kind, dtype in pairs { F64 = "float64", F32 = "float32", F16 = "float16",
        BF16 = "bfloat16", I64 = "int64", I32 = "int32", I8 = "int8", U8 = "uint8" } do
        for _, n in ipairs { 1, 3, 700 } do
          local list = {}
          for i = 1, 2 * n do list[i] = i % 100 end
          local numbers = flow.ndarray.array(list, { dtype = dtype }):reshape { n, 2 }
          local path = file("w.safetensors", { { "w", kind, { n, 2 }, core.bytes(numbers) } })
          local w = flow.checkpoint.get(path, { transpose = "w" }).w
          assert.equal(dtype, w.dtype)
          assert.same(numbers:transpose({ 1, 0 }):totable(), w:totable())
        end
      end
    end)

    it("are refused where they do not fit, and nothing changes", function()
      local path = file("w.safetensors", { { "w", "F32", { 2, 3 }, floats(6) } })
      variables { w = { { 3, 2 } } }
      helper.fails(function() flow.checkpoint.load(path) end,
        "w.safetensors: variable w must be float32 (3, 2), got float32 (2, 3) in the file, whose "
          .. "transpose would fit")
      for _, axes in ipairs { { 0, 0 }, { 0, 2 }, { 0, 1, 2 } } do
        helper.fails(function() flow.checkpoint.load(path, { transpose = { w = axes } }) end,
          "w.safetensors: tensor w cannot be transposed so: it has float32 (2, 3)")
      end
      helper.fails(function() flow.checkpoint.load(path, { transpose = { "w", "^w" } }) end,
        "two patterns find 'w'; one must do so")
      assert.same({ -1, -1, -1, -1, -1, -1 }, values("w"))
    end)
  end)

  it("become wider where a variable is, and never narrower", function()
    local path = file("w.safetensors", { { "a", "BF16", { 3 }, "\0\0\128\63\0\64" },
      { "b", "F16", { 1, 2 }, "\0\60\0\64" }, { "c", "F32", { 2 }, floats(2) } })
    variables { a = { { 3 } }, b = { { 2, 1 } }, c = { { 2 }, "float64" } }
    flow.checkpoint.load(path, { transpose = "b" })
    assert.same({ 0, 1, 2 }, values("a"))
    assert.same({ 1, 2 }, values("b"))
    assert.same({ 0, 1 }, values("c"))
    path = file("d.safetensors", { { "a", "F64", { 3 }, ("\0"):rep(24) } })
    helper.fails(function() flow.checkpoint.load(path, { only = "a" }) end,
      "variable a must be float32 (3), got float64 (3) in the file")
  end)

  it("of dtypes that jfl lacks are skipped with one warning, unless they are wanted", function()
    local path = file("w.safetensors", { { "a", "F32", { 2 }, floats(2) },
      { "b", "C64", { 1 }, floats(2) }, { "c", "BOOL", { 1 }, "\1" } })
    variables { a = { { 2 } } }
    local report
    local told = helper.stderr_of(function() report = flow.checkpoint.load(path) end)
    assert.same({}, report.unexpected)
    assert.equal("jfl: " .. path .. ": skipped, as jfl has no such dtypes: b (C64), c (BOOL)\n",
      told)
    flow.clear_default_session()
    variables { a = { { 2 } }, c = { { 1 } } }
    helper.fails(function() flow.checkpoint.load(path) end,
      "variable c must be float32 (1), got BOOL (1) in the file")
    assert.same({ -1, -1 }, values("a"))
  end)

  describe("in shards", function()
    local index

    before_each(function()
      file("model-00001-of-00002.safetensors", { { "a", "F32", { 2 }, floats(2) } })
      file("model-00002-of-00002.safetensors", { { "b", "F32", { 3 }, floats(3) } })
      index = directory .. "/model.safetensors.index.json"
      helper.write(index, '{"metadata":{"total_size":20},"weight_map":{'
        .. '"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}')
    end)

    it("are found by the index, the folder or one of them", function()
      for _, path in ipairs { directory, index, directory .. "/",
        directory .. "/model-00002-of-00002.safetensors" } do
        flow.clear_default_session()
        variables { a = { { 2 } }, b = { { 3 } } }
        flow.checkpoint.load(path, { strict = true })
        assert.same({ 0, 1 }, values("a"))
        assert.same({ 0, 1, 2 }, values("b"))
      end
      os.remove(index)
      local all = flow.checkpoint.get(directory .. "/model-00002-of-00002.safetensors")
      assert.same({ 0, 1, 2 }, all.b:totable())
      assert.is_nil(all.a)
    end)

    -- As Hugging Face's cache has them, where a file that is no longer there leaves its link.
    it("may be links", function()
      local blobs, folder = directory .. "/blobs", directory .. "/snapshot"
      assert.equal(0, os.execute(("cd %s && mkdir blobs snapshot && mv model* blobs && cd snapshot "
        .. "&& ln -s ../blobs/* . && ln -s gone model.safetensors"):format(directory)))
      assert.same({ 0, 1, 2 }, flow.checkpoint.get(folder).b:totable())
      helper.write(folder .. "/gone", safetensors { { "c", "F32", { 2 }, floats(2) } })
      assert.same({ 0, 1 }, flow.checkpoint.get(folder).c:totable())
      assert.is_nil(flow.checkpoint.get(folder).b)
      assert.same({ 0, 1 }, flow.checkpoint.get(blobs).a:totable())
    end)

    it("may be files of PyTorch", function()
      assert.equal(0, os.execute(("rm %s/* && cp %sprotocol4 %s/pytorch_model-00001-of-00001.bin")
        :format(directory, TORCH, directory)))
      helper.write(directory .. "/pytorch_model.bin.index.json",
        '{"weight_map":{"w":"pytorch_model-00001-of-00001.bin"}}')
      assert.same({ 0, 1, 2 }, flow.checkpoint.get(directory).w:totable())
      assert.equal(0, os.execute(("cd %s && rm *.json && mv *.bin pytorch_model.bin")
        :format(directory)))
      assert.same({ 0, 1, 2 }, flow.checkpoint.get(directory).w:totable())
    end)

    it("are refused where one is missing, elsewhere, or has not what the index says", function()
      variables { a = { { 2 } }, b = { { 3 } } }
      local function fails(map, text)
        helper.write(index, '{"weight_map":' .. map .. "}")
        helper.fails(function() flow.checkpoint.load(directory) end, text)
        assert.same({ -1, -1 }, values("a"))
      end
      fails('{"a":"model-00003-of-00002.safetensors"}', "index.json: checkpoint " .. directory
        .. "/model-00003-of-00002.safetensors: cannot open: No such file")
      for _, where in ipairs { "../a.safetensors", "/etc/passwd", "..", "", "a\\\\b", "c:a" } do
        fails('{"a":"' .. where .. '"}',
          "tensor a: its file must be a name in the folder of the index, got")
      end
      fails('{"a":"model-00002-of-00002.safetensors"}',
        "tensor a is not in model-00002-of-00002.safetensors, as the index says")
      fails('{"a":"model-00001-of-00002.safetensors","c":"model-00002-of-00002.safetensors"}',
        "tensor c is not in model-00002-of-00002.safetensors, as the index says")
      fails('{"a":"model.safetensors.index.json"}', "it must be a zip archive, as PyTorch's save")
      fails("5", "an object must follow, got '5'")
      helper.write(index, "{}")
      helper.fails(function() flow.checkpoint.load(directory) end, "it must have a weight_map")
      file("model-00002-of-00002.safetensors", { { "a", "F32", { 3 }, floats(3) } })
      fails('{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}',
        "tensor a occurs twice")
    end)
  end)

  describe("saved in shards", function()
    local path

    before_each(function() path = directory .. "/model" end)

    local function files()
      local pipe = io.popen("cd " .. path .. " && ls")
      local all = pipe:read("*a")
      pipe:close()
      return all
    end

    it("have an index, and are loaded, also without a session, and removed", function()
      variables { a = { { 2 } }, b = { { 3 } }, c = { { 1, 4 } } }
      flow.load_variables { a = { 1, 2 }, b = { 3, 4, 5 },
        c = flow.ndarray.array { { 6, 7, 8, 9 } } }
      flow.checkpoint.save(path, { shard_bytes = 20, notes = { of = "shards" } })
      assert.equal("model-00001-of-00002.safetensors\nmodel-00002-of-00002.safetensors\n"
        .. "model.safetensors.index.json\n", files())
      assert.equal('{"metadata":{"total_size":36},"weight_map":{'
        .. '"a":"model-00001-of-00002.safetensors","b":"model-00001-of-00002.safetensors",'
        .. '"c":"model-00002-of-00002.safetensors"}}\n',
        helper.read(path .. "/model.safetensors.index.json"))
      for i = 1, 2 do
        assert.is_truthy(helper.read(("%s/model-0000%d-of-00002.safetensors"):format(path, i))
          :find('"__metadata__":{"format":"jfl","version":"1"', 1, true), i)
      end
      flow.load_variables { a = { 0, 0 }, b = { 0, 0, 0 } }
      local report = flow.checkpoint.load(path, { strict = true })
      assert.equal("shards", report.notes.of)
      assert.same({ 3, 4, 5 }, values("b"))
      local all = flow.checkpoint.get(path)
      flow.checkpoint.save(directory .. "/again", { var_dict = all, shard_bytes = 1 })
      assert.same({ 6, 7, 8, 9 }, helper.list(flow.checkpoint.get(directory .. "/again").c))
      core.checkpoint_remove(path)
      assert.is_nil(core.directory(path))
    end)

    it("take nobody's place, and leave nothing behind where they fail", function()
      variables { a = { { 2 } }, b = { { 3 } } }
      local function fails(o, text)
        helper.fails(function() flow.checkpoint.save(path, o) end, text)
      end
      fails({ shard_bytes = 0 }, "shard_bytes must be")
      fails({ shard_bytes = 8, overwrite = true }, "shard_bytes goes without overwrite and async")
      fails({ shard_bytes = 8, async = true }, "shard_bytes goes without overwrite and async")
      assert.is_nil(io.open(path))
      os.execute(("mkdir -p %s.saving && touch %s.saving/model-00001-of-00007.safetensors"):format(
        path, path))
      flow.checkpoint.save(path, { shard_bytes = 8 })
      assert.equal("model-00001-of-00002.safetensors\nmodel-00002-of-00002.safetensors\n"
        .. "model.safetensors.index.json\n", files())
      fails({ shard_bytes = 8 }, "model: the path must be free, as a checkpoint in shards")
      fails(nil, "the directory exists and is not empty")
      flow.load_variables { a = { 3, 3 } }
      flow.checkpoint.save(path, { overwrite = true })
      assert.same({ 3, 3 }, flow.checkpoint.get(path).a:totable())
    end)
  end)

  it("keep to a box's folder", function()
    file("model-00001-of-00001.safetensors", { { "a", "F32", { 2 }, floats(2) } })
    helper.write(directory .. "/model.safetensors.index.json",
      '{"weight_map":{"a":"model-00001-of-00001.safetensors"}}')
    os.execute(("cp %sprotocol4 %s/w.pt"):format(TORCH, directory))
    local box = flow.sandbox { read = directory }
    assert.equal(3, box:run("return require('jfl').checkpoint.get('w.pt').w.shape[1]"))
    assert.equal(2, box:run("return require('jfl').checkpoint.get('.').a.shape[1]"))
    os.execute(("cd %s && rm w.pt model-0* && ln -s /etc/passwd w.pt "
      .. "&& ln -s /etc/passwd model-00001-of-00001.safetensors"):format(directory))
    for _, path in ipairs { "w.pt", "." } do
      local text = "return require('jfl').checkpoint.get('%s')"
      local ok, err = pcall(box.run, box, text:format(path))
      assert.is_false(ok)
      assert.is_nil(tostring(err):find("root:", 1, true))
    end
  end)
end)
