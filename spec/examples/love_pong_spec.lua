-- examples/love-pong, whose opponent learns: played without drawing, faster than it goes, and in a
-- LÖVE that draws into memory.
local helper = require "spec.hosts.helper"
local shell = require "spec.cmd.helper"

-- What pong_play.lua prints when it does what the arguments say, and its exit status.
local function play(...)
  local out, err, status = shell.run("spec/examples/pong_play.lua", "seed=1", ...)
  assert.equal(0, status, out .. err)
  return out
end

local function number(out, name) return tonumber(out:match(name .. "%s+(%S+)")) end

describe("the opponent of examples/love-pong #cpu", function()
  local brain

  before_each(function() brain = helper.place() .. "/brain" end)
  after_each(helper.clean)

  it("returns few balls at first, and most after two minutes of play", function()
    local missing = helper.missing()
    if missing then return pending(missing) end
    local before = number(play("training=0", "play=60", "last=20"), "last")
    local after = number(play("play=120", "last=20"), "last")
    assert.is_true(before < 0.4, "at first " .. before)
    assert.is_true(after >= 0.8, "then " .. after)
  end)

  it("goes on from what was saved", function()
    local out = play("play=90", "state", "save=" .. brain, "forget", "training=0", "play=30",
      "last=10", "restore=" .. brain, "state")
    assert.is_true(number(out, "last") <= 0.5, out)
    local steps, balls = out:match("state\t(%d+)\t(%d+)")
    assert.is_true(tonumber(steps) > 4000, out)
    out = play("training=0", "restore=" .. brain, "state", "play=60", "last=20", "training=1",
      "play=1", "state")
    assert.equal(("state\t%s\t%s"):format(steps, balls), out:match("state\t%d+\t%d+"))
    assert.is_true(number(out, "last") >= 0.8, out)
    assert.is_true(tonumber(out:match(".*state\t(%d+)")) > tonumber(steps), out)
  end)

  it("is whole when it is killed while it saves", function()
    for i = 1, 5 do
      local program = helper.start { helper.root .. "/" .. shell.command(), helper.root
        .. "/spec/examples/pong_play.lua", "seed=1", "saves=" .. brain }
      assert(helper.wait(function() return program:text():find "\n" end), program:text())
      os.execute("sleep 0.0" .. 3 * i)
      program:signal "KILL"
      program:finish()
      local last = tonumber(program:text():match("(%d+)\n[^\n]*$"))
      local steps = number(play("restore=" .. brain, "state"), "state")
      assert.is_true(steps == last or steps == last + 1, ("%d of %d"):format(steps, last))
    end
  end)

  -- The game in LÖVE; gives what it prints.
  local function game(...)
    local out, err, status = shell.shell("ALSOFT_DRIVERS=null LIBGL_ALWAYS_SOFTWARE=1 exec "
      .. "xvfb-run -a love examples/love-pong --seed 1 --brain " .. brain .. " "
      .. table.concat({ ... }, " "))
    assert.equal(0, status, out .. err)
    return out
  end

  it("plays in LÖVE, and is saved at the end", function()
    local missing = helper.missing("love", "xvfb-run")
    if missing then return pending(missing) end
    local picture = helper.place() .. "/picture.png"
    -- A slow machine shows fewer frames, in which it sees less of the ball.
    local seconds, steps, balls = 6
    repeat
      assert.equal("", game("--bot", "--picture", picture, tostring(seconds)))
      assert.equal("\137PNG", helper.read(picture):sub(1, 4))
      steps, balls = play("restore=" .. brain, "state"):match("state\t(%d+)\t(%d+)")
      seconds = seconds * 2
    until tonumber(steps) > 0 or seconds > 200
    assert.is_true(tonumber(steps) > 0 and tonumber(balls) > 0, steps .. ", " .. balls)
  end)

  it("keeps a file that it cannot read, and plays", function()
    local missing = helper.missing("love", "xvfb-run")
    if missing then return pending(missing) end
    helper.write("brain/model.safetensors", "no brain")
    local out = game("--bot", "--picture", helper.place() .. "/picture.png", "1")
    assert.truthy(out:find("model.safetensors", 1, true), out)
    play("restore=" .. brain)
    local kept = io.popen("cat " .. brain .. ".unread-*/model.safetensors")
    assert.equal("no brain", kept:read "*a")
    kept:close()
  end)

  it("plays on where it cannot save, and says so", function()
    local missing = helper.missing("love", "xvfb-run")
    if missing then return pending(missing) end
    brain = helper.write("file", "") .. "/brain"
    local out = game("--bot", "--picture", helper.place() .. "/picture.png", "1")
    assert.truthy(out:find("file/brain", 1, true), out)
    assert.truthy(helper.exists(helper.place() .. "/picture.png"))
  end)

  it("tells what training costs the frames", function()
    local missing = helper.missing("love", "xvfb-run")
    if missing then return pending(missing) end
    play("play=20", "save=" .. brain)
    -- A slow machine needs more time for as many frames.
    local seconds, frames, trained, out = 1, {}, {}
    repeat
      out = game("--measure", tostring(seconds))
      seconds = seconds * 3
      for _, name in ipairs { "no training", "training" } do
        local both = { out:match("\n" .. name .. "%s+(%d+)%s+(%d+)%s+%d+%.%d%d") }
        frames[name], trained[name] = tonumber(both[1]), tonumber(both[2])
      end
      assert.truthy(frames["no training"] and frames.training, out)
    until math.min(frames["no training"], frames.training, 10 * trained.training) >= 10
      or seconds > 100
    assert.is_true(frames["no training"] >= 10 and frames.training >= 10, out)
    assert.is_true(trained["no training"] == 0 and trained.training > 0, out)
  end)
end)
