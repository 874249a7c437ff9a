-- The part of the manual on objects: arrays, blobs, jobs and what calls give.

local CALLBACK = { "callback", "gets the value", type = "fun(value: any)" }
local ON_ERROR = { "on_error", "gets the message of a run that failed", "none",
  type = "fun(message: string)" }

local objects = {}

--- What is said of a class as a whole: its meaning, and how LuaLS writes what is no method.
objects.classes = {
  NdArray = { doc = "A dense array in host memory, of up to eight axes.",
    operators = { "add", "sub", "mul", "div", "mod", "pow" }, operand = "NdArray|number",
    "---@operator unm: NdArray", "---@operator len: integer", "---@field [integer] any" },
  Blob = { doc = "A value of the graph that a job's body describes: it has a shape and no data.",
    operators = { "add", "sub", "mul", "div", "mod", "pow" }, operand = "Blob|number",
    "---@operator unm: Blob" },
  Job = { doc = "What flow.global_function gives: called with its inputs, it runs.",
    "---@overload fun(...: NdArray|table): any, any, any, any" },
  Registrar = { doc = "What an asynchronous call gives: called with a function, it registers it.",
    "---@overload fun(callback: fun(value: any), on_error?: fun(message: string))" },
  Future = { doc = "What a call of a job without `returns` gives (old spelling)." },
  CheckPoint = { doc = "Saves and loads the variables of the session." },
  FunctionConfig = { doc = "Options of a job; each is set by a call, with a dot or a colon." },
  Optimizer = { doc = "What flow.optimizer.SGD and its like give." },
  Steps = { doc = "What a `for` loop goes through, as flow.zip and flow.progress give it.",
    "---@field n? integer how many steps there are, where that is known",
    "---@field loss? number|NdArray|string what flow.progress shows beside the bar",
    "---@overload fun(state?: any, control?: any): any, any, any, any" },
  ProgressBar = { doc = "What flow.progress gives.", parent = "Steps" },
  ResultType = { doc = "What a job gives, such as flow.typing.Numpy." },
  NumpyType = { doc = "The type of NdArrays as results, which also makes placeholders.",
    parent = "ResultType",
    "---@field Placeholder fun(shape: integer[], dtype?: Dtype|{ dtype?: Dtype }): Placeholder" },
  Placeholder = { doc = "What a job takes, such as flow.typing.Numpy.Placeholder({100, 10})." },
  Initializer = { doc = "How a variable is filled, such as flow.truncated_normal(0.1)." },
  Scheduler = { doc = "How the learning rate changes from step to step." },
  Warmup = { doc = "What replaces a schedule in the first steps." },
  Clipping = { doc = "How gradients are kept from being too large." },
  Placement = { doc = "The devices that ops run on." },
  DataSet = { doc = "Images and labels in batches, of flow.data.load_mnist.",
    "---@field images NdArray float32 (batches, size, 1, 28, 28), from 0 to 1",
    "---@field labels NdArray int32 (batches, size)" },
  LoadReport = { doc = "What a checkpoint's load matched, by names.",
    "---@field loaded string[]", "---@field missing string[] which the checkpoint lacks",
    "---@field unexpected string[] which no job has" },
  ProfileRow = { doc = "What a step of a job took.", "---@field job string", "---@field op string",
    "---@field name string", "---@field serves? string the node whose gradient it is part of",
    "---@field kernel string", "---@field seconds number of all runs", "---@field runs integer",
    "---@field flop number of one run", "---@field bytes number of one run" },
  View = { doc = "How several devices are seen: as one, or one by one." },
}

--- The entries of the manual, made by its functions.
function objects.entries(entry, field)
  local ARRAY = { returns = "NdArray" }
  local list = {
    field("NdArray.shape", "integer[]", "The extents, in a table of its own."),
    field("NdArray.dtype", "Dtype", "The dtype of the elements."),
    field("NdArray.size", "integer", "The number of elements."),
    entry("NdArray:numpy", "The array itself (old spelling).", ARRAY),
    field("Blob.shape", "integer[]", "The extents."),
    field("Blob.dtype", "Dtype", "The dtype of what will be in it."),
    field("Blob.name", "string", "The name, by which plans and variables know it."),
    field("Job.name", "string", "The name."),
    field("Job.type", "\"train\"|\"predict\"", "Whether calls change variables."),
    entry("Job:compile", "Traces and compiles the job, if that was not done.",
      { "batch_size", "where any is allowed", "none", type = "integer" }, { returns = "Job" }),
    entry("Job:graph", "The traced graph as text, one node a line.", { returns = "string" }),
    entry("Job:plan", "The plan as text: steps, bytes and the peak.", { returns = "string" }),
    entry("Future:get", "Waits for the call and gives its value.", { returns = "any" }),
    entry("Future:async_get", "Has a function called with the value (old spelling).", CALLBACK,
      ON_ERROR),
    entry("Optimizer:minimize", "Makes the job change its variables so that the loss gets smaller.",
      { "loss", "a blob, or a list of blobs whose gradients add up", type = "Blob|Blob[]" }),
  }
  return list
end

return objects
