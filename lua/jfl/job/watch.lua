-- flow.watch and flow.watch_diff: handlers that get values and gradients of a job at every call.
---@box watch watch_diff
local apart = require "jfl.job.apart"
local args = require "jfl.base.args"
local core = require "jfl.core"
local trace = require "jfl.job.trace"
local typing = require "jfl.job.typing"

local watch = {}

-- Prints an array, or all arrays of a list, which may hold lists.
local function show(value)
  if type(value) ~= "table" then return print(value) end
  for _, item in ipairs(value) do show(item) end
end

-- The user's handler; without one the value is printed after the prompt, if there is one.
local function handler_of(who, given)
  if type(given) == "function" then return given end
  if given ~= nil then args.expect(who, "handler_or_prompt", given, "function or string") end
  return function(value)
    if given then print(given) end
    show(value)
  end
end

local ONE_ARRAY = { Numpy = true, ListNumpy = true, ListListNumpy = true }

-- Returns a reader of a list of one array, or one for each device, as the given type.
local function reader_of(who, t, blob, context)
  local found = typing.is_type(t) and ONE_ARRAY[t.kind]
  local reader = found
    and typing.match(t, blob, { members = context.members, total = context.total })
  if reader then return reader end
  if found then
    local is_whole = typing.structure(blob) == "blob"
    core.fail("%s: type must be flow.typing.%s for '%s', which is a %s, got %s", who,
      is_whole and "Numpy" or "ListNumpy", blob.name, typing.structure(blob), t.text)
  end
  core.fail("%s: type must be flow.typing.Numpy, ListNumpy or ListListNumpy, got %s", who,
    args.describe(t))
end

-- Notes that a blob is watched, of which devices that are described apart have one each.
local function note(context, who, o, is_gradient, blobs)
  local blob = blobs[1]
  local n = typing.arrays_of(blob, context.members)
  local kind = n > 1 and typing.ListNumpy or typing.Numpy
  for i = #blobs, n + 1, -1 do blobs[i] = nil end
  local each = { label = ("%s of '%s'"):format(who, blob.name), is_gradient = is_gradient,
    blobs = blobs, n = n, handler = handler_of(who, o.handler_or_prompt),
    read = reader_of(who, o.type or kind, blob, context) }
  for i = 1, is_gradient and #blobs or 0 do
    core.watch_gradient(context.graph, blobs[i], (core.where():gsub(": $", "")))
  end
  context.watches = context.watches or {}
  table.insert(context.watches, each)
end

local function add(who, o, is_gradient)
  local context = trace.need(who)
  args.blob(who, "blob", o.blob)
  core.need_blob(context.graph, o.blob, who .. ": blob")
  apart.together(context, who, o.blob, function(blobs, all)
    note(all, who, o, is_gradient, blobs)
  end)
end

local function params(what)
  return {
    { "blob", "a blob of the job: an input, a variable, or anything made in its body",
      type = "Blob" },
    { "handler_or_prompt", "a function that gets " .. what .. ", or a text to print before it",
      args.none, type = "fun(value: NdArray)|string" },
    { "type", "what the handler gets it as: flow.typing.Numpy, ListNumpy or ListListNumpy",
      args.none, type = "table" },
  }
end

--- Calls a handler with a blob's value at every call of the job. Handlers run as callbacks do, in
-- the order in which the body names them: before a synchronous call returns, and before the
-- callback of an asynchronous one. A train job's values are those before its update. A run that
-- fails calls none. An error in a handler is raised by the synchronous call that ran it, and its
-- other handlers stay due; for an asynchronous call it counts as an error of a callback.
watch.watch = args.define("watch", "Shows the value of a blob at every call of the job.",
  params("the value"), function(o) add("watch", o, false) end)

--- Calls a handler likewise with the gradient, with respect to a blob, of what the job makes
-- smaller: the mean of the loss's elements, or the sum of those means. The gradient of a variable
-- is what the optimizer gets of a call, of the whole batch, before it clips and regularizes; a
-- scale of the loss is taken out. Training gives the same bits as without the watch,
-- with one exception: plain SGD on a matrix whose gradient is watched. Its update, which is
-- otherwise computed within the product that gives the gradient, is then rounded separately.
watch.watch_diff = args.define("watch_diff",
  "Shows the gradient of the mean loss with respect to a blob, at every call.",
  params("the gradient"), function(o) add("watch_diff", o, true) end)

-- What reads each device's gradient of a loss of which the device has a share, as that of the
-- device's own loss.
local function of_own_loss(read, shares)
  return function(list, ...)
    local own = {}
    for i, array in ipairs(list) do own[i] = array / shares[i] end
    return read(own, ...)
  end
end

--- Ends a body whose job has n arrays as results: makes the watched blobs further results,
-- gradients last, as the core requires. Returns the watches, each with the numbers of its arrays
-- among those of the results; or nil.
function watch.close(context, n)
  local watches = context.watches
  local shares = context.apart and context.apart.shares
  for _, gradients in ipairs { false, true } do
    for _, each in ipairs(watches or {}) do
      if each.is_gradient == gradients then
        for i = 1, gradients and 0 or #each.blobs do core.output(context.graph, each.blobs[i]) end
        if gradients and shares and each.n > 1 then each.read = of_own_loss(each.read, shares) end
        each.at, each.blobs = n + 1, nil
        n = n + each.n
      end
    end
  end
  return watches
end

return watch
