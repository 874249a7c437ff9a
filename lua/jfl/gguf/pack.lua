-- Numbers as the bytes of the forms that GGUF files have them in.
local core = require "jfl.core"

local pack = {}

-- The format's numbers of forms.
local TYPES = { float32 = 0, float16 = 1, bfloat16 = 30, q8_0 = 8, q4_0 = 2 }

--- By its name: the format's number of the form, how many numbers rows are multiples of, and what
-- gives the bytes of a flat array of float32.
pack.forms = {}
for name, type in pairs(TYPES) do
  pack.forms[name] = { type = type, multiple = core.blocks[name] or 1,
    bytes = function(array) return core.bytes(core.cast(array, name)) end }
end

--- How many bytes so many numbers take.
function pack.size(form, n)
  local block = core.array("float32", { form.multiple })
  return n / form.multiple * #form.bytes(block)
end

return pack
