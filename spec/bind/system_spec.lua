-- What the core says of paths, over all that a path may lead to.
local core = require "jfl.core"
local helper = require "spec.lua.helper"

describe("a path", function()
  local root

  setup(function()
    root = helper.directory()
    assert(os.execute(("cd %s && touch file && mkdir folder && ln -s file to_file && "
      .. "ln -s folder to_folder && ln -s to_file to_link && ln -s none to_nothing && "
      .. "ln -s loop loop && mkfifo pipe"):format(root)) == 0)
  end)
  teardown(function() helper.remove(root) end)

  -- Whether it is there, is a file, and is a directory.
  local KINDS = {
    file = { true, true, false }, folder = { true, false, true },
    to_file = { true, true, false }, to_link = { true, true, false },
    to_folder = { true, false, true }, ["folder/../to_file"] = { true, true, false },
    to_nothing = { false, false, false }, none = { false, false, false },
    ["none/file"] = { false, false, false }, ["file/none"] = { false, false, false },
    pipe = { true, false, false },
    loop = { true, false, false }, [("n"):rep(300)] = { true, false, false },
  }

  for path, want in pairs(KINDS) do
    it("is what it leads to: " .. path:sub(1, 20), function()
      local at = root .. "/" .. path
      assert.same(want, { core.is_there(at), core.is_file(at), core.is_directory(at) })
    end)
  end
end)
