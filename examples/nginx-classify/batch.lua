-- Pictures of requests that come together are looked at together. The first request that finds
-- nobody at work leads: it lets nginx read the requests that are there already, runs what waits as
-- one batch, and hands out the answers. So nobody waits for a batch to fill, and the heavier the
-- load, the larger the batches.
local ffi = require "ffi"
local flow = require "jfl"
local network = require "network"
local semaphore = require "ngx.semaphore"

-- A batch is the largest of these that waits, so that none is padded; each has a plan. A run is
-- over in a millisecond or two, for which nginx does nothing else: on the worker's one core handing
-- it to another thread would not make it shorter.
local SIZES = { 1, 2, 4, 8, 16, 32 }
local MOST_WAITING = 1024        -- pictures; more than that is too much to do
local PATIENCE = 10              -- seconds that a request waits
local PIXELS = 28 * 28

local batch = {}

local predict = network.model:predict { inputs = { flow.float32 { -1, 1, 28, 28 } },
  output = flow.nn.softmax }

local waiting, first = {}, 1     -- { request, index, picture } each, in the order they came
local led = false                -- whether a request leads

local function left() return #waiting - first + 1 end

-- The pictures that are next, as many as a batch has.
local function take()
  local size, items = 1, {}
  for _, each in ipairs(SIZES) do size = each <= left() and each or size end
  for k = 1, size do
    items[k] = waiting[first]
    waiting[first], first = false, first + 1
  end
  if left() == 0 then waiting, first = {}, 1 end
  return items
end

local function images_of(items)
  local images = flow.ndarray.empty { #items, 1, 28, 28 }
  local to = images:pointer()
  for k, item in ipairs(items) do
    ffi.copy(to + (k - 1) * PIXELS, item.picture:pointer(), 4 * PIXELS)
  end
  return images
end

-- Runs one batch and tells the requests in it.
local function run_waiting()
  local items = take()
  local ok, answers = pcall(function() return predict(images_of(items)) end)
  ngx.shared.classify:incr("runs", 1, 0)
  for k, item in ipairs(items) do
    local request = item.request
    if ok then request.answers[item.index] = answers[k]:totable() end
    if not ok then request.wrong = answers end
    request.left = request.left - 1
    if request.left == 0 then request.told:post() end
  end
end

-- Goes on once nginx has read what came at the same time: it wakes who waits for a semaphore after
-- that. (ngx.sleep(0) would do, but logs a warning where nginx lacks OpenResty's patch.)
local function let_others_in()
  local woken = semaphore.new()
  local thread = ngx.thread.spawn(function() woken:wait(1) end)
  woken:post()
  ngx.thread.wait(thread)
end

-- Runs batches until this request is answered, and has the next one lead.
local function lead(request)
  led = true
  let_others_in()
  while request.left > 0 do run_waiting() end
  while left() > 0 and waiting[first].request.gone do first = first + 1 end
  led = left() > 0
  if not led then return end
  waiting[first].request.leads = true
  waiting[first].request.told:post()
end

--- The probabilities of the ten classes for each of these pictures, float32 arrays of 28 by 28
-- numbers; nil, a message and a status where there is no answer.
function batch.ask(pictures)
  if left() + #pictures > MOST_WAITING then return nil, "there is too much to do", 503 end
  local request = { answers = {}, left = #pictures, told = semaphore.new() }
  for i, picture in ipairs(pictures) do
    waiting[#waiting + 1] = { request = request, index = i, picture = picture }
  end
  if led then request.told:wait(PATIENCE) end
  if request.left > 0 and (request.leads or not led) then lead(request) end
  request.gone = request.left > 0
  if request.gone then return nil, "it took too long", 503 end
  if request.wrong then return nil, request.wrong, 500 end
  return request.answers
end

--- Loads the network from its folder and compiles what requests will need.
function batch.load(path)
  flow.config.threads(1)                   -- nginx has a worker for each core
  flow.config.max_plans(#SIZES)
  for _, size in ipairs(SIZES) do predict:compile(size) end
  network.model:load(path)
end

--- The first run of a plan in a process takes longer: that should not be a request's.
function batch.warm()
  for _, size in ipairs(SIZES) do predict(flow.ndarray.zeros { size, 1, 28, 28 }) end
end

return batch
