-- What scripts of the original, OneFlow, may use besides: the room jfl.legacy says it. The module
-- jfl attaches that room here, and nothing else requires it.
local original = {}

local module

--- Names the module that answers: a function for each question. It is loaded at the first.
function original.attach(name) module = name end

--- What the function of this name answers; nil where no module is attached.
function original.ask(question, ...)
  if module then return require(module)[question](...) end
end

return original
