-- Samples in tar archives: how they are grouped, ordered and resumed, and archives that are damaged
-- or mean harm.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local packed = require "spec.lua.data.packed"

local nd = flow.ndarray

describe("samples in tar archives", function()
  local path = helper.folder(before_each, after_each)

  local function png(value)
    flow.data.save_image(path "x.png", nd.full({ 3, 4, 4 }, value, flow.uint8))
    return helper.read(path "x.png")
  end

  -- Shards of these counts of samples; sample i, of all, has class i and its number as the pixels.
  local function shards(...)
    local n = 0
    for k, count in ipairs { ... } do
      local list = {}
      for _ = 1, count do
        list[#list + 1] = { ("d/%03d.cls"):format(n), n .. "\n" }
        list[#list + 1] = { ("d/%03d.seg.png"):format(n), png(n) }
        list[#list + 1] = { ("d/%03d.json"):format(n), ('{"n":%d}'):format(n) }
        list[#list + 1] = { ("d/%03d.txt"):format(n), "number " .. n }
        n = n + 1
      end
      helper.write(path(("s-%02d.tar"):format(k - 1)), packed.tar(list))
    end
    os.remove(path "x.png")
  end

  local function open(o)
    o = o or {}
    o.columns = o.columns or { "cls", "json", "txt" }
    return flow.data.webdataset(path "s-{00..02}.tar", o)
  end

  it("are columns by their endings", function()
    shards(2, 1, 3)
    local set = open()
    assert.same({ 0, 1, 2, 3, 4, 5 }, set.cls:totable())
    assert.equal("int32", set.cls.dtype)
    for _, i, classes, tables, texts in flow.data.batches(set, { batch_size = 4 }) do
      for k = 1, #classes do
        assert.equal((i - 1) * 4 + k - 1, classes[k])
        assert.equal(classes[k], tables[k].n)
        assert.equal("number " .. classes[k], texts[k])
      end
    end
  end)

  it("are pictures and arrays", function()
    local list = {}
    for i = 1, 3 do
      nd.save(path "a.npy", nd.full({ 2 }, i))
      list[#list + 1] = { i .. ".PNG", png(10 * i) }
      list[#list + 1] = { i .. ".npy", helper.read(path "a.npy") }
    end
    helper.write(path "a.tar", packed.tar(list))
    local set = flow.data.webdataset(path "a.tar", { size = 2, columns = { "jpg;png", "npy" } })
    local _, _, images, arrays = flow.data.batches(set, { batch_size = 3, workers = 2 })()
    assert.same({ 3, 2, 2, 3 }, images.shape)
    assert.same({ 10, 20, 30 }, { images:get(1, 1, 1, 1), images:get(2, 1, 1, 1),
      images:get(3, 2, 2, 3) })
    assert.same({ { 1, 1 }, { 2, 2 }, { 3, 3 } }, arrays:totable())
    set = flow.data.webdataset({ path "a.tar" }, { size = 2 })
    assert.equal("data set: png, npy", tostring(set))
  end)

  local function order_of(set, o)
    local list = {}
    for _, _, classes in flow.data.batches(set, o) do
      for k = 1, #classes do list[#list + 1] = classes[k] end
    end
    return list
  end

  it("are shuffled by shards and a buffer", function()
    shards(20, 20, 20)
    flow.random.seed(3)
    local set = open { columns = { "cls" }, buffer = 5 }
    local list = order_of(set, { batch_size = 7, shuffle = true })
    local seen, place, n, early = {}, {}, 0, 0
    for _, class in ipairs(list) do
      local shard = math.floor(class / 20)
      if not place[shard] then place[shard], n = n, n + 1 end
    end
    for at, class in ipairs(list) do
      assert.is_nil(seen[class])
      seen[class] = true
      -- a sample comes at most as far before its turn as the buffer is long
      local turn = place[math.floor(class / 20)] * 20 + class % 20 + 1
      assert.is_true(at >= turn - 4)
      early = early + (at ~= turn and 1 or 0)
    end
    assert.equal(60, #list)
    assert.is_true(early > 20)
    assert.same(list, (function()
      flow.clear_default_session()
      flow.random.seed(3)
      return order_of(open { columns = { "cls" }, buffer = 5 }, { batch_size = 4, shuffle = true })
    end)())
    local other = order_of(set, { batch_size = 7, shuffle = true, name = "other" })
    assert.are_not.same(list, other)
  end)

  it("go on in the middle of an epoch", function()
    shards(5, 4, 6)
    flow.random.seed(5)
    local all = order_of(open { buffer = 4 }, { batch_size = 2, shuffle = true, epochs = 2 })
    flow.clear_default_session()
    flow.random.seed(5)
    local count = 0
    for _, _, classes in flow.data.batches(open { buffer = 4 }, { batch_size = 2, shuffle = true,
      epochs = 2 }) do
      count = count + #classes
      if count == 6 then break end
    end
    flow.checkpoint.save(path "saved")
    flow.clear_default_session()
    flow.checkpoint.load(path "saved", { resume = true })
    local rest
    helper.stderr_of(function()
      rest = order_of(open { buffer = 4 }, { batch_size = 2, shuffle = true, epochs = 2 })
    end)
    assert.same({ unpack(all, 7) }, rest)
  end)

  it("have names and sizes that other headers tell", function()
    local long = ("deep/"):rep(40) .. "1.cls"
    local pax = ("%d path=%s\n"):format(#long + 10, long)
    assert.equal(#pax, tonumber(pax:match "^%d+"))
    helper.write(path "a.tar", packed.member("g", "20 comment=anything\n", "g")
      .. packed.member("././@LongLink", long .. "\0", "L") .. packed.member("cut", "7")
      .. packed.member("2.cls", "8") .. packed.member("x", pax:gsub("1%.cls", "3.cls"), "x")
      .. packed.member("cut", "9") .. packed.member("dir/", "", "5") .. packed.END)
    assert.same({ 7, 8, 9 }, flow.data.webdataset(path "a.tar").cls:totable())
  end)

  it("that are damaged are errors which name the archive", function()
    local good = packed.tar { { "1.cls", "1" }, { "2.cls", "2" } }
    local huge = packed.header("1.cls", 0)
    local function sized(field)
      return packed.summed(huge:sub(1, 124) .. field .. huge:sub(137)) .. good
    end
    for why, text in pairs {
      ["is damaged, or this is no tar file"] = good:sub(1, 3) .. "X" .. good:sub(5),
      ["it is gzipped"] = "\31\139" .. good:sub(3),
      ["a size that the file cannot hold"] = sized("77777777777\0"),
      ["says a size that the file"] = sized("\128\255\255\255\255\255\255\255\255\255\255\255"),
      ["cannot hold"] = sized("\255" .. ("\255"):rep(11)),
      ["it is no tar file: it has 0 bytes"] = "",
      ["the archive is cut short at byte 1324"] = good:sub(1, 1324),
      ["the header at byte 512 is damaged"] = packed.member("x", "99 path=a\n", "x") .. good,
      ["must be there once in a sample"] = packed.tar { { "1.cls", "1" }, { "1.cls", "1" } },
      ["there are no samples"] = packed.tar { { "README", "1" } },
      ["a class must be a whole number, got 'x.'"] = packed.tar { { "1.cls", "x." } },
    } do
      helper.write(path "a.tar", text)
      helper.fails(function() flow.data.webdataset(path "a.tar") end, why)
      helper.fails(function() flow.data.webdataset(path "a.tar") end, "a.tar")
    end
  end)

  it("never leave the archive, whatever names they have", function()
    helper.write(path "a.tar", packed.tar { { "../../etc/1.cls", "1" }, { "/etc/2.cls", "2" } })
    assert.same({ 1, 2 }, flow.data.webdataset(path "a.tar").cls:totable())
  end)

  it("that lack a column are errors, or left out", function()
    helper.write(path "a.tar", packed.tar { { "1.cls", "1" }, { "1.txt", "one" }, { "2.cls", "2" },
      { "3.cls", "3" }, { "3.txt", "three" } })
    helper.fails(function() flow.data.webdataset(path "a.tar", { columns = { "cls", "txt" } }) end,
      "a.tar: sample '2' has no .txt; bad = \"skip\" leaves such samples out")
    local set
    local said = helper.stderr_of(function()
      set = flow.data.webdataset(path "a.tar", { columns = { "cls", "txt" }, bad = "skip" })
    end)
    assert.is_truthy(said:find("left out: " .. path "a.tar" .. ": sample '2' has no .txt", 1, true))
    assert.same({ 1, 3 }, set.cls:totable())
  end)

  it("need what their columns need", function()
    helper.write(path "a.tar", packed.tar { { "1.png", "1" }, { "1.wav", "1" }, { "1.exe", "1" } })
    local function with(column) flow.data.webdataset(path "a.tar", { columns = { column } }) end
    helper.fails(function() with "png" end, "size must be given for pictures")
    helper.fails(function() with "wav" end, "seconds must be given for sounds")
    helper.fails(function() with "exe" end, "columns: 'exe' must be jpg, jpeg, png, wav")
    helper.fails(function() flow.data.webdataset(path "b-{9..1}.tar") end, "{9..1} must go up")
    helper.fails(function() flow.data.webdataset(path "none.tar") end, "none.tar: No such file")
    helper.fails(function() flow.data.webdataset("/dev") end, "/dev: it is not a file")
    helper.fails(function() flow.data.webdataset("/dev/null") end, "/dev/null: it is not a file")
  end)
end)
