-- What the front end of a restricted script does with paths outside of its folders: everything that
-- flow and its core have, though texts get at little of it. Run in that state by files_test.c;
-- `...`: a text of spec/lua/sandbox/walk.lua, and the folder of the test.
local walk, root = ...
local args = require "jfl.base.args"
local core = require "jfl.core"
local flow = require "jfl"

local function quiet() end
print, io.write = quiet, quiet                   -- luacheck: ignore

-- What the libraries of the state have left.
for _, name in ipairs { "io.open", "io.popen", "io.lines", "io.input", "io.output", "io.tmpfile",
  "os.remove", "os.rename", "os.execute", "os.tmpname", "package.loadlib", "package.path",
  "package.cpath", "package.searchpath", "debug.getregistry", "debug.sethook" } do
  local library, field = name:match("(.*)%.(.*)")
  assert(_G[library][field] == nil, name)
end
assert(loadfile == nil and dofile == nil and #package.loaders == 1)
assert(require("ffi").load == nil and require("ffi").C == nil and require("ffi").cdef == nil)
assert(not pcall(require, "nosuch.module"))

-- Names that do what has nothing to do with files: that wait, or end what is tried here.
local left = { sandbox = true, poll = true, sync = true, fd = true, clear_default_session = true,
  ["env.host"] = true, ["env.rank"] = true, ["env.size"] = true, ["env.machine"] = true,
  ["env.ctrl_port"] = true, ["config.threads"] = true, ["config.memory_limit"] = true,
  ["config.device"] = true, ["config.on_warning"] = true }

local listed, count = {}, 0
for path in pairs(require("jfl.doc.index").paths()) do
  if not path:find(":") and not left[path] then
    local names = {}
    local defined = args.defined[path] or { params = {} }
    for i, param in ipairs(defined.params) do names[i] = param[1] end
    listed[path] = #names > 0 and names or { "path", "x" }
    count = count + 1
  end
end
assert(count > 300, count)

local values = { root .. "/outside/a.npy", "../outside/new", "link/ck", root .. "/outside" }

-- All functions of the core, and what objects of flow do with paths.
local further = {}
for _, f in pairs(core) do
  if type(f) == "function" then further[#further + 1] = f end
end
assert(#further > 150, #further)
local function add(f) further[#further + 1] = f end
add(function(path) flow.train.CheckPoint():save(path) end)
add(function(path) flow.train.CheckPoint():save(path, { overwrite = true }) end)
add(function(path) flow.train.CheckPoint():load(path) end)
for _, name in ipairs { "save", "latest_checkpoint", "list_checkpoints",
  "initialize_or_restore" } do
  add(function(path)
    local manager = flow.train.SimpleCheckPointManager(path)
    manager[name](manager)
  end)
end
add(function(path)
  local writer = flow.summary.create_summary_writer(path)
  flow.summary.scalar(1, 1, "loss", { writer = writer })
end)
add(function(path) flow.profile(function() end, { trace = path }) end)
add(function(path) flow.plot({ { 1, 2, 3 } }, { svg = path }) end)
add(function(path) flow.plot({ 1, 2, 3 }, { svg = path .. ".svg" }) end)
add(function(path) flow.plot_matrix({ { 1, 2 }, { 3, 4 } }, { svg = path }) end)
add(function(path) flow.plot_images(flow.ndarray.ones({ 2, 4, 4 }), { svg = path }) end)
add(function(path) flow.data.save_image(path, flow.ndarray.ones({ 4, 4, 3 })) end)
add(function(path) flow.data.folder(path, { size = 4 }) end)
local refused = 0
for _, workers in ipairs { 0, 2 } do
  for _, first in ipairs { root .. "/outside/p.png", "link/p.png", "../outside/p.png" } do
    local data = flow.data.pictures({ first }, { size = 4 })
    local ok, why = pcall(function()
      flow.data.close_loop("train")
      flow.data.batches({ data }, { workers = workers })()
    end)
    assert(not ok and why:find("Permission denied: this script may", 1, true), why)
    refused = refused + 1
  end
end
assert(refused == 6)
add(function(path) flow.data.load_mnist(2, 2, { out_dir = path }) end)

return assert(loadstring(walk, "=walk"))(listed, values, further)
