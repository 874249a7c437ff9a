-- OneFlow's records, read in bodies: what readers and decoders give, in which order, from where
-- they go on, and files that are damaged.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local packed = require "spec.lua.data.packed"

local nd, tp = flow.ndarray, flow.typing

describe("OneFlow's records", function()
  local path = helper.folder(before_each, after_each)

  -- A PNG of 6 by 8 pixels whose channels are these.
  local function png(red, green, blue)
    local channels = {}
    for i, v in ipairs { red, green, blue } do channels[i] = nd.full({ 1, 6, 8 }, v, flow.uint8) end
    flow.data.save_image(path "x.png", nd.concat(channels, 0))
    return helper.read(path "x.png")
  end

  -- Parts of these counts of records, numbered through from 0.
  local function parts(...)
    local n = 0
    for k, count in ipairs { ... } do
      local list = {}
      for i = 1, count do
        list[i] = packed.record {
          { "label", packed.feature("int32", { n }) },
          { "encoded", packed.feature("bytes", png(10 * n, 100, 200)) },
          { "wide", packed.feature("int64", { -n, 2 ^ 40 }) },
          { "real", packed.feature("float", { n + 0.5 }) },
          { "exact", packed.feature("double", { n / 8, 1 }) },
          { "loose_narrow", packed.loose("int32", { n, -5 }) },
          { "loose_wide", packed.loose("int64", { -n, 2 ^ 40 }) },
          { "loose_real", packed.loose("float", { n + 0.5 }) },
          { "loose_exact", packed.loose("double", { n / 8, 1 }) },
          { "raw", packed.feature("bytes", "\1\255" .. string.char(n)) },
        }
        n = n + 1
      end
      helper.write(path(("part-%03d"):format(k - 1)), packed.ofrecord(list))
    end
  end

  -- A job whose body reads with these options and gives what decode(record, flow.data) does.
  local function reads(o, decode, name)
    o.data_part_num, o.part_name_suffix_length = o.data_part_num or 1, 3
    return flow.global_function {
      name = name or "reads", type = "predict", returns = tp.Tuple(tp.Numpy, tp.Numpy),
      body = function()
        local record = flow.data.ofrecord_reader(path(), o)
        local label = flow.data.OFRecordRawDecoder(record, "label", { shape = {},
          dtype = flow.int32 })
        return label, decode and decode(record, flow.data) or flow.identity(label)
      end,
    }
  end

  it("are numbers of any kind, as any dtype", function()
    parts(3)
    local function numbers(feature, shape, dtype, more)
      local o = { shape = shape, dtype = dtype }
      for key, value in pairs(more or {}) do o[key] = value end
      local _, x = reads({ batch_size = 3 }, function(record, data)
        return data.OFRecordRawDecoder(record, feature, o)
      end, feature .. dtype)()
      assert.equal(dtype, x.dtype)
      return x:totable()
    end
    for _, way in ipairs { "", "loose_" } do                    -- packed, or each as a field
      assert.same({ { 0, 2 ^ 40 }, { -1, 2 ^ 40 }, { -2, 2 ^ 40 } }, numbers(way .. "wide", { 2 },
        "float64"))
      assert.same({ { 0.5 }, { 1.5 }, { 2.5 } }, numbers(way .. "real", { 1 }, "float32"))
      assert.same({ { { 0 }, { 1 } }, { { 0.125 }, { 1 } }, { { 0.25 }, { 1 } } },
        numbers(way .. "exact", { 2, 1 }, "float64"))
    end
    assert.same({ { 0, -5 }, { 1, -5 }, { 2, -5 } }, numbers("loose_narrow", { 2 }, "int64"))
    assert.same({ { 1, -1, 0 }, { 1, -1, 1 }, { 1, -1, 2 } }, numbers("raw", { 3 }, "int8"))
    assert.same({ { 1, 255, 0 }, { 1, 255, 1 }, { 1, 255, 2 } }, numbers("raw", { 3 }, "uint8"))
    assert.same({ { 0.5, 0, 0 }, { 1.5, 0, 0 }, { 2.5, 0, 0 } }, numbers("real", { 3 }, "float32",
      { auto_zero_padding = true }))
  end)

  it("come again and again, batches across the end of all", function()
    parts(3, 2)
    local job = reads { batch_size = 3, data_part_num = 2 }
    for _, wanted in ipairs { { 0, 1, 2 }, { 3, 4, 0 }, { 1, 2, 3 }, { 4, 0, 1 } } do
      local label, same = job()
      assert.same(wanted, label:totable())
      assert.same(wanted, same:totable())
    end
  end)

  it("are shuffled in each epoch, as the seed says", function()
    parts(6, 6)
    local function labels(o)
      flow.clear_default_session()
      flow.random.seed(4)
      o.data_part_num, o.batch_size = 2, 4
      local job, list = reads(o), {}
      for _ = 1, 9 do
        local label = job()
        for k = 1, 4 do list[#list + 1] = label[k] end
      end
      for epoch = 0, 2 do
        local sum = 0
        for i = 1, 12 do sum = sum + 2 ^ list[12 * epoch + i] end
        assert.equal(2 ^ 12 - 1, sum)
      end
      return list
    end
    local list = labels { random_shuffle = true }
    assert.same(list, labels { random_shuffle = true })
    assert.are_not.same({ unpack(list, 1, 12) }, { unpack(list, 13, 24) })
    local kept = labels { random_shuffle = true, shuffle_buffer_size = 1 }
    assert.same({ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 }, { unpack(kept, 1, 12) })
    local moved = labels { shuffle_after_epoch = true }
    assert.same({ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 }, { unpack(moved, 1, 12) })
    assert.equal(moved[13] + 5, moved[18])
  end)

  it("are pictures in either order of colours, of one size", function()
    parts(2)
    local function pixels(o, resize, decoder)
      flow.clear_default_session()
      local _, x = reads({ batch_size = 2 }, function(record, data)
        return flow.image.Resize(data[decoder or "OFRecordImageDecoder"](record, "encoded", o),
          resize)
      end)()
      assert.equal("uint8", x.dtype)
      return x
    end
    local x = pixels({}, { target_size = { 4, 3 } })
    assert.same({ 2, 3, 4, 3 }, x.shape)
    assert.same({ 200, 100, 10 }, x[2][1][1]:totable())
    assert.same({ 10, 100, 200 }, pixels({ color_space = "RGB" },
      { resize_x = 2, resize_y = 2 })[2][1][1]:totable())
    assert.same({ 2, 2, 2, 1 }, pixels({ color_space = "GRAY" }, { target_size = { 2, 2 } }).shape)
    x = pixels({ random_area = { 0.1, 0.2 } }, { target_size = { 2, 2 } },
      "OFRecordImageDecoderRandomCrop")
    assert.same({ 200, 100, 0 }, x[1][2][2]:totable())
  end)

  it("are cropped, mirrored and normalized", function()
    parts(2)
    local _, x = reads({ batch_size = 2 }, function(record, data)
      local bytes = data.OFRecordBytesDecoder(record, "encoded")
      local images = flow.image.decode(bytes, { color_space = "RGB" })
      local small = flow.image.Resize(images, { resize_shorter = 4, color_space = "RGB" })
      return flow.image.CropMirrorNormalize(small, flow.random.CoinFlip(2), { color_space = "RGB",
        crop_h = 3, crop_w = 2, mean = { 10, 100, 100 }, std = { 1, 2, 4 } })
    end)()
    assert.same({ 2, 3, 3, 2 }, x.shape)
    assert.same({ -10, 0, 25 }, { x:get(1, 1, 1, 1), x:get(1, 2, 3, 2), x:get(1, 3, 2, 1) })
    assert.same({ 0, 0, 25 }, { x:get(2, 1, 1, 1), x:get(2, 2, 3, 2), x:get(2, 3, 2, 1) })
  end)

  it("are read by the older functions, too", function()
    parts(2)
    local job = flow.global_function {
      name = "older", type = "predict", returns = tp.Tuple(tp.Numpy, tp.Numpy, tp.Numpy, tp.Numpy),
      body = function()
        local data = flow.data
        local images, label = data.ofrecord_image_classification_reader(path(), "encoded",
          "label", { batch_size = 2, part_name_suffix_length = 3 })
        local codec = data.ImageCodec({ data.ImagePreprocessor("bgr2rgb"),
          data.ImageResizePreprocessor(2, 3) })
        local norm = data.NormByChannelPreprocessor({ 0, 100, 100 }, { 10, 1, 1 })
        local a, b = data.decode_ofrecord(path(), {
          data.BlobConf("encoded", { 3, 2, 3 }, flow.float32, codec, { preprocessors = { norm } }),
          data.BlobConf("real", { 1 }, flow.float32, data.RawCodec()),
        }, { batch_size = 2, part_name_suffix_length = 3 })
        return flow.image.Resize(images, { 2, 2 }), label, a, b
      end,
    }
    local x, label, a, b = job()
    assert.same({ 2, 2, 2, 3 }, x.shape)
    assert.same({ 0, 1 }, label:totable())
    assert.same({ 1, 0, 100 }, a[2][1][1]:totable())
    assert.same({ { 0.5 }, { 1.5 } }, b:totable())
  end)

  it("are pictures by second names, and random parts of one size", function()
    parts(2)
    local data = flow.data
    for _, name in ipairs { { "OFRecordBytesDecoder", "ofrecord_bytes_decoder" },
      { "OFRecordImageDecoder", "ofrecord_image_decoder" },
      { "OFRecordRawDecoder", "ofrecord_raw_decoder" },
      { "OFRecordImageDecoderRandomCrop", "ofrecord_image_decoder_random_crop" },
      { "ImageDecoderRandomCropResize", "image_decoder_random_crop_resize" } } do
      assert.equal(data[name[1]], data[name[2]])
    end
    local _, x = reads({ batch_size = 2 }, function(record)
      return data.image_decoder_random_crop_resize(data.ofrecord_bytes_decoder(record, "encoded"),
        4, 3, { seed = 1 })
    end)()
    assert.same({ 2, 3, 4, 3 }, x.shape)
    assert.same({ 10, 100, 200 }, x[2][3][4]:totable())
    local loader = flow.global_function { name = "loader", returns = tp.Numpy, body = function()
      local o = { batch_size = 2, part_name_suffix_length = 3 }
      local record = data.ofrecord_loader(path(), o)
      return data.ofrecord_raw_decoder(record, "label", { shape = {}, dtype = flow.int32 })
    end }
    assert.same({ 0, 1 }, loader():totable())
  end)

  -- A job that trains on records, and what its losses are in n calls.
  local function trains()
    return flow.global_function {
      name = "trains", type = "train", returns = tp.Tuple(tp.Numpy, tp.Numpy),
      body = function()
        local record = flow.data.ofrecord_reader(path(), { batch_size = 2, data_part_num = 2,
          part_name_suffix_length = 3, random_shuffle = true })
        local label = flow.data.OFRecordRawDecoder(record, "label", { shape = {},
          dtype = flow.int32 })
        local images = flow.data.OFRecordImageDecoderRandomCrop(record, "encoded")
        local x = flow.image.CropMirrorNormalize(flow.image.Resize(images, { 4, 4 }),
          { std = { 255 } })
        local logits = flow.layers.dense(flow.reshape(x, { 2, -1 }), 5, { name = "out" })
        local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(label, logits)
        flow.optimizer.SGD(function(step) return 0.1 / (1 + step) end):minimize(loss)
        return loss, flow.identity(label)
      end,
    }
  end

  it("train, beside rates that a function gives, and go on where a checkpoint was saved", function()
    parts(3, 2)
    flow.random.seed(7)
    local job, losses = trains(), {}
    for i = 1, 8 do
      local loss, label = job()
      losses[i] = table.concat(loss:totable(), " ") .. ":" .. table.concat(label:totable(), " ")
      if i == 3 then flow.checkpoint.save(path "saved") end
    end
    flow.clear_default_session()
    flow.random.seed(8)
    job = trains()
    helper.stderr_of(function() flow.checkpoint.load(path "saved", { resume = true }) end)
    for i = 4, 8 do
      local loss, label = job()
      assert.equal(losses[i],
        table.concat(loss:totable(), " ") .. ":" .. table.concat(label:totable(), " "))
    end
  end)

  it("go on in a job that is described anew", function()
    parts(5)
    local job = reads { batch_size = 2 }
    job()
    helper.stderr_of(function() job = reads { batch_size = 2 } end)
    assert.same({ 2, 3 }, (job()):totable())
  end)

  it("are no part of a loop that begins after a call", function()
    parts(5)
    local job = reads { batch_size = 2 }
    job()
    for _, i in flow.data.loop({ { 1, 2, 3 } }, { name = "outer" }) do
      if i == 2 then
        flow.checkpoint.save(path "saved")
        break
      end
    end
    flow.clear_default_session()
    helper.stderr_of(function()
      flow.checkpoint.load(path "saved", { resume = true })
      local _, i = flow.data.loop({ { 1, 2, 3 } }, { name = "outer" })()
      assert.equal(3, i)
    end)
  end)

  it("that are damaged are errors which name the file", function()
    parts(2)
    local good = helper.read(path "part-000")
    for why, text in pairs {
      ["is cut short, or this is no OFRecord file"] = good:sub(1, -2),
      ["record 1, at byte 0, is cut short"] = ("\255"):rep(20),
      ["there are no records"] = "",
      ["record 1 is empty"] = ("\0"):rep(16),
    } do
      helper.write(path "part-000", text)
      flow.clear_default_session()
      local job = reads { batch_size = 2 }
      helper.fails(function() job() end, why)
      helper.fails(function() job() end, "part-000")
    end
    for why, record in pairs {
      ["the record must have a feature 'label', got 'other'"] =
        packed.record { { "other", packed.feature("int32", { 1 }) } },
      ["the record is damaged"] = "\10\200\1a",
      ["the feature must have 1 numbers, as its shape () has, got 2"] =
        packed.record { { "label", packed.feature("int32", { 1, 2 }) } },
    } do
      helper.write(path "part-000", packed.ofrecord { record })
      flow.clear_default_session()
      local job = reads { batch_size = 2 }
      helper.fails(function() job() end, why)
      helper.fails(function() job() end, "part-000: at byte 8")
    end
  end)

  it("refuse what makes no sense in a body", function()
    parts(2)
    local function fails(why, decode)
      flow.clear_default_session()
      local job = reads({ batch_size = 2 }, decode)
      helper.fails(function() job() end, why)
    end
    local several = "image must be a blob or an NdArray, got pictures of several sizes"
    fails(several, function(record, data)
      return flow.image.flip(data.OFRecordImageDecoder(record, "encoded"))
    end)
    fails("pictures of several sizes must be brought to one first", function(record, data)
      return flow.image.CropMirrorNormalize(data.OFRecordImageDecoder(record, "encoded"),
        { crop_h = 2, crop_w = 2 })
    end)
    fails("input_blob must be what flow.data.ofrecord_reader gives", function(_, data)
      return data.OFRecordImageDecoder(3, "encoded")
    end)
    fails("color_space must be BGR, RGB or GRAY", function(record, data)
      return data.OFRecordImageDecoder(record, "encoded", { color_space = "HSV" })
    end)
    local function of_pictures(why, f, options)
      fails(why, function(record, data)
        return f(data.OFRecordImageDecoder(record, "encoded", options), data)
      end)
    end
    local function resized(why, options, decoder)
      of_pictures(why, function(x) return flow.image.Resize(x, options) end, decoder)
    end
    local function cropped(why, options)
      of_pictures(why, function(x)
        return flow.image.CropMirrorNormalize(flow.image.Resize(x, { resize_shorter = 6 }), options)
      end)
    end
    for _, name in ipairs { "", "a\0b" } do
      fails("blob_name must be the name of a feature, got",
        function(record, data) return data.OFRecordImageDecoder(record, name) end)
    end
    for _, dtype in ipairs { "float16", "bfloat16" } do
      fails("dtype must be float32, float64, int8, uint8, int32 or int64, got " .. dtype,
        function(record, data)
          return data.OFRecordRawDecoder(record, "label", { 1 }, flow[dtype])
        end)
    end
    resized("interpolation_type must be auto for decoded pictures, got string 'cubic'",
      { target_size = { 4, 4 }, interpolation_type = "cubic" })
    resized("target_size must be {width, height}, got {4}", { target_size = { 4 } })
    resized("target_size must be a whole number of at least 1, got number 0",
      { target_size = { 4, 0 } })
    cropped("crop_pos_x and crop_pos_y must be 0.5 for decoded pictures, got 0.4 and 0.5",
      { crop_h = 2, crop_w = 2, crop_pos_x = 0.4 })
    cropped("crop_pos_x and crop_pos_y must be 0.5 for decoded pictures, got 0.5 and 0.6",
      { crop_h = 2, crop_w = 2, crop_pos_y = 0.6 })
    for _, size in ipairs { { 7, 6 }, { 6, 7 } } do
      cropped(("crop_h and crop_w must be at most 6, as the pictures' shorter sides are, got %d "
        .. "and %d"):format(size[1], size[2]), { crop_h = size[1], crop_w = size[2] })
    end
    local taken = reads({ batch_size = 2 }, function(record, data)
      local x = flow.image.Resize(data.OFRecordImageDecoder(record, "encoded"),
        { resize_shorter = 6, interpolation_type = "auto" })
      return flow.image.CropMirrorNormalize(x, { crop_h = 6, crop_w = 6 })
    end)
    assert.same({ 2, 3, 6, 6 }, select(2, taken()).shape)
    helper.fails(function() flow.data.ofrecord_reader(path()) end,
      "must be called inside a job function's body")
  end)
end)
