-- examples/nginx-classify in an nginx of its own, which is no root's where that can be.
local helper = require "spec.hosts.helper"
local shell = require "spec.cmd.helper"

local FILES = { "batch.lua", "classify.lua", "load.lua", "network.lua", "train.lua" }

describe("the service in nginx #cpu", function()
  local missing = helper.missing("nginx", "/usr/lib/nginx/modules/ngx_http_lua_module.so")
  local place, port, server

  local function jfl(...) return shell.run(...) end

  -- Trains for so many batches of one epoch.
  local function train(batches)
    local out, err, status = jfl(place .. "/train.lua", place .. "/clothes", "1",
      tostring(batches))
    assert.equal(0, status, out .. err)
    return tonumber(out:match "epoch 1: ([%d.]+) %% right")
  end

  -- The words before nginx that make it another user's, who can read what it needs.
  local function as_nobody()
    local words = "setpriv --reuid=65534 --regid=65534 --clear-groups"
    os.execute(("chmod -R a+rwX %s"):format(place))
    local can = os.execute(("%s test -r %s/build/jfl.so 2>/dev/null"):format(words, helper.root))
    return can == 0 and words or nil
  end

  local function command(...)
    local resty = helper.file("/usr/share/lua/5.1/resty"):match "^(.*)/resty$"
    return { under = as_nobody(), env = { LUA_PATH = resty .. "/?.lua;;" }, "nginx", "-p", place,
      "-e", place .. "/error.log", "-c", place .. "/nginx.conf", ... }
  end

  local function health() return select(2, helper.ask(port, "GET", "/health")) or "" end

  local function start()
    server = helper.start(command("-g", "daemon off;"))
    assert(helper.wait(function() return health():find "ok" end), server:text()
      .. (helper.exists(place .. "/error.log") and helper.read(place .. "/error.log") or ""))
  end

  local function stop()
    server:signal "QUIT"
    assert.equal(0, (server:finish()))
    assert.is_true(server:is_gone())
  end

  before_each(function()
    if missing then return end
    place, port = helper.place(), helper.port()
    for _, name in ipairs(FILES) do
      helper.write(name, helper.read("examples/nginx-classify/" .. name))
    end
    local modules = helper.file("/usr/lib/nginx/modules/ndk_http_module.so"):match "^(.*/)"
    local conf = helper.read "examples/nginx-classify/nginx.conf"
    helper.write("nginx.conf", (conf:gsub("/usr/lib/nginx/modules/", modules)
      :gsub("127%.0%.0%.1:8080;", "127.0.0.1:" .. port .. ";")
      :gsub("worker_processes auto", "worker_processes 2")))
  end)

  after_each(helper.clean)

  local function test(name, fn)
    it(name, function()
      if missing then return pending(missing) end
      fn()
    end)
  end

  -- Writes the first pictures of the test set as an IDX list, and one of them as PNG and JPEG.
  -- Gives what the network says of all, and the bytes.
  local function pictures()
    local script = helper.write("pictures.lua", [[
      local flow = require "jfl"
      package.path = "@PLACE@/?.lua;" .. package.path
      local network = require "network"
      local _, test = flow.data.load_mnist(8, 8)
      local images = test.images[1]
      local bytes = (images * 255 + 0.5):astype "uint8"
      local file = io.open("@PLACE@/list", "wb")
      file:write("\0\0\8\3\0\0\0\8\0\0\0\28\0\0\0\28",
        require("ffi").string(bytes:pointer(), 8 * 784))
      file:close()
      local one = images[3]
      flow.data.save_image("@PLACE@/one.png", one)
      flow.data.save_image("@PLACE@/one.jpg", one, { quality = 100 })
      flow.data.save_image("@PLACE@/white.png", 1 - one)
      local ask = network.model:predict { inputs = { flow.float32 { 8, 1, 28, 28 } } }
      network.model:load("@PLACE@/clothes")
      local logits = ask(images)
      for i = 1, 8 do print(network.NAMES[logits[i]:argmax() + 1]) end
    ]])
    local out, err, status = jfl(script)
    assert.equal(0, status, out .. err)
    local labels = {}
    for label in out:gmatch "[^\n]+" do labels[#labels + 1] = label end
    table.remove(labels, 1)                      -- what load_mnist says
    local function read(name) return helper.read(place .. "/" .. name) end
    return labels, read "list", read "one.png", read "one.jpg", read "white.png"
  end

  test("tells what is on pictures of each kind, and what is no picture", function()
    assert.is_true(train(100) > 60)
    local labels, list, png, jpeg, white = pictures()
    start()
    for _, body in ipairs { png, jpeg, white } do
      local status, text = helper.ask(port, "POST", "/classify", body)
      assert.equal(200, status, text)
      assert.equal(labels[3], text:match '"label": "([^"]+)"')
    end
    local status, text = helper.ask(port, "POST", "/classify", list)
    local said = {}
    for label in text:gmatch '"label": "([^"]+)"' do said[#said + 1] = label end
    assert.equal(200, status)
    assert.same(labels, said)
    for _, case in ipairs {
      { 400, "", "the body must be a picture: PNG, JPEG or an IDX list" },
      { 400, "text", "neither a JPEG nor a PNG" },
      { 400, png:sub(1, 100), "PNG" },
      { 400, list:sub(1, 100), "an IDX list of 8 pictures must have 6288 bytes, got 100" },
      { 400, "\0\0\8\3\0\1\0\0" .. list:sub(9), "1 to 256 pictures of 28 by 28, got 65536 of 28" },
      { 415, "GIF89a", "must be PNG or JPEG" },
      { 413, ("x"):rep(2 ^ 20 + 1), "at most 1 MiB" },
    } do
      status, text = helper.ask(port, "POST", "/classify", case[2])
      assert.equal(case[1], status, text)
      assert.truthy(text:match('^{"error": "(.*)"}\n$'):find(case[3], 1, true), text)
    end
    assert.equal(405, (helper.ask(port, "GET", "/classify")))
    assert.equal(404, (helper.ask(port, "GET", "/nowhere")))
    stop()
  end)

  test("takes a new model at a reload, and loses no request", function()
    train(3)
    local _, list = pictures()
    helper.write("body", "\0\0\8\3\0\0\0\1" .. list:sub(9, 16 + 784))
    start()
    local before = health():match '"checksum": "(%x+)"'
    train(5)
    -- It is kept busy until the file is gone, so also during the reload.
    local busy = helper.write("busy", "")
    local load = helper.start { "sh", "-c", ("while [ -e busy ]; do %s/%s load.lua body 16 5 %d "
      .. "|| exit; done"):format(helper.root, shell.command(), port) }
    assert(helper.wait(function() return tonumber(health():match '"requests": (%d+)') > 100 end))
    local _, err, status = helper.run(command("-s", "reload"))
    assert.equal(0, status, err)
    assert(helper.wait(function() return health():match '"checksum": "(%x+)"' ~= before end))
    os.remove(busy)
    local code, out = load:finish()
    assert.equal(0, code, out)
    assert.truthy(out:find "; %d+ with 200; ", out)
    local text = health()
    assert.is_true(tonumber(text:match '"runs": (%d+)') < tonumber(text:match '"pictures": (%d+)'),
      "no two pictures were looked at together: " .. text)
    stop()
  end)

  test("keeps the old model where the new one cannot be read, and does not start so", function()
    train(1)
    start()
    local before = health()
    helper.write("clothes/model.safetensors", "no network")
    helper.run(command("-s", "reload"))
    assert(helper.wait(function()
      return helper.read(place .. "/error.log"):find "init_by_lua error: .*model.safetensors"
    end))
    assert.equal(before:match '"checksum": "(%x+)"', health():match '"checksum": "(%x+)"')
    stop()
    local _, err, status = helper.run(command("-g", "daemon off;"))
    assert.equal(1, status)
    assert.truthy(err:find "model.safetensors", err)
  end)
end)
