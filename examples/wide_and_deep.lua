-- A wide & deep network (Cheng et al. 2016) learns who clicks on what in a made-up shop. The wide
-- part remembers: a number for each user, each item and each combination of hour, weekday and
-- device. The deep part generalizes: vectors of users and items go through dense layers.
local flow = require "jfl"
local nd = flow.ndarray

local o = flow.arguments "[epochs=3] [visits=400000]"
local EPOCHS, VISITS = o.epochs, o.visits
local BATCH_SIZE, TASTES = 500, 3
local COUNTS = { user = 1000, item = 400, hour = 24, weekday = 7, device = 5 }
local NAMES = { "user", "item", "hour", "weekday", "device" }

-- ---- the shop: what makes visitors click ----

math.randomseed(1)

local function normal()
  return math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
end

local function vectors(n)
  local list = {}
  for i = 1, n do
    list[i] = {}
    for t = 1, TASTES do list[i][t] = normal() end
  end
  return list
end

local tastes, offers = vectors(COUNTS.user), vectors(COUNTS.item)
local moods = {}                           -- of hour, weekday and device together
for i = 0, COUNTS.hour * COUNTS.weekday * COUNTS.device - 1 do moods[i] = normal() end

local function moment(v) return (v.hour * COUNTS.weekday + v.weekday) * COUNTS.device + v.device end

-- The logit of a click.
local function wish(v)
  local taste, offer, sum = tastes[v.user + 1], offers[v.item + 1], 0
  for t = 1, TASTES do sum = sum + taste[t] * offer[t] end
  return 0.7 * sum + 0.8 * moods[moment(v)] - 0.6 * v.price - 1
end

-- Visits as arrays (batches, batch size): numbers of all kinds, prices, clicks; and the chances of
-- a click, which no network gets to see.
local function visits(n)
  local batches = math.floor(n / BATCH_SIZE)
  local shape, columns, data = { batches, BATCH_SIZE }, {}, {}
  for _, name in ipairs(NAMES) do columns[name] = nd.zeros(shape, flow.int32) end
  columns.moment = nd.zeros(shape, flow.int32)
  for _, name in ipairs { "price", "click", "chance" } do columns[name] = nd.zeros(shape) end
  for name, column in pairs(columns) do data[name] = column:pointer() end
  local v = {}
  for i = 0, batches * BATCH_SIZE - 1 do
    for _, name in ipairs(NAMES) do v[name] = math.random(0, COUNTS[name] - 1) end
    v.price, v.moment = normal(), moment(v)
    v.chance = 1 / (1 + math.exp(-wish(v)))
    v.click = math.random() < v.chance and 1 or 0
    for name, pointer in pairs(data) do pointer[i] = v[name] end
  end
  return columns, batches
end

-- The share of pairs of a click and none in which the click has the higher score: the area under
-- the curve (AUC). 0.5 is guessing.
local function auc(scores, clicks)
  local order = flow.argsort(scores)
  local rank_sum, n_clicks, n = 0, 0, #clicks
  for rank = 1, n do
    if clicks[order[rank] + 1] == 1 then rank_sum, n_clicks = rank_sum + rank, n_clicks + 1 end
  end
  return (rank_sum - n_clicks * (n_clicks + 1) / 2) / (n_clicks * (n - n_clicks))
end

-- ---- the network ----

local function embed(ids, name, count, units)
  return flow.layers.embedding(ids, count, units, { name = name,
    embeddings_initializer = flow.random_normal_initializer(0, units > 1 and 0.2 or 0.01) })
end

local shop = flow.model("shop", function(user, item, at, price)
  local wide = embed(user, "wide-user", COUNTS.user, 1) + embed(item, "wide-item", COUNTS.item, 1)
    + embed(at, "wide-moment", COUNTS.hour * COUNTS.weekday * COUNTS.device, 1)
  local u = embed(user, "deep-user", COUNTS.user, 16)
  local v = embed(item, "deep-item", COUNTS.item, 16)
  local x = flow.concat({ u, v, u * v, flow.expand_dims(price, 1) }, 1)
  x = flow.layers.dense(x, 64, { activation = flow.nn.relu })
  x = flow.layers.dense(x, 32, { activation = flow.nn.relu })
  return (wide + flow.layers.dense(x, 1)):squeeze(1)
end)

local whole, real = flow.int32 { BATCH_SIZE }, flow.float32 { BATCH_SIZE }

local train = shop:train {
  inputs = { user = whole, item = whole, at = whole, price = real, click = real },
  loss = function(logits, click)
    return flow.nn.binary_cross_entropy_with_logits(logits, click)
  end,
  optimizer = flow.optimizer.Adam(0.005),
}

local score = shop:predict { inputs = { user = whole, item = whole, at = whole, price = real } }

-- ---- training ----

flow.random.seed(1)
local seen, batches = visits(VISITS)
local new, new_batches = visits(VISITS / 10)
local clicks = new.click:reshape(-1):totable()
print(("%d visits, %d more to test; the best possible AUC is %.3f"):format(batches * BATCH_SIZE,
  #clicks, auc(new.chance:reshape(-1), clicks)))

local function test()
  local scores = nd.zeros({ new_batches, BATCH_SIZE })
  for i = 1, new_batches do
    scores[i] = score(new.user[i], new.item[i], new.moment[i], new.price[i])
  end
  return auc(scores:reshape(-1), clicks)
end

for epoch = 1, EPOCHS do
  local sum = 0
  for i = 1, batches do
    sum = sum + train(seen.user[i], seen.item[i], seen.moment[i], seen.price[i],
      seen.click[i]):item()
  end
  print(("epoch %d: loss %.4f, test AUC %.3f"):format(epoch, sum / batches, test()))
end
