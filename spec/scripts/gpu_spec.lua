--- scripts/gpu, on a machine whose tools are stand-ins: what it runs, in which order, and what it
-- makes of stages that fail.
local helper = require "spec.lua.helper"

-- A clock on which so many seconds pass from one look to the next.
local CLOCK = [[
#!/bin/sh
now=$(($(cat "${0%%/*}/now") + %d))
echo $now >"${0%%/*}/now"
echo $now
]]

--- Makes that clock in a folder.
local function set_clock(folder, seconds)
  for name, text in pairs { now = "1000\n", date = CLOCK:format(seconds) } do
    local file = assert(io.open(folder .. "/" .. name, "w"))
    file:write(text)
    file:close()
  end
  os.execute(("chmod +x '%s/date'"):format(folder))
end

--- Runs it elsewhere than in the project's folder, by a path from there; gives what it printed, its
-- status, what was called, and the names in the archive.
local function gpu(fails, tools, seconds)
  local folder = helper.directory()
  local path = tools == false and "$PATH" or "$PWD/spec/scripts/stand_ins:$PATH"
  if seconds then
    set_clock(folder, seconds)
    path = folder .. ":" .. path
  end
  local pipe = io.popen(([[here=$PWD PATH="%s"; cd '%s' && ln -s "$here" project && env
    STAND_IN_LOG='%s/called' STAND_IN_FAILS='%s' OUT=packed JFL_GPU_LOGS='%s/logs' JFL_PEER=true
    JFL_GPU_COMMAND="$here/spec/scripts/stand_ins/jfl" project/scripts/gpu 2>&1; echo "status $?"]])
    :gsub("\n *", " "):format(path, folder, folder, fails, folder))
  local out = pipe:read "*a"
  pipe:close()
  os.remove(folder .. "/project")
  local called = assert(io.open(folder .. "/called")):read "*a"
  local list = io.popen(("tar -tzf '%s/packed/gpu.tar.gz' 2>&1"):format(folder))
  local names = list:read "*a"
  list:close()
  helper.remove(folder)
  return out, tonumber(out:match "status (%d+)"), called, names
end

--- Whether the texts stand in `all` in that order.
local function in_order(all, texts)
  local at = 1
  for _, text in ipairs(texts) do
    local from, to = all:find(text, at, true)
    assert.truthy(from, text .. "\n" .. all)
    at = to
  end
end

local STAGES = { "== machine: ", "a GPU that is not here", "== libraries: ",
  "NVIDIA's driver: GPUs", "== device: ", "== plan_lenet: ", "== plan_resnet50_256: ",
  "== plan_gpt2_16: ", "== plan_bert: ", "== plan_lstm: ", "== cases: ", "== parity: ",
  "== racecheck: ", "== memcheck: ", "== steps_resnet50_256: ", "== ncu_resnet50_256: ",
  "== steps_gpt2_16: ", "== ncu_gpt2_16: ", "== lenet: ", "== gpt: ", "== bench: " }

describe("scripts/gpu", function()
  it("does its stages in order, from any folder, and packs what they said", function()
    local out, status, called, names = gpu ""
    in_order(out, STAGES)
    assert.truthy(out:find("all is well", 1, true), out)
    assert.equal(0, status)
    in_order(called, { "plans.lua resnet50_256 bfloat16 [device gpu,", "specs.lua --share=1/",
      "compute-sanitizer --tool racecheck", "gpu; tf32 0]", "ncu --launch-skip",
      "beside.lua examples/gpt.lua 20", "bench/gpu.lua" })
    for _, name in ipairs { "plan_bert", "cases", "memcheck", "ncu_gpt2_16", "bench" } do
      assert.truthy(names:find("./" .. name .. ".log\n", 1, true), names)
    end
    assert.falsy(names:find("ubyte", 1, true))
  end)

  it("goes on behind stages that fail, and says which", function()
    local out, status = gpu "config.device plans.lua examples/gpt.lua"
    for _, name in ipairs { "device", "plan_lenet", "plan_lstm", "gpt" } do
      assert.truthy(out:find("== " .. name .. ": FAILED (3)", 1, true), out)
    end
    assert.truthy(out:find("the stand-in fails for plans.lua", 1, true), out)
    for _, name in ipairs { "cases", "racecheck", "ncu_gpt2_16", "lenet", "bench" } do
      assert.truthy(out:find("== " .. name .. ": passed", 1, true), out)
    end
    assert.truthy(out:find("look above", 1, true), out)
    assert.equal(1, status)
  end)

  it("keeps time for the bench, where other stages take more than they should", function()
    local out, _, called, names = gpu("", nil, 7)
    assert.truthy(out:find("left out, as no time is left", 1, true), out)
    assert.truthy(out:find("== bench: passed", 1, true), out)
    assert.truthy(out:find("all that was done is well", 1, true), out)
    assert.truthy(called:find("bench/gpu.lua", 1, true), called)
    assert.truthy(names:find("./bench.log\n", 1, true), names)
  end)

  it("says what tools are not there, and does the rest", function()
    local out, _, called = gpu("", false)
    assert.truthy(out:find("== machine: FAILED (127)", 1, true), out)
    assert.truthy(out:find("== compute-sanitizer: not here", 1, true), out)
    assert.truthy(out:find("== ncu: not here", 1, true), out)
    assert.truthy(called:find("bench/gpu.lua", 1, true), called)
  end)
end)
