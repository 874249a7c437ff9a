-- Modules that need those which call them: the module jfl names them here, and they are loaded when
-- they are first called.
local lazy = {}

local modules = {}

--- Names the module of a purpose, by its path below jfl.
function lazy.attach(purpose, module) modules[purpose] = module end

--- The module of a purpose; nil where none is attached.
function lazy.get(purpose) return modules[purpose] and require("jfl." .. modules[purpose]) end

return lazy
