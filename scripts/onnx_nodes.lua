-- Runs all node tests of the Python package onnx, which scripts/oracles/onnx_cases/nodes.py writes
-- as files, and prints a line for each: whether jfl gives what the test says, with which inputs
-- fixed, or why not. Before these stand the groups of those that fail, with how many they have.
--
--   build/jfl scripts/onnx_nodes.lua FOLDER [PATTERN] >spec/lua/onnx/node_tests.txt
local nodes = require "spec.lua.onnx.nodes"

local folder, pattern = arg[1], arg[2] or ""

-- Why tests fail: patterns of their lines, of which the first that fits counts, and what that is.
local GROUPS = {
  { "texts", { "type string" }, "jfl has no tensors of texts" },
  { "sequences", { "list", "sequence", "optional", "_opt", "_seq" },
    "jobs take and give tensors; sequences and optional values are there within a model" },
  { "optimizers", { "preview%.training" }, "models are trained by flow.optimizer" },
  { "previews", { "FlexAttention", "LinearAttention", "CausalConvWithState" },
    "ops of op set 27 or of a preview, which no file that was tried has" },
  { "random", { "bernoulli", "training_dropout" },
    "other random bits; the mask of Dropout is not given in training" },
  { "bits", { "BitCast" }, "jfl has no op that reads the bits of one type as another" },
  { "pictures", { "ImageDecoder" },
    "the size of its result is in the bytes; flow.data reads pictures" },
  { "places", { "MaxUnpool", "MaxPool" }, "pools do not give the places of what they take" },
  { "lists of words", { "TfIdfVectorizer" }, "it counts words of texts" },
  { "rows", { "Unique" }, "jfl puts numbers in order, not rows" },
  { "rounding", { "bf16", "dft_inverse" },
    "bfloat16 is rounded after other steps, a number beside 0 differs by 2e-7" },
  { "empty", { "empty_set" }, "reductions of nothing: of bools, which are int8, and a logarithm" },
  { "old", { "opset 1%)", "op set must be", "opset must be" }, "op sets before 7, Scan before 9" },
  { "rare", { "Col2Im", "DeformConv", "Det ", "MelWeightMatrix", "TreeEnsemble", "got mul" },
    "ops that no file that was tried has" },
}

local lines, counts = {}, { passes = 0, fixed = 0, fails = 0 }

local function group_of(line)
  for _, group in ipairs(GROUPS) do
    for _, each in ipairs(group[2]) do
      if line:find(each) then return group end
    end
  end
  return error("no group of those that fail has: " .. line)
end

local function run(name)
  local ok, case = pcall(nodes.read, folder, name)
  local what, why = "fails", nodes.words(case)
  if ok then what, why = nodes.verdict(case) end
  counts[what] = counts[what] + 1
  if why then why = why:gsub("%S*/([^/%s]+)", "%1") end     -- files by name, wherever they lie
  local line = ("%s %s%s"):format(what, name, why and ": " .. why or "")
  lines[#lines + 1] = line
  if what ~= "fails" then return end
  local group = group_of(line)
  group.n = (group.n or 0) + 1
end

local version
for name in io.lines(folder .. "/list") do
  if name:find "^onnx " then version = name
  elseif name:find(pattern) then run(name) end
end
print("# The node tests of the Python package " .. version .. ", run by scripts/onnx_nodes.lua:")
print("# passes; fixed: passes with these inputs known when the job is described; fails: why.")
for _, group in ipairs(GROUPS) do
  if group.n then print(("# %d fail, %s: %s"):format(group.n, group[1], group[3])) end
end
print(table.concat(lines, "\n"))
io.stderr:write(("passes %d, fixed %d, fails %d\n"):format(counts.passes, counts.fixed,
  counts.fails))
