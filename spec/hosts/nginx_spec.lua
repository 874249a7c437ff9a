-- jfl inside nginx with lua-nginx-module: loaded by the master before it forks workers or by each
-- worker, while requests come, through a reload, to a graceful end.
local helper = require "spec.hosts.helper"

local modules = "/usr/lib/nginx/modules/"

local top = [[
@USER@
daemon off;
worker_processes 2;
pid @PLACE@/nginx.pid;
error_log @PLACE@/error.log notice;
load_module @MODULES@/ndk_http_module.so;
load_module @MODULES@/ngx_http_lua_module.so;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path @PLACE@/body;
  proxy_temp_path @PLACE@/proxy;
  fastcgi_temp_path @PLACE@/fastcgi;
  uwsgi_temp_path @PLACE@/uwsgi;
  scgi_temp_path @PLACE@/scgi;
  lua_package_path "@ROOT@/?.lua;@RESTY@/?.lua;;";
  lua_package_cpath "@ROOT@/build/?.so;;";
]]

local conf = top .. [[
  init_by_lua_block {
    @INIT@
  }
  init_worker_by_lua_block {
    guest = guest or require("spec.hosts.guest").define()
    local function poll(is_ending)
      guest.poll(0.005)
      if not is_ending then assert(ngx.timer.at(0.001, poll)) end
    end
    assert(ngx.timer.at(0, poll))
    guest.submit(150)
  }
  server {
    listen 127.0.0.1:@PORT@;
    location /predict {
      content_by_lua_block {
        local value
        guest.ask(tonumber(ngx.var.arg_x), function(y) value = y end)
        -- A worker that is to end has no timers any more, so a request polls for itself.
        while not value do
          guest.poll(0.005)
          ngx.sleep(0.001)
        end
        ngx.say(value)
      }
    }
    location /state {
      content_by_lua_block { ngx.say(ngx.worker.pid(), " ", guest.delivered) }
    }
    location /keep {
      content_by_lua_block {
        guest.keep("@PLACE@/saved" .. ngx.worker.pid())
        ngx.say "kept"
      }
    }
  }
}
]]

-- One in which each request has a Lua state of its own, as while one writes it.
local uncached = top .. [[
  lua_code_cache off;
  server {
    listen 127.0.0.1:@PORT@;
    location /state { content_by_lua_block { ngx.say(ngx.worker.pid()) } }
    location /train {
      content_by_lua_block {
        local guest = require("spec.hosts.guest").define()
        guest.train(5)
        guest.submit(1)
        while guest.poll() == 0 do ngx.sleep(0.001) end
        ngx.say(guest.predict(1))
      }
    }
  }
}
]]

local function started(text, init)
  local port = helper.port()
  local is_root = io.popen("id -u"):read "*n" == 0
  local path = helper.write("nginx.conf", text, { PORT = tostring(port), INIT = init or "",
    USER = is_root and "user root;" or "", RESTY = helper.file "/usr/share/lua/5.1",
    MODULES = helper.file "/usr/lib/nginx/modules" })
  local nginx = helper.start { "nginx", "-e", helper.place() .. "/error.log", "-p",
    helper.place(), "-c", path }
  assert.is_true(helper.wait(function() return helper.ask(port, "GET", "/state") == 200 end),
    nginx:text())
  return nginx, port
end

-- The workers that answer, as a table of what each has delivered, until so many were seen.
local function workers(port, n)
  local seen, count = {}, 0
  helper.wait(function()
    local status, text = helper.ask(port, "GET", "/state")
    assert.equal(200, status, text)
    local pid, delivered = text:match "^(%d+) (%d+)"
    if not seen[pid] then count = count + 1 end
    seen[pid] = tonumber(delivered)
    return count >= n
  end)
  assert.equal(n, count)
  return seen
end

-- Waits until each worker has run all of its callbacks.
local function all_delivered(port, n)
  return helper.wait(function()
    for _, delivered in pairs(workers(port, n)) do
      if delivered < 150 then return false end
    end
    return true
  end)
end

