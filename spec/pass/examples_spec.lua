--- The examples print the same losses, and leave the same variables, with all passes and with none
-- of those that can be left out.
local command = require "spec.cmd.helper"
local core = require "jfl.core"
local passes = require "spec.passes"

local RECORDS, EPOCHS = 300, 2
-- The steps of float32 training that follow each other carry differences in the last bits on:
-- where a pool's two largest cells are that near, it takes the other one, and the runs part. So
-- direct convolutions, which stay nearer to each other, are compared.
local TOLERANCE = 1e-3

-- Runs an example as if it had asked for a seed, then prints the magnitudes of all variables.
local RUNNER = [[
local flow = require "jfl"
flow.random.seed(11)
local path, epochs = ...
rawset(_G, "arg", { [0] = path, epochs })
assert(loadfile(path))()
flow.sync()
local names, all = {}, flow.get_all_variables()
for name in pairs(all) do names[#names + 1] = name end
table.sort(names)
for _, name in ipairs(names) do
  print(name, flow.math.reduce_mean(flow.math.abs(flow.cast(all[name], flow.double)))[1])
end
]]

local function write(path, head, record)
  local f = assert(io.open(path, "wb"))
  f:write(head)
  for i = 1, RECORDS do f:write(record(i)) end
  f:close()
end

-- Images of noise that is brighter in a row that tells the label.
local function write_data(directory)
  local state = 1
  local function byte(top)
    state = state * 16807 % 2147483647
    return string.char(state % top)
  end
  local function image(i)
    local rows = {}
    for row = 0, 27 do
      local top = row % 10 == i % 10 and 256 or 96
      for column = 1, 28 do rows[28 * row + column] = byte(top) end
    end
    return table.concat(rows)
  end
  local n = string.char(0, 0, math.floor(RECORDS / 256), RECORDS % 256)
  for _, kind in ipairs { "train", "t10k" } do
    local side = "\0\0\0\28"
    write(("%s/%s-images-idx3-ubyte"):format(directory, kind), "\0\0\8\3" .. n .. side .. side,
      image)
    write(("%s/%s-labels-idx1-ubyte"):format(directory, kind), "\0\0\8\1" .. n,
      function(i) return string.char(i % 10) end)
  end
end

local function numbers_of(text)
  local list = {}
  for number in text:gmatch "[%s:]([%-%d%.e]+%d)" do list[#list + 1] = tonumber(number) end
  return list
end

local function absolute(path)
  return path:sub(1, 1) == "/" and path or os.getenv "PWD" .. "/" .. path
end

-- In the order in which some need the checkpoints of others.
local EXAMPLES = {
  "job_function_define_call", "synchronize_single_job", "synchronize_batch_job",
  "async_single_job", "async_batch_job", "mlp_mnist_finetune", "demo",
}

describe("the examples", function()
  local data, runner

  setup(function()
    data = os.tmpname()
    os.remove(data)
    command.shell(("mkdir -p %s/all %s/none"):format(data, data))
    write_data(data)
    runner = command.file(RUNNER)
  end)
  teardown(function()
    command.clean()
    command.shell("rm -rf " .. data)
    core.reset()
  end)

  local function run(name, directory, off)
    local words = { absolute(command.command()), runner, absolute("examples/" .. name .. ".lua"),
      EPOCHS }
    local out, err, status = command.shell(("cd %s/%s && JFL_DATA=%s JFL_KERNELS=direct "
      .. "JFL_PASSES='%s' %s"):format(data,
      directory, data, off, table.concat(words, " ")))
    assert(status == 0, out .. err)
    return out
  end

  for _, name in ipairs(EXAMPLES) do
    it(name .. " gives the same without passes", function()
      local all, none = run(name, "all", ""), run(name, "none", passes.all_but())
      local got, want = numbers_of(all), numbers_of(none)
      assert.truthy(#want > 1, none)
      assert.equal(#want, #got)
      for i, v in ipairs(want) do
        local near = math.abs(got[i] - v) <= TOLERANCE * math.max(math.abs(v), 1e-3)
        assert.truthy(near, ("number %d: %g and %g\n%s\n%s"):format(i, got[i], v, all, none))
      end
    end)
  end
end)
