-- Runs the tutorial: each of its pages is one script, and all run in one directory, so that a page
-- finds what those before it saved.
local blocks = require "scripts.doc.blocks"
local guide = require "scripts.doc.guide"

local tutorial = {}

--- The pages of the tutorial, each with its blocks.
function tutorial.pages()
  local pages = {}
  for _, page in ipairs(guide.pages()) do
    if page.section == "tutorial" then
      page.blocks = blocks.find(page.text, page.line)
      pages[#pages + 1] = page
    end
  end
  return pages
end

--- The files that a reader of a page has in the end, by their names: its code and what it saves.
function tutorial.files(page)
  local parts, files = {}, {}
  for _, block in ipairs(page.blocks) do
    if block.file then files[block.file] = block.code else parts[#parts + 1] = block.code end
  end
  files[page.name:gsub("%.md$", ".lua")] = table.concat(parts, "\n")
  return files
end

--- Runs a page in a directory; returns a list of what its blocks printed, then nil or what is
-- wrong. data: where load_mnist looks first.
function tutorial.run(page, place, data)
  return blocks.run_all(page.blocks, page.source, place, data)
end

return tutorial
