--- What is known of the terminal.
require "jfl"
local helper = require "spec.lua.helper"

local SCRIPT = [[
  require "jfl"
  local core = require "jfl.core"
  local look = require("jfl.tools.terminal").look
  for _, columns in ipairs { 80, 100000, false } do
    core.columns = function() return columns or nil end
    local l = look()
    print(l.columns, l.utf8, l.colour)
  end]]

local function lines(environment)
  return (helper.script(SCRIPT, "NO_COLOR= LC_ALL=C " .. environment):gsub("\t", " "))
end

describe("the terminal", function()
  it("has colours unless it is none, or they are not wanted or not known", function()
    local colourful = "79 false true\n%d+ false true\n%d+ false false\n"
    assert.truthy(lines("TERM=xterm"):match("^" .. colourful .. "$"))
    local plain = colourful:gsub("true", "false")
    assert.truthy(lines("TERM=dumb"):match("^" .. plain .. "$"))
    assert.truthy(lines("TERM=xterm NO_COLOR=1"):match("^" .. plain .. "$"))
  end)

  it("has letters beyond ASCII where the locale says so", function()
    assert.truthy(lines("LC_ALL=C.UTF-8"):match("^79 true"))
    assert.truthy(lines("LC_ALL= LC_CTYPE=de_DE.utf8"):match("^79 true"))
    assert.truthy(lines("LC_ALL= LC_CTYPE= LANG=C"):match("^79 false"))
  end)
end)
