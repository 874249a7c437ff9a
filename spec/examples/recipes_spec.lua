-- The recipes: short programs that each show how one thing is done, and what comes of it.
local flow = require "jfl"
local helper = require "spec.cmd.helper"

local MOST_LINES = 60
local root = os.getenv("PWD")

-- #cpu: they are about what is learned, not about devices.
describe("the recipe #cpu", function()
  local place

  before_each(function()
    place = os.tmpname()
    os.remove(place)
    assert(os.execute("mkdir " .. place) == 0)
  end)

  after_each(function() os.execute("rm -rf " .. place) end)

  local function path_of(name) return ("%s/examples/recipes/%s.lua"):format(root, name) end

  -- The command that runs a recipe in the new folder.
  local function line_of(name, ...)
    local command = helper.command():gsub("^build/", root .. "/build/")
    return ("cd %s && %s %s %s"):format(place, command, path_of(name), table.concat({ ... }, " "))
  end

  -- Runs a recipe; gives what it printed, and what it said on stderr.
  local function run(name, ...)
    local out, err, status = helper.shell(line_of(name, ...))
    assert.equal(0, status, out .. err)
    return out, err
  end

  -- The numbers that a line of the output has where the pattern captures them.
  local function numbers(out, pattern)
    local found = { out:match(pattern) }
    assert.truthy(found[1], out)
    for i, text in ipairs(found) do found[i] = tonumber(text) end
    return unpack(found)
  end

  local function says(text, out) assert.truthy(out:find(text, 1, true), out) end

  it("is short, and there is one for each file", function()
    local pipe = io.popen("ls examples/recipes")
    local page, count = assert(io.open("scripts/doc/pages/recipes.md")):read "*a", 0
    for file in pipe:lines() do
      local lines = 0
      for _ in io.lines("examples/recipes/" .. file) do lines = lines + 1 end
      assert.is_true(lines <= MOST_LINES, file .. " has " .. lines .. " lines")
      says("<!-- file examples/recipes/" .. file .. " -->", page)
      count = count + 1
    end
    pipe:close()
    assert.equal(12, count)
  end)

  it("takes no more lines than PyTorch does, as the page says", function()
    local page, pipe = assert(io.open("scripts/doc/pages/recipes.md")):read "*a",
      io.popen("scripts/peers/count")
    local count = 0
    for line in pipe:lines() do
      says(line .. "\n", page)
      local ours, theirs = line:match "| (%d+) | (%d+) |$"
      if ours then
        count = count + 1
        assert.is_true(tonumber(ours) <= tonumber(theirs), line)
      end
    end
    pipe:close()
    assert.equal(9, count)
  end)

  it("pictures: names what is on the pictures of a folder", function()
    local ok = pcall(flow.data.save_image, place .. "/probe.png", flow.ndarray.zeros { 8, 8 })
    if not ok then return pending "needs libpng" end
    local out = run "pictures"
    assert.is_true(numbers(out, "\naccuracy ([%d.]+)\n") > 0.85, out)
    says("shapes/cross/11.png: cross\n", out)
    out = run("pictures", "shapes")                -- the folder that is there now
    assert.is_true(numbers(out, "\naccuracy ([%d.]+)\n") > 0.85, out)
  end)

  it("table: learns from a table with holes, and keeps what filled them", function()
    local out = run "table"
    assert.is_true(numbers(out, "AUC ([%d.]+)") > 0.9, out)
    local notes = flow.checkpoint.load(place .. "/customers-model").notes
    assert.is_true(notes.scales.age.mean > 45 and notes.scales.age.mean < 53)
    assert.same({ "basic", "family", "plus" }, (function(list) table.sort(list) return list end)(
      notes.categories.plan))
  end)

  it("table: leaves a table that is there as it is", function()
    local own = "age,calls,city,plan,cancelled\n"
      .. ("30,11,Oslo,basic,1\n70,,Rome,plus,0\n,1,Rome,family,0\n"):rep(40)
    local file = assert(io.open(place .. "/customers.csv", "w"))
    file:write(own)
    file:close()
    run "table"
    assert.equal(own, io.open(place .. "/customers.csv"):read "*a")
  end)

  it("fine_tune: needs fewer examples than a network that knows nothing", function()
    local out = run "fine_tune"
    assert.is_true(numbers(out, "12 sounds: ([%d.]+) right") > 0.85, out)
    local tuned, fresh = numbers(out, "20 examples: ([%d.]+) right; without what it knew ([%d.]+)")
    assert.is_true(tuned > 0.9 and tuned > fresh + 0.05, out)
  end)

  it("layer: learns what a dense layer with as many numbers does not", function()
    local out = run "layer"
    local places, size = numbers(out, "places: ([%d.]+) right, (%d+) numbers")
    local dense, same = numbers(out, "dense: ([%d.]+) right, (%d+) numbers")
    assert.equal(size, same)
    assert.is_true(places > 0.97 and places > dense + 0.01, out)
  end)

  it("loss: promises what nine of ten keep", function()
    local out = run "loss"
    local mean, half = numbers(out, "mean: (%d+) minutes for 5 km, kept by ([%d.]+)")
    local safe, most = numbers(out, "nine of ten: (%d+) minutes for 5 km, kept by ([%d.]+)")
    -- 15 minutes and a delay of 5 on average; 5 log 10 is kept by nine of ten.
    assert.is_true(mean >= 19 and mean <= 21 and half > 0.57 and half < 0.69, out)
    assert.is_true(safe >= 25 and safe <= 29 and most > 0.86 and most < 0.95, out)
  end)

  it("schedule: ends lower than a constant rate does", function()
    local out = run "schedule"
    local with, without = numbers(out, "loss ([%d.]+); with a constant rate ([%d.]+)")
    assert.is_true(with < 0.05 and with < without, out)
    says("a ready one: 0.005\n", out)
  end)

  it("loop: keeps its best variables and loads them", function()
    local out, best = run "loop", 0
    for right in out:gmatch "([%d.]+) right\nstep" do best = math.max(best, tonumber(right)) end
    assert.is_true(best > 0.85, out)
    assert.is_true(numbers(out, "loaded again: ([%d.]+) right") >= best, out)
    says("step 200: rate 0.0070", out)
  end)

  it("wrong_shape: shows shapes, and the error that names both", function()
    local out = run "wrong_shape"
    says("after block 2: blob 'max_pool2d_2' (64, 16, 5, 5) float32", out)
    says("wrong_shape.lua:15: net-train: reshape: (64, 16, 5, 5) has 25600 elements, which do not "
      .. "fit (64, 784)", out)
    says("output-weight  float32 (10, 400)", out)
    says("must have the shape of logits (64, 10) without its last axis, got (63)", out)
    assert.is_true(numbers(out, "it runs: loss ([%d.]+)") < 5, out)
  end)

  it("nan: finds where it begins, shows what made it, and mends it", function()
    local out, err = run "nan"
    says("stopped by nan in epoch 1\n", out)
    says("fit: loss is nan in epoch 1", err)
    says("'logarithm' must be finite in step 1, got -inf", out)
    assert.truthy(out:find "see [^\n]*nan.lua:16\n", out)
    says("the least price: 0\n", out)
    assert.is_true(numbers(out, "mended: loss ([%d.]+)") < 0.2, out)
  end)

  it("slow_step: tells the script's time from the job's, and names op and line", function()
    local out = run "slow_step"
    assert.is_true(numbers(out, "by hand: script ([%d.]+) s") >= 0)
    assert.is_true(numbers(out, "smaller filters: script [%d.]+ s, job ([%d.]+) s") >= 0)
    assert.truthy(out:find("conv2d[%w_]* +%w+ +[^\n]*slow_step.lua:11"), out)
  end)

  it("agent: learns to catch", function()
    local out = run "agent"
    assert.is_true(numbers(out, "round 1: caught ([%d.]+)") < 0.4, out)
    assert.is_true(numbers(out, "in earnest: caught ([%d.]+)") > 0.8, out)
  end)

  it("serve: answers what is asked, and what is wrong", function()
    if not helper.shell("command -v bash"):find "bash" then return pending "needs bash" end
    local out = helper.shell(([[{ %s > out 2>&1 & } ; server=$!; cd %s
      until grep -q http out 2>/dev/null || ! kill -0 $server 2>/dev/null; do sleep 0.05; done
      cat > ask <<'END'
      port=$(sed -n 's,.*127.0.0.1:\([0-9]*\)/.*,\1,p' out)
      exec 4<>/dev/tcp/127.0.0.1/$port       # says nothing
      for path in '/?x=0.3&y=-0.4' '/?x=0&y=0' '/?x=cat&y=0' /; do
        exec 3<>/dev/tcp/127.0.0.1/$port
        printf 'GET %%s HTTP/1.1\r\n\r\n' "$path" >&3
        cat <&3
        echo
      done
END
      bash ask; kill $server; wait $server
      { %s >again 2>&1 & } ; server=$!        # at the port that the first one had
      until [ -s again ]; do sleep 0.05; done; cat again; kill $server]])
      :format(line_of("serve", 0), place, line_of("serve", "$(sed 's,.*:,,; s,/.*,,' out)")))
    local near, far = out:match '{"inside": ([%d.]+)}.*{"inside": ([%d.]+)}'
    assert.is_true(tonumber(near) > 0.8 and tonumber(far) < 0.2, out)
    assert.equal(2, select(2, out:gsub('HTTP/1.0 400 Bad Request[^{]*{"error": "ask', "")), out)
    assert.matches("\nhttp://127.0.0.1:%d+/", out)
  end)
end)
