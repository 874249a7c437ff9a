-- Every function of jfl.core as scripts reach it, with values of each kind at each place: errors,
-- but never a crash, and the core does its work afterwards. spec/bind/core_fuzz.lua makes the
-- calls, in processes of their own. JFL_FUZZ sets how many calls of each are random, JFL_FUZZ_SEED
-- the first.
local draws = require "spec.draws"
local helper = require "spec.lua.helper"

local COUNT, SEED = draws.trials(10), draws.seed()
local EACH = 30                  -- functions of a process

-- A call may ask for any size; less memory makes that an error instead of a slow success.
local LIMITS = helper.sanitized()
  and "export ASAN_OPTIONS=$ASAN_OPTIONS:allocator_may_return_null=1:max_allocation_size_mb=1000; "
  or "export JFL_LIBRARIES=all; ulimit -v 6000000; "

local function interpreter()
  local first = 0
  while arg[first - 1] do first = first - 1 end
  return arg[first]:find "/" and arg[first]:gsub("^([^/])", os.getenv "PWD" .. "/%1") or arg[first]
end

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

describe("jfl.core", function()
  local scratch

  setup(function() scratch = helper.directory() end)
  teardown(function() helper.remove(scratch) end)

  --- What core_fuzz.lua prints and writes on stderr, and its exit status.
  local function fuzz(...)
    local words = { quoted(interpreter()), quoted(os.getenv "PWD" .. "/spec/bind/core_fuzz.lua") }
    for i = 1, select("#", ...) do words[#words + 1] = quoted(tostring((select(i, ...)))) end
    local pipe = io.popen(("cd %s; rm -rf own; mkdir own; cd own; %stimeout 1800 %s 2>../log; "
      .. "echo =$?"):format(scratch, LIMITS, table.concat(words, " ")))
    local out = pipe:read "*a"
    pipe:close()
    local log = assert(io.open(scratch .. "/log")):read "*a"
    return out:match "^(.*)=%d+\n$", tonumber(out:match "=(%d+)\n$"), log
  end

  local names = {}

  it("has an example of a call for each function", function()
    local list = fuzz(SEED, 0)
    assert.is_nil(list:match "([^\n]*)\tno example")
    for name in list:gmatch "([^\n]*)\t\n" do names[#names + 1] = name end
    assert.is_true(#names > 150)
  end)

  it("refuses what makes no sense at any place of any call", function()
    for first = 1, #names, EACH do
      local last = math.min(first + EACH - 1, #names)
      local out, status, log = fuzz(SEED, COUNT, unpack(names, first, last))
      local at = log:match "([^\n]*)\n$" or ""
      local report = log:match "ERROR: [^\n]*" or log:match "[^\n]*runtime error[^\n]*" or ""
      local fine = status == 0 and out:find "fine\n$"
      assert.is_truthy(fine, ("%s: status %s %s"):format(at, status, report))
    end
  end)
end)
