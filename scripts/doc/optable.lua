-- The table of all ops: dtypes, gradient, kernels, parity cases, place in the reference. What it
-- says comes from the records of the ops, from the lines of the kernels, and from spec/oracle.
local args = require "jfl.base.args"
local core = require "jfl.core"
local index = require "jfl.doc.index"
local cases = require "spec.op.cases"
local gpu = require "scripts.doc.kernels"
local support = require "spec.op.support"

local optable = {}

local SHORT = { float32 = "f32", float64 = "f64", float16 = "f16", bfloat16 = "bf16", int8 = "i8",
  uint8 = "u8", int32 = "i32", int64 = "i64" }
local ORDER = { "f32", "f64", "f16", "bf16", "i8", "u8", "i32", "i64" }

local function lines_of(command)
  local list, pipe = {}, io.popen(command)
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end

--- Names of the CPU's kernels by the op that they serve.
local function rows()
  local by_op = {}
  for _, path in ipairs(lines_of "find kernels/cpu -name '*.c' | LC_ALL=C sort") do
    local file = assert(io.open(path))
    local text = "\n" .. file:read "*a"
    file:close()
    for name, ops in text:gmatch '\nJFL_CPU%(([%w_]+),[^"\n]*"([%w_ ]+)"' do
      for op in ops:gmatch "%S+" do
        by_op[op] = by_op[op] or {}
        table.insert(by_op[op], name)
      end
    end
  end
  return by_op
end

--- How many parity cases call each name, be it that of an op or a path.
local function parity()
  local count = {}
  for _, path in ipairs(lines_of "ls spec/oracle/*.lua") do
    for _, entry in ipairs(dofile(path)) do
      if entry.call then count[entry.call] = (count[entry.call] or 0) + 1 end
    end
  end
  return count
end

local function dtypes_text(info)
  local has, list = {}, {}
  for _, dtype in ipairs(info.dtypes) do has[SHORT[dtype] or dtype] = true end
  for _, dtype in ipairs(ORDER) do
    if has[dtype] then list[#list + 1] = dtype end
  end
  return #list > 0 and table.concat(list, " ") or table.concat(info.dtypes, " ")
end

--- Whether the first case of an op gives whole numbers, though floats come in.
local function gives_whole(info)
  local case = cases[info.name] and cases[info.name][1]
  if not case then return false end
  local y = support.call(info, case, support.inputs(case, case.only or info.dtypes[1]))
  return core.type(y) == "array" and y.dtype:find "int" ~= nil
end

local function reads_whole(info)
  return not table.concat(info.dtypes, " "):find "float"
end

--- Why an op has no gradient, or nil if it has one or no reason is known.
function optable.reason(info)
  if info.differentiable then return nil end
  if not info.path then return "it serves inside jobs, or is part of a gradient" end
  if #info.inputs == 0 then return "it reads no tensor" end
  if reads_whole(info) then return "it reads whole numbers" end
  if gives_whole(info) then return "its results are whole numbers" end
  return nil
end

local function gradient_text(info)
  if info.differentiable then return "yes" end
  return "none: " .. (optable.reason(info) or "")
end

local function count_of(count, name, paths)
  local n = count[name] or 0
  for path in paths:gmatch "%S+" do n = n + (path ~= name and count[path] or 0) end
  return n > 0 and tostring(n) or ""
end

local function links(paths, link)
  local list = {}
  for path in paths:gmatch "%S+" do list[#list + 1] = link(path) end
  return table.concat(list, ", ")
end

local function add_ops(out, by_op, count, link, served)
  local ops = core.ops()
  out[#out + 1] = "| op | in the reference | dtypes | gradient | fast kernels of the CPU | "
    .. (served and "kernels of a GPU | " or "") .. "parity cases |"
  out[#out + 1] = "|---|---|---|---|---|---|" .. (served and "---|" or "")
  for _, name in ipairs(args.keys(ops)) do
    local info = ops[name]
    local kernels = by_op[name] or {}
    if info.elementwise then kernels = { "vector loop, fused", unpack(kernels) } end
    out[#out + 1] = ("| `%s` | %s | %s | %s | %s | %s%s |"):format(name,
      links(info.path or "", link), dtypes_text(info), gradient_text(info),
      table.concat(kernels, ", "), served and gpu.text(served[name]) .. " | " or "",
      count_of(count, name, info.path or ""))
  end
end

--- Functions of flow that take tensors and are made of ops.
local function add_functions(out, count, link)
  out[#out + 1] = "\n## Functions made of ops\n\nTheir dtypes and gradients are those of the ops.\n"
  out[#out + 1] = "| function | parity cases |\n|---|---|"
  local entries = index.entries()
  for _, path in ipairs(args.keys(entries)) do
    local e = entries[path]
    local returns = e and e.params and e.params.returns
    if e and not e.op and not e.same_as and not path:find ":"
      and (returns == "Tensor" or returns == "Blob") then
      out[#out + 1] = ("| %s | %s |"):format(link(path), count[path] and count[path] or "")
    end
  end
end

--- The page. link: gives the Markdown of a link to a path's place in the reference; served: what
--- kernels.lists gives, or nil for a table without the kernels of a GPU.
function optable.text(link, served)
  local out = { "# The table of ops\n",
    "Each op has a plain kernel for each of its dtypes, and the fast kernels of the CPU that are "
    .. "named here. Its gradient is checked against differences. A parity case compares results "
    .. "and gradients with those of PyTorch or numpy. Ops without a place in the reference are "
    .. "made by jfl itself.\n" }
  if served then
    out[#out + 1] = "On a GPU these kernels serve, in the dtypes in parentheses: `cuda_each` and "
      .. "`cuda_fused` are made of the op's formula. A star says that 16 bits are converted to "
      .. "float32 and back by steps of their own, where no other step can do it.\n"
  end
  local count = parity()
  add_ops(out, rows(), count, link, served)
  add_functions(out, count, link)
  return table.concat(out, "\n") .. "\n"
end

return optable
