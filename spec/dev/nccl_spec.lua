--- GPUs of several ranks that exchange data by NCCL, on the emulated ones of spec/cuda: what they
-- compute, when the host does it instead, and what becomes of ranks that fail.
local helper = require "spec.cmd.helper"

local SCRIPT = "spec/dev/nccl.lua"

--- Runs a script on n ranks with a GPU each; `before` are variables. Gives what it printed, what
-- it said and its status.
local function run(n, before, script, ...)
  return helper.shell(("JFL_PATIENCE=60 LD_LIBRARY_PATH=build/emulated JFL_TF32=0 "
    .. "XDG_CACHE_HOME=\"$PWD/build/cache\" %s %s"):format(before,
    helper.line("--ranks", tostring(n), script, ...)))
end

--- What a script prints that ends well.
local function printed(...)
  local out, err, status = run(...)
  assert.equal(0, status, err)
  return out
end

--- A script that begins with variables which only rank 1 has.
local function alone(variables, text)
  return helper.file(([[
    local ffi = require "ffi"
    ffi.cdef "int setenv(const char *name, const char *value, int replace);"
    if os.getenv "JFL_RANK" == "1" then
      for name, value in ("%s"):gmatch "(%%S+)=(%%S+)" do ffi.C.setenv(name, value, 1) end
    end
  ]]):format(variables) .. text)
end

describe("NCCL", function()
  after_each(helper.clean)

  -- Two numbers have one sum, three depend on the order.
  for way, row in pairs { plain = "nccl_all_reduce", zero = "nccl_reduce_scatter",
                          split = "nccl_exchange", turns = "nccl_all_reduce" } do
    it("gives two ranks the bits that the host gives them: " .. way, function()
      local by_host = printed(2, "JFL_NCCL=0", SCRIPT, way)
      local out = printed(2, "", SCRIPT, way, "plan")
      assert.equal(by_host, out:sub(1, #by_host))
      assert.truthy(out:find(row, 1, true), out)
    end)
  end

  it("gives three ranks what the host gives them, with parts of several sizes", function()
    for _, way in ipairs { "plain", "zero" } do
      local by_host = printed(3, "JFL_NCCL=0", SCRIPT, way):gmatch "%S+"
      for number in printed(3, "", SCRIPT, way):gmatch "%S+" do
        local other = assert(tonumber(by_host()))
        assert(math.abs(number - other) <= 1e-12 * other, number .. " " .. other)
      end
    end
  end)

  it("goes through the host where a rank has none, and says so", function()
    local cases = {
      ["left out, as JFL_NCCL is 0"] = { "JFL_NCCL=0", SCRIPT },
      ["it is older than 2.14"] = { "JFL_EMULATED_NCCL_VERSION=21300", SCRIPT },
      ["NCCL failed: invalid usage"] = { "JFL_EMULATED_NCCL_REFUSES=1", SCRIPT },
      ["rank 1 ("] = { "", alone("JFL_EMULATED_NCCL_VERSION=22600",
        ("arg = { 'plain', 'plan' }; dofile '%s'"):format(SCRIPT)) },
    }
    local usual
    for why, case in pairs(cases) do
      local out = printed(2, case[1], case[2], "plain", "plan")
      assert.truthy(out:find(why, 1, true), out)
      assert.truthy(out:find("net:0", 1, true), out)
      assert.falsy(out:find("nccl_all_reduce", 1, true), out)
      usual = usual or out:match "^(.-)plan of"
      assert.equal(usual, out:match "^(.-)plan of")
    end
  end)

  it("says why it has no devices", function()
    local places = "print(pcall(require('jfl').config.device, 'nccl:0'))"
    local function says(why, n, before)
      local out = printed(n, before, "-e", places)
      assert.truthy(out:find("got 'nccl:0': " .. why, 1, true), out)
    end
    says("there is one rank", 1, "")
    says("left out, as JFL_NCCL is 0", 2, "JFL_NCCL=0")
    says("the NVIDIA driver finds no GPU", 2, "JFL_EMULATED_INIT=100")
  end)

  it("fails on all ranks for data that is wrong on one, and goes on", function()
    local usual = printed(2, "", SCRIPT, "plain")
    local out = printed(2, "", SCRIPT, "plain", "wrong")
    local first, rest = out:match "^(.-)\n(.*)$"
    assert.truthy(first:find("rank 1 (", 1, true), first)
    assert.truthy(first:find("label at position", 1, true), first)
    assert.equal(usual, rest)
  end)

  local SAYS = ([[
    arg = { "plain" }
    local ok, why = pcall(dofile, "%s")
    io.stderr:write((ok and "trained" or "failed: " .. tostring(why):gsub("\n", " ")) .. "\n")
    if not ok then os.exit(3) end
  ]]):format(SCRIPT)

  it("names a rank that is killed while others wait for its GPU", function()
    for n = 2, 3 do
      local _, err, status = run(n, "JFL_EMULATED_NCCL_SIGNAL=1:3:9", helper.file(SAYS))
      assert.equal(137, status, err)
      local _, said = err:gsub("failed: [^\n]*rank 1 %([^\n]*%) has ended", "")
      assert.equal(n - 1, said, err)
    end
  end)

  it("names a rank whose GPU is lost while others wait for it", function()
    local _, err, status = run(2, "", alone("JFL_EMULATED_FAIL=cuMemcpyDtoDAsync_v2:700", SAYS))
    assert.are_not.equal(124, status, err)
    local _, said = err:gsub("failed: [^\n]*rank 1 %(", "")
    assert.truthy(said >= 1, err)
  end)
end)
