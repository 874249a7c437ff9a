--- The tiers of tests: what scripts/test.sh lists of each.

--- What a command prints, and its exit status.
local function run(command)
  local pipe = io.popen(("(%s) 2>&1; echo \"=$?\""):format(command))
  local out, status = pipe:read("*a"):match "^(.*)=(%d+)\n$"
  pipe:close()
  return out, tonumber(status)
end

--- The spec files and C tests that the lists of tiers name, as keys.
local function listed(...)
  local files = {}
  for _, tier in ipairs { ... } do
    for line in run("scripts/test.sh --list " .. tier):gmatch "[^\n]+" do
      assert.truthy(line:find "^[^\t]+\t[^\t]+$", line)
      files[line:match "spec/[%w_/]+_spec%.lua" or line:match "spec/[%w_/]+_test" or line] = true
    end
  end
  return files
end

describe("the tiers of tests", function()
  it("have every spec file among them", function()
    local files, n = listed("landing", "deep"), 0
    for file in run("find spec -name '*_spec.lua'"):gmatch "[^\n]+" do
      assert.truthy(files[file], file .. " is in no tier")
      n = n + 1
    end
    assert.is_true(n > 200)
  end)

  it("name no spec file that is gone", function()
    local named = "grep -rhoE 'spec/[a-z0-9_/]+_spec\\.lua' scripts spec/sanitized | sort -u"
    for file in run(named):gmatch "[^\n]+" do
      assert.equal(0, select(2, run("test -f " .. file)), file)
    end
  end)

  it("have nothing in the quick one that needs other programs", function()
    for file in pairs(listed "quick") do assert.falsy(file:find "^spec/hosts/", file) end
  end)

  it("give slices by name, and refuse others", function()
    assert.truthy(listed("deep kills")["spec/cmd/ranks_spec.lua"])
    local out, status = run "scripts/test.sh deep nothing"
    assert.equal(2, status)
    assert.truthy(out:find("SLICE must be one of arm64 .*, got 'nothing'"), out)
    out, status = run "scripts/test.sh nothing"
    assert.equal(2, status)
    assert.truthy(out:find("TIER must be quick, landing, ci or deep, got 'nothing'", 1, true), out)
  end)
end)
