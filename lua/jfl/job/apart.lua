-- Bodies of the mirrored view whose devices get arrays of different sizes. Extents stand in the
-- attributes of ops, so the body runs once for each device, with the extents of its arrays, and
-- all of it becomes one graph, in which each device's ops are placed there. These runs of the body
-- are coroutines: they wait for each other where it does what is done once for all devices, such as
-- to minimize a loss.
--
-- context.apart, which the contexts of these runs share: contexts and threads, a list of each; what
-- and values, of each device what it waits for and with; joined, whether what is done for all
-- devices runs; result, what that gave; shares, of each device its share of the loss's elements. A
-- context has its device's number, from 1, and the devices as names.
local args = require "jfl.base.args"
local core = require "jfl.core"
local coroutine = require "coroutine"
local devices = require "jfl.job.devices"
local trace = require "jfl.job.trace"

local apart = {}

local shape_text = args.shape_text

local WAITS = {}                 -- what a run of the body yields

-- The places of one device each that the place of a run names, or false where these are not as many
-- as there are arrays: what is placed there is for all devices.
local function places_of(context)
  core.place(context.device, context.graph)
  local name, n = core.members(context.graph)
  return n == context.total and devices.list(name)
end

--- Places what the body makes from here on: where its scope says, and of several devices there on
-- that whose arrays the body has.
function apart.place(context)
  local runs = context.apart
  local places = runs and not runs.joined and places_of(context)
  if not places then return core.place(context.device, context.graph) end
  core.place(("%s %s"):format(unpack(places[context.number])), context.graph)
end

--- Calls f(...) with what it makes on all devices of the place.
function apart.on_all(context, f, ...)
  core.place(context.device, context.graph)
  local result = f(...)
  apart.place(context)
  return result
end

-- Has the graph take what the body of this context makes; part: its device's number, 0 for all.
local function enter(context, part)
  local graph = context.graph
  core.of_device(graph, part)
  core.mirror(graph, context.mirrored)
  core.recompute(graph, part > 0 and context.recomputes)
  apart.place(context)
end

-- ---- what is done once for all devices ----

local function device_name(context, i)
  return ("%s:%s"):format(context.names[i][1], (context.names[i][2]:gsub("^0:", "")))
end

