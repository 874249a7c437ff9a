--- Work for a script with a deadline asks for it often, and what surely takes longer is not begun.
--- No time is taken: build/counted, which `make build/counted` builds, counts the work between two
--- looks at the deadline (spec/counted/asks.lua), and there the time that is left stands still
--- (spec/counted/refused.lua).
local function output_of(command)
  local pipe = assert(io.popen("build/counted spec/counted/" .. command .. " 2>&1"))
  local said = pipe:read "*a"
  pipe:close()
  return said
end

describe("the deadline is asked for", function()
  for what, of in pairs { arrays = "by functions of arrays", compiling = "while jobs are compiled",
    files = "while tokenizers are learned, long texts cut and large files read",
    ["a-c"] = "by ops from a to c", ["d-l"] = "by ops from d to l", ["m-q"] = "by ops from m to q",
    ["r-s"] = "by ops from r to s", ["t-z"] = "by ops from t to z" } do
    it(of, function()
      local said = output_of("asks.lua " .. what)
      local calls, long = said:match "(%d+) calls, (%d+) long\n$"
      assert(calls and tonumber(calls) >= (what == "files" and 50 or 10) and long == "0", said)
    end)
  end
end)

describe("with half a second left", function()
  local said
  setup(function() said = output_of "refused.lua" end)

  for name, of in pairs { conv = "a convolution", max_pool = "a pool by maxima",
    avg_pool = "a pool by means", attention = "attention", job = "a pool in a job" } do
    it(of .. " that takes longer is not begun", function()
      assert.matches("\n" .. name .. ": [^\n]*e%+%d+ steps, which the script has no time for\n",
        said)
    end)
  end

  -- A library does one picture of one channel in one call.
  for _, name in ipairs { "part", "part in predict", "part in train" } do
    it("a " .. name .. " that nothing ends is not begun", function()
      assert.matches("\n" .. name .. ": [^\n]*it takes 8e%+10 steps at once, which the script has "
        .. "no time for", said)
    end)
  end

  -- Eight results are made together, where 16 could be: half of the speed, and not a sixteenth.
  it("a convolution of few channels that takes a fraction of it runs", function()
    assert.matches("\nfew: 1 8 128 128\n", said)
  end)
end)
