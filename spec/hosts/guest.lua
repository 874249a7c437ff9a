-- What a program with jfl inside does in spec/hosts: it trains, asks, saves and loads. The program
-- calls what this returns, and says how it waits.

-- The fields of the host's libraries, its globals among them; some have another thing by such
-- a name.
local function libraries()
  local fields = {}
  for name, library in pairs { _G = _G, coroutine = coroutine, debug = debug, io = io, math = math,
    os = os, string = string, table = table, jit = jit, bit = bit } do
    for key, value in pairs(type(library) == "table" and library or {}) do
      fields[name .. "." .. tostring(key)] = value
    end
  end
  return fields
end

local at_first = libraries()
local flow = require "jfl"
local tp = flow.typing

local guest = {}

--- What of the host's libraries is another thing than before jfl was loaded, as a text.
function guest.changed()
  local list, after = {}, libraries()
  for key, value in pairs(after) do
    if at_first[key] ~= value then list[#list + 1] = key end
  end
  for key in pairs(at_first) do
    if after[key] == nil then list[#list + 1] = key end
  end
  table.sort(list)
  return table.concat(list, " ")
end

local BATCH = 32

local function network(x)
  local hidden = flow.layers.dense(x, 32, { activation = flow.math.tanh, name = "hidden" })
  return flow.layers.dense(hidden, 1, { name = "out" })
end

local function loss_of(x, y)
  local loss = flow.math.reduce_mean(flow.math.squared_difference(network(x), y))
  flow.optimizer.Adam(0.01):minimize(loss)
  return loss
end

local pairs_of_numbers = {
  { "x", tp.Numpy.Placeholder { BATCH, 1 } }, { "y", tp.Numpy.Placeholder { BATCH, 1 } },
}

--- The jobs: train gives the loss, train_later gives it to a callback, predict is asked,
-- predict_later too.
function guest.define()
  flow.random.seed(7)
  guest.train_job = flow.global_function { name = "train", type = "train", returns = tp.Numpy,
    inputs = pairs_of_numbers, body = loss_of }
  guest.later_job = flow.global_function { name = "train_later", type = "train",
    returns = tp.Callback(tp.Numpy), inputs = pairs_of_numbers, body = loss_of }
  guest.predict_job = flow.global_function { name = "predict", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder { 1, 1 } } }, body = network }
  guest.asked_job = flow.global_function { name = "predict_later", body = network,
    inputs = { { "x", tp.Numpy.Placeholder { 1, 1 } } }, returns = tp.Callback(tp.Numpy) }
  return guest
end

local function batch()
  local x = flow.random.uniform({ BATCH, 1 }, { minval = -3, maxval = 3 })
  return x, flow.math.sin(x)
end

--- Trains synchronously; gives the first loss and the last.
function guest.train(steps)
  local first, last
  for _ = 1, steps do
    last = guest.train_job(batch()):item()
    first = first or last
  end
  return first, last
end

guest.delivered, guest.loss = 0, nil

--- Submits so many steps, each by the callback of the one before it.
function guest.submit(steps)
  guest.later_job(batch())(function(loss)
    guest.delivered, guest.loss = guest.delivered + 1, loss:item()
    if steps > 1 then guest.submit(steps - 1) end
  end)
end

guest.fd, guest.poll = flow.fd, flow.poll

--- What the network says of a number, which is to be its sine.
function guest.predict(x) return guest.predict_job({ { x } }):item() end

--- The same, given to a function.
function guest.ask(x, answer)
  guest.asked_job({ { x } })(function(y) answer(y:item()) end)
end

--- Saves to a folder, trains on, loads, and fails unless the network says again what it said.
function guest.keep(folder)
  local before = guest.predict(1)
  flow.train.CheckPoint():save(folder, { overwrite = true })
  guest.train(3)
  assert(guest.predict(1) ~= before, "training changed nothing")
  flow.train.CheckPoint():load(folder)
  assert(guest.predict(1) == before, "what was loaded is not what was saved")
end

--- Everything, where wait(fd) returns once the descriptor is readable, by the program's own loop.
-- Gives a line that says so.
function guest.all(folder, wait)
  guest.define()
  local first, last = guest.train(150)
  assert(last < math.max(first / 4, 0.02), ("loss went from %g to %g"):format(first, last))
  local goal = guest.delivered + 150
  guest.submit(150)
  local fd = guest.fd()
  while guest.delivered < goal do
    wait(fd)
    guest.poll(0.002)
  end
  guest.keep(folder)
  local error_of_sine = math.abs(guest.predict(1.2) - math.sin(1.2))
  assert(error_of_sine < 0.2, "the sine of 1.2 is off by " .. error_of_sine)
  return ("learnt, %d callbacks, saved and loaded"):format(guest.delivered)
end

return guest
