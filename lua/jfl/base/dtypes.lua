-- flow.float32 and its like are the names of dtypes. Called with extents, as in
-- flow.float32 { -1, 28, 28 }, they give the type of a job's input. Those of weights in blocks, as
-- flow.q4_0, are for variables, constants and arrays.
---@box bfloat16 double float float16 float32 float64 int32 int64 int8 q4_0 q4_k q6_k q8_0 uint8
local core = require "jfl.core"

local strings = getmetatable("")
local before = strings.__call

-- A program calls no other text, unless it has given texts a meaning of its own.
function strings.__call(text, ...)
  local shape = ...
  if core.dtypes[text] then
    local typing = require "jfl.job.typing"
    return typing.Numpy.Placeholder(shape, { dtype = text })
  end
  if before then return before(text, ...) end
  core.fail("attempt to call a string value, '%s'", text)
end

return { float = "float32", float32 = "float32", double = "float64", float64 = "float64",
  float16 = "float16", bfloat16 = "bfloat16", int8 = "int8", uint8 = "uint8", int32 = "int32",
  int64 = "int64", q8_0 = "q8_0", q4_0 = "q4_0", q4_k = "q4_k", q6_k = "q6_k" }
