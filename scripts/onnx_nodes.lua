-- Runs all node tests of the Python package onnx, which scripts/oracles/onnx_cases/nodes.py writes
-- as files, and prints a line for each: whether jfl gives what the test says, with which inputs
-- fixed, or why not.
--
--   build/jfl scripts/onnx_nodes.lua FOLDER [PATTERN] >spec/lua/onnx/node_tests.txt
local nodes = require "spec.lua.onnx.nodes"

local folder, pattern = arg[1], arg[2] or ""

local counts = { passes = 0, fixed = 0, fails = 0 }
for name in io.lines(folder .. "/list") do
  if name:find "^onnx " then
    print("# The node tests of the Python package " .. name .. ", run by scripts/onnx_nodes.lua:")
    print("# passes; fixed: passes with these inputs known when the job is described; fails: why.")
  elseif name:find(pattern) then
    local ok, case = pcall(nodes.read, folder, name)
    local what, why = "fails", nodes.words(case)
    if ok then what, why = nodes.verdict(case) end
    counts[what] = counts[what] + 1
    if why then why = why:gsub("%S*/([^/%s]+)", "%1") end     -- files by name, wherever they lie
    print(("%s %s%s"):format(what, name, why and ": " .. why or ""))
  end
end
io.stderr:write(("passes %d, fixed %d, fails %d\n"):format(counts.passes, counts.fixed,
  counts.fails))
