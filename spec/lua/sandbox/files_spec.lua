--- A box's folders hold, whichever of its functions is given which path: nothing outside of them is
-- opened, made or changed.
local flow = require "jfl"           -- in a stock LuaJIT it brings the modules that follow
local allowed = require "jfl.sandbox.allowed"
local args = require "jfl.base.args"
local ffi = require "ffi"
local index = require "jfl.doc.index"

-- Those that open what a path names, and how texts call them.
local OPENS = {
  "flow.ndarray.load(%s)", "flow.ndarray.load({ path = %s })",
  "flow.ndarray.load(nil, { path = %s })", "flow.data.csv(%s)", "flow.data.csv(nil, { path = %s })",
  "flow.data.load_image(%s)", "flow.data.load_image(nil, { path = %s })", "flow.checkpoint.get(%s)",
  "flow.checkpoint.get(nil, { path = %s })", "flow.checkpoint.load(%s)",
  "flow.checkpoint.load(nil, { path = %s })", "flow.data.load_sound(%s)", "flow.onnx.load(%s)",
  "flow.onnx.check({ path = %s })", "flow.models.load(%s)", "flow.text.tokenizer(%s)",
  "flow.text.tokenizer(%s .. '/tokenizer.json')", "flow.text.train({ files = { %s }, size = 256 })",
}
local MAKES = {
  "flow.ndarray.save(%s, flow.ndarray.ones({ 2 }))",
  "flow.ndarray.save(nil, { path = %s, value = flow.ndarray.ones({ 2 }) })",
  "flow.ndarray.save({ path = %s, value = { a = flow.ndarray.ones({ 2 }) } })",
  "flow.checkpoint.save(%s)", "flow.checkpoint.save(nil, { path = %s })",
  "flow.checkpoint.save(%s, { async = true }):wait()",
  "flow.checkpoint.save(%s, { a = flow.ndarray.ones({ 2 }) }, true)",
  "flow.checkpoint.save(nil, { path = %s, var_dict = { a = flow.ndarray.ones({ 2 }) } })",
  "flow.onnx.export(flow.global_function { name = 'same', returns = flow.typing.Numpy, "
    .. "inputs = { { 'x', flow.typing.Numpy.Placeholder({ 1 }) } }, "
    .. "body = function(x) return x end }, %s)",
  "flow.data.save_sound(%s, flow.ndarray.zeros({ 10 }), 8000)",
  "flow.text.train({ texts = { 'a' }, size = 256 }):save(%s)",
}

local root

local function shell(text, ...)
  assert.equal(0, os.execute(("cd '%s' && "):format(root) .. text:format(...)))
end

local function output(text)
  local pipe = io.popen(("cd '%s' && %s"):format(root, text))
  local got = pipe:read("*a")
  pipe:close()
  return got
end

-- What is outside, and what may only be read: names, sizes and when they changed.
local function outside() return output "find outside in -printf '%p %y %i %T@ %C@ %s\n' | sort" end

-- inotify tells of each file and folder that is opened, also of one that is only read. Others than
-- Linux have no such thing here: there contents alone are compared.
local watched
local function watch()
  if ffi.os ~= "Linux" then return end
  if not watched then
    ffi.cdef [[
      int inotify_init1(int flags);
      int inotify_add_watch(int fd, const char *path, unsigned mask);
      long read(int fd, void *to, size_t n);
      int close(int fd);
    ]]
  end
  watched = ffi.C.inotify_init1(0x800)                     -- IN_NONBLOCK
  assert(watched >= 0)
  for path in output("find outside"):gmatch("[^\n]+") do
    assert(ffi.C.inotify_add_watch(watched, root .. "/" .. path, 0xfff) >= 0)
  end
end

-- How many bytes of events came since watch().
local function seen()
  if ffi.os ~= "Linux" then return 0 end
  local n = tonumber(ffi.C.read(watched, ffi.new("char[4096]"), 4096))
  ffi.C.close(watched)
  return math.max(n, 0)
end

local function untouched(what, fn)
  local before = outside()
  watch()
  fn()
  assert.equal(0, seen(), what)
  assert.equal(before, outside(), what)
end

local function box_of(options)
  options = options or { read = root .. "/in", write = root .. "/out" }
  options.seconds = 1000
  return flow.sandbox(options)
end

-- The message with which a call fails.
local function refusal(box, call, path)
  local text = "local flow = require 'jfl' return " .. call:format(("%q"):format(path))
  local ok, message = pcall(box.run, box, text)
  assert.is_false(ok, call .. " got " .. path)
  return message
end

