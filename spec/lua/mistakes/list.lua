-- Prints the catalogue of mistakes with what is said of each: jfl spec/lua/mistakes/list.lua
local flow = require "jfl"
local helper = require "spec.lua.helper"
local run = require "spec.lua.mistakes.run"

for _, entry in ipairs(run.entries()) do
  flow.clear_default_session()
  flow.config.memory_limit(0)
  local directory = helper.directory()
  local _, message = run.script(entry, directory)
  pcall(flow.sync)
  helper.remove(directory)
  message = tostring(message):gsub("\nstack traceback.*", ""):gsub(directory, "DIRECTORY")
  print(entry.title .. "\n    " .. message)
end
