--- Texts that are compared with files under spec/golden; JFL_GOLDEN=write (make golden) rewrites
-- them.
local M = {}

--- Compares text with spec/golden/NAME.txt, or writes that file.
function M.check(name, text)
  local path = ("spec/golden/%s.txt"):format(name)
  if os.getenv "JFL_GOLDEN" == "write" then
    local f = assert(io.open(path, "w"))
    f:write(text)
    f:close()
  end
  local f = assert(io.open(path), path .. " is missing; make golden writes it")
  local want = f:read "*a"
  f:close()
  if text ~= want then
    error(("it differs from %s, which has\n%s\ngot:\n%s"):format(path, want, text), 2)
  end
end

return M
