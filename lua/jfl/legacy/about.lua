-- What flow.help and the manual say of the names that only scripts of the original use: most have
-- no effect, some are other spellings.
local aliases = require "jfl.legacy.aliases"
local arguments = require "jfl.legacy.arguments"
local catalogue = require "jfl.legacy.catalogue"
local jfl = require "jfl.base.names"
local names = require "jfl.legacy.names"
local options = require "jfl.legacy.options"
local settings = require "jfl.legacy.settings"
require "jfl.optim.optimizers"       -- adds the arguments of optimizers

local NOTHING = "has no effect; it is taken, and its value checked, for scripts of the original"

local LOSSES = "says how flow.losses.add_loss trains; optimizer:minimize(loss) in the body needs "
  .. "none of it"
local LACKS = "is not there: only what turns it off is taken, and anything else is an error"

-- Where the text is another than that it has no effect. A star stands for all names in a group.
local ABOUT = {
  ["flow.experimental.scope.config"] = "is flow.scope.recompute",
  ["flow.zero_pad2d"] = "is flow.constant_pad2d with 0",
  ["flow.nn.ctc_greedy_decoder"] = "gives the best path of what flow.ctc_loss trains, where the "
    .. "blank is the last class",
  ["flow.save"] = "is flow.checkpoint.save(path, arrays), with the arguments the other way round",
  ["flow.nn.fused_bias_add_dropout"] = "is flow.nn.bias_add and flow.nn.dropout",
  ["flow.nn.fused_scale_tril_softmax_dropout"] = "is flow.math.fused_scale_tril, flow.nn.softmax "
    .. "and flow.nn.dropout",
  ["flow.math.fused_scale_tril_softmax_dropout"] = "is flow.math.fused_scale_tril, flow.nn.softmax "
    .. "and flow.nn.dropout",
  ["flow.data.BlobConf"] = "says what flow.data.decode_ofrecord makes of a feature",
  ["flow.data.ImageCodec"] = "decodes pictures for flow.data.BlobConf; it needs an "
    .. "ImageResizePreprocessor",
  ["flow.data.ImagePreprocessor"] = "takes \"bgr2rgb\", for flow.data.ImageCodec",
  ["flow.data.ImageResizePreprocessor"] = "gives pictures of flow.data.ImageCodec their size",
  ["flow.data.NormByChannelPreprocessor"] = "is flow.image.normalize, for flow.data.BlobConf",
  ["flow.data.OFRecordBytesDecoder"] = "gives the bytes of a feature to flow.image.decode",
  ["flow.data.OFRecordImageDecoder"] = "gives the pictures of a feature to flow.image.Resize, in "
    .. "a body",
  ["flow.data.OFRecordImageDecoderRandomCrop"] = "gives random parts of a feature's pictures to "
    .. "flow.image.Resize, in a body; flow.random.seed says which, and 10 are tried",
  ["flow.data.OFRecordRawDecoder"] = "gives the numbers of a feature as a blob, in a body",
  ["flow.data.RawCodec"] = "takes numbers as they are, for flow.data.BlobConf",
  ["flow.data.decode_ofrecord"] = "is flow.data.ofrecord_reader and a decoder for each blob",
  ["flow.data.image_decoder_random_crop_resize"] = "gives random parts of pictures, of bytes, one "
    .. "size",
  ["flow.data.ofrecord_image_classification_reader"] = "gives the pictures of a feature and the "
    .. "int32 blob of another",
  ["flow.data.ofrecord_loader"] = "is flow.data.ofrecord_reader",
  ["flow.data.ofrecord_reader"] = "reads OneFlow's record files in a body: each call of the job "
    .. "gets the next batch, which threads have decoded; checkpoints keep how far it is",
  ["flow.image.decode"] = "gives pictures, of bytes, to flow.image.Resize, in a body",
  ["flow.losses"] = "has add_loss, which a job's function_config says how to minimize; "
    .. "optimizer:minimize(loss) does both",
  ["flow.env.init"] = "meets the other processes, as the first job does",
  ["flow.env.current_machine_id"] = "is flow.env.rank",
  ["flow.env.current_resource"] = "says how many processes and devices there are",
  ["flow.enable_eager_execution"] = "fails unless it turns that off: jobs are always compiled, and "
    .. "outside of bodies every op runs at once on NdArrays",
  ["flow.eager_execution_enabled"] = "gives false",
  ["flow.inter_job_reuse_mem_strategy"] = "has no effect: jobs share their memory anyway",
  ["flow.current_global_function_desc"] = "gives the job whose body runs",
  ["flow.find_or_create_module"] = "gives what its function made at the first call in a body",
  ["NdArray:numpy"] = "gives the array itself",
  ["flow.config.compute_thread_pool_size"] = "is flow.config.threads, but that 0 changes nothing",
  ["flow.config.machine_num"] = "gives the number of processes, which it must be",
  ["flow.config.legacy_model_io_enabled"] = "gives what enable_legacy_model_io was set to",
  ["flow.config.collect_act_event"] = "is an error; flow.profile tells where time goes",
  ["flow.config.load_library"] = "is an error: an op is built into jfl",
  ["flow.config.load_library_now"] = "is an error: an op is built into jfl",
  ["FunctionConfig.default_distribute_strategy"] = "is default_logical_view",
  ["FunctionConfig.default_initializer_conf"] = "also takes the original's tables, such as "
    .. "{ constant_conf = { value = 0 } }",
  ["FunctionConfig.train.*"] = LOSSES,
}
for _, name in ipairs { "enable_qat", "enable_quantization_aware_training", "enable_ssp",
  "enable_non_distributed_optimizer", "use_tensorrt", "use_xla_jit", "exp_run_conf", "qat.*",
  "indexed_slices_optimizer_conf", "tensorrt.*",
  "ssp_partition_scope_ids", "ssp_partition_strategy", "static_mem_alloc_policy_white_list.*",
  "static_mem_alloc_algo_white_list.*" } do
  ABOUT["FunctionConfig." .. name] = LACKS
