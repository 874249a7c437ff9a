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
  entry("checkpoint.load", "Reads variables from a directory, as CheckPoint():load() does.",
    { "path", "the directory, or a .safetensors file" },
    { "strict", "whether names missing on either side are an error", "false" },
    { "only", "what the names to be loaded begin with, or a list of that", "none" }),
  entry("train.SimpleCheckPointManager:initialize_or_restore",
    "Loads the newest checkpoint, or creates every variable and saves the first one."),
  entry("train.SimpleCheckPointManager:save", "Saves a checkpoint and gives its name."),
  entry("train.SimpleCheckPointManager:list_checkpoints",
    "Gives the names of the complete checkpoints, oldest first."),
  entry("train.SimpleCheckPointManager:latest_checkpoint",
    "Gives the name of the newest complete checkpoint, or nil."),
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

local manual = {}
for _, e in ipairs(entries) do manual[e.path] = e end
return manual
