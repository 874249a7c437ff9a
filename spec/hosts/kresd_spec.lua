-- jfl inside Knot Resolver: it learns from the queries that come, in the resolver's event loop.
local helper = require "spec.hosts.helper"

-- Each query is a step of training. What is due is delivered when the descriptor is readable.
local config = [[
package.path = "@ROOT@/?.lua;" .. package.path
package.cpath = "@ROOT@/build/?.so;" .. package.cpath
net.listen("127.0.0.1", @PORT@)
cache.size = 1 * MB
for _, name in ipairs { "ta_update", "priming", "detect_time_skew", "detect_time_jump" } do
  modules.unload(name)
end

local guest = require("spec.hosts.guest").define()
local first, last = guest.train(150)
assert(last < first / 4)
event.socket(guest.fd(), function() guest.poll(0.002) end)
guest.submit(150)

local queries, answers = 0, 0
policy.add(function()
  queries = queries + 1
  guest.submit(1)
  guest.ask(1.2, function(y)
    answers = answers + 1
    assert(math.abs(y - math.sin(1.2)) < 0.3)
  end)
  return policy.DENY
end)

event.recurrent(10, function()
  if queries < 20 or answers < queries or guest.delivered < 150 + queries then return end
  guest.keep("saved")
  print(queries .. " queries, " .. guest.delivered .. " steps")
  quit()
end)
]]

-- Sends queries for the A records of example., each from a port of its own, and prints in hex the
-- flags of the answers, or why there was none.
local client = [[
  for i in $(seq 20); do
    exec 3<>/dev/udp/127.0.0.1/@PORT@
    printf '\022\064\001\000\000\001\000\000\000\000\000\000\007example\000\000\001\000\001' >&3
    timeout 1800 dd bs=512 count=1 <&3 2>/dev/null | od -An -tx1 -j2 -N2
  done]]

describe("kresd #cpu #hosts", function()
  after_each(helper.clean)

  it("learns from the queries that it answers, and ends", function()
    local under, why = helper.installed()
    local missing = helper.missing "kresd" or why
    if missing then return pending(missing) end
    local port = tostring(helper.port())
    local path = helper.write("kresd.conf", config, { PORT = port })
    local kresd = helper.start { "/usr/sbin/kresd", "-n", "-c", path, helper.place(),
      under = under }
    assert.is_true(helper.wait(function()
      return helper.read("/proc/net/udp"):find((":%04X"):format(port)) or not kresd:runs()
    end))
    local out = helper.run { "bash", helper.write("client.sh", client, { PORT = port }) }
    local status, text = kresd:finish()
    assert.equal(0, status, text)
    -- Authoritative answers that say that there is no such name: what the policy gives.
    assert.equal(20, select(2, out:gsub("85 83", "")), out .. text)
    -- The one thing that it says besides is a warning of few file descriptors.
    local said = text:gsub("%[system%] warning: hard limit [^\n]*\n", "")
    assert.equal("20 queries, 170 steps\n", said)
    assert.is_true(kresd:is_gone())
    helper.row("Knot Resolver", helper.version "knot-resolver", "150 steps, then one for each of "
      .. "20 DNS queries; callbacks by event.socket, saved and loaded")
  end)
end)
