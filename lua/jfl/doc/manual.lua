-- Descriptions for flow.help and the reference of what neither args.define nor the op table
-- describes: functions that read their arguments themselves, methods, fields, settings. Objects
-- have paths of their own, such as "Job:compile".
local args = require "jfl.base.args"
local core = require "jfl.core"

local NONE = args.none

-- After doc come the parameters { name, doc, default, type = }, and at the end { returns = }. With
-- table_only the parameters are fields of the one table that the function takes.
local function entry(path, doc, ...)
  local params = { ... }
  local last = params[#params]
  if last and last.returns then
    params[#params], params.returns, params.table_only = nil, last.returns, last.table_only
  end
  return { path = path, doc = doc, params = params }
end

local function field(path, kind, doc) return { path = path, doc = doc, type = kind } end

local RESULT = { returns = "NdArray" }
local TYPE = { returns = "ResultType" }
local PART = { "type", "of each", type = "ResultType" }
local CONFIG = { "function_config", "options, from flow.function_config()", NONE,
  type = "FunctionConfig" }
local RETURNS = { "returns", "a type; without one, a call gives arrays", NONE, type = "ResultType" }
local INPUTS = { "inputs", "what a call takes: the model's own, then the loss's",
  type = "table<string|integer, Placeholder|table>" }

local entries = {
  entry("global_function", "Defines a job: flow.global_function { name =, inputs =, body = }.",
    { "name", "of the job" },
    { "type", "'train' or 'predict'", "predict", type = "\"train\"|\"predict\"" },
    CONFIG,
    { "inputs", "a list of { name, placeholder } or of types such as flow.float32 { -1, 10 }, or "
      .. "types by the names of the body's parameters", NONE,
      type = "table<string|integer, Placeholder|table>" },
    { "returns", "a type such as flow.typing.Numpy; without one, a call gives arrays where inputs "
      .. "are such types alone, else a future", NONE, type = "ResultType" },
    { "body", "a function from blobs to blobs, which describes the graph",
      type = "fun(...: Blob): any?, any?, any?, any?" },
    { returns = "Job", table_only = true }),
  entry("function_config", "Options of a job: config.default_data_type(flow.float), or the same "
    .. "with = in place of the call.",
    { returns = "FunctionConfig" }),
  entry("clear_default_session", "Drops all jobs and variables."),
  entry("cancel", "Takes back calls that have not begun, and gives their number.",
    { "call", "a job, for all of its calls, or what a call of one gave", type = "Job|table" },
    { returns = "integer" }),
  entry("poll", "Runs the callbacks that are due, and gives their number.",
    { "seconds", "stops when this time is used up", NONE, type = "number" },
    { returns = "integer" }),
  entry("sync", "Waits for every outstanding call and runs its callback."),
  entry("fd", "A file descriptor that is readable as long as a callback is due.",
    { returns = "integer" }),
  entry("env.machine", "Names the machines on which the script was started by hand; on several "
    .. "hosts they need JFL_SECRET.",
    { "...", "addresses, each a text or { addr = }, or a list of them", type = "string|table" }),
  entry("zip", "Iterates over lists together: for i, x, y in flow.zip(xs, ys) do.",
    { "...", "NdArrays or tables; the shortest says how far it goes", type = "NdArray|table" },
    { returns = "Steps" }),
  entry("has", "Whether flow has a name. Never fails.",
    { "path", "such as 'nn.gelu'", type = "string" }, { returns = "boolean" }),
  entry("help", "Prints what a name does, or all names.",
    { "name", "such as 'softmax'", NONE }),
  entry("config.passes", "Leaves passes out of the jobs compiled later, and gives those left out. "
    .. "There are " .. table.concat((core.passes()), ", ") .. ".",
    { "list", "such as '-fold -cse'; '' for none", NONE, type = "string" },
    { returns = "string" }),
  entry("random.seed", "Makes a run repeatable bit for bit.",
    { "n", "a whole number", type = "integer" }),
  entry("train.CheckPoint", "What saves and loads the variables of the session.",
    { returns = "CheckPoint" }),
  entry("train.CheckPoint:init", "Creates every variable of every job defined so far."),
  entry("train.SimpleCheckPointManager:initialize_or_restore",
    "Loads the newest checkpoint, or creates every variable and saves the first one."),
  entry("train.SimpleCheckPointManager:save", "Saves a checkpoint and gives its name.",
    { returns = "string" }),
  entry("train.SimpleCheckPointManager:list_checkpoints",
    "Gives the names of the complete checkpoints, oldest first.", { returns = "string[]" }),
  entry("train.SimpleCheckPointManager:latest_checkpoint",
    "Gives the name of the newest complete checkpoint, or nil.", { returns = "string?" }),
  field("typing.Numpy", "NumpyType", "A result or an input: one NdArray."),
  field("typing.ListNumpy", "NumpyType", "A list of one NdArray for each device."),
  field("typing.ListListNumpy", "NumpyType", "A list of lists of NdArrays, one for each device."),
  entry("typing.Tuple", "Several results, in this order.",
    { "...", "one type for each result", type = "ResultType" }, TYPE),
  entry("typing.List", "A list of results of one type.", PART, TYPE),
  entry("typing.Dict", "A table of results, with string or number keys.", PART, TYPE),
  entry("typing.Bundle", "Results nested as the body gives them.", PART, TYPE),
  entry("typing.Callback", "Results of an asynchronous call: job(x)(callback).",
    { "type", "of what the callback gets", type = "ResultType" }, TYPE),
  field("version", "string", "The version of the library."),
  field("NdArray.shape", "integer[]", "The extents, in a table of its own."),
  field("NdArray.dtype", "Dtype", "The dtype of the elements."),
  field("NdArray.size", "integer", "The number of elements."),
  field("Blob.shape", "integer[]", "The extents."),
  field("Blob.dtype", "Dtype", "The dtype of what will be in it."),
  field("Blob.name", "string", "The name, by which plans and variables know it."),
  field("Blob.distribute", "Distribution", "How it lies on the devices of its place, as far as "
    .. "that is settled while the body runs."),
  field("Blob.placement", "string", "The devices that it lies on: \"gpu 0:0-3\"."),
  entry("Blob:with_distribute", "The same blob, read as lying so: flow.parallel_cast with "
    .. "distribute.", { "distribute", "such as flow.distribute.split(0)", type = "Distribution" },
    { returns = "Blob" }),
  entry("Blob:with_gradient_distribute", "The same blob, with a gradient that lies so.",
    { "distribute", "such as flow.distribute.broadcast()", type = "Distribution" },
    { returns = "Blob" }),
  entry("Model:train", "Defines a job whose calls train the model, <name>-train.",
    INPUTS,
    { "loss", "a function of what the model gives and of the inputs left, such as "
      .. "flow.nn.cross_entropy; what it gives a call gives", type = "fun(...: Blob): Blob" },
    { "optimizer", "such as flow.optimizer.Adam(0.001)", type = "Optimizer" },
    { "name", "of the job, behind the model's", "train" },
    RETURNS, CONFIG, { returns = "Job", table_only = true }),
  entry("Model:evaluate", "Defines a job whose calls judge the model, <name>-evaluate: they give "
    .. "the loss, then what the model gives, and train nothing.",
    INPUTS,
    { "loss", "as for Model:train", type = "fun(...: Blob): Blob" },
    { "name", "of the job, behind the model's", "evaluate" },
    RETURNS, CONFIG, { returns = "Job", table_only = true }),
  entry("Model:predict", "Defines a job whose calls run the model, <name>-predict.",
    { "inputs", "what a call takes, as the model's function does",
      type = "table<string|integer, Placeholder|table>" },
    { "output", "a function of what the model gives, such as flow.nn.softmax", NONE,
      type = "fun(...: Blob): any" },
    { "name", "of the job, behind the model's", "predict" },
    RETURNS, CONFIG, { returns = "Job", table_only = true }),
  entry("Model:variables", "The model's variables by their names within it, as NdArrays of their "
    .. "own; in a body that has called the model, its blobs.",
    { returns = "table<string, NdArray|Blob>" }),
  entry("Model:summary", "A table of the variables as text: shapes, numbers, what is trained.",
    { returns = "string" }),
  entry("Model:save", "Writes the model's variables to a directory, by their names within it.",
    { "path", "the directory", type = "string" },
    { "overwrite", "whether one that is there is replaced", false },
    { "notes", "what else a program needs that loads it, such as the names of classes, which "
      .. "flow.checkpoint.notes(path) gives: tables, strings, numbers and booleans", NONE,
      keyed = true, type = "table" }),
  entry("Model:load", "Reads the model's variables, all or none, from what Model:save wrote or a "
    .. "checkpoint of a session.",
    { "path", "the directory, or a .safetensors file; or arrays by names, as Model:variables gives "
      .. "them", type = "string|table<string, NdArray>" },
    { "strict", "whether names that only one side has are an error", true },
    { "only", "what the names to be loaded begin with", "" },
    { returns = "LoadReport" }),
  entry("Model:freeze", "Keeps variables as they are in training, and gives their number.",
    { "pattern", "of Lua, for their names within the model: \"^conv\"; \"\" for all",
      type = "string" }, { returns = "integer" }),
  entry("Model:unfreeze", "Has variables trained again, and gives their number.",
    { "pattern", "as for Model:freeze", type = "string" }, { returns = "integer" }),
  field("Model.name", "string", "The namespace of the model's variables and jobs."),
  entry("AttentionCache:positions", "In a body: the numbers of n new positions of each sequence, "
    .. "an int64 blob (sequences, n).", { "n", "how many there are", type = "integer" },
    { returns = "Blob" }),
  entry("AttentionCache:lengths", "How many positions of each sequence the cache has.",
    { returns = "integer[]" }),
  entry("AttentionCache:rewind", "Forgets what is behind the first n positions.",
    { "n", "a number, or one for each sequence", type = "integer|integer[]" }),
  entry("AttentionCache:clear", "Forgets all positions."),
  entry("Tokenizer:encode", "The numbers of a text's tokens; with details a table of them, of the "
    .. "tokens, and of where each is in the text.",
    { "text", "the text", type = "string" },
    { "pair", "a text beside it, as models of questions read them", NONE, type = "string" },
    { "details", "whether a table is given", false },
    { "special", "whether special tokens are put around the text", true },
    { "literal", "whether special tokens that the text spells are text", false },
    { "most", "how many tokens are kept; false: all", NONE, type = "integer|false" },
    { returns = "integer[]|table" }),
  entry("Tokenizer:batch", "Numbers of several texts as NdArrays (n, length): ids, mask, types.",
    { "texts", "the texts", type = "string[]" },
    { "pairs", "as many beside them", NONE, type = "string[]" },
    { "length", "how long each is made; the longest", NONE, type = "integer|false" },
    { "most", "how many tokens of each are kept; false: all", NONE, type = "integer|false" },
    { "pad", "where padding goes, \"left\" or \"right\"", NONE, type = "string" },
    { "cut", "where tokens are cut off, \"left\" or \"right\"", NONE, type = "string" },
    { returns = "table<string, NdArray>" }),
  entry("Tokenizer:decode", "The text of numbers of tokens; of several lists a list.",
    { "ids", "a list, or an NdArray", type = "integer[]|NdArray" },
    { "skip_special", "whether special tokens are left out", true },
    { returns = "string|string[]" }),
  entry("Tokenizer:id", "The number of a token, or nil.",
    { "token", "as the file has it", type = "string" }, { returns = "integer|nil" }),
  entry("Tokenizer:token", "The token of a number, or nil.",
    { "id", "the number", type = "integer" }, { returns = "string|nil" }),
  entry("Tokenizer:save", "Writes a tokenizer.json.",
    { "path", "of the file", type = "string" }),
  field("Tokenizer.size", "integer", "One more than the last number of a token."),
  entry("FitRun:stop", "Ends a training; an epoch that is not at its end counts no more.",
    { "reason", "what run.stopped says then", "stop" }),
  entry("FitRun:wait", "Waits for the end of a training in the background.",
    { returns = "FitRun" }),
  entry("FitRun:plot", "Draws the history's curves in the terminal.",
    { "options", "those of flow.plot", NONE, type = "table" }, { returns = "FitRun" }),
  field("Job.name", "string", "The name."),
  field("Job.type", "\"train\"|\"predict\"", "Whether calls change variables."),
  entry("Job:compile", "Traces and compiles the job, if that was not done.",
    { "batch_size", "where any is allowed", NONE, type = "integer" }, { returns = "Job" }),
  entry("Job:graph", "The graph as text, one node a line.",
    { "which", "\"traced\", as the body describes it, or \"optimized\", as it runs", "traced",
      type = "\"traced\"|\"optimized\"" }, { returns = "string" }),
  entry("Job:summary", "What the body describes as a table: a line for each op, with its result "
    .. "and how many numbers its variables have.", { returns = "string" }),
  entry("Job:plan", "The plan as text: steps, bytes and the peak.", { returns = "string" }),
  entry("Optimizer:minimize", "Makes the job change its variables so that the loss gets smaller.",
    { "loss", "a blob, or a list of blobs whose gradients add up", type = "Blob|Blob[]" }),
  entry("Optimizer:set_lr", "Sets the learning rate of the calls to come, whatever the schedule "
    .. "says; nothing is compiled anew, and checkpoints keep it.",
    { "rate", "nil: the schedule rules again", NONE, type = "number" }),
  field("Optimizer.lr", "number", "The learning rate of the next call; setting it is set_lr. What "
    .. "else the optimizer was made with can be read too, as in optimizer.momentum."),
}

local function add(list)
  for _, e in ipairs(list) do entries[#entries + 1] = e end
end

for name, doc in pairs {
  float = "32 bits", float32 = "32 bits", double = "64 bits", float64 = "64 bits",
  float16 = "16 bits", bfloat16 = "16 bits, with the range of float32", int8 = "8 bits",
  uint8 = "8 bits, without a sign", int32 = "32 bits", int64 = "64 bits",
  q8_0 = "8.5 bits a weight, in blocks of 32", q4_0 = "4.5 bits a weight, in blocks of 32",
  q4_k = "4.5 bits a weight, in blocks of 256", q6_k = "6.6 bits a weight, in blocks of 256",
} do
  local what = name:match("int") and "whole numbers" or "numbers"
  add { field(name, "Dtype", ("The dtype of %s in %s."):format(what, doc)) }
end

-- ---- settings ----

-- Name, description, type.
for _, e in ipairs {
  { "threads", "How many threads compute.", "integer" },
  { "background", "Whether jobs leave the machine to others: threads other than the caller's have "
    .. "the lowest priority, one core is left alone, and asynchronous calls never run on the "
    .. "caller. For programs that draw frames.", "boolean" },
  { "callback_seconds", "How long a call, poll without a time, reading a variable, saving or "
    .. "loading may run callbacks of other calls on its way; flow.sync runs all. 0: only flow.poll "
    .. "and flow.sync run any, as in the background. At first there is no limit. A callback that "
    .. "takes longer by itself is told of once.", "number" },
  { "check_finite", "Whether each run looks for the first value, gradient or variable that is not "
    .. "finite, and fails with its name and the step; variables stay as they were before the "
    .. "step. It costs time, and nothing when it is off. Jobs compiled while it is on keep their "
    .. "ops apart.", "boolean" },
  { "max_inflight", "How many calls of a job may be queued; config.when_full says what becomes of "
    .. "a further one.", "integer" },
  { "max_plans", "How many plans a job keeps, one for each size of its inputs that it was called "
    .. "with.", "integer" },
  { "memory_limit", "The bytes that a job's memory may take, checked when it is compiled; 0: any.",
    "integer" },
  { "device", "Where jobs compute what they put on no device: \"cpu:0\", or on several "
    .. "\"gpu:0-3\".", "string" },
  { "cpu_device_num", "How many devices the processor's cores are divided into, each with a thread "
    .. "of its own and a share of config.threads; jobs that say nothing run on all of them.",
    "integer" },
  { "gpu_device_num", "On how many GPUs jobs run that say nothing, from 2 on. Where there is no "
    .. "GPU, it divides the CPU.", "integer" },
  { "enable_auto_mixed_precision", "true or \"bfloat16\": jobs round what large products and "
    .. "convolutions read to bfloat16, where the processor is faster at that; \"float16\": what "
    .. "all of them read, to float16. Sums and all else stay in float32. For jobs that are "
    .. "compiled from then on.", "boolean|\"bfloat16\"|\"float16\"" },
  { "enable_tensor_float_32_compute", "Whether products and convolutions of float32 on a GPU read "
    .. "10 bits of each mantissa (TF32), which is faster; true at first. For jobs that are "
    .. "compiled from then on; the CPU reads all bits.", "boolean" },
  { "strict_placement", "Whether placing work on a GPU fails where none is usable.", "boolean" },
  { "when_full", "\"wait\": a call for which the queue has no room waits for it; \"busy\": it is "
    .. "not made, what it gives has busy = true, and its second function is told.",
    "\"wait\"|\"busy\"" },
  { "when_new", "\"wait\": a call of a new shape makes its plan itself; \"queue\": an asynchronous "
    .. "one returns at once, and its plan is made before its run; \"busy\": it is not made until "
    .. "its plan is, and what it gives has busy = true.", "\"wait\"|\"queue\"|\"busy\"" },
  { "on_warning", "A function that gets the text of each warning; false: they go to stderr.",
    "fun(text: string)|false" },
  { "kernels", "\"fast\"; \"direct\": no convolutions by transforms, whose sums are less exact; or "
    .. "\"reference\": plain kernels only.", "\"fast\"|\"direct\"|\"reference\"" },
} do
  add { entry("config." .. e[1], e[2] .. " Without a value: what it is now.",
    { "value", "the new one", NONE, type = e[3] }, { returns = e[3] }) }
end

-- Setters of function_config, which are called with a dot or a colon.
for _, e in ipairs {
  { "default_data_type", "The dtype of variables that say none.", "Dtype" },
  { "default_placement_scope", "Where ops run: what flow.scope.placement(device, ids) gives.",
    "Placement" },
  { "default_logical_view", "The view that the body is in: flow.scope.mirrored_view(), or "
    .. "flow.scope.consistent_view().", "View" },
  { "concurrency_width", "How many calls of the job may be queued; a further one waits.",
    "integer" },
  { "enable_auto_mixed_precision", "Whether products and convolutions read bfloat16 or float16; "
    .. "see flow.config.enable_auto_mixed_precision.", "boolean|\"bfloat16\"|\"float16\"" },
  { "micro_batches", "Into how many parts a batch is cut, which go through the devices of the body "
    .. "one after another: a device works on a part while another has the one before it. Gradients "
    .. "are added up, so the results are those of the whole batch.", "integer" },
  { "optimizer_placement_optimization_mode", "\"distributed_split\": each device of several keeps "
    .. "and updates a part of each large variable and of what its optimizer keeps (ZeRO). LAMB and "
    .. "LARS, which measure whole variables, split none.",
    "\"distributed_split\"|\"non_distributed\"" },
  { "optimizer_placement_optimization_threshold", "How many elements a variable has at least that "
    .. "is split so; 1024 at first.", "integer" },
  { "default_initializer_conf", "The initializer of variables that name none.", "Initializer" },
} do
  add { entry("FunctionConfig." .. e[1], e[2], { "value", "what it is set to", type = e[3] }) }
end

-- Methods of NdArrays, which are functions of flow.ndarray too.
local A = { "a", "an NdArray", type = "NdArray" }
local B = { "b", "an NdArray, a number or nested tables of numbers", type = "NdArray|number|table" }

local function method(name, doc, ...) return entry("ndarray." .. name, doc, A, ...) end

add {
  entry("ndarray.save", "Saves an array as numpy's .npy, or a table of them by name as its .npz. "
    .. "A file that is there is replaced once the new one is whole.",
    { "path", "of the file", type = "string" },
    { "value", "an array or a table of them", type = "NdArray|table<string|integer, NdArray>" }),
  method("get", "The element at these indices, which count from 1. Integers "
    .. "beyond 2^53 read as the nearest number; a:pointer() has them exactly.",
    { "...", "an index for each axis", type = "integer" }, { returns = "number" }),
  method("set", "Sets the element at these indices, which count from 1.",
    { "value", "the number", type = "number" },
    { "...", "an index for each axis", type = "integer" }),
  method("fill", "Sets every element.", { "value", "the number", type = "number" }),
  method("reshape", "The same elements under another shape, sharing memory.",
    { "shape", "a list of extents, or these; one may be -1", type = "integer[]|integer" },
    { "...", "further extents", type = "integer" }, RESULT),
  method("transpose", "A copy with its axes in another order.",
    { "perm", "a list of axes, or these, from 0; reversed without it", NONE,
      type = "integer[]|integer" }, { "...", "further axes", type = "integer" }, RESULT),
  method("astype", "A copy under another dtype. Integers are cut at the ends "
    .. "of its range, and floats lose their fraction on the way to integers.",
    { "dtype", "such as 'int32'", type = "string" }, RESULT),
  method("copy", "A copy that shares no memory.", RESULT),
  method("totable", "The elements as nested tables.", { returns = "table" }),
  method("item", "The only element of an array of one.", { returns = "number" }),
  method("pointer", "An FFI pointer p to the elements, p[0] being the first. "
    .. "The array lives as long as p, but not as long as p + 1, and not beyond a:free().",
    { returns = "ffi.cdata*" }),
  method("free", "Gives the memory back at once, unless a view of it is in use."),
}

for name, what in pairs { eq = "equal to", ne = "other than", lt = "less than", le = "at most",
  gt = "greater than", ge = "at least" } do
  add { method(name, ("1 where a is %s b, else 0; int8."):format(what), B, RESULT) }
end

local manual = {}
for _, e in ipairs(entries) do manual[e.path] = e end
return manual
