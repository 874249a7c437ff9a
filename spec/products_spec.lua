-- The products as they are linked: they are small, and what an attacker would use of a mistake is
-- closed. readelf and strip are of binutils, which a compiler needs.
local helper = require "spec.lua.helper"

local PRODUCTS = { "build/jfl", "build/jfl.so", "build/libjfl.so" }

local function readelf(flags, path)
  local pipe = assert(io.popen(("LC_ALL=C readelf -W %s %s"):format(flags, path)))
  local text = pipe:read "*a"
  pipe:close()
  return text
end

describe("what is built #cpu", function()
  if helper.sanitized() then
    pending("is not looked at in a build for a sanitizer")
    return
  end

  it("is what make builds where it is told nothing", function()
    local pipe = io.popen("make -n -p 2>/dev/null | sed -n 's/^.DEFAULT_GOAL := //p'")
    assert.equal("all\n", pipe:read "*a")
    pipe:close()
  end)

  it("is told by make demo before it is built, in silence", function()
    local pipe = io.popen("make -n demo 2>/dev/null")
    local before = pipe:read("*a"):match "^(.-)make[^\n]* %-s"
    pipe:close()
    assert.matches("builds jfl, which takes minutes", before)
  end)

  for _, path in ipairs(PRODUCTS) do
    it("cannot have its tables of functions written to: " .. path, function()
      assert.matches("GNU_RELRO", readelf("-l", path))
      assert.matches("BIND_NOW", readelf("-d", path))
      assert.is_nil(readelf("-d", path):match "TEXTREL")
    end)

    it("does not run what is written to its stack: " .. path, function()
      local flags = readelf("-l", path):match "GNU_STACK[^\n]-(%u+)%s+0x%x+\n"
      assert.equal("RW", flags)
    end)

    it("sees a stack or a buffer that was written past its end: " .. path, function()
      local symbols = readelf("--dyn-syms", path)
      assert.matches("__stack_chk_fail", symbols)
      assert.matches("__[%w]+_chk@", (symbols:gsub("__stack_chk_fail", "")))
    end)
  end

  it("takes less than 6 MB without what debuggers need", function()
    local stripped = os.tmpname()
    assert.equal(0, os.execute("strip -o " .. stripped .. " build/jfl"))
    local file = io.open(stripped)
    local size = file:seek "end"
    file:close()
    os.remove(stripped)
    assert.is_true(size < 6e6, size .. " bytes")
  end)

  -- The listing has the lines of each function, its instructions and their constants.
  it("holds the front end without comments: the same code on the same lines", function()
    local folder = os.tmpname()
    local differ = ([[rm FOLDER; mkdir FOLDER; list() { (cd FOLDER && luajit -bl a.lua); }
      for file in $(find lua/jfl -name '*.lua'); do
        cp $file FOLDER/a.lua; list > FOLDER/before
        awk -f scripts/embedded.awk $file > FOLDER/a.lua; list > FOLDER/after
        cmp -s FOLDER/before FOLDER/after || echo $file
      done; wc -c < FOLDER/before; rm -r FOLDER]]):gsub("FOLDER", folder)
    local pipe = io.popen(differ)
    assert.matches("^[1-9]%d*\n$", pipe:read "*a")
    pipe:close()
  end)

  it("lies at another address in each run", function()
    assert.matches("Type:%s+DYN", readelf("-h", "build/jfl"))
    assert.matches("PIE", readelf("-d", "build/jfl"))
  end)
end)
