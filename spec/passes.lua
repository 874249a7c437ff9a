--- Compiling with some of the passes that can be left out.
local core = require "jfl.core"

local M = {}

--- A list for core.set("passes", ...) that leaves out all but the named one, or all of them.
function M.all_but(name)
  local off = {}
  for _, pass in ipairs((core.passes())) do
    if pass ~= name then off[#off + 1] = "-" .. pass end
  end
  return table.concat(off, " ")
end

local count = 0

--- Runs fn with these passes left out.
function M.with(list, fn, ...)
  local _, off = core.passes()
  local before = {}
  for pass in pairs(off) do before[#before + 1] = "-" .. pass end
  core.set("passes", list)
  local results = { pcall(fn, ...) }
  core.set("passes", table.concat(before, " "))
  if not results[1] then error(results[2], 0) end
  return unpack(results, 2)
end

--- Compiles a predict job of these inputs ({dtype, shape} each) whose results body(blobs, graph)
--- gives as a list: the plan and the graph.
function M.compile(specs, body)
  count = count + 1
  local name = "passes_" .. count
  local g, blobs = core.graph(name, "predict"), {}
  local before = core.trace(g)
  local ok, message = pcall(function()
    for i, s in ipairs(specs) do blobs[i] = core.input(g, "x" .. i, s[1], s[2]) end
    for _, y in ipairs(body(blobs, g)) do core.output(g, y) end
  end)
  core.trace(before)
  if not ok then error(message, 0) end
  return core.compile(core.job(name, "predict"), g), g
end

--- The graph's lines that make or return something, as they are with no other pass than this.
function M.graph_after(name, specs, body)
  return M.with(M.all_but(name), function()
    local _, g = M.compile(specs, body)
    return (core.graph_text(g):gsub("^[^\n]*\n", ""):gsub("  input [^\n]*\n", ""))
  end)
end

--- Fails where one of the numbers in two lists differs by 1e-12 or more.
function M.same_numbers(want, got)
  assert(#want == #got, ("%d numbers and %d"):format(#want, #got))
  for i in ipairs(want) do
    if not (math.abs(want[i] - got[i]) < 1e-12) then
      error(("number %d: %.17g, %.17g"):format(i, want[i], got[i]), 2)
    end
  end
end

return M
