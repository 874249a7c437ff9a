-- Runs the Lua blocks of Markdown, each in a process and directory of its own, with a little data;
-- or those of a page as one script.
local flow = require "jfl"

local blocks = {}

-- Code that runs before each block. It stands on the block's first line, so that the numbers of
-- lines stay right.
local PRELUDE = [[local flow = require "jfl"; local tp = flow.typing; ]]

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

--- The blocks of a text that are fenced as ```lua, { line, code, file } each, and the code in
-- comments <!-- lua -->, which runs before every block. A block ```lua NAME.lua is what the reader
-- saves as that file. first: the number of the text's first line in its file.
function blocks.find(text, first)
  local list, shared, line, open = {}, "", first or 1, nil
  for row in (text .. "\n"):gmatch("(.-)\n") do
    if open and row:find(open.stop) then
      if open.shared then shared = shared .. open.code else list[#list + 1] = open end
      open = nil
    elseif open then
      open.code = open.code .. row .. (open.shared and " " or "\n")
    elseif row:find("^```lua%f[%s%z]") then
      open = { line = line + 1, code = "", stop = "^```%s*$", file = row:match("^```lua (%S+)") }
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
function blocks.write_data(directory)
  local nd = flow.ndarray
  local function pictures(n) return (nd.rand({ n, 28, 28 }) * 255):astype("uint8") end
  local function labels(n) return (nd.rand({ n }) * 10):astype("uint8") end
  nd.save(directory .. "/mnist.npz", { x_train = pictures(1000), y_train = labels(1000),
    x_test = pictures(200), y_test = labels(200) })
end

--- Makes an empty directory and gives its path.
function blocks.directory()
  local path = os.tmpname()
  os.remove(path)
  assert(os.execute("mkdir " .. quoted(path)) == 0)
  return path
end

--- Removes a directory with what is in it.
function blocks.remove(path) os.execute("rm -rf " .. quoted(path)) end

-- Finds outputs promised by "print(x) --> text" that were not printed, in this order.
function blocks.missing(code, output)
  local at = 1
  for promise in code:gmatch("%-%->%s*([^\n]+)") do
    local first, last = output:find(promise:gsub("%s+$", ""), at, true)
    if not first then return promise end
    at = last + 1
  end
end

local function write(path, text)
  local file = assert(io.open(path, "w"))
  assert(file:write(text))
  file:close()
end

-- Runs code as NAME in a directory; returns what it printed and its exit status. data: where
-- load_mnist looks first.
local function execute(code, name, place, data)
  write(place .. "/" .. name, code)
  local command = ("cd %s && %s %s %s 2>&1 </dev/null; echo \"=$?\""):format(quoted(place),
    data and "JFL_DATA=" .. quoted(data) or "", quoted(interpreter()), quoted(name))
  local pipe = assert(io.popen(command))
  local output, status = pipe:read("*a"):match("^(.*)=(%d+)\n$")
  pipe:close()
  return output, tonumber(status)
end

--- Runs a block; returns its output, then nil or what is wrong with it. name: that of its file.
function blocks.run(block, shared, name)
  local place = blocks.directory()
  blocks.write_data(place)
  local code = PRELUDE .. (shared or "") .. ("\n"):rep(block.line - 1) .. block.code
  local output, status = execute(code, "block.lua", place, place)
  blocks.remove(place)
  output = output:gsub("block%.lua:(%d+)", name .. ":%1")
  if status ~= 0 then return output, ("exit status %d\n%s"):format(status, output) end
  local promise = blocks.missing(block.code, output)
  return output, promise and ("did not print: %s\n%s"):format(promise, output)
end

--- The blocks of a page as one script, without those of other files, each on the lines that it has
-- in the page. between: code that stands on a line before each.
function blocks.script(list, between)
  local parts, line = {}, 1
  for _, block in ipairs(list) do
    local code = block.file and "" or block.code
    parts[#parts + 1] = ("\n"):rep(block.line - 1 - line) .. (between or "") .. "\n" .. code
    line = block.line + select(2, code:gsub("\n", ""))
  end
  return table.concat(parts)
end

-- What is printed before each block's output. Both streams go where they are read without delay.
local MARK = "\1block\1"
local BETWEEN = "io.stdout:setvbuf 'no' io.write '" .. MARK .. "'"

--- Runs the blocks of a page as one script in a directory; returns a list of what each printed,
-- then nil or what is wrong. data: where load_mnist looks first.
function blocks.run_all(list, name, place, data)
  for _, block in ipairs(list) do
    if block.file then write(place .. "/" .. block.file, block.code) end
  end
  local output, status = execute(blocks.script(list, BETWEEN), "page.lua", place, data)
  output = output:gsub("page%.lua:(%d+)", name .. ":%1")
  local outputs = {}
  for text in (output .. MARK):gmatch("(.-)" .. MARK) do outputs[#outputs + 1] = text end
  table.remove(outputs, 1)
  output = output:gsub(MARK, "")
  if status ~= 0 then return outputs, ("exit status %d\n%s"):format(status, output) end
  for i, block in ipairs(list) do
    local promise = blocks.missing(block.code, outputs[i] or "")
    if promise then
      return outputs, ("%s:%d: did not print: %s\n%s"):format(name, block.line, promise, output)
    end
  end
  return outputs
end

--- The text in which <!-- output --> after a block is what that block printed, or nothing if that
-- is not known. outputs: what each block printed.
function blocks.with_outputs(text, outputs)
  local parts, at = {}, 1
  for i, block in ipairs((blocks.find(text))) do
    local _, stop = text:find(block.code .. "```", at, true)
    local first, last = text:find("^%s*<!%-%- output %-%->", stop + 1)
    if first then
      local printed = outputs and outputs[i]
      parts[#parts + 1] = text:sub(at, stop)
      if printed then
        parts[#parts + 1] = "\n\nIt prints:\n\n```text\n" .. printed:gsub("%s+$", "") .. "\n```"
      end
      stop = last
    else
      parts[#parts + 1] = text:sub(at, stop)
    end
    at = stop + 1
  end
  return table.concat(parts) .. text:sub(at)
end

return blocks
