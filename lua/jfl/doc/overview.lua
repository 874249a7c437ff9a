-- What printing flow itself shows: what there is on one screen.
local core = require "jfl.core"

local PARTS = {
  { "global_function", "defines a job, which is compiled and then called" },
  { "typing", "the types of a job's inputs and results" },
  { "layers, nn, math", "layers and other functions, which make a job's body" },
  { "optimizer, regularizers", "what trains: SGD, Adam, schedules; penalties" },
  { "get_variable, scope", "variables of a job; prefixes of names, devices" },
  { "ndarray, random", "arrays of numbers, outside of jobs" },
  { "data, zip, progress", "data sets, loops over them, and how far they are" },
  { "train, checkpoint", "saving and loading of what was learned" },
  { "poll, sync, watch", "results and values of jobs while they run" },
  { "summary, plot, profile", "curves, pictures and where the time goes" },
  { "config", "settings: threads, memory, devices" },
}

return function()
  local lines = { ("jfl %s, a deep-learning runtime"):format(core.version) }
  for i, part in ipairs(PARTS) do lines[i + 1] = ("  %-25s%s"):format(unpack(part)) end
  lines[#lines + 1] = 'flow.help() lists all names; flow.help("nn"), flow.help("dense") tell more.'
  return table.concat(lines, "\n")
end
