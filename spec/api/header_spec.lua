-- jfl.h alone, as C and C++ programs compile it.
local helper = require "spec.cmd.helper"

local COMPILERS = {
  { "gcc", "-std=c99 -xc" }, { "gcc", "-std=c11 -xc" }, { "g++", "-std=c++17 -xc++" },
  { "clang", "-std=c99 -xc" }, { "clang++", "-std=c++17 -xc++" },
}

local PROGRAM = [[
#include "jfl.h"
int main(void)
{
  jfl_script_options options = jfl_script_options();
  return (int)options.size + jfl_script_pending(0);
}
]]

describe("jfl.h #cpu", function()
  after_each(helper.clean)

  for _, each in ipairs(COMPILERS) do
    it(("compiles without a warning: %s %s"):format(each[1], each[2]), function()
      if os.execute("command -v " .. each[1] .. " >/dev/null 2>&1") ~= 0 then
        return pending("needs " .. each[1])
      end
      local program = each[1]:find("+", 1, true) and PROGRAM
        or PROGRAM:gsub(" = jfl_script_options%(%)", " = { 0 }")
      local path = helper.file(program)
      local _, err, status = helper.shell(("%s %s -Wall -Wextra -Wpedantic -Wshadow -Werror "
        .. "-Isrc -fsyntax-only %s"):format(each[1], each[2], path))
      assert.equal(0, status, err)
    end)
  end
end)
