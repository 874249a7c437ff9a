--- What is done with files while each system call of it fails, is interrupted, does a part of its
-- work, or is the last one: faulty.lua does it. JFL_CUTS=1 tries every call, else a few are tried.
local helper = require "spec.lua.helper"

local FEW = 2

-- Runs faulty.lua with each call in turn; gives what it prints.
local function faulty(what)
  local folder = helper.directory()
  local most = os.getenv "JFL_CUTS" and 1e9 or FEW
  local pipe = io.popen(("ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=build/faults.so "
    .. "timeout 3000 '%s' spec/system/faulty.lua %s %s/files %d 2>&1"):format(helper.command(),
    what, folder, most))
  local text = pipe:read "*a"
  pipe:close()
  helper.remove(folder)
  return text
end

local function each(list)
  for what in list:gmatch "%S+" do
    it("holds for " .. what, function()
      local text = faulty(what)
      local tried, wrong = text:match("(%d+) faults, (%d+) wrong\n$")
      assert(tried and tonumber(tried) >= 6 and wrong == "0", text)
    end)
  end
end

describe("what is written with faults is the old one or the new one, and nothing is left over:",
  function() each "save first_save manager npy npz png plot graph" end)

-- Archives and single pictures are read by streams of C, which a signal ends.
describe("what is read with faults is whole, or the error says what was wrong:",
  function() each "load oneflow read_folder read_csv" end)
