-- jfl --ranks: several processes run one script, and what becomes of them when one fails.
local core = require "jfl.core"
local helper = require "spec.cmd.helper"

-- JFL_KILLS=50 kills as many ranks, in turn at each of the places below.
local KILLS = tonumber(os.getenv "JFL_KILLS" or 3)

-- A job that several ranks train together. fault(what) is called at places of the script; the rank
-- that the arguments name ends there as they say.
local TRAIN = [[
local flow = require "jfl"
local tp = flow.typing
local where, how, who = arg[1], arg[2], tonumber(arg[3])
local function say(ok, err)
  io.stderr:write(("%s: %s\n"):format(ok and "trained" or "failed", tostring(err)))
end
-- One that has met the others may be killed before the last of them has.
local met, why = pcall(flow.env.rank)
if not met then
  say(met, why)
  os.exit(3)
end
local function fault(place)
  if place ~= where or flow.env.rank() ~= who then return end
  if how == "error" then error("a mistake of one rank") end
  if how == "exit" then os.exit(0) end
  os.execute(how:match "^%d" and "(sleep " .. how .. "; kill -9 $PPID) &"
    or "kill -" .. how .. " $PPID")
end
fault("start")
local job = flow.global_function {
  name = "train_job", type = "train",
  inputs = { { "x", tp.Numpy.Placeholder({ 4, 3 }) } },
  returns = tp.Numpy,
  body = function(x)
    fault("compile")
    local y = flow.layers.dense(x, 2, { name = "out" })
    local loss = flow.math.reduce_mean(y * y)
    flow.optimizer.SGD(0.01):minimize(loss)
    return loss
  end,
}
local check_point = flow.train.CheckPoint()
local function train()
  for i = 1, arg[4] and 1e6 or 300 do
    if i == 5 then fault("step") end
    job(flow.ndarray.ones({ 4, 3 }))
    if arg[4] and i % 3 == 0 then check_point:save(arg[4], { overwrite = true }) end
  end
end
local ok, err = pcall(train)
say(ok, err)
if ok then return end
if how == "error" and flow.env.rank() == who then error(err, 0) end
-- The process lives on, and can work by itself.
if where ~= "start" then assert(flow.nn.relu(flow.ndarray.array({ -1, 2 })):sum() == 2) end
assert(not pcall(job, flow.ndarray.ones({ 4, 3 })))
flow.clear_default_session()
local alone = flow.global_function { name = "alone", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } }, body = function(x) return x * 2 end }
assert(alone({ 1, 2 }):sum() == 6 and flow.env.size() == 1)
os.exit(3)
]]

-- On a loaded machine, too, the sign of a rank that ended is that its connections are closed, not
-- that it is silent; and those that are left end by themselves, whatever time that takes.
local function ranks(n, script, ...)
  return helper.shell("JFL_PATIENCE=300 " .. helper.line("--ranks", tostring(n),
    helper.file(script), ...))
end

