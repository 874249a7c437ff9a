--- Whatever an op is given, at once or in a job, it agrees with its plain kernels or fails by its
--- name; so does a job with its gradients. JFL_FUZZ sets how many calls of each op are tried, and
--- has them counted; JFL_FUZZ_SEED sets the first of them.
local draws = require "spec.draws"
local core = require "jfl.core"
local fuzz = require "spec.op.fuzz"
local support = require "spec.op.support"

local CALLS, SEED = draws.trials(40), draws.seed()

local described, called, fine = 0, 0, 0

teardown(function()
  core.reset()
  if not os.getenv "JFL_FUZZ" then return end
  io.stderr:write(("%d calls described, %d made, of which %d gave a result\n"):format(described,
    called, fine))
end)

local ops, names = core.ops(), {}
for name in pairs(ops) do
  if fuzz.has_cases(name) then names[#names + 1] = name end
end
table.sort(names)

local function copies(list)
  local to = {}
  for i, a in ipairs(list) do to[i] = core.copy(a) end
  return to
end

--- The results of a call on arrays, then its inputs, which it may update; or nil and the message.
local function at_once(op, call, kernels)
  core.set("kernels", kernels)
  core.set("seed", 7)
  local inputs = copies(call.inputs)
  local results = { pcall(support.call, op, call, inputs) }
  core.set("kernels", "fast")
  if not results[1] then return nil, results[2] end
  table.remove(results, 1)
  for _, a in ipairs(inputs) do results[#results + 1] = a end
  return results
end

--- The results of a call on blobs; and if the first is of floats, the gradients of its sum with
--- respect to all inputs of floats.
local function traced(op, call, g, blobs, gradients)
  local results = { support.call(op, call, blobs) }
  local y, of = results[1], {}
  for _, x in ipairs(blobs) do if x.dtype:find "float" then of[#of + 1] = x end end
  if not gradients or op.effect or not y.dtype:find "float" or #of == 0 then return results end
  for _, dx in ipairs(core.gradients(g, y, core.op "ones_like"(y), of)) do
    if dx then results[#results + 1] = dx end
  end
  return results
end

--- The results of a job that calls the op on its inputs; or nil and the message.
local function in_job(op, call, gradients)
  local specs = {}
  for i, a in ipairs(call.inputs) do specs[i] = { dtype = a.dtype, shape = a.shape } end
  local ok, plan = pcall(support.plan, specs, function(g, blobs)
    return traced(op, call, g, blobs, gradients)
  end)
  if not ok then return nil, plan end
  local results = { pcall(core.run, plan, unpack(call.inputs)) }
  core.plan_free(plan)
  if not results[1] then return nil, results[2] end
  return { unpack(results, 2) }
end

local TOL = { float32 = 2e-4, float64 = 1e-9, float16 = 2 ^ -9, bfloat16 = 2 ^ -6 }

local function compare(got, want, n)
  for i = 1, n do
    if got[i].dtype ~= want[i].dtype then return false, "another dtype" end
    local ok, message = support.close(support.flat(got[i]), support.flat(want[i]),
      TOL[want[i].dtype] or 0)
    if not ok then return false, ("result %d, %s"):format(i, message) end
  end
  return true
end

local function bare(message) return (tostring(message):gsub("^[^ ]+:%d+: ", "")) end

-- Products and gathers of weights in few bits are ops of their own.
local function begins(message, start)
  message = bare(message)
  return message:sub(1, #start + 1) == start .. ":"
    or message:find("quantized_" .. start .. ":", 1, true) == 1
end

--- Whether what a job said is what the same call said at once; a run names job and node before it.
--- On a device that is not the host results are temporaries, which its memory may be too small for;
--- but not those of an op with neither inputs nor random bits, which runs where they are wanted.
local function same_message(op, said, want)
  local moves = #op.inputs > 0 or op.random
  local elsewhere = said and moves and os.getenv "JFL_DEVICE"
    and bare(want):find("out of memory", 1, true)
  if elsewhere then return bare(said):find("out of memory: temporaries take", 1, true) ~= nil end
  return said ~= nil and bare(said):find(bare(want):sub(#op.name + 3), 1, true) ~= nil
end

local function lacks_gradient(op, message)
  return bare(message):find(op.name .. " has no gradient", 1, true) ~= nil
end

--- Describes and compiles the op on inputs of any extents; what comes must name the op or the job.
local function try_describing(op, random)
  local specs, options = fuzz.symbols(random, op)
  local call = { inputs = specs, options = options }
  core.set("memory_limit", 1e8)
  local gradients = random(2) == 1
  described = described + 1
  local ok, plan = pcall(support.plan, specs, function(g, blobs)
    return traced(op, call, g, blobs, gradients)
  end)
  core.set("memory_limit", 0)
  if ok then core.plan_free(plan) end
  return ok or begins(plan, op.name) or lacks_gradient(op, plan) or bare(plan):find "^op_spec_%d+: "
    or bare(plan):find "^x%d must ",
    plan, call
end

--- True, or false and what went wrong.
local function try(op, call)
  called = called + 1
  local fast, message = at_once(op, call, "fast")
  local plain, plain_message = at_once(op, call, "reference")
  if not plain and not begins(plain_message, op.name) then return false, plain_message end
  if (fast == nil) ~= (plain == nil) then return false, message or plain_message end
  local results, said
  if not op.effect then results, said = in_job(op, call) end
  if not plain then
    if bare(message) ~= bare(plain_message) then return false, message end
    return op.effect or same_message(op, said, plain_message), said or "fails only outside a job"
  end
  fine = fine + 1
  local ok, difference = compare(fast, plain, #plain)
  if not ok or op.effect then return ok, difference end
  if not results then return false, said end
  ok, difference = compare(results, plain, op.random and 0 or #results)
  if not ok then return false, difference end
  -- Indices that a result without elements does not need are read by its gradient.
  local sloped, why = in_job(op, call, true)
  return sloped or lacks_gradient(op, why) or bare(why):find(" at position ", 1, true), why
end

describe("random calls, on extents that no memory holds, of", function()
  for number, name in ipairs(names) do
    it(name .. " describe a job or fail by a name", function()
      local random, op = fuzz.random(SEED * 1000 + number), ops[name]
      for i = 1, CALLS do
        local ok, message, call = try_describing(op, random)
        if not ok then error(("call %d, %s: %s"):format(i, fuzz.text(op, call), message), 0) end
      end
    end)
  end
end)

describe("random calls of", function()
  for number, name in ipairs(names) do
    it(name .. " agree with plain kernels or fail by its name", function()
      local random, op = fuzz.random(SEED * 1000 + number), ops[name]
      for i = 1, CALLS do
        local call = fuzz.call(random, op)
        local ok, message = try(op, call)
        if not ok then
          error(("call %d, %s: %s"):format(i, fuzz.text(op, call), tostring(message)), 0)
        end
      end
    end)
  end
end)
