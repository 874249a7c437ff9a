-- blocks.lua [--prelude FILE.lua] FILE.md...: runs every Lua block of Markdown files.
local blocks = require "scripts.doc.blocks"

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

local files, prelude = { ... }, ""
if files[1] == "--prelude" then
  table.remove(files, 1)
  prelude = read(table.remove(files, 1)):gsub("\n", " ")
end

local passed, failed = 0, 0
for _, path in ipairs(files) do
  local list, shared = blocks.find(read(path))
  for _, block in ipairs(list) do
    local _, wrong = blocks.run(block, prelude .. shared, path)
    passed, failed = passed + (wrong and 0 or 1), failed + (wrong and 1 or 0)
    if wrong then print(("%s:%d: %s"):format(path, block.line, wrong)) end
  end
end
print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0 and 0 or 1)
