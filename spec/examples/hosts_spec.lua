-- Programs that have jfl inside: in C with and without Lua, a server.
local helper = require "spec.cmd.helper"

local function exists(path)
  local file = io.open(path)
  return file ~= nil and file:close()
end

local root = os.getenv("PWD")

-- #cpu: they are about hosts, not about devices.
describe("a program with jfl inside #cpu", function()
  local place

  before_each(function()
    place = os.tmpname()
    os.remove(place)
    assert(os.execute("mkdir " .. place) == 0)
  end)

  after_each(function()
    helper.clean()
    os.execute("rm -rf " .. place)
  end)

  -- Compiles an example without a warning, and runs it in the new folder.
  local function compiled(name, flags, arguments)
    local out, err, status = helper.shell(("cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic "
      .. "-Werror examples/%s.c %s -o %s/program && cd %s && ./program %s"):format(name, flags,
      place, place, arguments or ""))
    assert.equal(0, status, out .. err)
    return out
  end

  it("is in C without Lua: it learns, answers and saves", function()
    if not exists("build/libjfl.a") then return pending("needs build/libjfl.a: run make") end
    local out = compiled("embed", "-Isrc build/libjfl.a -l:libz.a -ldl -lm -pthread")
    assert.truthy(out:find("step 2000: loss 0.000"), out)
    assert.truthy(out:find("sin%(0.810%) is about 0.7[12]"), out)
    assert.truthy(exists(place .. "/sine/model.safetensors"))
  end)

  it("is in C with jobs in a Lua text: it trains between frames, asks and saves", function()
    if not exists("build/libjfl.so") then return pending("needs build/libjfl.so: run make") end
    local out = compiled("embed_script", ("-Isrc %s/build/libjfl.so -lm -Wl,-rpath,%s/build")
      :format(root, root), root .. "/examples")
    assert.truthy(out:find("%d+ steps, loss 0.000%d, between %d+ frames"), out)
    assert.truthy(out:find("sin%(0.5%) is about 0.4[5-9]") or out:find("about 0.50"), out)
    assert.truthy(exists(place .. "/brain/model.safetensors"))
  end)

  it("is in C with Lua: it trains between frames and ends", function()
    if not exists("build/jfl.so") then return pending("needs build/jfl.so: run make") end
    local out = compiled("host", "-I/usr/include/luajit-2.1 -lluajit-5.1",
      ("%s/build %s/examples"):format(root, root))
    assert.truthy(out:find("host: 2000 steps, loss 0.0%d+, %d+ frames"), out)
  end)

  it("tells what went wrong in Lua, and closes it", function()
    if not exists("build/jfl.so") then return pending("needs build/jfl.so: run make") end
    local _, err, status = helper.shell(("cc -D_GNU_SOURCE examples/host.c "
      .. "-I/usr/include/luajit-2.1 -lluajit-5.1 -o %s/program && %s/program /nowhere %s/examples")
      :format(place, place, root))
    assert.equal(1, status)
    assert.truthy(err:find("host: .*module 'jfl' not found"), err)
  end)

  -- A checkpoint for the server, a picture, and the name of what is seen on it.
  local function prepare()
    local script = helper.file([[
      local flow = require "jfl"
      local tp, nd = flow.typing, flow.ndarray
      local place = ...
      flow.random.seed(3)
      local job = flow.global_function { name = "job", returns = tp.Numpy,
        inputs = { { "x", tp.Numpy.Placeholder({ 1, 784 }) } },
        body = function(x)
          x = flow.layers.dense(x, 128, { activation = flow.nn.relu, name = "hidden" })
          return flow.layers.dense(x, 10, { name = "output" })
        end }
      local picture = (nd.rand { 1, 784 } * 255):astype("uint8")
      local file = io.open(place .. "/picture", "wb")
      file:write(require("ffi").string(picture:pointer(), 784))
      file:close()
      print(job(picture:astype("float32") / 255)[1]:argmax())
      flow.train.CheckPoint():save(place .. "/clothes")
    ]])
    local out, err, status = helper.shell(helper.line(script, place))
    assert.equal(0, status, out .. err)
    local names = { "T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker",
      "bag", "boot" }
    return names[tonumber(out) + 1]
  end

  -- Runs the server and what the shell says of it: ask METHOD PATH FILE gives an answer.
  local function served(commands)
    local script = ([[
      cat >PLACE/client <<'END'
cd PLACE
server=$1
port() { sed -n 's/listening on .*://p' PLACE/out; }
ask() {
  exec 3<>/dev/tcp/127.0.0.1/$(port)
  { printf '%s %s HTTP/1.1\r\nContent-Length: %d\r\n\r\n' $1 $2 $(wc -c <$3); cat $3; } >&3
  cat <&3 | sed -n '1p; $p'; echo
}
while [ -z "$(port)" ] && kill -0 $server 2>/dev/null; do sleep 0.05; done
COMMANDS
END
      SERVER 0 PLACE/clothes >PLACE/out 2>PLACE/err &
      server=$!
      timeout 1800 bash PLACE/client $server
      kill -TERM $server 2>/dev/null
      wait $server
      echo "ended with $?"
      cat PLACE/err]]):gsub("%u%u%u+", { PLACE = place, COMMANDS = commands,
        SERVER = helper.line(root .. "/examples/server.lua") })
    return helper.shell(script)
  end

  it("is a server: it answers alone, in batches, and what is wrong", function()
    local name = prepare()
    local out, err, status = served(([[
      ask POST /predict picture
      echo x >short
      ask POST /predict short
      ask GET /nowhere short
      clients=
      for i in $(seq 30); do ask POST /predict picture >many.$i & clients="$clients $!"; done
      wait $clients
      cat many.* | grep -c '"label": "NAME"'
    ]]):gsub("NAME", name))
    assert.equal(0, status, out .. err)
    assert.truthy(out:find("HTTP/1.1 200 OK\r\n{\"label\": \"" .. name .. "\", "), out)
    assert.truthy(out:find('400 Bad Request%s+{"error": "POST the 784 bytes'), out)
    assert.truthy(out:find('404 Not Found%s+{"error": "there is /predict alone"}'), out)
    assert.truthy(out:find("\n30\n", 1, true), out)
    assert.truthy(out:find("ended with 0\n", 1, true), out)
  end)

  it("is a server: it loads its checkpoint again, and keeps the old one if that fails", function()
    local name = prepare()
    local out = served([[
      kill -HUP $server
      ask POST /predict picture
      mv clothes gone
      kill -HUP $server
      ask POST /predict picture
    ]])
    assert.equal(2, select(2, out:gsub('"label": "' .. name, "")), out)
    assert.equal(2, select(2, out:gsub("server: loaded", "")), out)
    assert.equal(1, select(2, out:gsub("server: [^\n]*clothes: no such directory", "")), out)
    assert.truthy(out:find("ended with 0\n", 1, true), out)
  end)

  it("is a server: it does not start without its checkpoint", function()
    local _, err, status = helper.shell(helper.line(root .. "/examples/server.lua", "0",
      place .. "/nothing"))
    assert.equal(1, status)
    assert.truthy(err:find("server: .*nothing"), err)
  end)
end)
