-- What can be drawn where the program prints.
local core = require "jfl.core"

local terminal = {}

local STDOUT = 1
local COLUMNS, MOST_COLUMNS = 80, 120

-- A variable of the environment, or nil where it is empty.
local function set(name)
  local value = os.getenv(name)
  return value ~= "" and value or nil
end

--- The columns that may be used, whether letters may be UTF-8, and whether colours may be used.
function terminal.look()
  local columns = core.columns(STDOUT)
  local plain = set("NO_COLOR") or os.getenv("TERM") == "dumb"
  local locale = set("LC_ALL") or set("LC_CTYPE") or set("LANG") or ""
  return { columns = math.min((columns or COLUMNS + 1) - 1, MOST_COLUMNS),
    utf8 = locale:lower():find("utf%-?8") ~= nil,
    colour = columns ~= nil and not plain }
end

return terminal