-- Paths that lead to what is outside, from in and from out.
local function paths_out()
  local list = {}
  for _, name in ipairs { "a.npy", "t.csv", "p.png", "ck", "ck/model.safetensors", "tree", "new",
    "new/deeper" } do
    for _, start in ipairs { root .. "/outside/", "../outside/", "deep/../../outside/", "link/",
      "./link//", "deep/link/", "//" .. root .. "/outside/", "/proc/self/root" .. root
      .. "/outside/" } do
      list[#list + 1] = start .. name
      list[#list + 1] = start .. name .. "/"
    end
    list[#list + 1] = "to-" .. name
  end
  for _, path in ipairs { "/", "..", "../", "", "link", "link/", "/proc/self/fd/1",
    "/dev/stdin", "/dev/zero", "/etc/passwd", "pipe", "a.npy\0x", "../outside/a.npy\0x" } do
    list[#list + 1] = path
  end
  return list
end

describe("a box's folders", function()
  setup(function()
    local pipe = io.popen("mktemp -d ${TMPDIR:-/tmp}/jfl-test-XXXXXX")
    root = pipe:read("*l")
    pipe:close()
    shell "mkdir in out outside in/deep out/deep outside/tree outside/tree/v"
    flow.ndarray.save(root .. "/outside/a.npy", flow.ndarray.ones({ 2 }))
    flow.data.save_image(root .. "/outside/p.png", flow.ndarray.zeros({ 4, 4, 3 }))
    flow.checkpoint.save(root .. "/outside/ck", { a = flow.ndarray.ones({ 2 }) })
    shell "printf 'x,y\n1,2\n' >outside/t.csv; printf 12345678 >outside/tree/v/out"
    shell "cp -r outside/* in/deep; cp -r outside/* in"
    for _, folder in ipairs { "in", "out" } do
      shell("mkfifo %s/pipe; ln -s ../outside %s/link; ln -s ../../outside %s/deep/link", folder,
        folder, folder)
      for _, name in ipairs { "a.npy", "t.csv", "p.png", "ck", "tree", "new" } do
        shell("ln -s ../outside/%s %s/to-%s", name, folder, name)
      end
    end
  end)
  teardown(function() os.execute("rm -rf " .. root) end)

  it("hold for every function that opens a path, and every path", function()
    local box = box_of()
    untouched("all", function()
      for _, path in ipairs(paths_out()) do
        for _, call in ipairs(OPENS) do refusal(box, call, path) end
        for _, call in ipairs(MAKES) do refusal(box, call, path) end
      end
    end)
    assert.equal("", output "find in out -newer outside/tree/v/out -name '*new*' -type f")
  end)

  it("hold for every function, each of its arguments and options", function()
    local file = io.open("spec/lua/sandbox/walk.lua")
    local text, listed, box = file:read("*a"), {}, box_of()
    file:close()
    index.paths()
    for path in pairs(allowed.paths) do
      local names = {}
      for i, param in ipairs((args.defined[path] or { params = {} }).params) do
        names[i] = param[1]
      end
      listed[path] = #names > 0 and names or { "path", "x" }
    end
    untouched("all", function()
      local calls = box:run(text, "walk", listed, { root .. "/outside/a.npy", "../outside/new",
        "link/ck", "to-new" })
      assert(calls > 10000, calls)
    end)
  end)

  it("are asked in the same way of what is there and what is not", function()
    local box = box_of()
    for _, call in ipairs { OPENS[1], OPENS[4], OPENS[6], OPENS[8], MAKES[1], MAKES[5] } do
      for _, start in ipairs { root .. "/outside/", "../outside/", "link/" } do
        local there = refusal(box, call, start .. "a.npy")
        local none = refusal(box, call, start .. "b.npy")
        assert.equal(none, (there:gsub("a%.npy", "b.npy")))
      end
    end
  end)

  it("say what the script may open", function()
    for _, case in ipairs {
      { { read = root .. "/in", write = root .. "/out" }, "may read and write files below its "
        .. "folders alone, by paths without '..' and links" },
      { { read = root .. "/in" }, "may read files below its folder alone" },
      { { write = root .. "/out" }, "may write files below its folder alone" },
      { {}, "this script may open no file" },
    } do
      local box = box_of(case[1])
      for _, call in ipairs { OPENS[1], OPENS[4], OPENS[6], OPENS[8], MAKES[1], MAKES[4] } do
        assert.matches(case[2], refusal(box, call, "/etc/passwd"), 1, true)
      end
    end
  end)

  it("are none where none is given", function()
    for _, options in ipairs { {}, { write = root .. "/out" } } do
      local box = box_of(options)
      for _, call in ipairs(OPENS) do refusal(box, call, "a.npy") end
    end
    for _, options in ipairs { {}, { read = root .. "/in" } } do
      local box = box_of(options)
      for _, call in ipairs(MAKES) do refusal(box, call, "made") end
    end
    assert.equal("", output "find in out -name 'made*'")
  end)

  it("are not asked where a function of the host opens files", function()
    local box = box_of {}
    box:set("size", function(path) return flow.ndarray.load(path).size end)
    assert.equal(2, box:run("return size(...)", "text", root .. "/outside/a.npy"))
    refusal(box, OPENS[1], root .. "/outside/a.npy")
    assert.equal(2, flow.ndarray.load(root .. "/outside/a.npy").size)
  end)

  it("are one to read and one to write", function()
    local box = box_of()
    box:run [[local flow = require "jfl"
      flow.ndarray.save("mine.npy", flow.ndarray.ones({ 2 }))]]
    assert.matches("No such file", refusal(box, OPENS[1], "mine.npy"), 1, true)
    assert.equal(2, flow.ndarray.load(root .. "/out/mine.npy").size)
  end)

  it("are the folders that they were when the box was made", function()
    shell "mkdir once once/in once/out; cp -r in/a.npy in/ck once/in; cp -r outside once/outside"
    local box = box_of { read = root .. "/once/in", write = root .. "/once/out" }
    shell "cd once; mv in in.old; ln -s outside in; mv out out.old; ln -s outside out"
    shell "printf garbage >once/outside/a.npy"
    local before = output "find once/outside -printf '%p %T@ %s\n' | sort"
    assert.same({ 2, 2 }, { box:run [[
      local flow = require "jfl"
      flow.ndarray.save("b.npy", flow.ndarray.zeros({ 2 }))
      flow.checkpoint.save("ck", { a = flow.ndarray.zeros({ 2 }) }, true)
      return flow.ndarray.load("a.npy"):sum(), flow.checkpoint.get("ck").a:sum() ]] })
    assert.equal(before, output "find once/outside -printf '%p %T@ %s\n' | sort")
    assert.equal(0, flow.ndarray.load(root .. "/once/out.old/b.npy"):sum())
    assert.equal(0, flow.checkpoint.get(root .. "/once/out.old/ck").a:sum())
  end)

  it("hold while a part of a path becomes a link", function()
    shell "mkdir -p swap/in/part swap/out/part; cp in/a.npy swap/in/part"
    local box = box_of { read = root .. "/swap/in", write = root .. "/swap/out" }
    local call = [[local flow = require "jfl"
      flow.ndarray.save("part/s.npy", flow.ndarray.zeros({ 2 }))
      flow.checkpoint.save("part/ck", { a = flow.ndarray.zeros({ 2 }) }, true)
      return flow.ndarray.load("part/a.npy"):sum()]]
    assert.equal(2, box:run(call))
    untouched("swapped", function()
      for _, folder in ipairs { "in", "out" } do
        shell("mv swap/%s/part swap/%s/old; ln -s ../../outside swap/%s/part", folder, folder,
          folder)
        assert.is_false((pcall(box.run, box, call)))
      end
      refusal(box, OPENS[1], "part/a.npy")
    end)
  end)

  it("may be one, or one within the other", function()
    shell "mkdir -p one/within"
    local box = box_of { read = root .. "/one", write = root .. "/one" }
    assert.equal(3, box:run [[local flow = require "jfl"
      flow.ndarray.save("a.npy", flow.ndarray.ones({ 3 }))
      flow.checkpoint.save("deep/ck", { a = flow.ndarray.load("a.npy") })
      flow.checkpoint.save("deep/ck", { a = flow.ndarray.load("a.npy") }, true)
      return flow.checkpoint.get("deep//./ck/").a:sum()]])
    box = box_of { read = root .. "/one", write = root .. "/one/within" }
    assert.equal(2, box:run [[local flow = require "jfl"
      flow.ndarray.save("b.npy", flow.ndarray.ones({ 2 }))
      return flow.ndarray.load("within/b.npy"):sum()]])
    assert.equal("one/a.npy\none/within/b.npy\n", output "find one -name '*.npy' | sort")
  end)

  it("serve checkpoints as they are served elsewhere", function()
    shell "mkdir ckpt"
    local box = box_of { read = root .. "/ckpt", write = root .. "/ckpt" }
    local function run(text) return pcall(box.run, box, "local flow = require 'jfl' " .. text) end
    local save = "flow.checkpoint.save(%q, { a = flow.ndarray.ones({ %d }) }, %s)"
    assert(run(save:format("name", 2, "false")))
    local ok, message = run(save:format("name", 3, "false"))
    assert.is_false(ok)
    assert.matches("exists and is not empty", message, 1, true)
    assert(run(save:format("name", 3, "true")))
    assert.same({ true, 3 }, { run "return flow.checkpoint.get('name').a:sum()" })
    assert.same({ true, 3 }, { run "return flow.checkpoint.get('name/model.safetensors').a:sum()" })
    shell "rm -r ckpt/name"
    assert(run(save:format(".", 2, "false")))
    assert.same({ true, 2 }, { run "return flow.checkpoint.get('.').a:sum()" })
    shell "cp -r outside/tree ckpt"
    assert.same({ true, 2 }, { run "return flow.checkpoint.get('tree').v.size" })
    shell "cd ckpt; ln -s ../../../outside/tree/v tree/w"
    assert.is_nil(box:run "return require('jfl').checkpoint.get('tree').w")
    shell "cd ckpt; mkdir tree/x; ln -s ../../../outside/a.npy tree/x/out"
    assert.is_false((run "return flow.checkpoint.get('tree').v.size"))
    assert.equal("", output "find ckpt -name '*.saving' -o -name '*.part'")
  end)
end)
