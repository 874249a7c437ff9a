-- Fails when a line of the sources is longer than 100 columns, or one of a document that is neither
-- indented nor part of a table or a picture.
local MOST = 100

local FIND = "find README.md src kernels lua scripts examples spec -name '*.[ch]' -o -name '*.cu' "
  .. "-o -name '*.cuh' -o -name '*.lua' -o -name '*.sh' -o -name '*.py' -o -name '*.md' "
  .. "| LC_ALL=C sort"

-- The columns of a line of UTF-8: only the first byte of each letter counts.
local function columns(line) return #line:gsub("[\128-\191]", "") end

local bad = 0
local list = io.popen(FIND)
for path in list:lines() do
  local number = 0
  for line in io.lines(path) do
    number = number + 1
    local is_free = path:find "%.md$" and line:find "^[|! ]"
    if columns(line) > MOST and not is_free then
      io.stderr:write(("%s:%d: %d columns\n"):format(path, number, columns(line)))
      bad = bad + 1
    end
  end
end
list:close()
os.exit(bad == 0 and 0 or 1)
