-- Archives and packed files whose directories and headers lie.
local core = require "jfl.core"
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd = flow.ndarray

local function bytes(n, count)
  local out = {}
  for i = 1, count do
    out[i] = string.char(n % 256)
    n = math.floor(n / 256)
  end
  return table.concat(out)
end

-- The bytes of a .npy file of float32.
local function npy(shape, data)
  local header = ("{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }"):format(shape)
  header = header .. (" "):rep(117 - #header) .. "\n"
  return "\147NUMPY\1\0" .. bytes(#header, 2) .. header .. data
end

-- A zip file of members: name, data, and what it tells of them where that is not the truth: packed
-- (what stands in the file), method, size, packed_size, crc, flags, offset, told_offset (which
-- stands in the directory alone), own_name, and extra (a field of the directory).
local function zip(members)
  local parts, central, at = {}, {}, 0
  for i, m in ipairs(members) do
    local packed = m.packed or m.data
    local size = m.size or #m.data
    local numbers = bytes(m.crc or core.crc32(m.data), 4) .. bytes(m.packed_size or #packed, 4)
      .. bytes(size, 4)
    local head = bytes(20, 2) .. bytes(m.flags or 0, 2) .. bytes(m.method or 0, 2) .. bytes(0, 4)
    local own = m.flags == 8 and ("\0"):rep(12) or numbers
    local tail = m.flags == 8 and "PK\7\8" .. numbers or ""
    local name, extra = m.own_name or m.name, m.extra or ""
    local record = "PK\3\4" .. head .. own .. bytes(#name, 2) .. "\0\0" .. name .. packed .. tail
    local told = bytes(m.told_offset or m.offset or at, 4)
    central[i] = "PK\1\2" .. bytes(20, 2) .. head .. numbers .. bytes(#m.name, 2)
      .. bytes(#extra, 2) .. ("\0"):rep(10) .. told .. m.name .. extra
    if not m.offset then
      parts[#parts + 1] = record
      at = at + #record
    end
  end
  local directory = table.concat(central)
  return table.concat(parts) .. directory .. "PK\5\6\0\0\0\0" .. bytes(#members, 2):rep(2)
    .. bytes(#directory, 4) .. bytes(at, 4) .. "\0\0"
end

local function deflated(data) return core.bytes(core.deflate(data, "raw")) end

describe("an archive", function()
  local within = helper.folder(setup, teardown)

  local function write(name, text) return helper.write(within(name), text) end

  local ONES = ("\0\0\128\63"):rep(4)
  local GOOD = npy("2, 2", ONES)

  local function load(members) return nd.load(write("a.npz", zip(members))) end

  local function refuses(members, text)
    helper.fails(function() load(members) end, within("a.npz: ") .. text)
  end

  it("has its larger numbers in a field of their own, as many as there are", function()
    local data, WIDE = npy("2,", bytes(0, 8)), 0xFFFFFFFF
    local other = bytes(0x5455, 2) .. bytes(5, 2) .. "other"
    for case = 0, 7 do
      for _, before in ipairs { "", other } do
        local wide, m = "", { name = "b.npy", data = data }
        -- Where each stands in the file: the first member is as long as the second.
        local at = 30 + #m.name + #data
        if case % 2 == 1 then m.size, wide = WIDE, wide .. bytes(#data, 8) end
        if math.floor(case / 2) % 2 == 1 then
          m.packed_size, wide = WIDE, wide .. bytes(#data, 8)
        end
        if case > 3 then m.told_offset, wide = WIDE, wide .. bytes(at, 8) end
        m.extra = before .. bytes(1, 2) .. bytes(#wide, 2) .. wide
        local path = write("wide.npz", zip { { name = "a.npy", data = data }, m })
        local loaded = nd.load(path)
        assert.same({ { 2 }, { 2 } }, { loaded.a.shape, loaded.b.shape })
        -- A field that is cut short tells nothing.
        m.extra = bytes(1, 2) .. bytes(7, 2) .. ("\0"):rep(7)
        path = write("short.npz", zip { { name = "a.npy", data = data }, m })
        assert.equal(case == 0, (pcall(nd.load, path)))
      end
    end
  end)

  it("is read stored, packed, and with sizes that follow the data", function()
    local all = load { { name = "a.npy", data = GOOD },
      { name = "b.npy", data = GOOD, packed = deflated(GOOD), method = 8 },
      { name = "c.npy", data = GOOD, packed = deflated(GOOD), method = 8, flags = 8 } }
    for _, name in ipairs { "a", "b", "c" } do
      assert.same({ { 1, 1 }, { 1, 1 } }, all[name]:totable())
    end
  end)

  it("is refused where its directory is damaged, which is told by the byte", function()
    local text = zip { { name = "a.npy", data = GOOD }, { name = "b.npy", data = GOOD } }
    local first = text:find("PK\1\2", 1, true)
    local second = text:find("PK\1\2", first + 4, true)
    for _, at in ipairs { first, second } do
      local path = write("a.npz", text:sub(1, at - 1) .. "?" .. text:sub(at + 1))
      helper.fails(function() nd.load(path) end,
        ("%s: damaged zip directory at byte %d"):format(path, at - 1))
    end
    local long = text:sub(1, second + 27) .. bytes(1000, 2) .. text:sub(second + 30)
    local path = write("a.npz", long)
    helper.fails(function() nd.load(path) end, path .. ": the zip directory is cut short")
  end)

  it("is refused where members are encrypted, packed in other ways, or empty", function()
    refuses({ { name = "a.npy", data = GOOD, flags = 1 } }, "'a.npy' is encrypted")
    refuses({ { name = "a.npy", data = GOOD, method = 12 } },
      "'a.npy' must be packed by method 0 (stored) or 8 (deflate), got 12")
    refuses({ { name = "a.npy", data = "" } }, "'a.npy' is empty")
  end)

  it("is refused where it has a member twice, or two in one place", function()
    local a = { name = "a.npy", data = GOOD }
    refuses({ a, a }, "damaged: 'a.npy' occurs twice")
    refuses({ a, { name = "a", data = GOOD } }, "damaged: two arrays have the name 'a'")
    refuses({ a, { name = "b.npy", data = GOOD, offset = 0 } },
      "'b.npy' is damaged: its header is not where the directory says")
    local many = { a }
    for i = 2, 200 do many[i] = { name = "a.npy", data = GOOD, offset = 0 } end
    refuses(many, "damaged: 'a.npy' occurs twice")
  end)

  it("is refused where members overlap", function()
    local inner = zip({ { name = "b.npy", data = GOOD } }):sub(1, 30 + 5 + #GOOD)
    refuses({ { name = "a.npy", data = inner }, { name = "b.npy", data = GOOD, offset = 35 } },
      "damaged: 'a.npy' and 'b.npy' overlap")
    refuses({ { name = "a.npy", data = GOOD, packed_size = #GOOD + 1 } }, "'a.npy' is cut short")
    refuses({ { name = "a.npy", data = GOOD, offset = 0 } }, "'a.npy' is damaged: its header")
  end)

  it("is refused where names differ or hold zero bytes", function()
    refuses({ { name = "a.npy", own_name = "b.npy", data = GOOD } },
      "'a.npy' is damaged: its header is not where the directory says")
    refuses({ { name = "a\0.npy", data = GOOD } }, "the names in it must not hold zero bytes")
  end)

  it("is refused where a size cannot be true", function()
    local packed = deflated(GOOD)
    refuses({ { name = "a.npy", data = GOOD, size = #GOOD + 1 } },
      ("'a.npy' is damaged: its %d bytes cannot hold %d"):format(#GOOD, #GOOD + 1))
    refuses({ { name = "a.npy", data = GOOD, packed = packed, method = 8, size = 2 ^ 31 } },
      ("'a.npy' is damaged: its %d bytes cannot hold 2147483648"):format(#packed))
    refuses({ { name = "a.npy", data = GOOD, packed = packed, method = 8, size = 2 ^ 32 - 1,
      extra = "\1\0\8\0" .. ("\255"):rep(8) } }, "'a.npy' is damaged: its")
    refuses({ { name = "a.npy", data = GOOD, packed = packed, method = 8, size = #GOOD + 4 } },
      "a.npy: float32 (2, 2) must have 16 bytes, got 20")
    refuses({ { name = "a.npy", data = GOOD .. "more" } },
      "a.npy: float32 (2, 2) must have 16 bytes, got 20")
  end)

  local MANY = 2 ^ 25

  -- What a process says that loads the file, and the most memory that it ever had, in MB.
  local function loaded(path)
    local out = helper.script(([[
      print(pcall(require("jfl").ndarray.load, "%s"))
      for line in io.lines("/proc/self/status") do
        if line:find("VmHWM") then print("peak " .. line:match("%%d+")) end
      end
    ]]):format(path))
    return out, tonumber(out:match("peak (%d+)")) / 1024
  end

  -- Loading it fails with that text, and takes hardly more memory than loading a small file.
  local function refused_cheaply(path, text)
    local _, usual = loaded(write("small.npy", GOOD))
    local out, peak = loaded(path)
    assert.truthy(out:find(text, 1, true), out)
    assert.is_true(peak < usual + 16, ("%d MB, usually %d"):format(peak, usual))
  end

  it("never unpacks more than it says, nor more than its arrays need", function()
    local zeros = npy("4,", ("\0"):rep(MANY))
    local packed = deflated(zeros)
    for said, size in pairs {
      ["the data must unpack to at most 144 bytes, got more"] = 144,
      ["float32 (4) must have 16 bytes, got 33554432"] = #zeros,
    } do
      refused_cheaply(write("bomb.npz", zip { { name = "a.npy", data = zeros:sub(1, 144),
        packed = packed, method = 8, size = size } }), said)
    end
  end)

  it("takes little memory before a size is known to be true", function()
    refused_cheaply(write("lie.npy", npy("1000000000000,", ONES)),
      "must have 4000000000000 bytes, got 16")
  end)

  it("has names that can be read back", function()
    local path = within("names.npz")
    local long = ("n"):rep(65531)
    nd.save(path, { [long] = nd.ones(1), ["\195\169t\195\169 / .."] = nd.zeros(1),
      [""] = nd.ones(2) })
    local back = nd.load(path)
    assert.same({ 1 }, back[long]:totable())
    assert.same({ 0 }, back["\195\169t\195\169 / .."]:totable())
    assert.same({ 1, 1 }, back[""]:totable())
    helper.fails(function() nd.save(path, { [long .. "n"] = nd.ones(1) }) end,
      "ndarray.save: the name of an array must have at most 65531 bytes, got 65532")
    helper.fails(function() nd.save(path, { ["a\0b"] = nd.ones(1) }) end,
      "ndarray.save: the name of an array must be UTF-8 without zero bytes, got 'a?b'")
    helper.fails(function() nd.save(path, { ["\255"] = nd.ones(1) }) end,
      "the name of an array must be UTF-8 without zero bytes, got '?'")
    assert.same({ 1 }, nd.load(path)[long]:totable())
  end)
end)

describe("a header of numpy's", function()
  local within = helper.folder(setup, teardown)

  local function refuses(text, said)
    local path = within("a.npy")
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
    helper.fails(function() nd.load(path) end, said)
  end

  it("is refused where it is longer than numpy writes", function()
    local long = ("'descr':["):rep(200000)
    refuses("\147NUMPY\2\0" .. bytes(#long, 4) .. long,
      "the header must have at most 10000 bytes, got 1800000")
    refuses("\147NUMPY\2\0\255\255\255\255", "the header must have at most 10000 bytes")
  end)

  it("is refused where an extent is none, also beside one of 0", function()
    for _, shape in ipairs { "0, " .. ("9"):rep(60), "9223372036854775808, 0",
      "4503599627370496, 4503599627370496, 0" } do
      refuses(npy(shape, ""), "a.npy: the extents that are not 0 must multiply to at most 2^47")
    end
  end)
end)

describe("IDX files", function()
  local within = helper.folder(setup, teardown)

  it("are not unpacked beyond what their head says", function()
    local head = "\0\0\8\3" .. "\0\0\0\2\0\0\0\28\0\0\0\28"
    for _, name in ipairs { "train-images-idx3", "train-labels-idx1", "t10k-images-idx3",
      "t10k-labels-idx1" } do
      local file = assert(io.open(within("") .. name .. "-ubyte.gz", "wb"))
      file:write(core.bytes(core.deflate(head .. ("\0"):rep(2 ^ 25), "gzip")))
      file:close()
    end
    local print = _G.print
    rawset(_G, "print", function() end)
    local ok, err = pcall(flow.data.load_mnist, 1, 1, { out_dir = within() })
    rawset(_G, "print", print)
    assert.is_false(ok)
    assert.truthy(err:find("the data must unpack to at most 1584 bytes, got more", 1, true), err)
  end)
end)
