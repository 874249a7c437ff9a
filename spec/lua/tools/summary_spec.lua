local flow = require "jfl"
local core = require "jfl.core"
local event = require "jfl.tools.event"
local helper = require "spec.lua.helper"
local histogram = require "jfl.tools.histogram"
local nd = flow.ndarray

-- Records as TensorBoard 2.21 itself writes them, in hexadecimal.
local GOLDEN = {
  version = "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c",
  scalar = "1b000000000000001a0d9e1309000000000000f83f10ac022a0d0a0b0a046c6f7373150000803e9908deed",
  image = "1f00000000000000514b441809000000000000f83f10012a120a100a0178220b0802100318012203706e6"
    .. "78a6c"
    .. "a4f8",
  histogram = "6a00000000000000af81ed6709000000000000f83f108080808080202a580a560a01772a510900000"
    .. "0000000f0"
    .. "bf11000000000000004019000000000000084021000000000000f83f2900000000000014403210000000000000"
    .. "000000000000000004403a10000000000000f03f00000000000000408a721d9e",
  text = "2e00000000000000c5cb57fa09000000000000f83f10072a210a1f0a046e6f7465420d0807120412020801"
    .. "4203"
    .. "68c3a94a080a060a04746578746ad03a12",
}

-- A value that TensorBoard 2.21's plugin hparams reads as the three that are written below.
local HPARAMS = "0a1c5f68706172616d735f2f73657373696f6e5f73746172745f696e666f42060801120212004a4e0a"
  .. "4c0a0768706172616d7312411a3f0a130a066c617965727312091100000000000008400a0a0a046e6f726d1202200"
  .. "10a130a096f7074696d697a657212061a044164616d29000000000000f83f"

