-- doc.lua [DIRECTORY]: writes type stubs for editors, reference pages and the guide (build/doc),
-- and a site of HTML beside them. It runs the tutorial, for what that prints and draws; pictures of
-- other programs lie beside the pages.
local blocks = require "scripts.doc.blocks"
local kernels = require "scripts.doc.kernels"
local site = require "scripts.doc.site"
local tutorial = require "scripts.doc.tutorial"

local directory = (...) or "build/doc"
local at_site = directory .. "/site"

local function say(...) io.stderr:write("doc: ", (...):format(select(2, ...)), "\n") end

local function run(command, ...) assert(os.execute(command:format(...)) == 0, command) end

local function write(name, text)
  local file = assert(io.open(name, "w"))
  assert(file:write(text))
  assert(file:close())
end

-- What the tutorial's pages print, by the page's name; its pictures go where the pages are.
local function run_tutorial()
  local outputs, place = {}, blocks.directory()
  for _, page in ipairs(tutorial.pages()) do
    local printed, wrong = tutorial.run(page, place)
    if wrong then
      say("the tutorial's pages lack outputs and pictures, as one did not run: %s", wrong)
      break
    end
    outputs[page.name] = printed
  end
  run("find '%s' -name '*.svg' -exec cp '{}' '%s' ';'", place, directory)
  blocks.remove(place)
  return outputs
end

local function write_scripts(folder)
  for _, page in ipairs(tutorial.pages()) do
    for name, code in pairs(tutorial.files(page)) do write(folder .. "/" .. name, code) end
  end
end

run("mkdir -p '%s'", directory)
write(directory .. "/jfl.lua", require "scripts.doc.stubs" ())
local served, unknown = kernels.lists()
if not served then say("the table of ops lacks the kernels of a GPU: %s", unknown) end
local texts, contents = require "scripts.doc.pages" (run_tutorial(), served)
for name, text in pairs(texts) do write(directory .. "/" .. name, text) end
write_scripts(directory)
run("cp scripts/doc/pages/*.png scripts/doc/pages/*.svg '%s'", directory)
say("the pages begin at %s/index.md", directory)

if site.available() then
  run("mkdir -p '%s'", at_site)
  for name, text in pairs(site.files(texts, contents)) do write(at_site .. "/" .. name, text) end
  write_scripts(at_site)
  run("find '%s' -maxdepth 1 -name '*.[sp][vn]g' -exec cp '{}' '%s' ';'", directory, at_site)
  say("open %s/index.html in a browser", at_site)
else
  say("there is no site of HTML, as cmark-gfm is not installed: run scripts/setup doc")
end
