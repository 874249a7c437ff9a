-- The manual of the C interface: each function has an example, and the examples run.
local command = require "spec.cmd.helper"
local header = require "scripts.doc.header"
local helper = require "spec.lua.helper"

-- Compiles a program and runs it in a folder of its own.
local RUN = [[
  here=$PWD folder=$(mktemp -d) || exit 1
  cc -std=c99 -Wall -Wextra -Wpedantic -Werror -Isrc -o $folder/it %s build/libjfl.so 2>&1 &&
    (cd $folder && LD_LIBRARY_PATH=$here/build ./it 2>&1)
  status=$?
  rm -r $folder
  exit $status]]

describe("the page of the C interface #cpu", function()
  it("shows each function in an example", function()
    local _, missing = header.shown(header.examples())
    assert.same({}, missing)
  end)

  if helper.sanitized() then
    pending("has programs that do what they say: these use the product without sanitizers")
    return
  end

  local seen = {}
  for _, example in ipairs(header.examples()) do
    if not seen[example.path] then
      seen[example.path] = true
      it("has a program in C99 that does what it says: " .. example.path, function()
        local out, _, status = command.shell(RUN:format(example.path))
        assert.equal(0, status, out)
      end)
    end
  end
end)
