--- Ops, layers and functions made of ops against PyTorch and numpy: spec/oracle/AREA.lua, which
-- scripts/oracles/run writes. Each case runs in a job and at once on arrays, on fast and on plain
-- kernels, in float64 and float32; gradients are compared too.
local core = require "jfl.core"
local flow = require "jfl"
local support = require "spec.op.support"
local trace = require "jfl.job.trace"

local tp = flow.typing

teardown(function() core.reset() end)

local TOLERANCE = { float64 = 1e-11, float32 = 1e-5 }

local function wave(shape, phase, scale)
  local flat = core.reshape(core.array("float64", shape), { -1 })
  for i = 1, #flat do flat[i] = scale * math.sin(phase + 1.7 * (i - 1)) end
  return core.cast(core.cast(core.reshape(flat, shape), "float32"), "float64")
end

--- The array that an input describes, where that is float64 in the given dtype instead.
local function array_of(s, dtype)
  local a = s.shape and wave(s.shape, s.phase, s.scale) or core.from_table(s.data, s.dtype)
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
  for k, result in ipairs(entry.dx and entry or {}) do
    if not result.whole then dy[k] = core.cast(wave(result.shape, 8 + k, 1), dtype) end
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
      local list = { unpack(y, 1, #entry) }
      for i, g in ipairs(next(dy) and gradients(y, dy, wanted) or {}) do
        has[i] = g and true
        if g then list[#list + 1] = g end
      end
      return list
    end,
  }
  return job, has
end

local function check_results(where, entry, y, tol)
  for k, result in ipairs(entry) do
    assert.same(result.shape, y[k].shape)
    local ok, message = support.close(support.flat(y[k]), result.y, tol)
    assert.truthy(ok, ("result %d%s: %s"):format(k, where, message or ""))
  end
end

--- Compares a gradient; one that is not there counts as 0.
local function check_gradient(where, got, want, tol)
  local list = got and support.flat(got) or {}
  if not got then
    for i = 1, #want do list[i] = 0 end
  end
  local ok, message = support.close(list, want, tol)
  assert.truthy(ok, ("%s: %s"):format(where, message or ""))
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
  local tol = dtype == "float32" and entry.tol or TOLERANCE[dtype]
  if not entry.variables then check_results(where, entry, call(entry, arrays), tol) end
  local job, has = job_of(entry, arrays, dtype)
  load_variables(entry, dtype)
  local got, next_one = job(unpack(arrays)), #entry + 1
  check_results(where, entry, got, tol)
  for i, want in ipairs(entry.dx or {}) do
    check_gradient("gradient " .. i .. where, has[i] and got[next_one], want, tol)
    if has[i] then next_one = next_one + 1 end
  end
end

local list = io.popen "ls spec/oracle"
for file in list:lines() do
  local area = file:match "^(.*)%.lua$"
  for i, entry in ipairs(require("spec.oracle." .. area)) do
    it(("%s agrees with its oracle (%s, %d)"):format(entry.call, area, i), function()
      finally(function() core.set("kernels", "fast") end)
      for _, kernels in ipairs { "fast", "reference" } do
        for dtype in pairs(TOLERANCE) do try(entry, kernels, dtype) end
      end
    end)
  end
end
list:close()
