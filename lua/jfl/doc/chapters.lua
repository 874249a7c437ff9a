-- The guide's chapters at the prompt. They are the files of jfl/doc/guide, which the build makes
-- the module jfl.doc.pages.
local chapters = {}

-- All of them, by number: { number, title, text }.
local function all()
  local pages = require "jfl.doc.pages"
  table.sort(pages, function(a, b) return a.number < b.number end)
  return pages
end

local WORDS = { guide = true, manual = true, tutorial = true, documentation = true, docs = true,
  doc = true, book = true }

local function contents()
  local lines = { "The guide:" }
  for _, each in ipairs(all()) do
    lines[#lines + 1] = ("  %2d  %s"):format(each.number, each.title)
  end
  lines[#lines + 1] = "flow.help(\"guide 1\") shows a chapter. `make doc` writes all of it, with "
    .. "a\ntutorial and the reference, to build/doc: site/index.html is for a browser."
  return table.concat(lines, "\n")
end

local function find(name)
  for _, each in ipairs(all()) do
    if name == "guide " .. each.number or name == each.title:lower() then return each end
  end
end

--- A chapter by its title or as "guide 3", the list of chapters for "guide", or nil.
function chapters.text(name)
  if WORDS[name:lower()] then return contents() end
  local each = find(name:lower())
  return each and ("%d. %s\n\n%s"):format(each.number, each.title, (each.text:gsub("\n$", "")))
end

--- Where to read more of what a chapter's title is, as a line; "" where there is none.
function chapters.pointer(name)
  local each = find(name:lower())
  local line = "\n\nThe guide has a chapter on it: flow.help(\"guide %d\")."
  return each and line:format(each.number) or ""
end

return chapters
