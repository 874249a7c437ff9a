-- What the specs of the C module share: code that fails at a known line, jobs, and child processes.
local core = require "jfl.core"

local helper = {}

--- Runs the text of a function body as the user's file, where the module is c and the arguments are
-- `...`; returns what it returns.
function helper.run(text, ...)
  local chunk = assert(loadstring("local c = require 'jfl.core' " .. text, "=user.lua"))
  return chunk(...)
end

--- The message of the error that the text raises; the error must be there.
function helper.message(text, ...)
  local ok, message = pcall(helper.run, text, ...)
  assert(not ok, "no error was raised")
  return message
end

--- Describes a job by body(graph) and compiles it; returns the plan and the job.
function helper.compile(name, mode, body)
  local graph = core.graph(name, mode)
  local before = core.trace(graph)
  local ok, message = pcall(body, graph)
  core.trace(before)
  if not ok then error(message, 0) end
  local job = core.job(name, mode)
  return core.compile(job, graph), job
end

--- A predict job that gives x + v for x of shape {n} and a variable v of ones.
function helper.adder(name, n)
  return helper.compile(name, "predict", function(graph)
    local x = core.input(graph, "x", "float32", { n })
    local v = core.variable(graph, { name = "v", dtype = "float32", shape = { n }, a = 1 })
    core.output(graph, core.op("add")(x, v))
  end)
end

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

--- Runs Lua text in a new process of this interpreter, in which variables of the environment may be
-- set; returns its output and how it ended.
function helper.child(text, environment)
  local first = 0
  while arg[first - 1] do first = first - 1 end
  local pipe = io.popen(("%s %s -e %s 2>&1; echo \" $?\""):format(environment or "",
    quoted(arg[first]), quoted(text)))
  local output = pipe:read("*a")
  pipe:close()
  local said, status = output:match("^(.*) (%d+)\n$")
  return said, tonumber(status)
end

--- Resident bytes of this process.
function helper.resident()
  for line in io.lines("/proc/self/status") do
    local kilobytes = line:match("^VmRSS:%s+(%d+)")
    if kilobytes then return tonumber(kilobytes) * 1024 end
  end
end

return helper
