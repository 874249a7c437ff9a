-- Compiling takes time in proportion to what is compiled, or hardly more.
local flow = require "jfl"
local kinds = require "scripts.bench.growing"

-- Sizes, and how many times as long four times as much may take: quadratic time would be 16. What
-- is small fits in the caches and needs no collection of garbage, which makes sizes differ by more.
local SIZES = { predict = 10000, train = 10000, dense = 1000, residual = 100, variables = 2000,
  views = 4000, results = 1000, definitions = 20000, profile = 1000, checkpoint = 2000,
  jobs = 2500 }
local MOST, TRIES = 9, 4

describe("compiling", function()
  before_each(flow.clear_default_session)
  after_each(flow.clear_default_session)

  local function seconds(run, n)
    flow.clear_default_session()
    collectgarbage()
    local start = os.clock()
    run(n)
    return os.clock() - start
  end

  for _, kind in ipairs(kinds) do
    local name, what, _, run = unpack(kind)
    it("takes about four times as long for four times as many " .. what, function()
      local n = SIZES[name]
      local small, large = math.huge, math.huge
      for _ = 1, TRIES do
        small = math.min(small, seconds(run, n))
        large = math.min(large, seconds(run, 4 * n))
        if large <= MOST * small then return end
      end
      error(("%d take %.3f s, %d take %.3f s"):format(n, small, 4 * n, large))
    end)
  end
end)
