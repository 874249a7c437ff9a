--- Names of files in a bundle.
require "jfl"
local format = require "jfl.tools.bundle_format"

it("names in a bundle have one slash between, and none before or behind", function()
  for name, plain in pairs { ["a"] = "a", ["./a"] = "a", ["././a//b/"] = "a/b", ["a\\b"] = "a/b",
    ["/a/"] = "/a", ["/"] = "/", ["a.b/./c"] = "a.b/./c", ["."] = "." } do
    assert.equal(plain, format.plain(name))
  end
  assert.equal("JFL " .. "BUNDLE " .. "MARK:", format.HEAD)
end)
