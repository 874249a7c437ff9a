-- What flow.help says of functions that take their arguments apart themselves: those that
-- args.define makes, and ops, bring their own text.
local core = require "jfl.core"

local function entry(path, doc, ...) return { path = path, doc = doc, params = { ... } } end

local NAME = { "n", "a number" }

local entries = {
  entry("global_function", "Defines a job: flow.global_function { name =, inputs =, body = }.",
    { "name", "of the job" },
    { "type", "'train' or 'predict'", "predict" },
    { "function_config", "options, from flow.function_config()", "none" },
    { "inputs", "a list of { name, placeholder }", "{}" },
    { "returns", "a type such as flow.typing.Numpy; without one a call gives a future", "none" },
    { "body", "a function from blobs to blobs, which describes the graph" }),
  entry("function_config", "Options of a job, set by calls: config.default_data_type(flow.float)."),
  entry("clear_default_session", "Drops all jobs and variables."),
  entry("poll", "Runs the callbacks that are due, and gives their number.",
    { "seconds", "stops when this time is used up", "none" }),
  entry("sync", "Waits for every outstanding call and runs its callback."),
  entry("fd", "A file descriptor that becomes readable when a callback is due."),
  entry("zip", "Iterates over lists together: for i, x, y in flow.zip(xs, ys) do.",
    { "lists", "NdArrays or tables, of the same length" }),
  entry("help", "Prints what a name does, or all names.", { "name", "such as 'softmax'", "none" }),
  entry("get_all_variables", "All variables by name, as NdArrays of their own."),
  entry("config.passes", "Leaves passes out of the jobs compiled later, and gives those left out.\n"
    .. "  There are " .. table.concat((core.passes()), ", ") .. ".",
    { "list", "such as '-fold -cse'; '' for none", "none" }),
  entry("random.seed", "Makes a run repeatable bit for bit.", { "n", "a whole number" }),
  entry("losses.add_loss", "Minimizes a loss as the job's function_config says (old spelling).",
    { "loss", "a blob of the job" }),
  entry("train.CheckPoint", "What saves and loads the variables of the session."),
  entry("train.CheckPoint:init", "Creates every variable of every job defined so far."),
  entry("scope.consistent_view", "Describes devices as one (the default)."),
  entry("scope.mirrored_view", "Describes the part of one device."),
  entry("typing.Tuple", "Several results, in this order.", { "types", "one for each result" }),
  entry("typing.List", "A list of results of one type.", { "type", "of each" }),
  entry("typing.Dict", "A table of results, with string or number keys.", { "type", "of each" }),
  entry("typing.Bundle", "Results nested as the body gives them.", { "type", "of each" }),
  entry("typing.Callback", "Results of an asynchronous call: job(x)(callback).",
    { "type", "of what the callback gets" }),
}

for _, name in ipairs { "gpu_device_num", "cpu_device_num", "threads", "max_inflight", "max_plans",
  "memory_limit" } do
  entries[#entries + 1] = entry("config." .. name, "Sets an option of the session.", NAME)
end

-- Methods of NdArrays, which are functions of flow.ndarray too.
local A = { "a", "an NdArray", type = "NdArray" }
local B = { "b", "an NdArray, a number or nested tables of numbers", type = "NdArray|number|table" }

local function method(name, doc, ...) return entry("ndarray." .. name, doc, A, ...) end

local function gives(returns, e)
  e.params.returns = returns
  return e
end

for _, e in ipairs {
  entry("ndarray.save", "Saves an array as numpy's .npy, or a table of them by name as its .npz.\n"
    .. "  A file that is there is replaced once the new one is whole.",
    { "path", "of the file", type = "string" },
    { "value", "an array or a table of them", type = "NdArray|table<string|integer, NdArray>" }),
  gives("number", method("get", "The element at these indices, which count from 1. Integers\n"
    .. "  beyond 2^53 read as the nearest number; a:pointer() has them exactly.",
    { "...", "an index for each axis", type = "integer" })),
  method("set", "Sets the element at these indices, which count from 1.",
    { "value", "the number", type = "number" },
    { "...", "an index for each axis", type = "integer" }),
  method("fill", "Sets every element.", { "value", "the number", type = "number" }),
  gives("NdArray", method("reshape", "The same elements under another shape, sharing memory.",
    { "shape", "a list of extents, or these; one may be -1", type = "integer[]|integer" })),
  gives("NdArray", method("transpose", "A copy with its axes in another order.",
    { "perm", "a list of axes, or these, from 0; reversed without it", "none",
      type = "integer[]|integer" })),
  gives("NdArray", method("astype", "A copy under another dtype. Integers are cut at the ends\n"
    .. "  of its range, and floats lose their fraction on the way to integers.",
    { "dtype", "such as 'int32'", type = "string" })),
  gives("NdArray", method("copy", "A copy that shares no memory.")),
  gives("table", method("totable", "The elements as nested tables.")),
  gives("number", method("item", "The only element of an array of one.")),
  gives("ffi.cdata*", method("pointer", "An FFI pointer p to the elements, p[0] being the first.\n"
    .. "  The array lives as long as p, but not as long as p + 1, and not beyond a:free().")),
  method("free", "Gives the memory back at once, unless a view of it is in use."),
} do entries[#entries + 1] = e end

for name, what in pairs { eq = "equal to", ne = "other than", lt = "less than", le = "at most",
  gt = "greater than", ge = "at least" } do
  entries[#entries + 1] = gives("NdArray", method(name, ("1 where a is %s b, else 0; int8.")
    :format(what), B))
end

local manual = {}
for _, e in ipairs(entries) do manual[e.path] = e end
return manual
