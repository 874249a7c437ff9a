-- The names of the original that are there for its scripts alone: what each loads, a module or
-- "module:field"; with a star, a table that has the names of that space. Those that are another
-- name here are in aliases.lua. Help and completion leave them out.
local names = {
  ["flow.experimental.scope"] = "jfl.legacy.session:experimental_scope",
  ["flow.losses"] = "jfl.legacy.losses:api",
  ["flow.env.*"] = "jfl.legacy.env",
  ["NdArray.*"] = "jfl.legacy.array",
  ["flow.config.*"] = "jfl.legacy.settings",
  ["function_config.*"] = "jfl.legacy.options",
}

-- Spaces, modules, and the fields that have the names of that space.
for _, row in ipairs {
  { "flow", "session", "current_global_function_desc eager_execution_enabled "
    .. "enable_eager_execution find_or_create_module inter_job_reuse_mem_strategy" },
  { "flow", "functions", "zero_pad2d save" },
  { "flow.nn", "functions",
    "ctc_greedy_decoder fused_bias_add_dropout fused_scale_tril_softmax_dropout" },
  { "flow.math", "functions", "fused_scale_tril_softmax_dropout" },
  { "flow.image", "records", "decode" },
  { "flow.data", "records", "BlobConf ImageCodec ImagePreprocessor ImageResizePreprocessor "
    .. "NormByChannelPreprocessor OFRecordBytesDecoder OFRecordImageDecoder "
    .. "OFRecordImageDecoderRandomCrop OFRecordRawDecoder RawCodec decode_ofrecord "
    .. "image_decoder_random_crop_resize ofrecord_image_classification_reader ofrecord_loader "
    .. "ofrecord_reader" },
} do
  for name in row[3]:gmatch "%S+" do
    names[row[1] .. "." .. name] = ("jfl.legacy.%s:%s"):format(row[2], name)
  end
end

return names
