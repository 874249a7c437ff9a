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
  function() each "save first_save manager npy npz png plot graph trace summary bundle" end)

-- Runs with each allocation failing, also those of libraries; prints how many failed.
local RUNS = [[
local ffi = require "ffi"
local flow = require "jfl"
ffi.cdef "void faults_begin(const char *, const char *, int, int, int); int faults_end(void);"
local tp, C = flow.typing, ffi.C
local job = flow.global_function { name = "job", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 4, 1, 28, 28 }) } },
  body = function(x)
    local y = flow.layers.conv2d(x, 32, { kernel_size = 5, name = "conv" })
    return flow.layers.dense(flow.flatten(y, { start_dim = 1 }), 10, { name = "out" })
  end }
local x = flow.ndarray.arange(4 * 28 * 28):reshape({ 4, 1, 28, 28 }) / 3000
local want = tostring(job(x):sum())
local failed, k, n = 0, 0
repeat
  k = k + 1
  C.faults_begin("/", "a", k, 1, 12)
  local ok, y = pcall(job, x)
  n = C.faults_end()
  if n < k then break end
  failed = failed + 1
  if ok then assert(tostring(y:sum()) == want) else assert(y:find "memory", y) end
until false
print(failed .. " failed")
]]

it("a run goes on, or says so, wherever memory fails #cpu", function()
  if helper.sanitized() then return pending("the sanitizer has its own operator new") end
  local out, status = helper.script(RUNS, "LD_PRELOAD=build/faults.so")
  assert.equal(0, status, out)
  assert(tonumber(out:match "(%d+) failed\n$") >= 3, out)
end)

describe("what is read with faults is whole, or the error says what was wrong:",
  function() each "load oneflow read_folder read_csv read_npy read_npz read_png read_bundle" end)
