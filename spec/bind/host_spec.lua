require "jfl"
local core = require "jfl.core"

describe("the host", function()
  it("makes directories with those above them, and says why not", function()
    local path = os.tmpname()
    os.remove(path)
    assert.is_true(core.make_directory(path .. "/a/b/"))
    assert.is_true(core.make_directory(path .. "/a/b"))
    local file = assert(io.open(path .. "/a/b/file", "w"))
    file:close()
    assert.same({ nil, "Not a directory" }, { core.make_directory(path .. "/a/b/file/c") })
    assert.same({ nil, "No such file or directory" }, { core.make_directory("") })
    os.execute("rm -r " .. path)
  end)

  it("knows its process and machine", function()
    local number, name = core.process()
    local file = assert(io.open("/proc/self/stat"))
    assert.equal(file:read("*n"), number)
    file:close()
    assert.truthy(#name > 0)
  end)
end)

describe("compression", function()
  it("is undone by inflate", function()
    local data = ("jfl "):rep(1000) .. "\0"
    for _, format in ipairs { "gzip", "zlib", "raw" } do
      local packed = core.bytes(core.deflate(data, format))
      assert.truthy(#packed < 100)
      assert.equal(data, core.bytes(core.inflate(packed, format)))
    end
  end)

  it("refuses what is no format", function()
    local ok, err = pcall(core.deflate, "x", "lzma")
    assert.is_false(ok)
    assert.truthy(err:find("deflate: format must be gzip, zlib or raw, got 'lzma'", 1, true))
    assert.is_false(pcall(core.deflate, {}, "raw"))
  end)
end)
