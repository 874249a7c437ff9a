local core = require "jfl.core"
local draws = require "spec.draws"
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd = flow.ndarray

describe("numpy's files", function()
  local directory

  setup(function() directory = helper.directory() end)
  teardown(function() helper.remove(directory) end)

  local function write(name, text) return helper.write(directory .. "/" .. name, text) end

  it("keep one array of any dtype", function()
    for _, dtype in ipairs { "float32", "float64", "int8", "uint8", "int32", "int64" } do
      local path = directory .. "/a.npy"
      nd.save(path, nd.array({ { 1, 2, 3 }, { 4, 5, 6 } }, dtype))
      local back = nd.load(path)
      assert.equal(dtype, back.dtype)
      assert.same({ { 1, 2, 3 }, { 4, 5, 6 } }, back:totable())
    end
  end)

  it("keep several by name", function()
    local path = directory .. "/b.npz"
    nd.save(path, { x = nd.array { 1.5 }, y = nd.array({ 2, 3 }, "int32") })
    local back = nd.load(path)
    assert.same({ 1.5 }, back.x:totable())
    assert.same({ 2, 3 }, back.y:totable())
  end)

  it("begin as numpy's format 1.0 says", function()
    local path = directory .. "/c.npy"
    nd.save(path, nd.array { 1, 2 })
    local text = assert(require("jfl.data.archive").read(path))
    assert.equal("\147NUMPY\1\0", text:sub(1, 8))
    assert.equal(64 * 2 + 8, #text)
    assert.truthy(text:find("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 1, true))
    assert.equal("\n", text:sub(128, 128))
  end)

  it("are read by numpy, and numpy's by us", function()
    local probe = io.popen("/usr/bin/python3 -c 'import numpy' 2>&1")
    local missing = probe:read("*a") ~= ""
    probe:close()
    if missing then
      pending("python3-numpy is not installed")
      return
    end
    nd.save(directory .. "/ours.npz", { a = nd.arange(6):reshape(2, 3) })
    local pipe = io.popen(([[cd %s && /usr/bin/python3 -c '
import numpy as np
a = np.load("ours.npz")["a"]
print(a.dtype, a.shape, a.sum())
np.savez_compressed("theirs.npz", b=a.T.copy() * 2, c=np.arange(3))' 2>&1]]):format(directory))
    assert.equal("float32 (2, 3) 15.0\n", pipe:read("*a"))
    pipe:close()
    local theirs = nd.load(directory .. "/theirs.npz")
    assert.same({ { 0, 6 }, { 2, 8 }, { 4, 10 } }, theirs.b:totable())
    assert.equal("int64", theirs.c.dtype)
  end)

  -- The bytes of a .npy file of one axis.
  local function file_of(descr, n, data)
    local header = ("{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }"):format(descr, n)
    header = header .. (" "):rep(63 - (10 + #header) % 64) .. "\n"
    return "\147NUMPY\1\0" .. string.char(#header, 0) .. header .. data
  end

  it("are whole where a piece that is read or written ends at their end, or near it", function()
    local PIECE, pattern = 2 ^ 20, {}
    for i = 1, 251 do pattern[i] = string.char(i) end
    pattern = table.concat(pattern)
    for width, code in pairs { [1] = "|u1", [4] = "<i4", [8] = "<f8" } do
      for _, size in ipairs { PIECE - width, PIECE, PIECE + width, 2 * PIECE, 2 * PIECE + width } do
        local data = pattern:rep(math.ceil(size / #pattern)):sub(1, size)
        local text = file_of(code, size / width, data)
        local a = nd.load(write("piece.npy", text))
        assert.same({ size / width }, a.shape)
        assert.is_true(core.bytes(a) == data)
        nd.save(directory .. "/piece.npy", a)
        assert.is_true(helper.read(directory .. "/piece.npy") == text)
        nd.save(directory .. "/piece.npz", { a = a })
        assert.is_true(core.bytes(nd.load(directory .. "/piece.npz").a) == data)
      end
    end
    local data = pattern:rep(math.ceil((2 * PIECE + 8) / #pattern)):sub(1, 2 * PIECE + 8)
    local a = nd.load(write("piece.npy", file_of(">u2", PIECE + 4, data)))
    for _, i in ipairs { 1, PIECE / 2, PIECE / 2 + 1, PIECE, PIECE + 1, PIECE + 4 } do
      local high, low = data:byte(2 * i - 1, 2 * i)
      assert.equal(256 * high + low, a[i])
    end
  end)

  it("begin their numbers at a multiple of 64 bytes, however long the header is", function()
    local lengths, n = {}, 0
    for rank = 0, 8 do
      for digits = 1, 6 do
        local shape = {}
        for i = 1, rank do
          shape[i] = i == 1 and 10 ^ (digits - 1) or i == 2 and 0 or 10 ^ ((digits + i) % 3)
        end
        nd.save(directory .. "/head.npy", nd.zeros(shape, "int8"))
        local text = helper.read(directory .. "/head.npy")
        local a, b = text:byte(9, 10)
        local size = 10 + a + 256 * b
        assert.equal(0, size % 64)
        assert.equal("\n", text:sub(size, size))
        assert.equal(rank == 0 and 1 or rank == 1 and shape[1] or 0, #text - size)
        assert.same(shape, nd.load(directory .. "/head.npy").shape)
        local used = #text:sub(1, size):match("^(.-) *\n$") % 64
        if not lengths[used] then lengths[used], n = true, n + 1 end
      end
    end
    assert.is_true(n > 20)
  end)

  it("name what is wrong with them", function()
    helper.fails(function() nd.load(directory .. "/none.npy") end, "No such file")
    helper.fails(function() nd.load(write("d.npy", "hello, this is no array")) end,
      "d.npy: not a .npy file")
    helper.fails(function() nd.load(write("e.npy", "")) end, "the file is empty")
    helper.fails(function() nd.load(write("f.npz", "PK and then nothing of the sort")) end,
      "not a zip file, or cut short")
    nd.save(directory .. "/g.npy", nd.ones(100))
    local text = require("jfl.data.archive").read(directory .. "/g.npy")
    helper.fails(function() nd.load(write("g.npy", text:sub(1, -2))) end,
      "cut short: float32 (100) must have 400 bytes, got 399")
    helper.fails(function() nd.load(directory) end, directory .. ": Is a directory")
    helper.fails(function() nd.save("/nowhere/x.npy", nd.ones(1)) end,
      "/nowhere/x.npy: No such file")
    helper.fails(function() nd.save(directory .. "/h.npy", 5) end,
      "value must be an NdArray, or a table of NdArrays by name, got number 5")
  end)

  -- Writes a .npy file with that header and 64 bytes of data.
  local function with_header(text)
    return "\147NUMPY\1\0" .. string.char(#text, 0) .. text .. ("\0"):rep(64)
  end

  it("name what is wrong with a header", function()
    for said, text in pairs {
      ["numpy does not write"] = "{'descr': '<f4', 'fortran_order': False}",
      ["numpy does not write: {}"] = "{}",
      ["(-3,)"] = "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }",
      ["elements of type [('a', '<f4')] (records) are"] =
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }",
      ["elements of type <c8 (complex numbers) are"] =
        "{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }",
      ["elements of type |S3 (byte strings) are"] =
        "{'descr': '|S3', 'fortran_order': False, 'shape': (3,), }",
      ["elements of type <U3 (strings) are"] =
        "{'descr': '<U3', 'fortran_order': False, 'shape': (3,), }",
      ["elements of type |O (Python objects) are"] =
        "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
      ["elements of type <M8[s] (dates) are"] =
        "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (3,), }",
      ["elements of type <V2 (raw bytes) are"] =
        "{'descr': '<V2', 'fortran_order': False, 'shape': (3,), }",
      ["elements of type <f16 (floats) are"] =
        "{'descr': '<f16', 'fortran_order': False, 'shape': (3,), }",
      ["must have 80 bytes, got 64"] = "{'descr': '>u8', 'fortran_order': True, 'shape': (10,), }",
      ["the shape must have at most 8 dimensions, got (1, 1, 1, 1, 1, 1, 1, 1, 1)"] =
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1), }",
      ["must have 400000000000000000000 bytes, got 64"] =
        "{'descr': '<f4', 'fortran_order': False, 'shape': (100000000000000000000,), }",
    } do
      local path = write("header.npy", with_header(text))
      helper.fails(function() nd.load(path) end, said)
      helper.fails(function() nd.load(path) end, path)
    end
    helper.fails(function() nd.load(write("new.npy", "\147NUMPY\9\1" .. ("\0"):rep(99))) end,
      "version 9.1 of the format is not supported")
  end)

  it("are refused where a byte of theirs changed", function()
    nd.save(directory .. "/a.npz", { x = nd.arange(6) })
    local text = require("jfl.data.archive").read(directory .. "/a.npz")
    local at = text:find(core.bytes(nd.arange(6)), 1, true)
    write("a.npz", text:sub(1, at + 5) .. "!" .. text:sub(at + 7))
    helper.fails(function() nd.load(directory .. "/a.npz") end,
      "a.npz: 'x.npy' is damaged: its checksum does not match")
  end)

  describe("that numpy wrote", function()
    local files = require "spec.lua.nd.numpy_files"

    local function load(name) return nd.load(write(name, files[name])) end

    it("are read in every dtype, order and byte order", function()
      for name, want in pairs {
        big_endian_fortran_u2 = { "int32", { { 0, 257, 514 }, { 771, 1028, 1285 } } },
        big_endian_f4 = { "float32", { { 0, 0.25, 0.5 }, { 0.75, 1, 1.25 } } },
        bool = { "uint8", { { 0, 0, 0 }, { 1, 1, 1 } } },
        i2 = { "int32", { -32768, -1, 32767 } },
        big_endian_i2 = { "int32", { -32768, -1, 32767 } },
        u4 = { "int64", { 0, 2 ^ 32 - 1 } },
        u8 = { "int64", { 0, 2 ^ 53 } },
        f2 = { "float16", { 1.5, -math.huge } },
        no_axes = { "float64", 2.5 },
        version_2 = { "float32", { 0, 1, 2 } },
        version_3 = { "float32", { 0, 1, 2 } },
      } do
        local a = load(name)
        assert.equal(want[1], a.dtype, name)
        assert.same(want[2], a:totable(), name)
      end
      assert.same(nd.arange(24):reshape(2, 3, 4):totable(), load("fortran_3"):totable())
    end)

    it("keep the shapes of scalars and empty arrays", function()
      assert.same({}, load("no_axes").shape)
      assert.same({ 0, 3 }, load("zero_extent").shape)
      assert.same({ 2, 0, 3 }, load("fortran_zero_extent").shape)
      assert.equal("int32", load("fortran_zero_extent").dtype)
      local a = load("scalar_npz")
      assert.same({}, a.scalar.shape)
      assert.equal(7, a.scalar:item())
      assert.same({ 4, 0 }, a.empty.shape)
    end)

    it("are what ours of scalars and empty arrays are, byte by byte", function()
      for name, a in pairs { no_axes = nd.full({}, 2.5, "float64"),
        zero_extent = nd.zeros { 0, 3 } } do
        local path = directory .. "/ours.npy"
        nd.save(path, a)
        assert.equal(files[name], (require("jfl.data.archive").read(path)))
      end
    end)

    it("keep integers beyond 2^53, which read as the nearest number", function()
      local a = load("i8")
      assert.equal("[    9007199254740993 -9223372036854775808  9223372036854775807]", tostring(a))
      assert.equal(2 ^ 53, a[1])
      assert.truthy(a:pointer()[0] == 9007199254740993LL)
      nd.save(directory .. "/back.npy", a)
      assert.equal(tostring(a), tostring(nd.load(directory .. "/back.npy")))
      helper.fails(function() load("u8_beyond") end, "u8_beyond: element 1 in memory must "
        .. "fit int64, got 9.2233720368548e+18")
    end)

    it("are read out of archives, compressed and with 64-bit sizes too", function()
      local a = load("savez")
      assert.same({ 0, 1, 2 }, a.a:totable())
      assert.equal(3, a.b:totable())
      a = load("savez_compressed")
      assert.same({ 2, 50 }, a.a.shape)
      assert.equal(0, a.a:sum())
      assert.same({ { 0, 1, 2 }, { 3, 4, 5 } }, a.b:totable())
      assert.same({ 0, 1, 2 }, load("zip64").wide:totable())
    end)

    it("give an array or an error wherever they are cut or changed", function()
      local real = {}
      for name in pairs(files) do real[#real + 1] = name end
      table.sort(real)
      local random = draws.from(1)
      for i = 1, 600 do
        local text = files[real[i % #real + 1]]
        local at = random(#text)
        local wrong = i % 3 == 0 and text:sub(1, at)
          or text:sub(1, at - 1) .. string.char(random(256) - 1) .. text:sub(at + 1)
        local path = write("wrong", wrong)
        local ok, err = pcall(nd.load, path)
        if not ok then assert.truthy(err:find(path, 1, true), err) end
      end
    end)
  end)

  it("keep the old one until the new one is whole", function()
    local path = directory .. "/kept.npz"
    nd.save(path, { nd.ones(2), x = nd.zeros(1) })
    helper.fails(function() nd.save(path, { a = nd.ones(1), b = nd.ones(1, "bfloat16") }) end,
      "ndarray.save: b: numpy has no bfloat16; save a:astype(\"float32\")")
    helper.fails(function() nd.save(path, { a = nd.ones(1) }, { b = nd.ones(1) }) end,
      "takes a path and a value")
    helper.fails(function() nd.save(path, { [1] = nd.ones(1), ["1"] = nd.ones(1) }) end,
      "two arrays have the name '1'")
    helper.fails(function() nd.save(path, { [true] = nd.ones(1) }) end,
      "keys must be names of arrays, got boolean true")
    assert.same({ 1, 1 }, nd.load(path)[1]:totable())
    assert.same({ 0 }, nd.load(path).x:totable())
    helper.fails(function() nd.save("/dev/full", nd.ones(1)) end, "No space left on device")
    local pipe = io.popen("ls -A " .. directory)
    assert.falsy(pipe:read("*a"):find(".part", 1, true))
    pipe:close()
  end)

  it("keep the old one when the process is killed on the way", function()
    local path = directory .. "/old.npy"
    nd.save(path, nd.arange(3))
    local _, status = helper.script([[
      local nd = require("jfl").ndarray
      local core, count = require "jfl.core", 0
      local write = core.output_write
      core.output_write = function(...)
        count = count + 1
        if count == 2 then os.execute("kill -9 $PPID") end
        return write(...)
      end
      nd.save("]] .. path .. [[", nd.zeros { 1000, 1000 })
    ]])
    assert.equal(137, status)
    assert.same({ 0, 1, 2 }, nd.load(path):totable())
    local function names()
      local pipe = io.popen("ls -A " .. directory)
      local text = pipe:read("*a")
      pipe:close()
      return text
    end
    assert.truthy(names():find("old.npy.jfl.part", 1, true))
    nd.save(path, nd.ones(1))
    assert.falsy(names():find(".part", 1, true))
  end)

  it("are written through links, and read from pipes", function()
    nd.save(directory .. "/target.npy", nd.ones(1))
    assert.equal(0, os.execute(("ln -s target.npy %s/link.npy"):format(directory)))
    nd.save(directory .. "/link.npy", nd.arange(3))
    assert.same({ 0, 1, 2 }, nd.load(directory .. "/target.npy"):totable())
    assert.equal(0, os.execute(("mkfifo %s/pipe"):format(directory)))
    os.execute(("cat %s/target.npy > %s/pipe &"):format(directory, directory))
    assert.same({ 0, 1, 2 }, nd.load(directory .. "/pipe"):totable())
  end)

  local function shell(text) return os.execute(("cd '%s' && %s"):format(directory, text)) == 0 end

  it("keep their rights, and what links to them", function()
    local path = directory .. "/private.npy"
    nd.save(path, nd.ones(1))
    assert.is_true(shell "chmod 0600 private.npy && ln private.npy other.npy")
    nd.save(path, nd.arange(3))
    assert.is_true(shell "test $(stat -c %a private.npy) = 600")
    assert.same({ 1 }, nd.load(directory .. "/other.npy"):totable())
    assert.is_true(shell "umask 027; touch new; test $(stat -c %a new) = 640")
    assert.is_true(shell "mkdir sub && ln -s sub/made.npy to_new.npy")
    nd.save(directory .. "/to_new.npy", nd.arange(3))
    assert.same({ 0, 1, 2 }, nd.load(directory .. "/sub/made.npy"):totable())
    assert.is_true(shell "ln -s round.npy round.npy")
    helper.fails(function() nd.save(directory .. "/round.npy", nd.ones(1)) end,
      "round.npy: Too many levels of symbolic links")
  end)

  it("may have names as long as a file's can be", function()
    local name = ("n"):rep(251) .. ".npy"
    nd.save(directory .. "/" .. name, nd.ones(1))
    assert.same({ 1 }, nd.load(directory .. "/" .. name):totable())
    helper.fails(function() nd.save(directory .. "/n" .. name, nd.ones(1)) end,
      "File name too long")
    helper.fails(function() nd.save(directory, nd.ones(1)) end, "Is a directory")
    helper.fails(function() nd.save("", nd.ones(1)) end, "ndarray.save: cannot write ")
    helper.fails(function() nd.save("a\0b", nd.ones(1)) end, "path must not hold a zero byte")
  end)

  it("go into pipes", function()
    assert.is_true(shell "mkfifo out && (cat out > piped.npy &)")
    nd.save(directory .. "/out", nd.arange(3))
    assert.is_true(shell "test -p out")
    assert.is_true(shell [[for i in $(seq 3000); do
      test $(stat -c %s piped.npy) = 140 && break
      sleep 0.1
    done]])
    assert.same({ 0, 1, 2 }, nd.load(directory .. "/piped.npy"):totable())
  end)

  it("are larger than what is read at once", function()
    local a = nd.arange(300000):reshape(3, 100000)
    nd.save(directory .. "/large.npz", { a = a, b = a:astype("float64") })
    nd.save(directory .. "/large.npy", a)
    assert.is_true(nd.load(directory .. "/large.npy"):eq(a):all())
    assert.is_true(nd.load(directory .. "/large.npz").b:eq(a):all())
  end)
end)
