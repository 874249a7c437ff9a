-- flow.arguments, and the examples, which read their arguments by it.
local cmd = require "spec.cmd.helper"
local flow = require "jfl"

local USAGE = "data [epochs=3] [rate=0.5] [steps=N] [share=X] [file=FILE]"

describe("flow.arguments", function()
  after_each(cmd.clean)

  -- Runs a script with these words, which prints what it got.
  local function run(...)
    local path = cmd.file(([[
#!/usr/bin/env jfl
-- Learns something,
-- slowly.
local flow = require "jfl"
-- This is no part of it.
local o = flow.arguments "%s"
print(o.data, o.epochs, o.rate, o.steps, o.share, o.file)]]):format(USAGE))
    local out, err, status = cmd.run(path, ...)
    return out, (err:gsub(path:match "[^/]*$", "it", 1):gsub("usage: .*", "usage")), status
  end

  it("gives defaults, and what stands in order or by name", function()
    assert.equal("here\t3\t0.5\tnil\tnil\tnil\n", (run "here"))
    assert.equal("here\t5\t0.25\t7\t-2\tx=1\n",
      (run("here", "5", "share=-2", "--rate=.25", "7", "file=x=1")))
    assert.same({ a = "1", b = 2 }, flow.arguments("a b=N", { "1", "2" }))
  end)

  it("prints the comment at the head and the usage", function()
    for _, word in ipairs { "--help", "-h" } do
      local out, err, status = run("here", word)
      assert.truthy(out:match "^Learns something,\nslowly.\nusage: %S+ data %[epochs=3%] ", out)
      assert.same({ "", 0 }, { err, status })
    end
  end)

  it("refuses what does not fit, and shows the usage", function()
    for words, want in pairs {
      [""] = "data is missing",
      ["a many"] = "epochs must be a whole number of at least 0, got 'many'",
      ["a 2.5"] = "epochs must be a whole number of at least 0, got '2.5'",
      ["a -1"] = "epochs must be a whole number of at least 0, got '-1'",
      ["a inf"] = "epochs must be a whole number of at least 0, got 'inf'",
      ["a rate=nan"] = "rate must be a number, got 'nan'",
      ["a epoch=3"] = "there is no argument 'epoch'; did you mean epochs?",
      ["a --epochs 3"] = "--epochs is given as epochs=VALUE",
      ["a --fast"] = "there is no option '--fast'",
      ["a data=b"] = "data is given twice",
      ["a 1 2 3 4 5 6"] = "there are at most 6 arguments, got '6' too",
    } do
      local list = {}
      for word in words:gmatch "%S+" do list[#list + 1] = word end
      assert.same({ "", "it: " .. want .. "\nusage", 2 }, { run(unpack(list)) })
    end
  end)

  it("refuses a usage that it cannot read", function()
    assert.has_error(function() flow.arguments("<file>", {}) end, "arguments: usage must be words "
      .. "such as [epochs=3], [file=FILE] and folder, got '<file>'")
  end)

  it("is what each example with arguments uses, and tells what they do", function()
    local list = io.popen "grep -l flow.arguments examples/*.lua examples/*/*.lua"
    local n = 0
    for path in list:lines() do
      local out, err, status = cmd.run(path, "--help")
      assert.same({ "", 0 }, { err, status }, path)
      assert.truthy(out:match "^%u.*\nusage: %S+ ", out)
      out, err, status = cmd.run(path, "nonsense=1")
      assert.same({ "", 2 }, { out, status }, path)
      assert.truthy(err:find("there is no argument 'nonsense'", 1, true), err)
      n = n + 1
    end
    list:close()
    local others = io.popen "grep -lE '\\barg\\b|^[^-]*\\(\\.\\.\\.\\)\\) or' examples/*.lua"
    assert.equal("", others:read "*a")
    others:close()
    assert.is_true(n >= 28, n)
  end)
end)