end

local about = {
  --- What is said of each name, by its path as a script writes it.
  by_path = {},
}

local function add(prefix, list)
  for name, value in pairs(list) do
    local path = prefix .. name
    if type(value) == "table" then path = path .. ".*" end
    about.by_path[path] = ABOUT[path] or NOTHING
  end
end

for path, today in pairs(aliases) do about.by_path[path] = "is " .. today end
for path in pairs(names) do
  if not path:find("*", 1, true) then add("", { [path] = true }) end
end
add("NdArray:", require "jfl.legacy.array")
add("flow.config.", settings)
add("FunctionConfig.", options)
for path, list in pairs(arguments) do
  for _, e in ipairs(type(list) == "table" and list or {}) do
    about.by_path[("flow.%s, argument %s"):format(path, e[2])] = e[2]:find("seed")
      and "has no effect; flow.random.seed(n) makes runs repeatable" or NOTHING
  end
end

-- The names that have no effect, in a paragraph for each of the heads that they begin with.
local function without_effect()
  local by_head, heads, lines = {}, {}, {}
  for path, text in pairs(about.by_path) do
    local head, name = path:match("^(flow%.config)%.(.*)$")
    if not head then head, name = path:match("^(FunctionConfig)%.(.*)$") end
    if not head then head, name = "arguments", path end
    if text == NOTHING then
      if not by_head[head] then by_head[head], heads[#heads + 1] = {}, head end
      table.insert(by_head[head], "`" .. name .. "`")
    end
  end
  table.sort(heads)
  for i, head in ipairs(heads) do
    table.sort(by_head[head])
    lines[i] = ("- %s: %s"):format(head, table.concat(by_head[head], ", "))
  end
  return table.concat(lines, "\n")
end

-- The names that are not here, in a paragraph for each reason.
local function not_here(absent)
  local by_reason, reasons, lines = {}, {}, {}
  for _, each in ipairs(absent) do
    local path, reason = each[1], each[2] or "there is nothing like it"
    if not by_reason[reason] then by_reason[reason], reasons[#reasons + 1] = {}, reason end
    table.insert(by_reason[reason], "`" .. path .. "`")
  end
  table.sort(reasons)
  for i, reason in ipairs(reasons) do
    lines[i] = ("- %s: %s"):format(table.concat(by_reason[reason], ", "), reason)
  end
  return table.concat(lines, "\n")
end

--- The manual's page of all of them.
function about.page()
  local here, absent = catalogue.sorted()
  local rows, lines = {}, { ("Of the %d public names of the original, OneFlow, %d are here, most "
    .. "of them as they are, and %d are not. These are another name here, or are there for its "
    .. "scripts alone. `flow.help` tells the same of each; completion and the reference leave them "
    .. "out.\n"):format(#here + #absent, #here, #absent),
    "| name | what it is here |\n|---|---|" }
  for path, text in pairs(about.by_path) do
    if text ~= NOTHING then rows[#rows + 1] = ("| `%s` | %s |"):format(path, text) end
  end
  table.sort(rows)
  for _, row in ipairs(rows) do lines[#lines + 1] = row end
  lines[#lines + 1] = "\n## Without an effect\n\nThese are taken, and their values checked, and do "
    .. "nothing:\n\n" .. without_effect()
  lines[#lines + 1] = "\n## Not here\n\nReading one of these is an error.\n\n" .. not_here(absent)
  return table.concat(lines, "\n") .. "\n"
end

--- The lines about a name, such as "config.use_rdma" or "use_rdma"; nil if it is none of these.
function about.text(name)
  local lines = {}
  for path, text in pairs(about.by_path) do
    local short = path:gsub("^flow%.", ""):gsub("%.%*$", "")
    if short == name or short:match("[^.: ]+$") == name then
      lines[#lines + 1] = path .. " " .. text
    end
  end
  for _, path in ipairs(catalogue.paths()) do
    local reason = (path == name or path:match("[^.]+$") == name) and not jfl.has(path)
      and catalogue.reason(path)
    if reason then lines[#lines + 1] = ("flow.%s is not here: %s"):format(path, reason) end
  end
  table.sort(lines)
  return lines[1] and table.concat(lines, "\n") or nil
end

return about
