-- What helps where the virtual machine refuses an array or a blob, before any function of jfl is
-- asked: the ends of such messages. The command and its prompt add them (src/cmd/main.c).
local hints = {}

local LOOP = "an NdArray a is gone through by `for i = 1, #a do local row = a[i] ... end`, or by "
  .. "flow.zip(a)"
local COMPARE = "NdArrays are compared by a:lt(2), a:ge(b) and so on, blobs by flow.math.less(x, 2)"

local PART = "a part of an array or blob is x[{ {1, 2} }], from the first to the second, both ends "
  .. "included"

local LIST = {
  { "attempt to index global 'flow' %(a nil value%)",
    'a script begins with local flow = require \"jfl\"' },
  { "attempt to index global 'nd' %(a nil value%)", "local nd = flow.ndarray makes that name" },
  { "'%]' expected near ':'", PART },
  { "expected near '@'", "x:matmul(y) multiplies matrices" },
  { "near '%*'", "x ^ 2 is a power" },
  { "attempt to call [%a]+ 'shape' %(a table value%)", "x.shape is a table: x.shape[1]" },
  { "attempt to call [%a]+ 'size' %(a number value%)", "x.size is a number" },
  { "attempt to call [%a]+ 'dtype' %(a string value%)", "x.dtype is a text" },
  { "bad argument #1 to '?i?pairs'? %(table expected, got userdata%)", LOOP },
  { "attempt to compare userdata with %a+", COMPARE },
  { "attempt to compare %a+ with userdata", COMPARE },
}

--- The message, with what helps at the end of its first line.
function hints.added(message)
  local first, rest = message:match("^([^\n]*)(.*)$")
  for _, hint in ipairs(LIST) do
    if first:find(hint[1] .. "$") then return first .. "; " .. hint[2] .. rest end
  end
  return message
end

return hints
