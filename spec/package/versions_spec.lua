-- One version everywhere: that of jfl.h.
local flow = require "jfl"

local function first(name, pattern)
  for line in assert(io.open(name)):lines() do
    local found = line:match(pattern)
    if found then return found end
  end
end

describe("the version", function()
  it("is the same as text and as number", function()
    local major, minor, patch = flow.version:match "^(%d+)%.(%d+)%.(%d+)$"
    assert.equal(flow.version, first("src/jfl.h", '^#define JFL_VERSION "(.*)"'))
    assert.equal(10000 * major + 100 * minor + patch,
      tonumber(first("src/jfl.h", "^#define JFL_VERSION_NUMBER (%d+)$")))
  end)

  it("is that of the changelog, the rock and Debian's package", function()
    local folder = "scripts/package/"
    assert.equal(flow.version, first(folder .. "CHANGELOG.md", "^## ([%d.]+), %d+%-%d+%-%d+$"))
    assert.equal(flow.version, first(folder .. "debian/changelog", "^jfl %(([%d.]+)%-%S+%)"))
    local rock = ("%sjfl-%s-1.rockspec"):format(folder, flow.version)
    assert.equal(flow.version .. "-1", first(rock, '^version = "(.*)"$'))
    assert.equal(flow.version, first(folder .. "python/pyproject.toml", '^version = "(.*)"$'))
  end)

  it("has the major number that the library's name has", function()
    local name = "libjfl.so." .. flow.version:match "^%d+"
    assert.equal(name, first("scripts/package/debian/libjfl1.symbols", "^(%S+) libjfl1 "))
  end)
end)
