--- Processes that train together give what one gives, whatever carries their tensors.
local helper = require "spec.cmd.helper"

local SCRIPT = "spec/dev/ranks.lua"
local MPI = {
  openmpi = "mpirun.openmpi --allow-run-as-root --oversubscribe",
  mpich = "mpirun.mpich",
}

--- The losses that a command prints.
local function losses(line)
  local out, err, status = helper.shell(line)
  assert(status == 0, err)
  local list = {}
  for number in out:gmatch "[^\n]+" do list[#list + 1] = assert(tonumber(number), out) end
  return list
end

local function compare(line)
  local one, many = losses(helper.line(SCRIPT)), losses(line)
  assert.equal(4, #one)
  assert.equal(#one, #many)
  for i, loss in ipairs(one) do
    assert(math.abs(loss - many[i]) <= 1e-12 * math.abs(loss), ("step %d: %.13g, alone %.13g")
      :format(i, many[i], loss))
  end
end

describe("training on several ranks", function()
  after_each(helper.clean)

  for _, n in ipairs { "2", "3" } do
    it(("equals training alone: %s ranks"):format(n), function()
      compare(helper.line("--ranks", n, SCRIPT))
    end)
  end

  for _, device in ipairs { "sim", "sim 0:0-1,1:0-1" } do
    it("equals training alone: two ranks on " .. device, function()
      compare(("JFL_DEVICE='%s' %s"):format(device, helper.line("--ranks", "2", SCRIPT)))
    end)
  end

  for _, name in ipairs { "openmpi", "mpich" } do
    it(("equals training alone: two ranks of %s"):format(name), function()
      local shim = io.open(("build/jfl-mpi-%s.so"):format(name))
      if not shim or helper.shell("command -v mpirun." .. name) == "" then
        return pending(name .. " is not installed")
      end
      shim:close()
      -- What MPI leaves allocated is none of ours.
      compare(("ASAN_OPTIONS=detect_leaks=0 JFL_MPI_SHIM=build/jfl-mpi-%s.so %s -n 2 %s"):format(
        name, MPI[name], helper.line(SCRIPT)))
    end)
  end
end)