-- Fails unless all runs of the body wait for the same.
local function check_alike(context)
  local what = context.apart.what
  for i = 1, #what do
    if what[i] ~= what[#what] then
      core.fail("%s: the body must do the same for all devices with arrays of different sizes, got "
        .. "%s on %s and %s on %s", context.job.name, what[i], device_name(context, i),
        what[#what], device_name(context, #what))
    end
  end
end

-- Calls f(values, context) as a part of the first run of the body that is for all devices.
local function join(runs, f)
  local first = runs.contexts[1]
  runs.joined = true
  enter(first, 0)
  local ok, result = core.within(trace, "current", first, first.graph, f, runs.values, first)
  if not ok then error(result, 0) end
  runs.joined = false
  return result
end

--- Calls f(list, context) once for all devices, with the value of each, and gives its result. Where
-- the body is not run for each device apart the list has the one value.
function apart.together(context, what, value, f)
  local runs = context.apart
  if not runs or runs.joined then return f({ value }, context) end
  args.check(coroutine.running() == runs.threads[context.number], "%s: %s must not be called in a "
    .. "coroutine of the body where devices get arrays of different sizes", context.job.name, what)
  runs.what[context.number], runs.values[context.number] = what, value
  if context.number == context.total then
    check_alike(context)
    runs.result = join(runs, f)
  end
  coroutine.yield(WAITS)
  return runs.result
end

local function is_own(blob) return core.distribution(blob) == "mirrored" end

-- Has a blob that is made of those of devices be one of the whole.
local function whole(blob) return (core.op "parallel_cast"(blob, { distribute = "broadcast" })) end

-- Blobs of the devices side by side as one blob of the whole.
local function concat(context, who, list)
  local first = list[1]
  for i, blob in ipairs(list) do
    for axis = 2, math.max(#first.shape, #blob.shape) do
      if blob.shape[axis] ~= first.shape[axis] then
        core.fail("%s: blob '%s' must be alike on all devices but for its first extent, got %s on "
          .. "%s and %s on %s", who, blob.name, shape_text(first.shape), device_name(context, 1),
          shape_text(blob.shape), device_name(context, i))
      end
    end
  end
  return whole((core.op "concat"(list, { axis = 0 })))
end

local function size_of(shape)
  local n = 1
  for _, extent in ipairs(shape) do n = n * extent end
  return n
end

-- Notes which share of the loss each device has.
local function note_shares(runs, list)
  local total = 0
  for _, blob in ipairs(list) do total = total + size_of(blob.shape) end
  runs.shares = runs.shares or {}
  for i, blob in ipairs(list) do runs.shares[i] = size_of(blob.shape) / total end
end

--- The losses of all devices, whose lists these are, as those of one whole: gradients are divided
-- by the number of elements of all.
function apart.losses(who, context, lists)
  if #lists == 1 then return lists[1] end
  local losses = {}
  for i = 1, #lists[1] do
    local parts = {}
    for k, list in ipairs(lists) do
      if #list ~= #lists[1] then
        core.fail("%s: loss must be as many blobs on all devices, got %d on %s and %d on %s", who,
          #lists[1], device_name(context, 1), #list, device_name(context, k))
      end
      parts[k] = core.op "reshape"(list[i], { shape = { -1 } })
    end
    note_shares(context.apart, parts)
    losses[i] = concat(context, who, parts)
  end
  return losses
end

--- The mean of what the devices have, or what all have alike.
function apart.mean(values)
  local sum = values[1]
  if #values == 1 or not is_own(sum) then return sum end
  for i = 2, #values do sum = sum + values[i] end
  return whole(sum / #values)
end

-- Part k of n of a blob of the whole, along its first axis, as the own one of a device.
local function cut(blob, k, n)
  local begin, size = {}, {}
  for i = 1, #blob.shape do begin[i], size[i] = 0, -1 end
  size[1] = blob.shape[1] / n
  begin[1] = (k - 1) * size[1]
  local part = core.op "slice"(blob, { begin = begin, size = size })
  core.distribute(part, "mirrored")
  return part
end

--- What flow.cast_to_current_logical_view gives.
function apart.change_view(who, context, blob)
  if is_own(blob) == context.mirrored then return blob end
  if context.mirrored then return cut(blob, context.number, context.total) end
  return apart.together(context, who, blob, function(list) return concat(context, who, list) end)
end

-- ---- running the body ----

-- The error of a run of the body, which tells whose extents it was about, and where the body is if
-- nothing tells the line, as in a return statement.
local function explained(context, body, err)
  local is_text = type(err) == "string" and err ~= "not enough memory"
  if not is_text or context.apart.joined or core.is_interruption(err) then return err end
  local texts = {}
  for i, input in ipairs(context.job._inputs) do
    if input.type.kind ~= "Numpy" then
      texts[#texts + 1] = ("%s is %s"):format(input.name, shape_text(context.inputs[i].shape))
    end
  end
  local at = err:find("^[^\n]-:%d+: ") and "" or trace.where(body) .. ": "
  return ("%s%s (on %s, where %s)"):format(at, err, device_name(context, context.number),
    table.concat(texts, " and "))
end

-- What a run of the body gives that was resumed: nil where it waits, what it returned where it
-- ended.
local function outcome(context, ok, ...)
  local values = { n = select("#", ...), ... }
  if not ok then error(values[1], 0) end
  if coroutine.status(context.apart.threads[context.number]) == "dead" then return values end
  if values[1] ~= WAITS then core.fail("%s: a job's body cannot yield", context.job.name) end
  return nil
end

-- Has a run of the body go on until it waits or ends.
local function go_on(context, body)
  local function resume()
    enter(context, context.number)
    return outcome(context, coroutine.resume(context.apart.threads[context.number]))
  end
  local ok, err, result = pcall(trace.run, context, trace.stand_for(resume, body))
  if not ok then error(explained(context, body, err), 0) end
  return result
end

-- The body's argument for an input: what a device has of it.
local function argument(context, input, blob)
  local t = input.type
  local own = t.kind ~= "Numpy" or not context.mirrored
    or (t.distribute and t.distribute.kind == "broadcast")
  if own or (blob.shape[1] or 1) % context.total ~= 0 then return blob end
  return cut(blob, context.number, context.total)
end

-- A run of the body of this context, which begins once it is resumed.
local function begin(context, body)
  return coroutine.create(function()
    local list = {}
    for i, input in ipairs(context.job._inputs) do
      list[i] = argument(context, input, context.inputs[i])
    end
    return body(unpack(list))
  end)
end

--- Has contexts, in the order of the devices, be those of the runs of one body.
function apart.open(contexts)
  local runs = { contexts = contexts, threads = {}, what = {}, values = {}, joined = false }
  local names = places_of(contexts[1])
  for i, context in ipairs(contexts) do
    context.apart, context.number, context.names = runs, i, names
  end
end

--- Runs the body once in each of the contexts, which have their inputs; returns a list with what it
-- returned for each, { n = count, values... }.
function apart.run(contexts, body)
  local runs, results = contexts[1].apart, {}
  for i, context in ipairs(contexts) do runs.threads[i] = begin(context, body) end
  repeat
    local ended = 0
    for i, context in ipairs(contexts) do
      runs.what[i] = "its end"
      results[i] = go_on(context, body)
      ended = ended + (results[i] and 1 or 0)
    end
    if ended > 0 then check_alike(contexts[1]) end
  until ended == #contexts
  enter(contexts[1], 0)
  runs.joined = true
  return results
end

-- Adds to a table what others have that it lacks.
local function add_missing(t, others)
  for name, value in pairs(others or {}) do
    if t[name] == nil then t[name] = value end
  end
end

--- Has the first of the contexts, whose bodies have ended, know what all of them have made.
function apart.merge(contexts)
  local first = contexts[1]
  for i = 2, #contexts do
    local each = contexts[i]
    if each.given then
      core.fail("%s: the body reads batches itself, which it cannot where devices get arrays of "
        .. "different sizes", first.job.name)
    end
    first.values = first.values or each.values
    add_missing(first.variables, each.variables)
    add_missing(first.values or {}, each.values)
  end
end

return apart
