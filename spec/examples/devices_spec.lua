-- The examples for several devices give the losses of one device, step by step. JFL_FUZZ of 1000 or
-- more tries more kinds of devices, and float64.
local blocks = require "scripts.doc.blocks"
local flow = require "jfl"
local helper = require "spec.cmd.helper"

local nd = flow.ndarray
local ALL = (tonumber(os.getenv "JFL_FUZZ") or 0) >= 1000
local APART = { float32 = 1e-5, float64 = 1e-12 }

-- Pictures of which each class lights two rows of its own, so that there is something to learn.
local function write_data(directory)
  local function pictures(n)
    local images, labels = nd.rand({ n, 28, 28 }) * 60, nd.zeros({ n }, "uint8")
    for i = 1, n do
      local class = i % 10
      labels[i] = class
      for row = 1, 2 do images[i][4 + 2 * class + row] = 250 end
    end
    return images:astype("uint8"), labels
  end
  local images, labels = pictures(1000)
  nd.save(directory .. "/mnist.npz", { x_train = images, y_train = labels,
    x_test = images:slice(1, 100), y_test = labels:slice(1, 100) })
end

-- #cpu: each run says itself where it is.
describe("examples for several devices #cpu", function()
  local data, want

  setup(function()
    data, want = blocks.directory(), {}
    write_data(data)
  end)

  teardown(function() blocks.remove(data) end)

  -- The losses of an example in so many steps, run by a command.
  local function losses(name, steps, place, dtype, argument, command)
    local line = ("JFL_DATA=%s %s spec/examples/losses.lua examples/%s.lua %d '%s' %s %s")
      :format(data, command or helper.command(), name, steps, place, dtype, argument)
    local out, err, status = helper.shell(line)
    assert.equal(0, status, out .. err)
    local list = {}
    for loss in out:gmatch "\nloss %d+ (%S+)" do list[#list + 1] = tonumber(loss) end
    assert.equal(steps, #list, out .. err)
    return list
  end

  -- Fails unless a run has the losses of one device.
  local function compare(name, steps, place, dtype, argument, command)
    local key = name .. steps .. dtype
    want[key] = want[key] or losses(name, steps, "as said", dtype, "devices=1")
    for i, loss in ipairs(losses(name, steps, place, dtype, argument, command)) do
      local apart = math.abs(loss - want[key][i])
      assert(apart <= APART[dtype] * want[key][i], ("%s on %s, %s, step %d: %.17g, not %.17g")
        :format(name, place, argument, i, loss, want[key][i]))
    end
    return want[key]
  end

  local function is_falling(list) return list[#list] < list[1] end

  for _, name in ipairs { "mirrored_strategy", "mixed_parallel_mlp", "hybrid_parallelism_mlp" } do
    it(name .. " is the same on two and four devices of the CPU", function()
      compare(name, 2, "as said", "float32", "devices=2")
      compare(name, 2, "as said", "float32", "devices=4")
      assert.is_true(is_falling(compare(name, 10, "as said", "float64", "devices=2")))
    end)
  end

  -- Later steps of these, from weights that are far too large, blow rounding up.
  for _, name in ipairs { "consistent_strategy", "mixed_parallel_lenet", "distributed_train" } do
    it(name .. " is the same on two and four devices of the CPU", function()
      compare(name, 2, "as said", "float32", "devices=2")
      compare(name, 2, "as said", "float32", "devices=4")
    end)

    if ALL then
      it(name .. " is the same in float64", function()
        compare(name, 2, "as said", "float64", "devices=2")
      end)
    end
  end

  local function has(program)
    return os.execute(("command -v %s >/dev/null"):format(program)) == 0
  end

  -- A command that starts so many processes. What MPI leaves allocated is none of ours.
  local STARTS = {
    ["jfl --ranks"] = function(n) return ("%s --ranks %d"):format(helper.command(), n) end,
    ["Open MPI"] = has "mpirun.openmpi" and function(n)
      return ("ASAN_OPTIONS=detect_leaks=0 mpirun.openmpi --allow-run-as-root --oversubscribe "
        .. "-n %d %s"):format(n, helper.command())
    end,
    ["MPICH"] = has "mpirun.mpich" and function(n)
      return ("ASAN_OPTIONS=detect_leaks=0 mpirun.mpich -n %d %s"):format(n, helper.command())
    end,
  }
  for title, start in pairs(STARTS) do
    local few = title == "jfl --ranks" or ALL
    for _, name in ipairs(few and { "mixed_parallel_mlp", "hybrid_parallelism_mlp",
      "distributed_train" } or { "mixed_parallel_mlp" }) do
      it(("%s is the same in two processes, by %s"):format(name, title), function()
        compare(name, 2, "as said", "float32", "devices=1", start(2))
      end)

      if ALL then
        it(("%s is the same in four processes, by %s"):format(name, title), function()
          compare(name, 2, "as said", "float32", "devices=1", start(4))
          compare(name, 2, "as said", "float32", "devices=2", start(2))
        end)
      end
    end
  end

  local EMULATED = "env JFL_EMULATED_DEVICES=2 LD_LIBRARY_PATH=build/emulated "
    .. "XDG_CACHE_HOME=\"$PWD/build/cache\" JFL_TF32=0 "
  if ALL and io.open "build/emulated/libcuda.so.1" then
    for _, name in ipairs { "mirrored_strategy", "mixed_parallel_mlp", "hybrid_parallelism_mlp",
      "mixed_parallel_lenet" } do
      it(name .. " is the same on two emulated GPUs", function()
        compare(name, 2, "as said", "float32", "devices=2", EMULATED .. helper.command())
      end)
    end
  end

  for _, name in ipairs(ALL and { "consistent_strategy", "mirrored_strategy",
    "hybrid_parallelism_mlp", "mixed_parallel_mlp", "mixed_parallel_lenet" }
    or { "mixed_parallel_mlp" }) do
    it(name .. " is the same on simulated devices", function()
      compare(name, 2, "sim 2", "float32", "devices=2")
      compare(name, 2, "sim 4", "float32", "devices=4")
    end)
  end
end)
