-- Which kernels of a GPU serve each op: asked of the core, by compiling a job for every case of
-- every op in each of its dtypes. The GPU is the emulated one (spec/cuda), which compiles no code
-- for this; so it is done by a process of its own, which kernels.answers starts.
local args = require "jfl.base.args"
local cases = require "spec.op.cases"
local core = require "jfl.core"
local jobs = require "spec.jobs"
local support = require "spec.op.support"

local kernels = {}

-- What runs this module's `write` on the emulated GPU: no cache, so that no image is left out.
local COMMAND = "LD_LIBRARY_PATH=build/emulated JFL_EMULATED_COMPILE=0 XDG_CACHE_HOME= HOME= "
  .. "'%s' scripts/kernels.lua --each"
local LAST = "end"             -- what it writes when it has come through

--- ---- asking ----

--- The kernel of each step of a plan, by its text: { title, kernel }. Steps between devices, and
-- those that do nothing as their results are empty, are left out.
local function steps_of(text)
  local list = {}
  for line in text:match("\nplan of [^\n]*\n(.*)$"):gmatch "[^\n]+" do
    local title, kernel = line:match "^ *%d+  (%S.-)%s%s+([%w_]+) "
    if title ~= "transfer" and kernel ~= "plain" then
      list[#list + 1] = title:gsub("%s", "") .. "=" .. kernel
    end
  end
  return list
end

local function steps_for(op, case, dtype, form)
  core.reset()
  core.set("device", "cpu")
  case.dtype = op.key == -1 and dtype or nil
  local x = support.inputs(case, dtype)
  if case.y_of then x[2] = core.op(case.y_of)(x[1], case.options) end
  local _, text = jobs.compile(op, case, form, x, { device = "gpu" })
  return steps_of(text)
end

--- Writes a line for each op, case and dtype: "conv2d 3 float32 conv2d=cuda_conv", or
-- "conv2d 3 float32 ! MESSAGE" where no job can be compiled; then LAST. all: in jobs with its
-- gradient and among other ops too.
function kernels.write(to, all)
  local ops = core.ops()
  for _, name in ipairs(args.keys(ops)) do
    local op = ops[name]
    for number, case in ipairs(cases[name] or {}) do
      for _, dtype in ipairs(case.only and { case.only } or op.dtypes) do
        for form in pairs(all and jobs.forms or { alone = true }) do
          local ok, steps = pcall(steps_for, op, case, dtype, form)
          to:write(("%s %d %s %s\n"):format(name, number, dtype,
            ok and table.concat(steps, " ") or "! " .. tostring(steps):gsub("\n.*", "")))
        end
      end
    end
  end
  to:write(LAST, "\n")
end

--- ---- what was answered ----

--- The lines that such a process writes but the last; or nil and its last line if it did not come
--- through. options: all, an interpreter other than build/jfl, and environment, such as
--- "JFL_EMULATED_SOURCES=folder".
function kernels.answers(options)
  local pipe = io.popen(("%s %s %s 2>&1"):format(options.environment or "",
    COMMAND:format(options.interpreter or "build/jfl"), options.all and "all" or ""))
  local list = {}
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  local last = table.remove(list)
  if last ~= LAST then return nil, "ended early, after: " .. (last or "") end
  return list
end

--- What serves a call: the kernel, and whether floats of 16 bits are converted for it.
local function served(name, dtype, steps)
  local entry = { dtype = dtype, kernels = {} }
  for title, kernel in steps:gmatch "(%S+)=(%S+)" do
    local converts = title == "cast" and name ~= "cast"
    entry.converted = entry.converted or converts
    if not converts then entry.kernels[#entry.kernels + 1] = kernel end
  end
  return entry
end

--- For each op the calls that were tried: { number, dtype, kernels, converted, wrong }. Or nil
-- and what went wrong.
function kernels.lists(interpreter)
  local lines, wrong = kernels.answers { interpreter = interpreter }
  if not lines then return nil, wrong end
  local by_op = {}
  for _, line in ipairs(lines) do
    local name, number, dtype, steps = line:match "^([%w_]+) (%d+) (%w+) ?(.*)$"
    if name then
      local entry = served(name, dtype, steps)
      entry.number, entry.wrong = tonumber(number), steps:match "^! (.*)"
      by_op[name] = by_op[name] or {}
      table.insert(by_op[name], entry)
    end
  end
  return by_op
end

local SHORT = { float32 = "f32", float64 = "f64", float16 = "f16", bfloat16 = "bf16", int8 = "i8",
  uint8 = "u8", int32 = "i32", int64 = "i64" }
local ORDER = { "float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64" }

--- The dtypes in which a kernel serves an op; a star says that 16 bits are converted for it.
local function dtypes_of(entries, kernel)
  local has, list = {}, {}
  for _, e in ipairs(entries) do
    for _, k in ipairs(e.kernels) do
      if k == kernel then has[e.dtype] = SHORT[e.dtype] .. (e.converted and "*" or "") end
    end
  end
  for _, dtype in ipairs(ORDER) do list[#list + 1] = has[dtype] end
  return table.concat(list, " ")
end

--- What serves an op, as text: "cuda_conv (f32 f64 f16*)".
function kernels.text(entries)
  local set, parts = {}, {}
  for _, e in ipairs(entries or {}) do
    for _, k in ipairs(e.kernels) do set[k] = true end
  end
  for _, kernel in ipairs(args.keys(set)) do
    parts[#parts + 1] = ("%s (%s)"):format(kernel, dtypes_of(entries, kernel))
  end
  return #parts > 0 and table.concat(parts, ", ") or "none: nothing is computed"
end

--- The calls that no kernel of the GPU serves, as text: "conv2d, case 3, float32: why".
function kernels.lacking(by_op)
  local list = {}
  for _, name in ipairs(args.keys(by_op)) do
    for _, e in ipairs(by_op[name]) do
      if e.wrong then
        list[#list + 1] = ("%s, case %d, %s: %s"):format(name, e.number, e.dtype, e.wrong)
      end
    end
  end
  return list
end

return kernels
