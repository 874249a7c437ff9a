local cases = require "spec.op.cases"
local core = require "jfl.core"
local support = require "spec.op.support"

teardown(core.reset)
setup(function() core.set("kernels", "direct") end)

local ops = core.ops()
local names = {}
for name in pairs(ops) do names[#names + 1] = name end
table.sort(names)

--- How the arrays of a call lie, as a line such as "0,B->P" says: numbers and letters.
local function read(line)
  local lists = { {}, {} }
  local ins, outs = line:match "^(.*)%->(.*)$"
  for i, text in ipairs { ins, outs } do
    for word in text:gmatch "[^,]+" do table.insert(lists[i], tonumber(word) or word) end
  end
  return unpack(lists)
end

--- Where part `member` of n elements begins, counted from 0, and how many it has.
local function range(n, parts, member)
  local least, more = math.floor(n / parts), n % parts
  return (member - 1) * least + math.min(member - 1, more), least + (member <= more and 1 or 0)
end

--- The numbers of an array, cut along an axis: { before, count, after }.
local function axes(a, axis)
  local shape, before, after = a.shape, 1, 1
  for i = 1, axis do before = before * shape[i] end
  for i = axis + 2, #shape do after = after * shape[i] end
  return before, shape[axis + 1], after
end

local function cut(a, axis, parts, member)
  local first, count = range(a.shape[axis + 1], parts, member)
  local before, n, after = axes(a, axis)
  local shape = { unpack(a.shape) }
  shape[axis + 1] = count
  local part = core.array(a.dtype, shape)
  local from, to = core.reshape(a, { -1 }), core.reshape(part, { -1 })
  for i = 0, before - 1 do
    for j = 0, count * after - 1 do
      to[i * count * after + j + 1] = from[(i * n + first) * after + j + 1]
    end
  end
  return part
end

--- Summands of an array: all but the last are made up.
local function summand(a, parts, member, others)
  local flat = core.reshape(a, { -1 })
  local part = core.array(a.dtype, a.shape)
  local to = core.reshape(part, { -1 })
  for i = 1, #flat do
    local v = (i * 37 + member * 11) % 13 - 6
    if member == parts then
      v = flat[i]
      for _, other in ipairs(others) do v = v - core.reshape(other, { -1 })[i] end
    end
    to[i] = v
  end
  return part
end

local function copy(a)
  local b = core.array(a.dtype, a.shape)
  core.assign(b, a)
  return b
end

--- The parts of all members of an array that lies so.
local function share(a, how, parts)
  local list = {}
  for m = 1, parts do
    list[m] = how == "B" and copy(a) or how == "P" and summand(a, parts, m, list)
      or cut(a, how, parts, m)
  end
  return list
end

--- Whether the members' arrays together are the whole one.
local function agrees(whole, how, list, tol)
  if how == "P" then
    local sum = {}
    for _, part in ipairs(list) do
      for i, v in ipairs(support.flat(part)) do sum[i] = (sum[i] or 0) + v end
    end
    return support.close(sum, support.flat(whole), tol)
  end
  for m, part in ipairs(list) do
    local want = how == "B" and whole or cut(whole, how, #list, m)
    if table.concat(part.shape, ",") ~= table.concat(want.shape, ",") then
      return false, ("member %d has shape (%s)"):format(m, table.concat(part.shape, ","))
    end
    local ok, message = support.close(support.flat(part), support.flat(want), tol)
    if not ok then return false, ("member %d, %s"):format(m, message) end
  end
  return true
end

--- Arrays to call an op on.
local function inputs_of(case, dtype)
  local list = support.inputs(case, dtype)
  if case.y_of then list[2] = core.op(case.y_of)(list[1], case.options) end
  return list
end

local function options_of(op, case, dtype)
  local options = {}
  for k, v in pairs(case.options or {}) do options[k] = v end
  local typed = #op.params > 0 and op.params[#op.params].name ~= "value"
  if op.key == -1 and typed then options.dtype = dtype end
  return options
end

--- The results of the members of one signature, put together and compared.
local function try(op, case, dtype, line, number, parts)
  local whole, after = inputs_of(case, dtype), inputs_of(case, dtype)
  local ins, outs = read(line)
  local options = options_of(op, case, dtype)
  core.set("seed", 7)
  local want = core.part(op.name, after, options, after, 1, 0, 1)
  if #want == 0 and not op.effect then return false, "it gives nothing" end
  local own, got = {}, {}
  for m = 1, parts do own[m] = {} end
  for i, a in ipairs(whole) do
    for m, part in ipairs(share(a, ins[i], parts)) do own[m][i] = part end
  end
  for m = 1, parts do
    got[m] = core.part(op.name, whole, options, own[m], parts, number, m)
  end
  local tol = 1e-11
  for _, list in ipairs { whole, want } do
    for _, a in ipairs(list) do tol = a.dtype == "float32" and 1e-3 or tol end
  end
  local function compare(w, how, at, of)
    local list = {}
    for m = 1, parts do list[m] = of[m][at] end
    return agrees(w, how, list, tol)
  end
  for i, w in ipairs(want) do
    local ok, message = compare(w, outs[i], i, got)
    if not ok then return false, ("result %d, %s"):format(i, message) end
  end
  for i, w in ipairs(after) do
    if op.effect then
      local ok, message = compare(w, ins[i], i, own)
      if not ok then return false, ("input %d afterwards, %s"):format(i, message) end
    end
  end
  return true
end

--- Whether large calls are tried too, which takes half a minute.
local ALL = os.getenv "JFL_CUTS" or os.getenv "JFL_FUZZ"

local NUMBERS = "it computes with a few numbers, which all devices have"
local LATER = "a pass makes it of nodes that are parts already"
--- Ops that every device computes whole, and why.
local WHOLE = {
  array = "the host has it, and it is cut after that",
  clip_scale = "it needs the norm of all gradients together",
  random_permutation = "each number depends on those before it",
  dequantize = "it takes blocks alone, as spec/op/quantized_spec.lua tries",
  quantized_conv2d = "it takes integers, and only the CPU does, as spec/op/quantized_conv_spec.lua "
    .. "tries",
  average_share = NUMBERS,
  loss_scale_update = NUMBERS,
  optimizer_scalars = NUMBERS,
  step_turn = NUMBERS,
  step_turn_count = NUMBERS,
  train_step_increment = NUMBERS,
  conv2d_fused = LATER,
  matmul_fused = LATER,
  matmul_kept = LATER,
  matmul_slope = LATER,
  matmul_summed = LATER,
  matmul_update = LATER,
  scale_filters = LATER,
  segment_update = LATER,
}
for _, schedule in ipairs(core.schedules()) do WHOLE[schedule.name] = NUMBERS end

local tried = {}

--- float64 where the op computes in it.
local function dtype_of(op)
  for _, dtype in ipairs(op.dtypes) do
    if dtype == "float64" then return dtype end
  end
  return op.dtypes[1]
end

local function try_case(op, case, dtype, parts)
  local lines = core.signatures(op.name, inputs_of(case, dtype), options_of(op, case, dtype),
    parts)
  local number = 0
  for line in lines:gmatch "[^\n]+" do
    number = number + 1
    tried[op.name] = true
    local ok, message = try(op, case, dtype, line, number, parts)
    if not ok then return false, ("%s on %d: %s"):format(line, parts, message) end
  end
  return true
end

describe("the signatures of", function()
  for _, name in ipairs(names) do
    local op = ops[name]
    it(name .. " give on parts what the op gives on the whole", function()
      for number, case in ipairs(cases[name] or {}) do
        local dtype = case.only or dtype_of(op)
        for parts = 2, case.only == "float32" and not ALL and 1 or 3 do
          local ok, message = try_case(op, case, dtype, parts)
          assert.truthy(ok, ("case %d, %s"):format(number, message or ""))
        end
      end
      assert.equal(WHOLE[name] == nil, tried[name] == true, WHOLE[name]
        or name .. " has no signature: add one, or the reason to WHOLE")
    end)
  end

  it("no ops but those that there are", function()
    for name in pairs(WHOLE) do assert.truthy(ops[name], name) end
  end)
end)

describe("signatures", function()
  local function array(...) return core.array("float64", { ... }) end
  local function says(want, op, arrays, options, parts)
    local lines = core.signatures(op, arrays, options or {}, parts or 2)
    assert.equal(want, (lines:gsub("\n$", ""):gsub("\n", " ")))
  end

  it("of products are rows, columns, sums and batches", function()
    says("0,B->0 B,1->1 1,0->P P,B->P B,P->P", "matmul", { array(4, 6), array(6, 8) })
    says("1,B->0 B,0->1 0,1->P P,B->P B,P->P", "matmul", { array(6, 4), array(8, 6) },
      { transpose_a = true, transpose_b = true })
    says("0,0->0 1,B->1 B,2->2 2,1->P P,B->P B,P->P", "matmul",
      { array(2, 4, 6), array(2, 6, 8) })
  end)

  it("leave out axes with fewer elements than there are devices", function()
    says("B,1->1 1,0->P P,B->P B,P->P", "matmul", { array(2, 6), array(6, 8) }, nil, 3)
    says("P->P", "negative", { array(1) })
    says("", "exp", { array(1) })
  end)

  it("align what broadcasts at the last axis", function()
    says("0,B->0 1,0->1 P,P->P", "add", { array(4, 3), array(3) })
    says("0,B->0 1,B->1 P,B->P B,P->P", "multiply", { array(4, 3), array(1) })
    says("0,B,0->0", "where", { core.array("int8", { 4, 1 }), array(1, 1), array(4, 1) })
  end)

  it("of a squeeze keep axes that parts would not lose", function()
    says("0->0 2->1 P->P", "squeeze", { array(2, 1, 3) })
    says("P->P", "squeeze", { array(2, 3) })
    says("0->0 P->P", "squeeze", { array(4, 3) })
  end)

  it("of rows that are normalized end between rows", function()
    says("", "row_norm", { array(4, 6, 5) }, { axis = 0 })
    says("0->0,0,0", "row_norm", { array(4, 6, 5) }, { axis = 1 })
    says("0->0,0,0", "row_norm", { array(4, 6, 5) }, { axis = 2 })
    says("", "row_norm", { array(3, 2, 6) }, { axis = 2 })
    says("0->0,0,0", "row_norm", { array(3, 2, 6) }, { axis = 1 })
    says("", "row_norm", { array(4, 6), array(4, 6) }, { axis = 1, scale = true })
  end)

  it("of a reduction keep axes that stay, and sum over the others", function()
    says("0->P 1->0 P->P", "reduce_sum", { array(4, 3) }, { axis = { 0 } })
    says("1->1", "reduce_max", { array(4, 3) }, { axis = { 0 }, keepdims = true })
  end)

  it("split a view where parts of both shapes end at the same element", function()
    says("0->0 P->P", "reshape", { array(4, 6) }, { shape = { 24 } })
    says("P->P", "reshape", { array(5, 6) }, { shape = { 30 } })
    says("0->0 1->1 P->P", "reshape", { array(5, 6) }, { shape = { 5, 2, 3 } })
  end)

  it("cannot be asked for or used where they are none", function()
    local x, half = { array(4) }, { array(2) }
    assert.error_matches(function() core.signatures("relu", x, {}, 0) end, "parts")
    assert.error_matches(function() core.signatures("relu", x, {}, 65537) end, "from 1 to 65536")
    assert.equal("", core.signatures("relu", x, {}, 65536))
    assert.error_matches(function() core.signatures("nothing", x, {}, 2) end,
      "unknown op 'nothing'")
    assert.error_matches(function() core.part("relu", x, {}, half, 2, 3, 1) end, "signature")
    assert.error_matches(function() core.part("relu", x, {}, half, 2, 1, 3) end, "member")
    assert.error_matches(function() core.part("relu", x, {}, x, 2, 1, 1) end, "own")
    assert.error_matches(function() core.part("relu", x, {}, {}, 2, 1, 1) end, "own")
  end)
end)
