-- Reading of the command's help, of which the manual page and completion are made.
local usage = require "scripts.package.usage"

local HELP = [[
usage: tool [options] [script]
  -e chunk  run a string
  -v        show the version; --version: also what it found
  -j cmd    control the compiler (on, off)
  --pack script.lua [files...] -o app
            write one file,
            with all inside
  --profile[=file]
            print times
  --        end of options
Without a script it waits.

environment:
  TOOL_KIND  fast; plain: slow kernels
  TOOL_LONG_NAME
             what is behind it
]]

describe("the parts of a help text", function()
  local parts = usage.read(HELP)

  it("are its usage, notes, options and variables", function()
    assert.equal("tool [options] [script]", parts.synopsis)
    assert.equal("Without a script it waits.\n", parts.notes)
    assert.same({ spec = "--pack script.lua [files...] -o app",
      text = "write one file, with all inside" }, parts.options[4])
    assert.same({ { spec = "TOOL_KIND", text = "fast; plain: slow kernels" },
      { spec = "TOOL_LONG_NAME", text = "what is behind it" } }, parts.environment)
  end)

  it("name options with what each needs", function()
    local found = {}
    for _, option in ipairs(usage.names(parts)) do
      found[#found + 1] = option.name .. " " .. (option.argument or "")
    end
    assert.same({ "-e chunk", "-v ", "--version ", "-j cmd", "--pack script", "-o app",
      "--profile [=file]", "-- " }, found)
  end)

  it("tell what may be chosen", function()
    assert.equal("on off", usage.choices(parts.options[3].text))
    assert.is_nil(usage.choices(parts.options[1].text))
  end)
end)
