--- The runner of specs for machines without busted.
local helper = require "spec.lua.helper"

--- What the runner says of a file of specs, and its exit status.
local function run(options, text)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  local pipe = io.popen(("'%s' scripts/specs.lua %s '%s' 2>&1; echo \"=$?\""):format(
    helper.command(), options, path))
  local out, status = pipe:read("*a"):match "^(.*)=(%d+)\n$"
  pipe:close()
  os.remove(path)
  return out, tonumber(status)
end

local SPECS = [[
  local order = {}
  describe("a block", function()
    setup(function() order[#order + 1] = "setup" end)
    before_each(function() order[#order + 1] = "before" end)
    after_each(function() order[#order + 1] = "after" end)
    teardown(function() print(table.concat(order, " ")) end)
    it("passes", function()
      finally(function() order[#order + 1] = "finally" end)
      assert.equal(1, 1)
      assert.same({ { 2 } }, { { 2 } })
    end)
    it("fails", function() assert.near(1, 2, 0.5) end)
    it("is of another length", function() assert.same({ 1 }, { 1, 2 }) end)
  end)
]]

describe("scripts/specs.lua", function()
  it("runs what is around each spec, and counts", function()
    local out, status = run("", SPECS)
    assert.equal(1, status)
    assert.truthy(out:find("Failure: a block fails\n.-expected 1, got 2\n"), out)
    assert.truthy(out:find("Failure: a block is of another length\n"), out)
    assert.truthy(out:find("\nsetup before finally after before after before after\n"), out)
    assert.truthy(out:find("\n1 successes / 2 failures / 0 errors / 0 pending\n$"), out)
  end)

  it("takes those that a filter names, and a share", function()
    assert.equal("setup before finally after\n1 successes / 0 failures / 0 errors / 0 pending\n",
      (run("--filter='block passes'", SPECS)))
    local out = run("--share=1/3", SPECS) .. run("--share=2/3", SPECS) .. run("--share=3/3", SPECS)
    assert.equal(3, select(2, out:gsub("setup before ", "")))
  end)
end)
