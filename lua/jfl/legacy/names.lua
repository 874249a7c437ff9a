-- The names of the original that are there for its scripts alone: what each loads, a module or
-- "module:field"; with a star, a table that has the names of that space. Those that are another
-- name here are in aliases.lua. Help and completion leave them out.
return {
  ["flow.experimental.scope"] = "jfl.legacy.session:experimental_scope",
  ["flow.losses"] = "jfl.legacy.losses:api",
  ["flow.env.*"] = "jfl.legacy.env",
  ["flow.enable_eager_execution"] = "jfl.legacy.session:enable_eager_execution",
  ["flow.eager_execution_enabled"] = "jfl.legacy.session:eager_execution_enabled",
  ["flow.inter_job_reuse_mem_strategy"] = "jfl.legacy.session:inter_job_reuse_mem_strategy",
  ["flow.current_global_function_desc"] = "jfl.legacy.session:current_global_function_desc",
  ["flow.find_or_create_module"] = "jfl.legacy.session:find_or_create_module",
  ["flow.zero_pad2d"] = "jfl.legacy.functions:zero_pad2d",
  ["flow.save"] = "jfl.legacy.functions:save",
  ["flow.nn.ctc_greedy_decoder"] = "jfl.legacy.functions:ctc_greedy_decoder",
  ["flow.nn.fused_bias_add_dropout"] = "jfl.legacy.functions:fused_bias_add_dropout",
  ["flow.nn.fused_scale_tril_softmax_dropout"] =
    "jfl.legacy.functions:fused_scale_tril_softmax_dropout",
  ["flow.math.fused_scale_tril_softmax_dropout"] =
    "jfl.legacy.functions:fused_scale_tril_softmax_dropout",
  ["flow.data.BlobConf"] = "jfl.legacy.records:BlobConf",
  ["flow.data.ImageCodec"] = "jfl.legacy.records:ImageCodec",
  ["flow.data.ImageDecoderRandomCropResize"] =
    "jfl.legacy.records:image_decoder_random_crop_resize",
  ["flow.data.ImagePreprocessor"] = "jfl.legacy.records:ImagePreprocessor",
  ["flow.data.ImageResizePreprocessor"] = "jfl.legacy.records:ImageResizePreprocessor",
  ["flow.data.NormByChannelPreprocessor"] = "jfl.legacy.records:NormByChannelPreprocessor",
  ["flow.data.OFRecordBytesDecoder"] = "jfl.legacy.records:OFRecordBytesDecoder",
  ["flow.data.OFRecordImageDecoder"] = "jfl.legacy.records:OFRecordImageDecoder",
  ["flow.data.OFRecordImageDecoderRandomCrop"] =
    "jfl.legacy.records:OFRecordImageDecoderRandomCrop",
  ["flow.data.OFRecordRawDecoder"] = "jfl.legacy.records:OFRecordRawDecoder",
  ["flow.data.RawCodec"] = "jfl.legacy.records:RawCodec",
  ["flow.data.decode_ofrecord"] = "jfl.legacy.records:decode_ofrecord",
  ["flow.data.image_decoder_random_crop_resize"] =
    "jfl.legacy.records:image_decoder_random_crop_resize",
  ["flow.data.ofrecord_bytes_decoder"] = "jfl.legacy.records:OFRecordBytesDecoder",
  ["flow.data.ofrecord_image_classification_reader"] =
    "jfl.legacy.records:ofrecord_image_classification_reader",
  ["flow.data.ofrecord_image_decoder"] = "jfl.legacy.records:OFRecordImageDecoder",
  ["flow.data.ofrecord_image_decoder_random_crop"] =
    "jfl.legacy.records:OFRecordImageDecoderRandomCrop",
  ["flow.data.ofrecord_loader"] = "jfl.legacy.records:ofrecord_loader",
  ["flow.data.ofrecord_raw_decoder"] = "jfl.legacy.records:OFRecordRawDecoder",
  ["flow.data.ofrecord_reader"] = "jfl.legacy.records:ofrecord_reader",
  ["flow.image.decode"] = "jfl.legacy.records:decode",
  ["flow.image_decode"] = "jfl.legacy.records:decode",
  ["NdArray.*"] = "jfl.legacy.array",
  ["flow.config.*"] = "jfl.legacy.settings",
  ["function_config.*"] = "jfl.legacy.options",
}
