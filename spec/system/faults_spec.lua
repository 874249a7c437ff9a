--- What is done with files while each system call of it fails, is interrupted, does a part of its
-- work, or is the last one: faulty.lua does it. JFL_CUTS=1 tries every call, else a few are tried.
local helper = require "spec.lua.helper"

local args = require "jfl.base.args"
local index = require "jfl.doc.index"
require "jfl"

local FEW = 2

-- Functions that take paths: what of faulty.lua writes by them, or that they read.
local TAKE_PATHS = {
  ["checkpoint.get"] = "reads", ["checkpoint.notes"] = "reads", ["data.csv"] = "reads",
  ["data.folder"] = "reads", ["data.image_folder"] = "reads", ["data.load_image"] = "reads",
  ["data.load_mnist"] = "reads", ["data.load_sound"] = "reads", ["data.pictures"] = "reads",
  ["data.sound_folder"] = "reads", ["data.sounds"] = "reads", ["gguf.read"] = "reads",
  ["models.load"] = "reads", ["ndarray.load"] = "reads", ["onnx.check"] = "reads",
  ["onnx.load"] = "reads", ["text.tokenizer"] = "reads", ["text.train"] = "reads",
  ["train.CheckPoint:load"] = "reads",
  ["checkpoint.save"] = "save", ["train.CheckPoint:save"] = "save", fit = "fit",
  ["train.SimpleCheckPointManager"] = "manager", ["data.save_image"] = "png",
  ["data.save_sound"] = "wav", ["gguf.save"] = "gguf", ["onnx.export"] = "onnx", plot = "plot",
  plot_graph = "graph", plot_images = "images", plot_matrix = "matrix", profile = "trace",
  ["summary.create_summary_writer"] = "summary", ["Tokenizer:save"] = "tokenizer",
  ["ndarray.save"] = "npy",
}
-- What opens files to write them: archive.lua for all; an event file, which grows, copies of files
-- in a bundle, and a look whether a trace can be written.
local OPENS = { ["data/archive.lua"] = true, ["tools/summary.lua"] = true,
  ["tools/bundled.lua"] = true, ["tools/profile.lua"] = true }

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
  function()
    local all, seen = "first_save bundle npz onnx_outside model", {}
    for _, how in pairs(TAKE_PATHS) do
      if how ~= "reads" and not seen[how] then all, seen[how] = all .. " " .. how, true end
    end
    each(all)
  end)

it("every function that takes a path is known here", function()
  index.paths()
  local known = {}
  for path, f in pairs(args.defined) do
    for _, param in ipairs(f.params) do
      local name = param[1]
      if name:find "path" or name:find "^file" or name:find "director" and name ~= "bidirectional"
        or name:find "dir$" or name == "svg" or name == "trace" or name == "folder" then
        assert(TAKE_PATHS[path], path .. " takes a path: does it read or write what is there?")
        known[path] = true
      end
    end
  end
  for path in pairs(TAKE_PATHS) do
    assert(known[path] or path == "Tokenizer:save" or path == "ndarray.save", path)
  end
end)

-- One place opens files to write them, so that each is the old one or the new one.
it("nothing in the front end opens files to write them but archive.replace", function()
  local pipe = io.popen([[grep -rnE 'output_open|file_make|file_write|io\.open\([^)]*, ?"[wa+]' ]]
    .. "lua/jfl --include=*.lua | grep -v lua/jfl/doc/")
  local lines = pipe:read "*a"
  pipe:close()
  local seen = 0
  for line in lines:gmatch "[^\n]+" do
    seen = seen + 1
    local file = line:match "^lua/jfl/([^:]*)"
    assert(OPENS[file], line)
  end
  assert(seen >= 4, lines)
end)

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
