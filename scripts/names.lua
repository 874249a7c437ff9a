-- Fails when two C files define a function or a type of the same name, which a backtrace or a
-- search could not tell apart. Definitions made by macros are not seen.

local places = { ["function"] = {}, ["type"] = {} }      -- path:line by name
local bad = 0

local function note(kind, name, path, line)
  local first = places[kind][name]
  if not first then
    places[kind][name] = { path = path, line = line }
  elseif first.path ~= path then
    io.stderr:write(("%s:%d: %s:%d has a %s %s too\n"):format(path, line, first.path, first.line,
      kind, name))
    bad = bad + 1
  end
end

local function blank(text) return (text:gsub("[^\n]", " ")) end

-- The text of a source without comments and preprocessor lines; line numbers stay the same.
local function code_of(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  text = text:gsub("/%*.-%*/", blank):gsub("\\\n", " \n")
  return (("\n" .. text):gsub("\n%s*#[^\n]*", blank))
end

local function line_at(text, position)
  return select(2, text:sub(1, position - 1):gsub("\n", ""))
end

-- Definitions begin in the first column: "static int name(...) {". What ends with a semicolon is a
-- declaration.
local function scan_functions(path, text)
  for at, name, parameters, after in text:gmatch("\n()%a[%w_ *]-([%w_]+)(%b())%s*(%p)") do
    if after == "{" and name:upper() ~= name and parameters then
      note("function", name, path, line_at(text, at))
    end
  end
end

-- A struct may be named before it is defined, and by a typedef of the same name.
local function scan_types(path, text)
  for at, head in text:gmatch("\n()(%a[^\n(){};]*)%s*{") do
    local tag = head:match("%f[%w]struct%s+([%w_]+)%s*$") or head:match("%f[%w]enum%s+([%w_]+)%s*$")
    if tag then note("type", tag, path, line_at(text, at)) end
  end
  for at, name in text:gmatch("\n()}%s*([%w_]+)%s*;") do
    local opening = text:sub(1, at):match(".*\n(%a[^\n]*)")
    if opening:find("^typedef") then note("type", name, path, line_at(text, at)) end
  end
  for at, of, name in text:gmatch("\n()typedef%s+([^;{}()]-)([%w_]+)%s*;") do
    if not of:find("%f[%w]" .. name .. "%f[^%w_]") then
      note("type", name, path, line_at(text, at))
    end
  end
end

local list = io.popen("find src kernels -name '*.[ch]' -not -path '*/windows/*' " ..
  "-not -path '*/alone/*' | LC_ALL=C sort")
for path in list:lines() do
  local text = code_of(path)
  scan_functions(path, text)
  scan_types(path, text)
end
list:close()
os.exit(bad == 0 and 0 or 1)
