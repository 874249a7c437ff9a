-- The guide: Markdown in comments of the front end's files, --[==[ guide N: Title ... ]==].
local guide = {}

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

local function line_at(text, position)
  return 1 + select(2, text:sub(1, position - 1):gsub("\n", ""))
end

--- The pages in their order: { number, title, name, text, source, line }. name is the page's file;
-- line is where its text begins in the source.
function guide.pages()
  local pages = {}
  local list = assert(io.popen("find lua/jfl -name '*.lua' | LC_ALL=C sort"))
  for source in list:lines() do
    local text = read(source)
    for number, title, at, body in text:gmatch("%-%-%[==%[ guide (%d+): ([^\n]+)\n()(.-)%]==%]") do
      local name = "guide-" .. title:lower():gsub("%A+", "-") .. ".md"
      pages[#pages + 1] = { number = tonumber(number), title = title, name = name, text = body,
        source = source, line = line_at(text, at) }
    end
  end
  list:close()
  table.sort(pages, function(a, b) return a.number < b.number end)
  return pages
end

return guide
