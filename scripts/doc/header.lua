-- The page of the C interface: the header, section by section, and for each of its functions an
-- example of examples/c that calls it.
local header = {}

local HEADER, FOLDER = "src/jfl.h", "examples/c"

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

--- The sections of the header: { title, text, functions }, in order. The first one, without
--- functions, is what stands before the others.
function header.sections()
  local list = { { title = "All of it", text = "", functions = {} } }
  for line in read(HEADER):gmatch "([^\n]*\n)" do
    local title = line:match "^/%* %-%-%-%- (.-) %-%-%-%- %*/"
    if title then
      list[#list + 1] = { title = title:sub(1, 1):upper() .. title:sub(2), text = "",
        functions = {} }
    else
      local section = list[#list]
      section.text = section.text .. line
      local name = line:match "^JFL_API.-%f[%w_](jfl_[%w_]+)%("
      if name then table.insert(section.functions, name) end
    end
  end
  return list
end

local function programs()
  local pipe = assert(io.popen("LC_ALL=C ls " .. FOLDER .. "/*.c"))
  local list = {}
  for path in pipe:lines() do list[#list + 1] = path end
  pipe:close()
  return list
end

--- The examples: { title, code, path, anchor }, each a function behind a comment, its title.
function header.examples()
  local list = {}
  for _, path in ipairs(programs()) do
    local text = read(path)
    for at, code, name in text:gmatch "\n()(static [%w_ ]-%*?([%w_]+)%b()\n{\n.-\n}\n)" do
      local title = text:sub(1, at - 1):match "\n/%* ([^/]-) %*/\n$"
      if title then
        list[#list + 1] = { title = title:gsub("\n%s+", " "), code = code, path = path,
          anchor = "example-" .. name:gsub("_", "-") }
      end
    end
  end
  return list
end

--- By the name of each function of the header the example that shows it; missing: those without.
function header.shown(examples)
  local shown, missing = {}, {}
  for _, section in ipairs(header.sections()) do
    for _, name in ipairs(section.functions) do
      for _, example in ipairs(examples) do
        if example.code:find("%f[%w_]" .. name .. "%(") then
          shown[name] = shown[name] or example
        end
      end
      if not shown[name] then missing[#missing + 1] = name end
    end
  end
  return shown, missing
end

-- The examples that show a function of the section, those of one program together.
local function examples_of(section, examples, shown)
  local wanted, list = {}, {}
  for _, name in ipairs(section.functions) do
    if shown[name] then wanted[shown[name]] = true end
  end
  for _, example in ipairs(examples) do
    if wanted[example] then list[#list + 1] = example end
  end
  return list
end

--- The page's text.
function header.page()
  local examples = header.examples()
  local shown, out, told = header.shown(examples), {}, {}
  for _, section in ipairs(header.sections()) do
    out[#out + 1] = ("## %s\n\n```c\n%s\n```\n"):format(section.title,
      section.text:gsub("^%s+", ""):gsub("%s+$", ""))
    local names = {}
    for _, name in ipairs(section.functions) do
      local example = shown[name]
      names[#names + 1] = example and ("[`%s`](#%s)"):format(name, example.anchor)
    end
    if #names > 0 then out[#out + 1] = "Examples: " .. table.concat(names, ", ") .. ".\n" end
    for _, example in ipairs(examples_of(section, examples, shown)) do
      if not told[example] then
        told[example] = true
        out[#out + 1] = ("### <a id=\"%s\"></a>%s\n\n```c %s\n%s```\n"):format(example.anchor,
          example.title:gsub("%.$", ""), example.path, example.code)
      end
    end
  end
  return table.concat(out, "\n")
end

return header
