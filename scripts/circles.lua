-- Fails when the C files of a folder call each other in a circle. A file calls another where it
-- names a function that only the other one defines.

-- Folders that are without circles now and shall stay so.
local FOLDERS = { "src/base", "src/file", "src/dev", "src/ir", "src/op", "src/optim", "src/pass",
  "src/plan", "src/run", "src/checkpoint", "src/api", "src/bind", "src/box", "src/script",
  "src/cmd", "kernels/cpu" }

local function code_of(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  text = text:gsub("/%*.-%*/", ""):gsub('"[^"\n]*"', '""'):gsub("\\\n", " ")
  return (("\n" .. text):gsub("\n%s*#[^\n]*", "\n"))
end

local function files_of(folder)
  local list, files = io.popen("find " .. folder .. " -name '*.c' | LC_ALL=C sort"), {}
  for path in list:lines() do files[#files + 1] = { path = path, code = code_of(path) } end
  list:close()
  return files
end

-- The file that defines each function that other files can call.
local function definitions(files)
  local owner = {}
  for _, file in ipairs(files) do
    for head, name, after in file.code:gmatch("\n(%a[%w_ *]-)([%w_]+)%b()%s*(%p)") do
      if after == "{" and not head:find("^static") then owner[name] = file end
    end
  end
  return owner
end

local function read_calls(files)
  local owner = definitions(files)
  for _, file in ipairs(files) do
    file.calls = {}
    for name in file.code:gmatch("[%a_][%w_]*") do
      local other = owner[name]
      if other and other ~= file then file.calls[other] = name end
    end
  end
end

-- Follows the calls of a file; returns the first circle found as text, or nil.
local function circle(file, trail)
  if file.state == "done" then return nil end
  trail[#trail + 1] = file.path
  if file.state == "open" then
    local first = 1
    while trail[first] ~= file.path do first = first + 1 end
    return table.concat(trail, " -> ", first)
  end
  file.state = "open"
  for other, name in pairs(file.calls) do
    local found = circle(other, trail)
    if found then return ("%s (%s)"):format(found, name) end
  end
  file.state = "done"
  trail[#trail] = nil
end

local bad = 0
for _, folder in ipairs(FOLDERS) do
  local files = files_of(folder)
  read_calls(files)
  for _, file in ipairs(files) do
    local found = circle(file, {})
    if found then
      io.stderr:write("files call each other: ", found, "\n")
      bad = bad + 1
      break
    end
  end
end
os.exit(bad == 0 and 0 or 1)