-- Asks from several clients at once while `during` runs; gives how many answers are sines of 1.2,
-- or numbers at all where the new workers are learning still.
local function asked(port, clients, each, tolerance, during)
  local script = helper.write("client.sh", ([[
    for i in $(seq %d); do
      exec 3<>/dev/tcp/127.0.0.1/%d
      printf 'GET /predict?x=1.2 HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3
      cat <&3 | tr '\n' ' '
      echo
    done]]):format(each, port))
  local all = {}
  for i = 1, clients do all[i] = helper.start { "bash", script } end
  if during then during() end
  local good = 0
  for _, client in ipairs(all) do
    local status, text = client:finish()
    assert.equal(0, status, text)
    for line in text:gmatch "[^\n]+" do
      local value = tonumber(line:match "^HTTP/1.1 200 .-\r %s*([%d.e-]+) *$")
      assert(value and math.abs(value - math.sin(1.2)) < tolerance, line)
      good = good + 1
    end
  end
  return good
end

-- Ends it gracefully; it is to say nothing but what is expected, and to log no error.
local function ended(nginx, said)
  nginx:signal "QUIT"
  local status, text = nginx:finish()
  assert.equal(0, status, text)
  assert.truthy(text:find("^" .. (said or "") .. "$"), text)
  assert.is_true(nginx:is_gone())
  local log = helper.read(helper.place() .. "/error.log")
  for line in log:gmatch "[^\n]+" do
    assert.truthy(line:find "%[notice%]" or line:find("lua_code_cache is off", 1, true), line)
  end
  return log
end

describe("nginx #cpu #hosts", function()
  after_each(helper.clean)

  local ways = {
    { by = "the master before it forks", tolerance = 0.3, init = [[
      guest = require("spec.hosts.guest").define()
      local first, last = guest.train(200)
      assert(last < first / 4)
      guest.predict(1)
    ]] },
    { by = "each worker", tolerance = 3 },
  }
  for _, way in ipairs(ways) do
    it("trains and answers in 2 workers, loaded by " .. way.by, function()
      local missing = helper.missing("nginx", modules .. "ngx_http_lua_module.so")
      if missing then return pending(missing) end
      local nginx, port = started(conf, way.init)
      local old = workers(port, 2)
      assert.is_true(all_delivered(port, 2))
      assert.equal(60, asked(port, 3, 20, 0.3))
      local status, text = helper.ask(port, "GET", "/keep")
      assert.equal("kept\n", text)
      assert.equal(200, status)
      -- Reloaded while requests come: those end in the old workers.
      assert.equal(400, asked(port, 4, 100, way.tolerance, function()
        nginx:signal "HUP"
      end))
      assert.is_true(helper.wait(function()
        for pid in pairs(workers(port, 2)) do
          if old[pid] then return false end
        end
        return true
      end))
      local log = ended(nginx)
      assert.truthy(log:find("reconfiguring", 1, true))
      helper.row("nginx, lua-nginx-module " .. helper.version "libnginx-mod-http-lua",
        helper.version "nginx", "loaded by " .. way.by .. ": 150 steps in each of 2 workers,"
          .. " callbacks by timers, 460 requests and a reload, saved and loaded, graceful end")
    end)
  end

  it("opens and closes a state for each request, in flat memory", function()
    local missing = helper.missing("nginx", modules .. "ngx_http_lua_module.so")
    if missing then return pending(missing) end
    local nginx, port = started(uncached:gsub("worker_processes 2", "worker_processes 1"))
    local _, pid = helper.ask(port, "GET", "/state")
    local function train(n)
      for _ = 1, n do
        local status, text = helper.ask(port, "GET", "/train")
        assert.equal(200, status, text)
        assert.is_number(tonumber(text))
      end
      return helper.usage(tonumber(pid))
    end
    local before, after = train(10), train(helper.thorough and 100 or 20)
    assert.equal(before.threads, after.threads)
    assert.equal(before.fds, after.fds)
    assert.truthy(after.rss < before.rss + 2000, before.rss .. " kB, then " .. after.rss)
    ended(nginx, "nginx: %[alert%] lua_code_cache is off[^\n]*\n")
  end)
end)