local function hex(s) return (s:gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end

local function content(path)
  local file = assert(io.open(path, "rb"))
  local data = file:read("*a")
  file:close()
  return data
end

-- The payloads of an event file, whose checksums must be right.
local function records(path)
  local data, at, list = content(path), 1, {}
  while at <= #data do
    local a, b, c = data:byte(at, at + 2)
    local size = a + 256 * b + 65536 * c
    local payload = data:sub(at + 12, at + 11 + size)
    assert.equal(hex(event.record(payload)), hex(data:sub(at, at + 15 + size)))
    list[#list + 1] = payload
    at = at + 16 + size
  end
  return list
end

-- The bytes of a PNG file of one uint8 picture, without those that name a filter.
local function pixels(png)
  assert.equal("\137PNG\r\n\26\n", png:sub(1, 8))
  local at = png:find("IDAT", 1, true)
  local a, b, c, d = png:byte(at - 4, at - 1)
  local size = ((a * 256 + b) * 256 + c) * 256 + d
  return core.inflate(png:sub(at + 4, at + 3 + size), "zlib"):totable()
end

describe("event", function()
  it("has the checksum of iSCSI", function()
    assert.equal(bit.tobit(0xE3069283), event.crc32c("123456789"))
    assert.equal(bit.tobit(0x8A9136AA), event.crc32c(("\0"):rep(32)))
    assert.equal(0, event.crc32c(""))
  end)

  it("writes what TensorBoard writes", function()
    local function same(name, data) assert.equal(GOLDEN[name], hex(event.record(data)), name) end
    local function of(step, value) return event.summary(1.5, step, { value }) end
    same("version", event.version(1.5))
    same("scalar", of(300, event.scalar("loss", 0.25)))
    same("image", of(1, event.image("x", 2, 3, 1, "png")))
    same("histogram", of(2 ^ 40, event.histogram("w", { min = -1, max = 2, num = 3, sum = 1.5,
      squares = 5, limits = { 0, 2.5 }, counts = { 1, 2 } })))
    same("text", of(7, event.text("note", "h\195\169")))
    assert.equal(HPARAMS, hex(event.hparams({ { "layers", 3 }, { "norm", true },
      { "optimizer", "Adam" } }, 1.5)))
  end)
end)

describe("histogram", function()
  -- TensorFlow's limits, found one by one.
  local function expected(x)
    local limits, v = { 0 }, 1e-12
    while v < 1e20 do
      limits[#limits + 1], limits[#limits + 2] = v, -v
      v = v * 1.1
    end
    limits[#limits + 1], limits[#limits + 2] = 0x1.fffffffffffffp1023, -0x1.fffffffffffffp1023
    table.sort(limits)
    for _, limit in ipairs(limits) do
      if limit > x then return limit end
    end
    return limits[#limits]
  end

  it("puts every number below the first limit that is above it", function()
    local v = 1e-12
    local list = { 0, 1e-13, -1e-13, 5e-324, 1e300, -1e300, 0x1.fffffffffffffp1023, 3, -0.7 }
    for _ = 1, 40 do
      for _, x in ipairs { v, -v, v * 1.05, -v * 1.05 } do list[#list + 1] = x end
      v = v * 1.1
    end
    for _, x in ipairs(list) do
      local h = histogram.of(nd.array({ x }, "float64"))
      local at
      for i, count in ipairs(h.counts) do at = count > 0 and i or at end
      assert.equal(expected(x), h.limits[at], ("%.17g"):format(x))
      assert.equal(x, h.sum)
    end
  end)

  it("joins empty buckets and leaves out what is not finite", function()
    local h = histogram.of(nd.array { 1, 0 / 0, 3, 3, 1 / 0, -2, -1 / 0 })
    assert.same({ -2, 3, 4, 5, 23 }, { h.min, h.max, h.num, h.sum, h.squares })
    assert.same({ 0, 1, 0, 1, 0, 2, 0 }, h.counts)
    assert.same({ 0, 0, 0, 0 }, { histogram.of(nd.array { 0 / 0 }).num, h.counts[1], h.counts[3],
      histogram.of(nd.array { 0 / 0 }).max })
    assert.same({ 1, 2 }, { histogram.of(nd.array({ 7 }, "int64")).num,
      histogram.of(nd.array({ 1, 1 }, "float16")).sum })
  end)
end)

describe("summary", function()
  local dir, writer

  before_each(function()
    dir = helper.directory()
    writer = flow.summary.create_summary_writer(dir .. "/runs/a")
  end)

  after_each(function()
    flow.summary.close()
    helper.remove(dir)
  end)

  -- The values written so far, without the fixed part in front.
  local function values()
    local list = records(writer.path)
    assert.truthy(table.remove(list, 1):find("brain.Event:2", 1, true))
    for i, payload in ipairs(list) do list[i] = payload:sub(10) end
    return list
  end

  local function value(step, ...)
    return event.summary(0, step, { ... }):sub(10)
  end

  it("makes its directory, and keeps the writer of a directory named again", function()
    assert.truthy(writer.path:find(dir .. "/runs/a/events.out.tfevents.", 1, true))
    assert.equal(writer, flow.summary.create_summary_writer(dir .. "/runs/a"))
    assert.equal("summary writer of " .. dir .. "/runs/a", tostring(writer))
  end)

  it("takes a file of its own, whatever is planted under its names", function()
    local time = os.time
    rawset(os, "time", function() return 5 end)
    finally(function() rawset(os, "time", time) end)
    local first = flow.summary.create_summary_writer(dir .. "/one")
    local front, number = first.path:match("^(.*%.)(%d+)$")
    local victim = dir .. "/victim"
    local file = assert(io.open(victim, "w"))
    file:write("precious")
    file:close()
    assert.equal(0, os.execute(("mkdir '%s/two' && ln -s '%s' '%s/two/%s%d'"):format(dir, victim,
      dir, front:match("[^/]*$"), number + 1)))
    local second = flow.summary.create_summary_writer(dir .. "/two")
    assert.equal(number + 2, tonumber(second.path:match("%d+$")))
    assert.equal("precious", content(victim))
  end)

  it("writes numbers, arrays and tables of one at once, with steps given or counted", function()
    flow.summary.scalar(0.5, 4, "loss")
    flow.summary.scalar(nd.array { 0.25 }, { tag = "loss" })
    flow.summary.scalar({ 2 }, { tag = "accuracy" })
    flow.summary.scalar(1, nd.array({ 9 }, "int64"), "loss")
    assert.same({ value(4, event.scalar("loss", 0.5)), value(5, event.scalar("loss", 0.25)),
      value(0, event.scalar("accuracy", 2)), value(9, event.scalar("loss", 1)) }, values())
  end)

  it("writes histograms and text", function()
    flow.summary.histogram({ { 1, 2 }, { 3, 4 } }, 1, "w")
    flow.summary.text("# done", 2, "note")
    assert.same({ value(1, event.histogram("w", histogram.of(nd.array { 1, 2, 3, 4 }))),
      value(2, event.text("note", "# done")) }, values())
  end)

  it("writes what a run was made with", function()
    local file = flow.summary.create_summary_writer(dir .. "/runs")
    flow.summary.hparams({ rate = 0.1, optimizer = "Adam", norm = true })
    local data = records(file.path)[2]
    local last = 0
    for _, name in ipairs { "_hparams_/session_start_info", "norm", "optimizer", "Adam", "rate" } do
      local at = data:find(name, last + 1, true)
      assert.truthy(at, name)
      last = at
    end
    helper.fails(function() flow.summary.hparams({ rate = {} }) end,
      "summary.hparams: rate must be a number or string or boolean, got an empty table")
    helper.fails(function() flow.summary.hparams({ 3 }) end, "hparams must be a string, got number")
    flow.summary.close(file)
  end)

  it("writes pictures of either format, three of a batch unless asked otherwise", function()
    local picture = require "jfl.tools.picture"
    local nchw = nd.arange(2 * 3 * 2 * 2):reshape { 2, 3, 2, 2 }:astype("uint8")
    local list, height, width, channels = picture.encode("x", nchw, "NCHW", 5)
    assert.same({ 2, 2, 2, 3 }, { #list, height, width, channels })
    assert.same({ 0, 12, 16, 20, 13, 17, 21, 0, 14, 18, 22, 15, 19, 23 }, pixels(list[2]))
    assert.same(list, (picture.encode("x", nchw:transpose { 0, 2, 3, 1 }, "NHWC", 5)))
    flow.summary.image(nchw, 1, "x", { data_format = "NCHW" })
    flow.summary.image(nd.zeros { 5, 2, 2, 1 }, { tag = "many" })
    flow.summary.image(nd.zeros { 5, 2, 2, 1 }, { tag = "one", max_outputs = 1 })
    local got = values()
    assert.equal(value(1, event.image("x/0", 2, 2, 3, list[1]),
      event.image("x/1", 2, 2, 3, list[2])),
      got[1])
    assert.truthy(got[2]:find("many/2", 1, true) and not got[2]:find("many/3", 1, true))
    assert.truthy(got[3]:find("one", 1, true) and not got[3]:find("one/0", 1, true))
  end)

  it("scales floats, and cuts what is beyond black and white", function()
    local list = require("jfl.tools.picture").encode("x",
      nd.array { { 0, 0.5, 2 }, { -1, 0 / 0, 1 } },
      "NHWC", 1)
    assert.same({ 0, 0, 128, 255, 0, 0, 0, 255 }, pixels(list[1]))
    list = require("jfl.tools.picture").encode("x", nd.array({ { -5, 7, 300 } }, "int32"), "NCHW",
      1)
    assert.same({ 0, 0, 7, 255 }, pixels(list[1]))
  end)

  it("has every record in the file as soon as it is written", function()
    local path = dir .. "/run"
    local out = helper.script(([[
      local flow = require "jfl"
      local writer = flow.summary.create_summary_writer(%q)
      flow.summary.scalar(1, 1, "loss")
      print(writer.path)
      io.stdout:flush()
      local ffi = require "ffi"
      ffi.cdef "void _exit(int)"
      ffi.C._exit(0)
    ]]):format(path))
    assert.equal(2, #records(out:match("^%S+")))
  end)

  it("has another file in a forked child", function()
    local out = helper.script(([[
      local flow = require "jfl"
      local ffi = require "ffi"
      ffi.cdef "int fork(void); int waitpid(int, int *, int); void _exit(int);"
      local writer = flow.summary.create_summary_writer(%q)
      flow.summary.scalar(1, 1, "loss")
      print(writer.path)
      if ffi.C.fork() == 0 then
        flow.summary.scalar(2, 2, "loss")
        print(writer.path)
        io.stdout:flush()
        ffi.C._exit(0)
      end
      ffi.C.waitpid(-1, nil, 0)
      flow.summary.scalar(3, 3, "loss")
    ]]):format(dir .. "/forked"))
    local own = {}
    for path in out:gmatch "%S+" do own[path] = #records(path) end
    local counts = {}
    for _, count in pairs(own) do counts[#counts + 1] = count end
    table.sort(counts)
    assert.same({ 2, 3 }, counts)
  end)

  it("goes on where it was after a full disk", function()
    flow.summary.scalar(1, 1, "a")
    local write, torn = core.file_write, core.file_size(writer.file)
    core.file_write = function(file, data, at)
      write(file, data:sub(1, 7), at)
      return nil, "No space left on device"
    end
    helper.fails(function() flow.summary.scalar(2, 2, "a") end,
      "summary.scalar: cannot write " .. writer.path .. ": No space left on device")
    core.file_write = write
    assert.equal(torn + 7, core.file_size(writer.file))
    flow.summary.scalar(3, { tag = "a" })
    assert.same({ value(1, event.scalar("a", 1)), value(2, event.scalar("a", 3)) }, values())
  end)

  it("leaves no file that it cannot begin", function()
    local write = core.file_write
    core.file_write = function() return nil, "No space left on device" end
    helper.fails(function() flow.summary.create_summary_writer(dir .. "/full") end,
      "summary.create_summary_writer: cannot write " .. dir .. "/full/events.out.tfevents.")
    core.file_write = write
    local list = io.popen("ls " .. dir .. "/full")
    assert.equal("", list:read "*a")
    list:close()
    flow.summary.scalar(1, 1, "a")
    assert.equal(1, #values())
  end)

  it("writes by any of several writers", function()
    local other = flow.summary.create_summary_writer(dir .. "/runs/b")
    flow.summary.scalar(1, 1, "a", { writer = writer })
    flow.summary.scalar(2, 1, "b")
    assert.equal(1, #values())
    assert.equal(2, #records(other.path))
    flow.summary.close { writer = writer }
    flow.summary.flush_summary_writer()
  end)

  it("refuses what it cannot write, and writes nothing then", function()
    local s = flow.summary
    local function fails(text, f, ...)
      local given, n = { ... }, select("#", ...)
      helper.fails(function() f(unpack(given, 1, n)) end, text)
    end
    fails("summary.scalar: the tag is missing; arguments are value, step, tag", s.scalar, 1, "loss")
    fails("summary.scalar: tag must be a string, got number 3", s.scalar, 1, 2, 3)
    fails("summary.scalar: tag must not be empty", s.scalar, 1, 2, "")
    fails("summary.scalar: tag must be UTF-8 text", s.scalar, 1, 2, "\255")
    fails("summary.scalar: step must be a whole number of at least 0, got number -1", s.scalar, 1,
      -1, "a")
    fails("summary.scalar: step must be a whole number of at least 0, got number 0.5", s.scalar, 1,
      0.5, "a")
    fails("summary.scalar: step must be at most 2^53, got 1e+300", s.scalar, 1, 1e300, "a")
    fails("summary.scalar: value must be one number, got 2 of them, (2)", s.scalar, { 1, 2 }, 1,
      "a")
    fails("summary.scalar: value must be a number, an NdArray, a table or a job's blob, got string",
      s.scalar, "x", 1, "a")
    fails("summary.histogram: value[2] must be a number", s.histogram, { 1, "x" }, 1, "a")
    fails("summary.image: value must have 1 to 4 channels, got 28 of (8, 1, 28, 28) in NHWC; is "
      .. 'its data_format "NCHW"?', s.image, nd.zeros { 8, 1, 28, 28 }, 1, "a")
    fails("summary.image: value must be of a shape such as (N, H, W, C), got (3)", s.image,
      nd.zeros { 3 }, 1, "a")
    fails("summary.image: data_format must be \"NHWC\" or \"NCHW\"", s.image, nd.zeros { 2, 2 }, 1,
      "a", { data_format = "HWC" })
    fails("summary.text: value must be a string, got number 1", s.text, 1, 1, "a")
    fails("summary.scalar: writer must be what create_summary_writer gave", s.scalar, 1, 1, "a", 5)
    assert.equal(0, #values())
  end)

  it("says where a writer cannot be made, and that one is closed", function()
    local s = flow.summary
    helper.fails(function() s.create_summary_writer("/proc/nowhere/a") end,
      "summary.create_summary_writer: cannot make the directory /proc/nowhere/a: No such file")
    helper.fails(function() s.create_summary_writer(writer.path) end, "Not a directory")
    helper.fails(function() s.create_summary_writer("") end, "logdir must not be empty")
    s.close()
    assert.equal("closed summary writer of " .. dir .. "/runs/a", tostring(writer))
    helper.fails(function() s.scalar(1, 1, "a") end,
      ("summary.scalar: the writer of %s is closed"):format(dir .. "/runs/a"))
    s.close()
    assert.are_not.equal(writer, s.create_summary_writer(dir .. "/runs/a"))
  end)

  it("says that there is no writer yet", function()
    local out = helper.script [[
      print(select(2, pcall(require("jfl").summary.scalar, 1, 1, "a")))
    ]]
    assert.truthy(out:find("there is no writer yet; flow.summary.create_summary_writer(logdir) "
      .. "makes", 1, true))
  end)
end)

describe("summary in a job", function()
  local dir, writer

  before_each(function()
    flow.clear_default_session()
    dir = helper.directory()
    writer = flow.summary.create_summary_writer(dir)
  end)

  after_each(function()
    flow.summary.close()
    helper.remove(dir)
  end)

  local function written()
    local list = records(writer.path)
    table.remove(list, 1)
    for i, payload in ipairs(list) do list[i] = payload:sub(10) end
    return list
  end

  local function value(step, x) return event.summary(0, step, { x }):sub(10) end

  it("writes at every call, whose number is the step", function()
    local job = helper.train("train", { body = function(x)
      local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
      local loss = x * w
      flow.optimizer.SGD(0.5, { momentum = 0 }):minimize(loss)
      flow.summary.scalar(flow.math.reduce_mean(loss), { tag = "loss" })
      flow.summary.histogram(w, { tag = "w" })
      return loss
    end })
    job { 2, 4 }
    job { 2, 4 }
    -- The gradient is x / 2, so w is (0.5, 0) after the first call.
    assert.same({ value(0, event.scalar("loss", 3)),
      value(0, event.histogram("w", histogram.of(nd.array { 1, 1 }))),
      value(1, event.scalar("loss", 0.5)),
      value(1, event.histogram("w", histogram.of(nd.array { 0.5, 0 }))) }, written())
  end)

  it("counts on where another batch size is traced, and waits for asynchronous calls", function()
    local tp = flow.typing
    local job = helper.predict("sum", { -1 }, function(x)
      local sum = flow.math.reduce_sum(x)
      flow.summary.scalar(sum, { tag = "sum" })
      return sum
    end, { returns = tp.Callback(tp.Numpy) })
    for i = 1, 4 do job(nd.full({ i % 2 + 1 }, i))(function() end) end
    flow.sync()
    assert.same({ value(0, event.scalar("sum", 2)), value(1, event.scalar("sum", 2)),
      value(2, event.scalar("sum", 6)), value(3, event.scalar("sum", 4)) }, written())
  end)

  it("takes the step from a blob", function()
    local tp = flow.typing
    local job = flow.global_function { name = "j", returns = tp.Numpy, inputs = {
      { "x", tp.Numpy.Placeholder({ 1 }) },
      { "step", tp.Numpy.Placeholder({ 1 }, { dtype = flow.int64 }) },
    }, body = function(x, step)
      flow.summary.scalar(x, step, "x")
      return x
    end }
    job({ 5 }, { 100 })
    job({ 6 }, { 90 })
    assert.same({ value(100, event.scalar("x", 5)), value(90, event.scalar("x", 6)) }, written())
  end)

  it("writes pictures", function()
    local job = helper.predict("picture", { 1, 1, 2, 2 }, function(x)
      flow.summary.image(x, { tag = "x", data_format = "NCHW" })
      return x
    end)
    job { { { { 0, 1 }, { 0.5, 0.25 } } } }
    local png = require("jfl.tools.picture").encode("x", nd.array { { 0, 1 }, { 0.5, 0.25 } },
      "NHWC", 1)[1]
    assert.same({ value(0, event.image("x", 2, 2, 1, png)) }, written())
  end)

  it("refuses when the body runs what it could not write later", function()
    local function fails(message, f)
      flow.clear_default_session()
      helper.fails(function() helper.predict("j", { 2 }, f):compile() end, message)
    end
    fails("summary.scalar: value must be one number, got 2 of them, (2)", function(x)
      flow.summary.scalar(x, { tag = "x" })
      return x
    end)
    fails("summary.scalar: step must be a blob inside a body", function(x)
      flow.summary.scalar(flow.math.reduce_sum(x), 3, "x")
      return x
    end)
    fails("summary.image: value must be of a shape such as (N, H, W, C), got (2)", function(x)
      flow.summary.image(x, { tag = "x" })
      return x
    end)
    fails("summary.text: value must be a string, got a blob", function(x)
      flow.summary.text(x, { tag = "x" })
      return x
    end)
  end)

  it("tells of a closed writer from the call, and the job stays usable", function()
    local job = helper.predict("j", { 1 }, function(x)
      flow.summary.scalar(x, { tag = "x" })
      return x
    end)
    flow.summary.close()
    assert.truthy(select(2, pcall(job, { 1 })):find("the writer of " .. dir .. " is closed", 1,
      true))
    writer = flow.summary.create_summary_writer(dir)
    assert.equal(2, job { 2 }[1])
    assert.same({ value(0, event.scalar("x", 2)) }, written())
  end)
end)
