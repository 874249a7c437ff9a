-- The pages written by hand: the guide's chapters in lua/jfl/doc/guide/*.md, which help shows too,
-- the others in scripts/doc/pages/*.md. The first line is <!-- SECTION N: Title -->.
local about = require "jfl.legacy.about"
local header = require "scripts.doc.header"

local guide = {}

--- The sections in their order: what the pages' heads call them, their titles, and what they are
-- for.
guide.sections = {
  { "tutorial", "Tutorial", "From an empty file to a network that is trained, saved and used, with "
    .. "the ideas explained as they come up." },
  { "guide", "Guide", "A page for each subject, for those who know what a network is." },
  { "hosts", "Inside other programs", "What runs where and what to call when, with a program "
    .. "each." },
  { "more", "More", "For those who come from elsewhere, and for those who wonder." },
}

--- The text of a file.
function guide.read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

--- What the site begins with: the README up to how jfl is built, with its pictures beside it.
function guide.front()
  local text = guide.read("README.md"):match "^(.-)\n## Build it\n"
  return (text:gsub("%(scripts/doc/pages/", "("))
end

-- The text in which <!-- file PATH --> is that file as a block, which says its name, and
-- <!-- header --> the C interface with its examples.
local function with_files(text)
  text = text:gsub("<!%-%- header %-%->\n", function() return header.page() end)
  return (text:gsub("<!%-%- file (%S+) %-%->\n", function(path)
    local language = path:match("%.(%l+)$"):gsub("^h$", "c")
    return ("```%s %s\n%s```\n"):format(language, path, guide.read(path))
  end))
end

local function files(folder)
  local pipe = assert(io.popen(("find %s -name '*.md' | LC_ALL=C sort"):format(folder)))
  local list = {}
  for path in pipe:lines() do list[#list + 1] = path end
  pipe:close()
  return list
end

local function page(source, section, number, title, text, line)
  local name = section .. "-" .. title:lower():gsub("%W+", "-"):gsub("^%-*(.-)%-*$", "%1")
  return { section = section, number = tonumber(number), title = title, name = name .. ".md",
    text = text, shown = with_files(text), source = source, line = line }
end

local function read_page(source)
  local section, number, title, body = guide.read(source):match(
    "^<!%-%- (%l+) (%d+): ([^\n]-) %-%->\n(.*)$")
  assert(section, source .. ": the first line must be <!-- SECTION NUMBER: Title -->")
  return page(source, section, number, title, body, 2)
end

--- The pages in their order: { section, number, title, name, text, shown, source, line }. name is
-- the page's file; line is where its text begins in the source; shown has the files in it that the
-- text includes.
function guide.pages()
  local pages, rank = {}, {}
  for i, section in ipairs(guide.sections) do rank[section[1]] = i end
  for _, source in ipairs(files "lua/jfl/doc/guide scripts/doc/pages") do
    pages[#pages + 1] = read_page(source)
    assert(rank[pages[#pages].section], source .. ": there is no such section")
  end
  local last = 1
  for _, each in ipairs(pages) do last = last + (each.section == "more" and 1 or 0) end
  pages[#pages + 1] = page("lua/jfl/legacy/about.lua", "more", last, "Names of the original",
    about.page(), 1)
  table.sort(pages, function(a, b)
    if a.section ~= b.section then return rank[a.section] < rank[b.section] end
    return a.number < b.number
  end)
  return pages
end

return guide
