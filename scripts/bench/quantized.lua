-- Times products with weights that are stored in few bits:
--   jfl scripts/bench/quantized.lua [threads [rows]]
-- Prints for each form the bytes of weights that products of 4096 x 4096 read in a second, and that
-- over what products of float32 read, which for one row is what the memory gives; by the clock, and
-- by the processor's time, which tells more on a busy machine. As many matrices are read in turn as
-- no cache holds. The last column is tokens a second of the 124 million weights of GPT-2.
local core = require "jfl.core"
local flow = require "jfl"

local tp = flow.typing
local THREADS, ROWS = tonumber(arg[1] or 2), tonumber(arg[2] or 1)
local SIZE, BYTES, ROUNDS, GPT2 = 4096, 2e8, 6, 124e6
local FORMS = { { "float32", 32 }, { "float16", 16 }, { "q8_0", 8.5 }, { "q6_k", 6.5625 },
  { "q4_k", 4.5 }, { "q4_0", 4.5 } }

flow.config.threads(THREADS)
local values = flow.ndarray.rand({ SIZE, SIZE })

-- The bytes that are read in a second, by the clock and by the processor's time.
local function speed(form, bits)
  local array, arrays = values:astype(form), {}
  local count = math.ceil(BYTES / (SIZE * SIZE * bits / 8))
  local job = flow.global_function { name = form, returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ ROWS, SIZE }) } },
    body = function(x)
      for i = 1, count do
        local name = ("%s.%d"):format(form, i)
        arrays[name] = array
        x = flow.matmul(x, flow.get_variable(name, { SIZE, SIZE }, { dtype = form,
          trainable = false, initializer = flow.zeros_initializer() }), { transpose_b = true })
      end
      return x
    end }
  local x = flow.ndarray.rand({ ROWS, SIZE })
  job(x)
  flow.load_variables(arrays)
  job(x)
  local clock, time = math.huge, math.huge
  for _ = 1, ROUNDS do
    local start, used = core.now(), os.clock()
    job(x)
    clock, time = math.min(clock, core.now() - start), math.min(time, os.clock() - used)
  end
  flow.clear_default_session()
  flow.config.threads(THREADS)
  local bytes = count * SIZE * SIZE * bits / 8
  return bytes / clock, bytes / time
end

local full, full_time
print(("%-8s %8s %8s %14s %8s %10s"):format("weights", "GB/s", "of f32", "GB per CPU s", "of f32",
  "tokens/s"))
for _, each in ipairs(FORMS) do
  local form, bits = unpack(each)
  local clock, time = speed(form, bits)
  full, full_time = full or clock, full_time or time
  print(("%-8s %8.1f %8.2f %14.1f %8.2f %10.1f"):format(form, clock / 1e9, clock / full, time / 1e9,
    time / full_time, clock / (GPT2 * bits / 8)))
end