describe("jfl --ranks", function()
  after_each(helper.clean)

  it("runs a script in several processes, of which the first prints", function()
    local out, err, status = ranks(3, [[
      local env = require("jfl").env
      print("printed by rank " .. env.rank() .. " of " .. env.size())
      io.stderr:write("said by rank " .. env.rank() .. "\n")]])
    assert.equal("printed by rank 0 of 3\n", out)
    local lines = {}
    for line in err:gmatch "[^\n]+" do lines[#lines + 1] = line end
    table.sort(lines)
    assert.same({ "[rank 1] said by rank 1", "[rank 2] said by rank 2", "said by rank 0" }, lines)
    assert.equal(0, status)
  end)

  it("lets all print where JFL_PRINT says so", function()
    local out = helper.shell("JFL_PRINT=all " .. helper.line("--ranks", "2", "-e", "print(7)"))
    assert.truthy(out == "7\n[rank 1] 7\n" or out == "[rank 1] 7\n7\n")
    out = helper.shell("JFL_PRINT=all " .. helper.line("--ranks", "2", "-e",
      "if os.getenv 'JFL_RANK' == '1' then io.write 'no end of a line' end"))
    assert.equal("[rank 1] no end of a line\n", out)
  end)

  it("prints errors of several ranks that say the same once, with their numbers", function()
    local _, err, status = ranks(5, [[
      local rank = tonumber(os.getenv "JFL_RANK")
      if rank == 3 then error("only here", 0) end
      error("the same\nat " .. tostring(print), 0)]])
    local same = "%[ranks 0%-2, 4%] jfl: the same\n%[ranks 0%-2, 4%] at function: %S+\n"
    assert.truthy(err:find(same), err)
    assert.equal(1, select(2, err:gsub("the same", "")), err)
    assert.equal(1, select(2, err:gsub("%f[^%z\n]%[rank 3%] jfl: only here\n", "")), err)
    assert.truthy(err:find "\njfl: rank %d has failed, with status 1\n$", err)
    assert.equal(1, status)
  end)

  it("prints the error of one rank as it is, also a long one and where others go on", function()
    local _, err = ranks(2, [[
      local rank = os.getenv "JFL_RANK"
      if rank == "0" then error(("x"):rep(20000), 0) end
      os.exit(0)]])
    assert.truthy(err:find "^jfl: x+\n", err:sub(1, 100))
    assert.is_true(#err > 16000)
    _, err = helper.shell("JFL_PATIENCE=1 " .. helper.line("--ranks", "2", helper.file [[
      if os.getenv "JFL_RANK" == "1" then error("early", 0) end
      while true do end]]))
    assert.truthy(err:find("[rank 1] jfl: early\n", 1, true), err)
    assert.truthy(err:find("jfl: rank 1 has failed, with status 1\n", 1, true), err)
  end)

  it("prints the errors of each start where they are started again", function()
    local _, err = helper.shell("JFL_PATIENCE=300 " .. helper.line("--ranks", "2", "--restart", "2",
      helper.file "error('each time', 0)"))
    assert.equal(3, select(2, err:gsub("%[ranks 0%-1%] jfl: each time\n", "")), err)
  end)

  it("gives its ranks a secret of their own, which no command line shows", function()
    local script = [[
      local f = io.open "/proc/self/cmdline"
      local secret = os.getenv "JFL_SECRET"
      print(secret, f:read("*a"):find(secret, 1, true))]]
    local one = ranks(2, script):match "^(%x+)\tnil\n$"
    local other = ranks(2, script):match "^(%x+)\tnil\n$"
    assert.truthy(one and #one == 32 and #other == 32 and one ~= other)
  end)

  it("shows progress and writes summaries once, and has no prompt", function()
    local _, err, status = ranks(2, [[
      local flow = require "jfl"
      for _ in flow.progress({ 1, 2 }, { desc = "loop" }) do end
      local folder = os.tmpname()
      os.remove(folder)
      local writer = flow.summary.create_summary_writer(folder)
      flow.summary.scalar(0.5, 1, "loss")
      io.stderr:write("writes to " .. writer.path:gsub("^.*/", "") .. "\n")
      os.execute("rm -rf " .. folder)]])
    assert.equal(0, status, err)
    assert.equal(1, select(2, err:gsub("loop", "")))
    assert.equal(1, select(2, err:gsub("writes to events", "")))
    assert.equal(1, select(2, err:gsub("writes to null", "")))
    _, err = helper.run("--ranks", "2", "-i", helper.file "")
    assert.truthy(err:find("several processes need a script to run", 1, true))
  end)

  it("hands arguments and the environment on", function()
    local out = ranks(2, "print(arg[1], arg[2], #arg, os.getenv 'JFL_RANKS')", "a b", "--ranks")
    assert.equal("a b\t--ranks\t2\t2\n", out)
  end)

  it("needs a script and a number", function()
    local _, err, status = helper.run("--ranks", "2")
    assert.truthy(err:find("--ranks needs a script to run", 1, true))
    assert.equal(1, status)
    _, err, status = helper.run("--ranks", "two", "x.lua")
    assert.truthy(err:find("a number of processes must follow --ranks, got 'two'\n", 1, true))
    assert.equal(1, status)
    _, err, status = helper.run("--ranks", "2", "/nowhere/x.lua")
    assert.equal("jfl: cannot open /nowhere/x.lua: No such file or directory\n", err)
    assert.equal(1, status)
    _, err, status = helper.run("--restart", "2", "x.lua")
    assert.truthy(err:find("jfl: --ranks n is missing for --restart", 1, true))
    assert.equal(1, status)
  end)

  it("gives each rank its part of batches", function()
    local out, err = helper.shell("JFL_PRINT=all " .. helper.line("--ranks", "2", helper.file [[
      local flow = require "jfl"
      local data = flow.ndarray.array({ 1, 2, 3, 4, 5, 6, 7, 8 })
      local function show(options)
        options.shard, options.columns = true, { "x" }
        local all = {}
        for _, _, x in flow.data.batches({ { "x", data } }, options) do
          all[#all + 1] = table.concat(x:totable(), " ")
        end
        return table.concat(all, ", ")
      end
      flow.random.seed(1)
      print(flow.env.rank() .. ": " .. show { batch_size = 3 })
      local mine = show { batch_size = 4, shuffle = true, name = "b" }
      local other = require("jfl.core").world_gather(mine)
      table.sort(other)
      local seen = {}
      for number in table.concat(other, " "):gmatch "%d" do seen[#seen + 1] = number end
      table.sort(seen)
      print(flow.env.rank() .. ": " .. table.concat(seen))
      local few = { batch_size = 7, shard = true, name = "c" }
      print(select(2, pcall(flow.data.batches, data, few)))
    ]]))
    assert.equal("", (err:gsub("%[rank 1%] [^\n]*\n", "")))
    assert.truthy(out:find("0: 1 2, 4 5, 7\n", 1, true))
    assert.truthy(out:find("1: 3, 6, 8\n", 1, true))
    assert.truthy(out:find("0: 12345678\n", 1, true) and out:find("1: 12345678\n", 1, true))
    assert.truthy(out:find("must have a sample for each of the 2 ranks, got 1", 1, true))
  end)

  it("refuses parts of a batch of any size", function()
    local out, err, status = ranks(2, [[
      local flow = require "jfl"
      local split = { distribute = flow.distribute.split(0) }
      local job = flow.global_function {
        name = "job", returns = flow.typing.Numpy,
        inputs = { { "x", flow.typing.Numpy.Placeholder({ -1, 2 }, split) } },
        body = function(x) return x * 2 end,
      }
      print(select(2, pcall(job, flow.ndarray.ones({ 4, 2 }))))]])
    assert.equal(0, status, err)
    assert.truthy(out:find("job: x must have a placeholder with the whole batch size, not -1, "
      .. "where each of 2 ranks gives its part along axis 0", 1, true), out)
  end)

  it("tells the others what ended a rank", function()
    local _, err, status = ranks(2, TRAIN, "step", "error", "1")
    assert.truthy(err:find("failed: [^\n]*rank 1 %([^\n]*%) has ended: "
      .. "[^\n]*: a mistake"))
    assert.truthy(status == 1 or status == 3)
  end)

  it("ends a script that goes another way on one rank, naming what each does", function()
    local _, err, status = ranks(2, [[
      local flow = require "jfl"
      local tp = flow.typing
      local function job(name)
        return flow.global_function {
          name = name, inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } }, returns = tp.Numpy,
          body = function(x) return x * 2 end }
      end
      local a, b = job "first_job", job "second_job"
      print(a({ 1, 2 }))
      if flow.env.rank() == 1 then b({ 1, 2 }) else a({ 1, 2 }) end]])
    assert.truthy(err:find("rank 1 (", 1, true))
    assert.truthy(err:find("is to compile job 'second_job' on devices 0-1:0, rank 0 (", 1,
      true), err)
    assert.truthy(err:find("to make run 2 of job 'first_job'", 1, true))
    assert.equal(1, status)
  end)

  it("ends jobs that are not the same on all ranks", function()
    local _, err = ranks(2, [[
      local flow = require "jfl"
      local tp = flow.typing
      flow.global_function { name = "job", inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
        returns = tp.Numpy, body = function(x) return x * (2 + flow.env.rank()) end }({ 1, 2 })]])
    assert.truthy(err:find("both compile job 'job' on devices 0-1:0, but it is not the same there",
      1, true), err)
  end)

  -- They would wait for what the others do not send.
  it("ends jobs that have another number of devices on one rank #cpu", function()
    local _, err, status = ranks(2, [[
      local flow = require "jfl"
      local tp = flow.typing
      flow.config.cpu_device_num(1 + flow.env.rank())
      flow.global_function { name = "job", inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
        returns = tp.Numpy, body = function(x) return x * 2 end }({ 1, 2 })]])
    assert.truthy(err:find("is to compile job 'job' on devices 0-1:0-1, rank 0 (", 1, true), err)
    assert.truthy(err:find(") to compile job 'job' on devices 0-1:0; all ranks must", 1, true), err)
    assert.equal(1, status)
  end)

  it("fails on all ranks, and goes on, where a step fails on one", function()
    local out, err, status = ranks(2, [[
      local flow = require "jfl"
      local tp = flow.typing
      local job = flow.global_function { name = "job", type = "train",
        inputs = { { "x", tp.Numpy.Placeholder({ 2, 3 },
          { distribute = flow.distribute.broadcast() }) },
          { "labels", tp.Numpy.Placeholder({ 2 }, { dtype = flow.int32,
            distribute = flow.distribute.broadcast() }) } },
        returns = tp.Numpy,
        body = function(x, labels)
          local y = flow.layers.dense(x, 3, { name = "out" })
          local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, y)
          flow.optimizer.SGD(0.01):minimize(loss)
          return loss
        end }
      local x, labels = flow.ndarray.ones({ 2, 3 }), flow.ndarray.zeros({ 2 }, flow.int32)
      job(x, labels)
      local before = flow.get_all_variables()["out-weight"]
      local wrong = flow.ndarray.array(flow.env.rank() == 1 and { 0, 7 } or { 0, 0 }, flow.int32)
      local ok, err = pcall(job, x, wrong)
      io.stderr:write(tostring(ok) .. " " .. tostring(err) .. "\n")   -- one write: lines stay whole
      local after = flow.get_all_variables()["out-weight"]
      assert(flow.math.abs(before - after):max() == 0)
      print(job(x, labels).size)]])
    assert.equal(0, status, err)
    assert.equal("2\n", out)
    assert.truthy(("\n" .. err):find("\nfalse [^\n]*rank 1 %([^\n]*%): label at position 1"))
  end)

  -- What the ranks that are left say, which must name the one that ended.
  local function expect_named(n, who, how, err)
    local said = 0
    for line in err:gmatch "[^\n]+" do
      assert.falsy(line:find("assertion failed", 1, true), err)
      if line:find("failed: ", 1, true) then
        assert.truthy(line:find("rank " .. who .. " (", 1, true), line)
        assert.truthy(line:find(how, 1, true), line)
        said = said + 1
      end
    end
    assert.equal(n - 1, said, err)
  end

  it("names a rank that is killed, wherever it is, and lets the others live on", function()
    local places = { "step", "compile", "start" }
    for i = 1, KILLS do
      local n, place = 2 + i % 2, places[i % #places + 1]
      local who = i % n
      local _, err = ranks(n, TRAIN, place, "KILL", tostring(who))
      expect_named(n, who, "has ended", err)
    end
  end)

  it("names a rank that is killed at any moment of steps and saves, which leave a whole checkpoint",
    function()
      for i = 1, KILLS do
        local folder, n = os.tmpname(), 2 + i % 2
        os.remove(folder)
        local who = i % n
        local _, err = ranks(n, TRAIN, "step", ("%.4f"):format(math.random() * 0.1),
          tostring(who), folder)
        expect_named(n, who, "has ended", err)
        local loads = helper.run("-e", ([[
          local flow = require "jfl"
          local ok, err = pcall(flow.checkpoint.get, "%s")
          print(ok or err)]]):format(folder))
        os.execute("rm -rf " .. folder .. "*")
        assert.equal("true\n", loads)
      end
    end)

  it("names a rank that ends early", function()
    local _, err = ranks(3, TRAIN, "step", "exit", "1")
    expect_named(3, 1, "has ended", err)
  end)

  it("names a rank that ends at the next call, also one whose result nobody waits for", function()
    local _, err, status = ranks(2, [[
      local flow = require "jfl"
      local tp = flow.typing
      local job = flow.global_function { name = "job", returns = tp.Callback(tp.Numpy),
        inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } }, body = function(x) return x * 2 end }
      while true do
        job({ 1, 2 })(function() end)
        if flow.env.rank() == 1 then os.exit(0) end
      end]])
    assert.equal(1, status)
    assert.truthy(err:find("job: rank 1 %([^\n]*%) has ended"), err)
  end)

  it("leaves a program alone that a rank starts", function()
    local _, err, status = helper.run("--ranks", "2", helper.file [[
      local env = require("jfl").env
      if env.rank() == 1 then os.execute(arg[1]) end]],
      helper.line("-e", "io.stderr:write(require('jfl').env.size(), ' process\\n')"))
    assert.equal("[rank 1] 1 process\n", err)
    assert.equal(0, status)
  end)

  -- The command takes what it inherited out of its environment; other hosts of the module do not.
  it("leaves another host of the module alone that a rank starts", function()
    if helper.shell("command -v luajit") == "" then return pending("no luajit") end
    local _, err, status = helper.run("--ranks", "2", helper.file [[
      local env = require("jfl").env
      if env.rank() == 1 then os.execute(arg[1]) end]],
      "LUA_CPATH=build/?.so luajit -e "
      .. "\"io.stderr:write(require('jfl').env.size(), ' process\\n')\"")
    assert.equal("[rank 1] 1 process\n", err)
    assert.equal(0, status)
  end)

  -- Only rank 0 loses its patience, and of nobody but the one that stops: so it does not matter how
  -- slow it is itself. Where that one is slow, as on a busy machine, and given up before it comes
  -- to the step at which it stops, rank 0 gets more patience.
  it("names a rank that stops", function()
    local script = helper.file([[
      local ffi = require "ffi"
      ffi.cdef "int setenv(const char *name, const char *value, int replace);"
      if os.getenv "JFL_RANK" == "1" then
        ffi.C.setenv("JFL_PATIENCE", "300", 1)
        local execute = os.execute
        function os.execute(line)
          io.open(os.getenv "STOPS", "w"):close()
          return execute(line)
        end
      end
    ]] .. TRAIN)
    local stops, patience = os.tmpname(), 1
    os.remove(stops)
    local err, status, stopped
    repeat
      patience = 2 * patience
      local _
      _, err, status = helper.shell(("STOPS=%s JFL_PATIENCE=%d %s"):format(stops, patience,
        helper.line("--ranks", "2", script, "step", "STOP", "1")))
      stopped = os.remove(stops)
    until stopped or patience > 100
    assert.truthy(stopped, err)
    expect_named(2, 1, "does not answer", err)
    assert.equal(3, status)
  end)

  -- Until the others have heard of it, so that nothing is left behind.
  it("names a rank that hangs in its script, where a time is set for that", function()
    local heard = os.tmpname()
    os.remove(heard)
    local _, err, status = helper.shell("JFL_STALL_SECONDS=4 JFL_PATIENCE=300 " .. helper.line(
      "--ranks", "3", helper.file([[
        local ffi = require "ffi"
        ffi.cdef "int usleep(unsigned microseconds);"
        local flow = require "jfl"
        local job = flow.global_function { name = "job", returns = flow.typing.Numpy,
          inputs = { { "x", flow.typing.Numpy.Placeholder({ 2 }) } },
          body = function(x) return x * 2 end }
        job({ 1, 2 })
        if flow.env.rank() == 1 then
          while not io.open(arg[1]) do ffi.C.usleep(100000) end
        end
        local ok, why = pcall(job, { 1, 2 })
        if flow.env.rank() == 0 then io.open(arg[1], "w"):close() end
        io.stderr:write(ok and "made" or tostring(why), "\n")
        os.exit(3)
      ]]), heard))
    os.remove(heard)
    assert.equal(3, status)
    local _, told = err:gsub("job: rank 1 %([^)]+%) does nothing for 4 s, while rank 0 %([^)]+%) "
      .. "waits to make run 2 of job 'job'; what it last did with others was to make run 1 of job "
      .. "'job'\n", "")
    assert.equal(3, told, err)
  end)

  it("ends ranks that go on after one has failed, also such as do not heed SIGTERM", function()
    local script = helper.file [[
      local ffi = require "ffi"
      ffi.cdef "void (*signal(int number, void (*handler)(int)))(int);"
      local SIGTERM, IGNORED = 15, ffi.cast("void (*)(int)", 1)
      if os.getenv "JFL_RANK" == "1" then
        while not io.open(arg[1]) do end
        os.exit(7)
      end
      if arg[2] == "heedless" then ffi.C.signal(SIGTERM, IGNORED) end
      io.open(arg[1], "w"):close()
      while true do end]]
    for _, how in ipairs { "heeds", "heedless" } do
      local ready = os.tmpname()
      os.remove(ready)
      local _, err, status = helper.shell("JFL_PATIENCE=1 " .. helper.line("--ranks", "2", script,
        ready, how))
      os.remove(ready)
      assert.same({ "jfl: rank 1 has failed, with status 7\n", 7 }, { err, status })
    end
  end)

  it("starts all again after a failure, as often as it may", function()
    local script = [[
      local flow = require "jfl"
      print("start " .. os.getenv "JFL_RESTARTS" .. " of " .. flow.env.size())
      io.stdout:flush()
      require("jfl.core").world_gather("printed")
      if flow.env.rank() == 1 and tonumber(os.getenv "JFL_RESTARTS") < 2 then
        os.execute "kill -9 $PPID"
      end
      require("jfl.core").world_gather("here")]]
    local out, err, status = helper.run("--ranks", "2", "--restart", "2", helper.file(script))
    assert.equal("start 0 of 2\nstart 1 of 2\nstart 2 of 2\n", out)
    assert.truthy(err:find("jfl: all ranks are started again (2 of 2)", 1, true))
    assert.equal(0, status)
    out, err, status = helper.run("--ranks", "2", "--restart=1", helper.file(script))
    assert.equal("start 0 of 2\nstart 1 of 2\n", out)
    assert.truthy(err:find("jfl: rank 1 was ended by signal 9", 1, true))
    assert.equal(137, status)
  end)

  -- Rank 1 waits five times as long as all before took, which begins when rank 0 has come.
  it("tells in a profile which rank the others wait for", function()
    local come = os.tmpname()
    os.remove(come)
    local out, err = helper.run("--ranks", "2", "--profile", helper.file [[
      local core = require "jfl.core"
      local began = core.now()
      local flow = require "jfl"
      local tp = flow.typing
      local job = flow.global_function { name = "job", type = "train",
        inputs = { { "x", tp.Numpy.Placeholder({ 64, 64 }) } }, returns = tp.Numpy,
        body = function(x)
          local loss = flow.math.reduce_mean(flow.layers.dense(x, 64, { name = "out" }))
          flow.optimizer.SGD(0.1):minimize(loss)
          return loss
        end }
      job(flow.ndarray.ones({ 64, 64 }))
      if flow.env.rank() == 0 then
        io.open(arg[1], "w"):close()
      else
        while not io.open(arg[1]) do os.execute "sleep 0.01" end
        local seconds = 5 * (core.now() - began)
        io.stderr:write(("waits %f s\n"):format(seconds))
        os.execute("sleep " .. seconds)
      end
      job(flow.ndarray.ones({ 64, 64 }))]], come)
    os.remove(come)
    local seconds = tonumber(err:match "waits (%S+) s\n")
    local waits = out:match "rank 1 %([^\n]*%) is slow: the others waited (%S+) ms for it"
    assert.truthy(waits and tonumber(waits) > 500 * seconds, out .. err)
  end)

  -- Each limit leaves room for other parts of it: below 5 not even for what the launcher needs, up
  -- to 14 for some of the ranks alone. Two descriptors for each rank are kept, and no more.
  it("starts all ranks or none, and says why, whatever number of files it may open", function()
    local script = helper.file "io.stderr:write 'started\\n'"
    for files = 4, 20 do
      for _, how in ipairs { "--ranks 4", "--ranks 4 --restart 3" } do
        local line = "(exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-; ulimit -n %d; "
          .. "JFL_PRINT=all %s %s '%s'; echo $?); cat"
        local out, err, status = helper.shell(line:format(files, helper.line(), how, script),
          "from the user\n")
        local what = ("%d files, %s: %s%s"):format(files, how, out, err)
        assert.equal(0, status, what)
        if out == "0\nfrom the user\n" then
          assert.equal(4, select(2, err:gsub("started\n", "")), what)
        else
          assert.truthy(files < 16, what)
          assert.equal("1\nfrom the user\n", out, what)
          assert.equal("jfl: cannot start 4 ranks: Too many open files\n",
            err:gsub("%f[^\n%z][^\n]*started\n", ""), what)
        end
        assert.equal("", (helper.said("pgrep -f '[/]%s'", script:sub(2))), what)
      end
    end
  end)

  it("needs no standard descriptors", function()
    local script = helper.file [[
      local name = ("%s.%d"):format(arg[1], require("jfl").env.rank())
      io.open(name, "w"):close()]]
    for _, closed in ipairs { " <&-", " >&-", " 2>&-", " <&- >&- 2>&-" } do
      local _, err, status = helper.shell(helper.line("--ranks", "2", script, script) .. closed)
      assert.same({ "", 0 }, { err, status }, closed)
      for rank = 0, 1 do assert.truthy(os.remove(script .. "." .. rank), closed) end
    end
  end)

  -- Rank 1 prints until nothing goes on, as nobody reads it.
  it("ends where it is told to while nobody reads what it prints", function()
    local script, full, fifo = helper.file [[
      local ffi = require "ffi"
      ffi.cdef [=[int fcntl(int fd, int what, ...); long write(int fd, const char *text, size_t n);
        int usleep(unsigned us);]=]
      local F_SETFL, O_NONBLOCK, idle = 4, 2048, 0
      if os.getenv "JFL_RANK" == "1" then
        ffi.C.fcntl(2, F_SETFL, ffi.cast("int", O_NONBLOCK))
        while idle < 100 do
          idle = ffi.C.write(2, "a line\n", 7) < 0 and ffi.C.usleep(1000) + idle + 1 or 0
        end
        io.open(arg[1], "w"):close()
      end
      while true do ffi.C.usleep(1000) end]], os.tmpname(), os.tmpname()
    os.remove(full)
    os.remove(fifo)
    local out = helper.shell(("mkfifo %s; exec 3<>%s; %s 2>&3 & p=$!; until [ -e %s ]; do "
      .. "sleep 0.05; done; kill -TERM $p; wait $p; echo $?"):format(fifo, fifo,
      helper.line("--ranks", "2", script, full), full))
    os.remove(full)
    os.remove(fifo)
    assert.equal("143\n", out)
  end)

  -- What rank 1 started prints on and on, to the pipe that it has inherited.
  it("waits for no process that its ranks leave behind", function()
    local pid = helper.file ""
    local _, err, status = helper.run("--ranks", "2", "-e", ([[
      if os.getenv "JFL_RANK" == "1" then
        os.execute "(while true; do echo a line; done) >&2 & echo $! >%s"
      end]]):format(pid))
    helper.said("kill $(cat %s)", pid)
    assert.equal(0, status)
    assert.truthy(err == "" or err:find("[rank 1] a line", 1, true))
  end)

  it("ends all ranks where it is told to end", function()
    local said = helper.file ""
    local line = helper.line("--ranks", "2", "-e", "io.stderr:write 'here\\n' while true do end")
    local out = helper.shell(("%s 2>%s & p=$!; until [ $(grep -c here %s) = 2 ]; do "
      .. "sleep 0.05; done; kill -TERM $p; wait $p; echo $?"):format(line, said, said))
    assert.equal("143\n", out)
  end)
end)

describe("flow.env.machine", function()
  after_each(helper.clean)

  it("lets processes that were started by hand meet", function()
    local file = helper.file(([[
      local flow = require "jfl"
      flow.env.machine("127.0.0.1", "127.0.0.1")
      flow.env.ctrl_port(%d)
      print(flow.env.rank(), flow.env.size())]]):format(helper.port()))
    local line = helper.line(file)
    local out, err = helper.shell(("JFL_PRINT=all; export JFL_PRINT; JFL_RANK=1 %s >%s.1 & "
      .. "JFL_RANK=0 %s; wait; cat %s.1; rm %s.1"):format(line, file, line, file, file))
    assert.equal("0\t2\n1\t2\n", out, err)
  end)

  it("is not too late in a profile, of which each process writes a trace", function()
    local file = helper.file(([[
      local flow = require "jfl"
      local tp = flow.typing
      flow.env.machine("127.0.0.1", "127.0.0.1")
      flow.env.ctrl_port(%d)
      flow.global_function { name = "job", inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
        returns = tp.Numpy,
        body = function(x) return x * 2 end }({ 1, 2 })]]):format(helper.port()))
    local trace = helper.file ""
    local line = helper.line("--profile=" .. trace, file)
    local out, err = helper.shell(("JFL_RANK=1 %s & JFL_RANK=0 %s; wait"):format(line, line))
    assert.truthy(out:find("rank 1 %([^\n]*%): computed"), out .. err)
    for _, name in ipairs { trace, trace .. ".1" } do
      local f = assert(io.open(name))
      assert.truthy(f:read "*a":find('"multiply_1@', 1, true))
      f:close()
    end
    os.remove(trace .. ".1")
  end)

  it("says where it waited in vain", function()
    local _, err = helper.shell("JFL_JOIN_SECONDS=0.5 JFL_RANK=1 " .. helper.line("-e", [[
      local flow = require "jfl"
      flow.env.machine("127.0.0.1", "127.0.0.1")
      flow.env.ctrl_port(1)
      flow.env.rank()]]))
    assert.truthy(err:find("rank 0 cannot be reached at 127.0.0.1, port 1", 1, true))
  end)

  it("counts the tasks of a step of Slurm, not those of the job", function()
    local vars = "SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_STEP_NUM_TASKS=1 "
    assert.equal("1\n", (helper.run({ before = vars,
      input = "print(require('jfl').env.size())" })))
  end)

  -- What this prints is seen only where the command counts as the world does, which ranks that are
  -- not the first learn too late; a session is refused to several.
  it("are counted alike by the command and by the script", function()
    for vars, size in pairs {
      ["SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_NTASKS=2 ENVIRONMENT=BATCH"] = 1,
      ["SLURM_JOB_ID=7 SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_STEP_NUM_TASKS=1"] = 1,
      ["SLURM_NTASKS=2"] = 1, ["OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0"] = 1,
      ["PMI_SIZE=1 PMI_RANK=0"] = 1, ["JFL_RANK=1"] = 1, ["JFL_RANKS= JFL_RANK=1"] = 1,
      ["JFL_RANKS=1 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=3"] = 1,
      ["JFL_RANKS=1 SLURM_JOB_ID=7 SLURM_PROCID=1 SLURM_NTASKS=2"] = 1,
      ["JFL_LAUNCHER=1 JFL_RANKS=2 JFL_RANK=1 JFL_MASTER=127.0.0.1:1"] = 1,
    } do
      local out, err = helper.run("-E", "-i", { before = vars,
        input = "print(require('jfl').env.size())\n" })
      assert.matches("%f[%d]" .. size .. "\n", out, 1, false, vars .. err)
      assert.equal("", err, vars)
    end
  end)

  it("are told apart from those of an MPI that cannot be used", function()
    local one = "ENVIRONMENT=BATCH SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_NTASKS=2 "
    for _, mpi in ipairs { "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0",
                           "PMI_SIZE=2 PMI_RANK=0" } do
      local out, err = helper.run("-e", "print(require('jfl').env.size())",
        { before = "JFL_MPI_SHIM=/no/where " .. one .. mpi })
      assert.equal("", out)
      assert.truthy(err:find("started this process as one of 2, but what connects jfl to it "
        .. "cannot be used", 1, true), err)
    end
  end)

  it("prints once where the script names machines that Slurm counts in another order", function()
    local file = helper.file(([[
      local flow = require "jfl"
      flow.env.machine("127.0.0.1", "127.0.0.1")
      flow.env.ctrl_port(%d)
      print(flow.env.rank(), flow.env.size())]]):format(helper.port()))
    local vars = ("SLURM_JOB_ID=%d SLURM_NTASKS=2 SLURM_NODELIST=localhost "):format(core.process())
    local line = helper.line(file)
    local out, err = helper.shell(("%s JFL_RANK=0 SLURM_PROCID=1 %s & %s JFL_RANK=1 "
      .. "SLURM_PROCID=0 %s; wait"):format(vars, line, vars, line))
    assert.equal("0\t2\n", out, err)
  end)

  it("takes Slurm's variables", function()
    local vars = "SLURM_JOB_ID=%d SLURM_NTASKS=2 SLURM_NODELIST=localhost JFL_PRINT=all "
    vars = vars:format(core.process())
    local line = helper.line("-e", "local e = require('jfl').env print(e.rank(), e.size())")
    local out = helper.shell(("%s SLURM_PROCID=1 %s >/dev/null & %s SLURM_PROCID=0 %s; wait")
      :format(vars, line, vars, line))
    assert.equal("0\t2\n", out)
  end)
end)
