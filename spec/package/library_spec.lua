-- libjfl.so, the library for hosts that are not Lua programs, in a process that has Lua.
local ffi = require "ffi"

ffi.cdef [[
const char *jfl_version(void);
]]

local function output(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "*a"
  pipe:close()
  return text
end

describe("libjfl.so #cpu", function()
  it("has a soname with the first number of the version", function()
    local library = ffi.load "./build/libjfl.so"
    local major = ffi.string(library.jfl_version()):match "^(%d+)%."
    assert.matches("Library soname: %[libjfl%.so%." .. major .. "%]",
      output "LC_ALL=C readelf -d build/libjfl.so")
  end)

  it("exports what jfl.h declares, under one version, and nothing of Lua or zlib", function()
    assert.equal("", output "scripts/exports.sh build/libjfl.so JFL_1.0")
    assert.matches("jfl_version@@JFL_0.9", output "scripts/exports.sh build/libjfl.so JFL_0.9")
  end)

  it("needs nothing but the C library to be loaded", function()
    for name in output("LC_ALL=C readelf -d build/libjfl.so"):gmatch "NEEDED[^%[]*%[([^%]]+)" do
      assert.is_truthy(name:match "^lib[cm]%.so" or name:match "^ld%-linux", name)
    end
  end)
end)
