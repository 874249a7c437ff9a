--- Ops, layers and functions made of ops against PyTorch and numpy. Each case runs in a job and at
-- once on arrays, on fast and on plain kernels, in float64 and float32; gradients are compared too.
local core = require "jfl.core"
local flow = require "jfl"
local oracle = require "spec.oracle"
local trace = require "jfl.job.trace"

local tp = flow.typing

teardown(function() core.reset() end)

local TOLERANCE = { float64 = 1e-11, float32 = 1e-5 }

--- The array that an input describes, where that is float64 in the given dtype instead.
local function array_of(s, dtype)
  local a = s.phase and oracle.wave({ unpack(s) }, s.phase, s.scale)
    or core.from_table(s.data, s.dtype or "float64")
  return a.dtype == "float64" and core.cast(a, dtype) or a
end

local function each_input(entry, f)
  for _, s in ipairs(entry.inputs) do
    if type(s) == "table" then
      for _, part in ipairs(s.list or { s }) do f(part) end
    end
  end
end

--- Calls what the entry names with its inputs, taken in order from a flat list.
local function call(entry, flat)
  local given, next_one = {}, 0
  local function take() next_one = next_one + 1; return flat[next_one] end
  for i, s in ipairs(entry.inputs) do
    given[i] = type(s) == "table" and take() or s
    if type(s) == "table" and s.list then
      given[i] = { given[i] }
      for k = 2, #s.list do given[i][k] = take() end
    end
  end
  if entry.options then given[#entry.inputs + 1] = entry.options end
  local f = flow
  for part in entry.call:gmatch "[^.]+" do f = flow.has(entry.call) and f[part] or nil end
  local results = { (f or core.op(entry.call))(unpack(given)) }
  if type(results[1]) == "table" then results = results[1] end
  return results
end

--- For each blob of a list the gradient of the sum of all <dy, y>; false: there is none.
local function gradients(y, dy, wanted)
  local sums = {}
  for k, seed in pairs(dy) do
    for i, g in ipairs(core.gradients(trace.current.graph, y[k], seed, wanted)) do
      sums[i] = g and sums[i] and sums[i] + g or g or sums[i] or false
    end
  end
  return sums
end

--- The dy of each result that has one, by its number: wave(9), wave(10), ...
local function seeds(entry, dtype)
  local dy = {}
  for k, y in ipairs(entry.dx and entry.y or {}) do
    if not y.dtype then dy[k] = oracle.wave(y.shape, 8 + k, 1, dtype) end
  end
  return dy
end

--- A job of the entry's call, which gives a list: the results, then the gradients for dy that there
--- are; `has` tells for each gradient whether it is there.
local function job_of(entry, arrays, dtype)
  local inputs, has = {}, {}
  for i, a in ipairs(arrays) do
    inputs[i] = { "x" .. i, tp.Numpy.Placeholder(a.shape, a.dtype) }
  end
  local job = flow.global_function {
    name = "oracle", inputs = inputs, returns = tp.List(tp.Numpy),
    body = function(...)
      local blobs, dy, wanted = { ... }, {}, {}
      for k, a in pairs(seeds(entry, dtype)) do dy[k] = flow.constant(a) end
      for _, b in ipairs(blobs) do
        if b.dtype == dtype then wanted[#wanted + 1] = b end
      end
      local y = call(entry, blobs)
      for _, v in ipairs(entry.variables or {}) do
        wanted[#wanted + 1] = flow.get_variable(v.name)
      end
      local list = { unpack(y, 1, #entry.y) }
      for i, g in ipairs(next(dy) and gradients(y, dy, wanted) or {}) do
        has[i] = g and true
        if g then list[#list + 1] = g end
      end
      return list
    end,
  }
  return job, has
end

local function check_results(where, entry, got, dtype)
  for k, y in ipairs(entry.y) do
    oracle.check(entry, ("result %d%s"):format(k, where), y, got[k], dtype, TOLERANCE[dtype])
  end
end

--- Compares the gradients, which follow the results in a list; what `has` says is not there is 0.
local function check_gradients(where, entry, has, got, dtype)
  local next_one = #entry.y + 1
  for i, dx in ipairs(entry.dx or {}) do
    local gradient = has[i] and got[next_one] or core.array(dtype, dx.shape)
    if has[i] then next_one = next_one + 1 end
    oracle.check(entry, ("gradient %d%s"):format(i, where), dx, gradient, dtype, TOLERANCE[dtype])
  end
end

local function load_variables(entry, dtype)
  local values = {}
  for _, v in ipairs(entry.variables or {}) do values[v.name] = array_of(v.value, dtype) end
  if next(values) then flow.load_variables(values) end
end

local function try(entry, kernels, dtype)
  flow.clear_default_session()
  core.set("kernels", kernels)
  local arrays, where = {}, (", %s, %s kernels"):format(dtype, kernels)
  each_input(entry, function(s) arrays[#arrays + 1] = array_of(s, dtype) end)
  if not entry.variables then
    check_results(where .. ", at once", entry, call(entry, arrays), dtype)
  end
  local job, has = job_of(entry, arrays, dtype)
  load_variables(entry, dtype)
  local got = job(unpack(arrays))
  check_results(where, entry, got, dtype)
  check_gradients(where, entry, has, got, dtype)
end

local function describe_case(entry)
  it(entry.id .. " agrees with its oracle", function()
    finally(function() core.set("kernels", "fast") end)
    for _, kernels in ipairs { "fast", "reference" } do
      for dtype in pairs(TOLERANCE) do try(entry, kernels, dtype) end
    end
  end)
end

-- Areas of networks and optimizers, whose cases call no op, have specs of their own.
for _, area in ipairs(oracle.areas()) do
  for _, entry in ipairs(oracle.cases(area)) do
    if entry.call then describe_case(entry) end
  end
end
