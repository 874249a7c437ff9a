-- What scripts of the original, OneFlow, may use besides: the room jfl.legacy says it. The module
-- jfl attaches that room here, and nothing else requires it.
local original = {}

local answers = {}

--- Gives the functions that answer questions, by name.
function original.attach(list) answers = list end

--- What the function of this name answers; nil where nothing is attached.
function original.ask(question, ...)
  local answer = answers[question]
  if answer then return answer(...) end
end

return original
