--- Names of files in a bundle, and indexes that somebody changed.
require "jfl"
local format = require "jfl.tools.bundle_format"

it("names in a bundle have one slash between, and none before or behind", function()
  for name, plain in pairs { ["a"] = "a", ["./a"] = "a", ["././a//b/"] = "a/b", ["a\\b"] = "a/b",
    ["/a/"] = "/a", ["/"] = "/", ["a.b/./c"] = "a.b/./c", ["."] = "." } do
    assert.equal(plain, format.plain(name))
  end
  assert.equal("JFL " .. "BUNDLE " .. "MARK:", format.HEAD)
end)

it("names in a bundle that lead out of it are told", function()
  for _, name in ipairs { "/a", "//a", "..", "../a", "a/..", "a/../b", "a\\..\\b", "c:a", "\\a" } do
    assert.is_true(format.leads_out(name), name)
  end
  for _, name in ipairs { "a", "a..b", "...", "a/..b/c", ".", "a:b/c" } do
    assert.equal(name == "a:b/c", format.leads_out(name), name)
  end
end)

it("the four numbers of a bundle are hexadecimal, and lie in each other", function()
  assert.same({ 16, 4, 20, 255 }, { format.numbers(format.digits(16, 4, 20, 255)) })
  local good = format.digits(16, 4, 20, 255)
  for i, bad in ipairs { ("g"):rep(64), good:sub(2), " " .. good:sub(2), good:sub(1, -2) .. "\0",
    format.digits(16, 5, 20, 255), format.digits(21, 0, 20, 255), ("f"):rep(64) } do
    assert.is_nil(format.numbers(bad), i)
  end
end)

it("an index names a script first, each file once and inside, and all bytes", function()
  local script, file = "script 3 0 a.lua\n", "file 4 ff b/c\n"
  local entries = format.entries(script .. file, 100, 107)
  assert.same({ kind = "file", size = 4, sum = 255, name = "b/c", at = 103 }, entries["b/c"])
  assert.equal(entries["a.lua"], entries[1])
  for i, bad in ipairs { "", "x", file, script .. "x", "x" .. script .. file,
    script .. "\n" .. file, script .. file:sub(1, -2), script .. script .. "file 1 0 x\n",
    script .. "file -4 0 b\n",
    script .. "file 4 0 \n", script .. "file 4 0 ../b\n", script .. "file 4 0 /b\n",
    script .. "file 5 0 b\n", script .. "file 3 0 b\n",
    script .. "file " .. ("9"):rep(400) .. " 0 b\n", script .. "file 4 g b\n" } do
    assert.is_nil(format.entries(bad, 100, 107), i)
  end
end)
