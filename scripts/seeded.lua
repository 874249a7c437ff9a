-- seeded.lua SCRIPT [ARGUMENT...]: runs a script from a fixed seed, then saves all variables in a
-- folder that is named after it, so that two runs can be compared bit for bit.
local flow = require "jfl"

flow.random.seed(11)
local path = ...
arg = { [0] = path, select(2, ...) }                   -- luacheck: ignore
assert(loadfile(path))(select(2, ...))
flow.sync()
if next(flow.get_all_variables()) then
  flow.train.CheckPoint():save(path:match("([^/]+)%.lua$") .. "_variables")
end
