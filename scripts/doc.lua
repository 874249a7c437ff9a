-- doc.lua [DIRECTORY]: writes type stubs for editors, reference pages and the guide (build/doc).
local directory = (...) or "build/doc"

local function write(name, text)
  local path = directory .. "/" .. name
  local file = assert(io.open(path, "w"))
  assert(file:write(text))
  assert(file:close())
end

assert(os.execute("mkdir -p '" .. directory .. "'") == 0)
write("jfl.lua", require "scripts.doc.stubs" ())
for name, text in pairs(require "scripts.doc.pages" ()) do write(name, text) end
