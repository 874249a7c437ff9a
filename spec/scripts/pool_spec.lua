--- scripts/pool and scripts/busted, in a folder where they find no times of others.
local helper = require "spec.lua.helper"

local folder

local function shell(text)
  local pipe = io.popen("(" .. text .. "\n) 2>&1; echo \"=$?\"")
  local out, status = pipe:read("*a"):match "^(.*)=(%d+)\n$"
  pipe:close()
  return out, tonumber(status)
end

--- What the pool says of a list, each line of which is { group, command }, and its status.
local function pool(list, options, before)
  local lines = {}
  for i, line in ipairs(list) do lines[i] = table.concat(line, "\t") .. "\n" end
  local file = assert(io.open(folder .. "/list", "w"))
  file:write(table.concat(lines))
  file:close()
  return shell(("%s '%s/scripts/pool' %s <'%s/list'"):format(before or "", folder, options or "",
    folder))
end

local function read(path)
  local file = assert(io.open(folder .. path))
  local text = file:read "*a"
  file:close()
  return text
end

describe("scripts/pool #cpu", function()
  before_each(function()
    folder = helper.directory()
    shell(("mkdir '%s/scripts' && cp scripts/pool scripts/count.sh '%s/scripts'"):format(folder,
      folder))
  end)
  after_each(function() helper.remove(folder) end)

  it("adds up what each group says, of both kinds of summaries", function()
    local out, status = pool { { "C", "echo '3 passed, 0 failed'" },
      { "specs", "echo '2 successes / 0 failures / 0 errors / 1 pending : 0.1 seconds'" },
      { "C", "echo '9 passed, 9 failed'; echo '4 passed, 0 failed'" } }
    assert.equal(0, status, out)
    assert.matches("^C +7 passed +0 failed +%d+ s\nspecs +2 passed +0 failed +%d+ s, 1 pending\n"
      .. "9 passed, 0 failed\n$", out)
  end)

  it("shows what failed, and only that", function()
    local out, status = pool { { "C", "echo here; echo '3 passed, 1 failed'; exit 1" },
      { "specs", "echo there; echo '1 success / 1 failure / 2 errors / 0 pending'; exit 3" },
      { "specs", "echo nowhere; echo '1 success / 0 failures / 0 errors / 0 pending'" } }
    assert.equal(1, status)
    assert.truthy(out:find("C: echo here;[^\n]*: status 1:\nhere\n3 passed, 1 failed\n"), out)
    assert.truthy(out:find("specs: echo there;[^\n]*: status 3:\nthere\n"), out)
    assert.is_nil(out:find "\nnowhere", out)
    assert.truthy(out:find "\n5 passed, 4 failed\n$", out)
  end)

  it("counts as failed what crashes, ends badly or says nothing", function()
    for _, case in ipairs { { "echo '2 passed, 0 failed'; kill -SEGV $$", 2 }, { "true", 0 },
      { "echo '2 passed, 0 failed'; exit 9", 2 }, { "nothing-of-the-kind", 0 } } do
      local out, status = pool { { "C", case[1] } }
      assert.equal(1, status, out)
      assert.truthy(out:find(("\n%d passed, 1 failed\n$"):format(case[2])), out)
    end
    local out, status = pool {}
    assert.equal("0 passed, 0 failed\n", out)
    assert.equal(1, status)
  end)

  it("stops what takes too long with all that it started, and names it", function()
    local fifo = folder .. "/fifo"
    shell(("mkfifo '%s'"):format(fifo))
    -- cat ends when the last process that has the fifo open is gone.
    local out = pool({ { "specs", ("(trap '' TERM; sleep 1000; sleep 1000) >'%s' & wait")
      :format(fifo) } }, "", ("cat '%s' & JFL_TEST_SECONDS=1"):format(fifo))
    assert.truthy(out:find "specs: %(trap.-: stopped after 1 s", out)
    assert.truthy(out:find "\n0 passed, 1 failed\n$", out)
  end)

  it("gives tests the signals that whoever started it ignores", function()
    local out = pool({ { "C", "trap 'echo \"1 passed, 0 failed\"' INT HUP; kill -INT $$" } }, "",
      "trap '' INT HUP;")
    assert.truthy(out:find "\n1 passed, 0 failed\n$", out)
  end)

  it("begins with what it does not know, then with what took longest", function()
    local function says(word)
      return ("echo %s >>'%s/order'; echo '1 passed, 0 failed'"):format(word, folder)
    end
    shell(("mkdir '%s/build'"):format(folder))
    local file = assert(io.open(folder .. "/build/pool.times", "w"))
    file:write("50\t", says "short", "\n99999\t", says "long", "\n700\t", says "middle",
      "\n8\tanother\n")
    file:close()
    local list = {}
    for i, word in ipairs { "new", "short", "middle", "newer", "long" } do
      list[i] = { "C", says(word) }
    end
    local out = pool(list, "--slowest", "OMP_NUM_THREADS=1")       -- nproc says 1
    assert.equal("new\nnewer\nlong\nmiddle\nshort\n", read "/order")
    local times = read "/build/pool.times"
    assert.truthy(times:find("\n?8\tanother\n"), times)
    assert.is_nil(times:find("99999", 1, true))
    assert.equal(6, select(2, times:gsub("\n", "")))
    for _, word in ipairs { "new", "newer", "long", "middle", "short" } do
      assert.truthy(out:find("%d+\techo " .. word .. " "), out)
    end
  end)
end)

describe("scripts/busted #cpu", function()
  it("runs spec files by the pool", function()
    local out, status = shell(("scripts/busted %s spec/lua/base --filter='a message' --filter=text")
      :format(helper.command()))
    assert.equal(0, status, out)
    assert.truthy(out:find "^specs +[1-9]%d* passed +0 failed +%d+ s\n[1-9]%d* passed, 0 failed\n$",
      out)
  end)

  it("lists commands for the pool", function()
    local out = shell [[scripts/busted --list="on sim" "JFL_DEVICE=sim build/jfl" spec/lua/base \
      --filter="it's here" spec/pass/cse_spec.lua]]
    local lines = {}
    for line in out:gmatch "[^\n]+" do lines[#lines + 1] = line end
    assert.equal("on sim\tJFL_DEVICE=sim build/jfl /usr/bin/busted -o plainTerminal "
      .. [['--filter=it'\''s here' spec/pass/cse_spec.lua]], lines[#lines])
    assert.truthy(#lines > 2)
  end)
end)
