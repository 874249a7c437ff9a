-- man.lua: writes the manual page jfl(1), whose options are those of src/cmd/options.h.
local core = require "jfl.core"

local function roff(text)
  text = text:gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("'", "\\(aq")
  return (text:gsub("^%.", "\\&."):gsub("\n%.", "\n\\&."))
end

-- The day of this version, as the changelog has it.
local function day()
  local name = "scripts/package/CHANGELOG.md"
  for line in io.lines(name) do
    local version, date = line:match "^## (%S+), (%d+%-%d+%-%d+)$"
    if version then
      assert(version == core.version, name .. ": begins with another version than " .. core.version)
      return date
    end
  end
  error(name .. ": has no line such as '## 1.0.0, 2026-01-31'")
end

local function list(items)
  for _, item in ipairs(items) do
    local entry = ".TP\n.B " .. roff(item.usage) .. "\n" .. roff(item.text) .. "\n"
    io.write(item.with and ".RS\n" .. entry .. ".RE\n" or entry)
  end
end

local function section(name, text)
  io.write(".SH ", name, "\n", text and roff(text) .. "\n" or "")
end

local command = debug.getregistry()["jfl.options"]()
io.write((".TH JFL 1 %s \"jfl %s\" \"User Commands\"\n"):format(day(), core.version))
section("NAME", "jfl - run Lua programs that train and use neural networks")
section("SYNOPSIS")
io.write(".B jfl\n", roff(command.usage:gsub("^jfl ", "")), "\n")
section("DESCRIPTION", [[
A Lua program describes job functions; jfl turns each into a plan, with its gradients, its memory
and its kernels settled before anything runs, and runs that plan. jfl is LuaJIT with the module
"jfl" inside: it runs any Lua program as luajit(1) does.]])
io.write(".PP\n", roff(command.notes))
section("OPTIONS")
list(command.options)
section("ENVIRONMENT")
list(command.variables)
section("FILES")
list {
  { usage = "~/.config/jfl/init.lua", text = "runs at the beginning of a session" },
  { usage = "~/.jfl_history", text = "what was typed in sessions" },
}
section("EXIT STATUS", "0; 1 after an error that the program did not catch, or a wrong option.")
section("EXAMPLES")
io.write [[
.TP
.B jfl train.lua
run a program
.TP
.B jfl
begin a session, in which ?softmax explains a name
.TP
.B jfl \-\-ranks 2 train.lua
share the work of a program's jobs among two processes
]]
section("SEE ALSO", "luajit(1), and the guide, which is installed as pages for a browser.")
