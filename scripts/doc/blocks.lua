-- Runs the Lua blocks of Markdown, each in a process and directory of its own, with a little data.
local flow = require "jfl"

local blocks = {}

-- Code that runs before each block. It stands on the block's first line, so that the numbers of
-- lines stay right.
local PRELUDE = [[local flow = require "jfl"; local tp = flow.typing; ]]

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

--- The blocks of a text that are fenced as ```lua, { line, code } each, and the code in comments
-- <!-- lua -->, which runs before every block. first: the number of the text's first line in its
-- file.
function blocks.find(text, first)
  local list, shared, line, open = {}, "", first or 1, nil
  for row in (text .. "\n"):gmatch("(.-)\n") do
    if open and row:find(open.stop) then
      if open.shared then shared = shared .. open.code else list[#list + 1] = open end
      open = nil
    elseif open then
      open.code = open.code .. row .. (open.shared and " " or "\n")
    elseif row:find("^```lua%s*$") then
      open = { line = line + 1, code = "", stop = "^```%s*$" }
    elseif row:find("^<!%-%- lua%s*$") then
      open = { shared = true, code = "", stop = "^%-%->" }
    end
    line = line + 1
  end
  return list, shared
end

-- The interpreter that runs this, so that blocks run in the same.
local function interpreter()
  local first = 0
  while arg[first - 1] do first = first - 1 end
  local path = arg[first]
  local relative = path:find("/", 1, true) and path:sub(1, 1) ~= "/"
  return relative and os.getenv("PWD") .. "/" .. path or path
end

-- Pictures of noise, as many as make some batches of 100.
local function write_data(directory)
  local nd = flow.ndarray
  local function pictures(n) return (nd.rand({ n, 28, 28 }) * 255):astype("uint8") end
  local function labels(n) return (nd.rand({ n }) * 10):astype("uint8") end
  nd.save(directory .. "/mnist.npz", { x_train = pictures(1000), y_train = labels(1000),
    x_test = pictures(200), y_test = labels(200) })
end

local function directory()
  local path = os.tmpname()
  os.remove(path)
  assert(os.execute("mkdir " .. quoted(path)) == 0)
  return path
end

-- Finds outputs promised by "print(x) --> text" that were not printed, in this order.
local function missing(code, output)
  local at = 1
  for promise in code:gmatch("%-%->%s*([^\n]+)") do
    local first, last = output:find(promise:gsub("%s+$", ""), at, true)
    if not first then return promise end
    at = last + 1
  end
end

local function execute(block, shared, place)
  local script = place .. "/block.lua"
  local file = assert(io.open(script, "w"))
  assert(file:write(PRELUDE, shared, ("\n"):rep(block.line - 1), block.code))
  file:close()
  local command = ("cd %s && JFL_DATA=%s %s block.lua 2>&1 </dev/null; echo \"=$?\""):format(
    quoted(place), quoted(place), quoted(interpreter()))
  local pipe = assert(io.popen(command))
  local output, status = pipe:read("*a"):match("^(.*)=(%d+)\n$")
  pipe:close()
  return output, tonumber(status)
end

--- Runs a block; returns its output, then nil or what is wrong with it. name: that of its file.
function blocks.run(block, shared, name)
  local place = directory()
  write_data(place)
  local output, status = execute(block, shared or "", place)
  os.execute("rm -rf " .. quoted(place))
  output = output:gsub("block%.lua:(%d+)", name .. ":%1")
  if status ~= 0 then return output, ("exit status %d\n%s"):format(status, output) end
  local promise = missing(block.code, output)
  return output, promise and ("did not print: %s\n%s"):format(promise, output)
end

return blocks
