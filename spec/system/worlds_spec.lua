--- A world of two ranks in which calls on sockets fail or are interrupted, of the launcher too: it
-- ends with a message, or goes on as if nothing was. JFL_CUTS=1 tries each of the first calls,
-- which takes an hour, JFL_CUTS=25 each 25th.
local command = require "spec.cmd.helper"
local helper = require "spec.lua.helper"

local CALLS = 300
local EINTR, ENOMEM, EPIPE, ECONNRESET = 4, 12, 32, 104

local SCRIPT = [[
local flow = require "jfl"
local tp = flow.typing
local job = flow.global_function { name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 4, 8 }) } },
  body = function(x)
    local loss = flow.layers.dense(x, 3, { name = "fc" })
    flow.optimizer.SGD(0.1):minimize(loss)
    return loss
  end }
for _ = 1, 12 do job(flow.ndarray.ones { 4, 8 }) end
print "done"
]]

-- The k-th call of each process fails, so often; where they count together, of one process alone.
local function world(k, times, error, together)
  local state = os.tmpname()
  local out, err, status = command.run("--ranks", "2", command.file(SCRIPT), {
    before = ("%s JFL_FAULTS=%d:%d:%d:SCAWRP:/nowhere LD_PRELOAD=build/faults.so"):format(
      together and "JFL_FAULTS_STATE=" .. state or "", k, times, error) })
  os.remove(state)
  command.clean()
  local what = ("call %d, error %d: status %d\n%s%s"):format(k, error, status, out, err)
  assert(status ~= 124 and status < 128, what)
  if status == 0 then assert.equal("done\n", out) else assert(err:find "jfl: ", what) end
  return what
end

-- The last two are those where one rank takes the call of another.
local function each(times, error)
  local calls = { 1, 67, 81 }
  local step = tonumber(os.getenv "JFL_CUTS")
  for k = step or CALLS + 1, CALLS, step or 1 do calls[#calls + 1] = k end
  for _, k in ipairs(calls) do world(k, times, error, k % 2 == 0) end
end

describe("a world ends with a message or goes on where", function()
  for name, fault in pairs { ["calls are interrupted"] = { 3, EINTR },
    ["a connection breaks"] = { 1, ECONNRESET }, ["nobody hears"] = { 1, EPIPE },
    ["memory is out"] = { 1, ENOMEM } } do
    it(name, function()
      if helper.sanitized() then return pending("a sanitizer must be loaded first") end
      each(fault[1], fault[2])
    end)
  end
end)

it("a world and its boxes wait for no time of day", function()
  if helper.sanitized() then return pending("a sanitizer must be loaded first") end
  local folder = os.tmpname()
  os.remove(folder)
  local script = command.file(SCRIPT .. [[
    for _ = 1, 3 do flow.train.SimpleCheckPointManager(arg[1], { keep = 2 }):save() end
    local box = flow.sandbox { seconds = 0.05 }
    print(pcall(box.run, box, "while true do end"))
    print(box:run "return 1 + 1")
  ]])
  local out, err, status = command.run("--ranks", "2", script, folder,
    { before = "JFL_FAULTS_CLOCK=1 LD_PRELOAD=build/faults.so" })
  os.execute("rm -rf " .. folder)
  command.clean()
  assert.equal(0, status, err)
  assert.truthy(out:find("^done\nfalse\t[^\n]*it ran for more than 0.05 s\n2\n$"), out)
end)

it("a world goes on where another one comes to its port", function()
  local script, port = command.file(SCRIPT), command.port()
  local function rank(number, secret, seconds, more)
    return ("JFL_MASTER=127.0.0.1:%d JFL_RANKS=2 JFL_RANK=%d JFL_SECRET=%s JFL_JOIN_SECONDS=%d "
      .. "%s %s"):format(port, number, secret:rep(20), seconds, command.line(script), more)
  end
  local out, err = command.shell(table.concat({
    rank(0, "a", 1000, "& first=$!"),
    ("until grep -q ':%04X 00000000:0000 0A' /proc/net/tcp; do kill -0 $first || break; done")
      :format(port),
    rank(0, "b", 1000, "|| echo none"), rank(1, "b", 1, "|| echo nobody"),
    rank(1, "a", 1000, "&& wait $first && echo both"),
  }, "\n"))
  command.clean()
  assert.truthy(err:find("cannot listen at port " .. port .. ": Address already in use", 1, true),
    err)
  assert.truthy(out:find "^none\nnobody\n" and out:find "done\n" and out:find "both\n$",
    out .. err)
end)
