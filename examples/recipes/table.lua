-- A table with missing values, numbers and texts in it: who will cancel a contract? What fills the
-- holes and scales the columns is learned from the training part alone, and kept with the model.
local flow = require "jfl"
local nd = flow.ndarray
local FILE, MODEL = "customers.csv", "./customers-model"   -- for a table of your own, change this

-- Customers who are young, call often or live in Oslo tend to cancel. One cell in six is empty.
local function write_table(path, n)
  local file, plans = assert(io.open(path, "w")), { "basic", "plus", "family" }
  local function cell(value) return math.random(6) == 1 and "" or value end
  file:write("age,calls,city,plan,cancelled\n")
  for _ = 1, n do
    local age, calls, city = math.random(18, 80), math.random(0, 12), math.random(2)
    local score = (45 - age) / 12 + (calls - 6) / 3 + (city == 1 and 1.5 or -1.5)
    file:write(("%s,%s,%s,%s,%d\n"):format(cell(age), cell(calls), city == 1 and "Oslo" or "Rome",
      plans[math.random(3)], math.random() < 1 / (1 + math.exp(-2 * score)) and 1 or 0))
  end
  file:close()
end
math.randomseed(2)
flow.random.seed(2)
if not io.open(FILE) then write_table(FILE, 2000) end

local NUMBERS, TEXTS = { "age", "calls" }, { "city", "plan" }  -- this, types and `cancelled`
local types = { age = "float32", calls = "float32" }       -- with holes: nan
local customers = flow.data.csv(FILE, { types = types, categories = TEXTS })
local train, test = flow.data.split(customers, { 0.8, 0.2, seed = 1 })

-- A column with holes becomes two: its values, scaled and 0 where they are missing, and where that
-- is. A network can learn from a hole, too.
local scales = {}
local function features(set)
  local columns = {}
  for _, name in ipairs(NUMBERS) do
    local is_there = set[name]:eq(set[name])               -- nan alone does not equal itself
    local values = flow.where(is_there, set[name], nd.zeros(set[name].shape))
    local there = is_there:astype "float32"
    local scale = scales[name] or { mean = values:sum() / there:sum() }
    local off = (values - scale.mean) * there
    scale.deviation = scale.deviation or math.sqrt((off * off):sum() / there:sum())
    scales[name] = scale
    columns[#columns + 1] = nd.stack({ off / scale.deviation, there }, 1)
  end
  for _, name in ipairs(TEXTS) do
    columns[#columns + 1] = flow.one_hot(set[name], #customers.categories[name])
  end
  return flow.concat(columns, 1)
end
local x, y = features(train), train.cancelled:astype "int32"

local net = flow.model("net", function(rows)
  local hidden = flow.layers.dense(rows, 16, { activation = flow.nn.relu })
  return flow.layers.dense(flow.nn.dropout(hidden, 0.2), 2)
end)
local run = flow.fit(net, { x, y }, { loss = flow.nn.cross_entropy, epochs = 30, patience = 6,
  optimizer = flow.optimizer.Adam(0.01), keep_best = true, metrics = { "accuracy", "auc" },
  validation = { features(test), test.cancelled:astype "int32" } })
flow.checkpoint.save(MODEL, { overwrite = true,
  notes = { scales = scales, categories = customers.categories } })
print(("AUC %.3f"):format(run.history.auc[run.best.epoch]))
