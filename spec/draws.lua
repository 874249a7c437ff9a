--- Draws that are the same in each run, while math.random stays the host's.
local draws = {}

--- How many trials a test makes: JFL_FUZZ, or n.
function draws.trials(n) return tonumber(os.getenv "JFL_FUZZ" or "") or n end

--- Where they begin: JFL_FUZZ_SEED, or 1.
function draws.seed() return tonumber(os.getenv "JFL_FUZZ_SEED" or "") or 1 end

--- A function that draws whole numbers from 1 to n (Park and Miller's generator).
function draws.from(seed)
  local state = seed % 2147483646 + 1
  local function random(n)
    state = state * 16807 % 2147483647
    return math.floor(state / 2147483647 * n) + 1
  end
  for _ = 1, 5 do random(1) end      -- seeds that are near each other then go apart
  return random
end

--- An element of the list.
function draws.pick(random, list) return list[random(#list)] end

return draws
