-- Reads the catalogue of mistakes and runs its scripts, each as a user's file train.lua.
local flow = require "jfl"

local run = {}

local PRELUDE = "local flow = require \"jfl\"; local tp, nd = flow.typing, flow.ndarray\n"

-- The scripts around the lines of an entry.
local FRAMES = {
  net = [[
local net = flow.global_function {
  name = "net", returns = tp.Numpy,
  inputs = {
    { "images", tp.Numpy.Placeholder({ 4, 1, 8, 8 }) },
    { "labels", tp.Numpy.Placeholder({ 4 }, { dtype = flow.int32 }) },
  },
  body = function(images, labels)
%s  end,
}
return net(nd.zeros({ 4, 1, 8, 8 }), nd.zeros({ 4 }, flow.int32))
]],
  train = [[
local train = flow.global_function {
  name = "train_job", type = "train", returns = tp.Numpy,
  inputs = {
    { "images", tp.Numpy.Placeholder({ 4, 8 }) },
    { "labels", tp.Numpy.Placeholder({ 4 }, { dtype = flow.int32 }) },
  },
  body = function(images, labels)
    local logits = flow.layers.dense(images, 10, { name = "output" })
    local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
%s  end,
}
return train(nd.zeros({ 4, 8 }), nd.zeros({ 4 }, flow.int32))
]],
}

-- The number of the line that is marked.
local function marked(text)
  local line = 0
  for each in text:gmatch("([^\n]*)\n") do
    line = line + 1
    if each:find("--@", 1, true) then return line end
  end
  error("no line is marked:\n" .. text)
end

--- The entries of all chapters: { title, phrases, text, line, clears, chapter }.
function run.entries()
  local all = {}
  for _, chapter in ipairs { "define", "network", "train", "call" } do
    for _, e in ipairs(require("spec.lua.mistakes." .. chapter)) do
      local text = e[3]
      if e[4] then text = FRAMES[e[3]]:format((e[4]:gsub("[^\n]+", "    %0"))) end
      text = PRELUDE .. text
      all[#all + 1] = { title = e[1], phrases = e[2], text = text, line = marked(text),
        clears = e.clears, chapter = chapter }
    end
  end
  return all
end

-- What the scripts share beside the library.
local shared = {}

--- A train job of one layer, (4, 8) images and 10 classes.
function shared.mlp()
  local tp = flow.typing
  return flow.global_function {
    name = "train_job", type = "train", returns = tp.Numpy,
    inputs = {
      { "images", tp.Numpy.Placeholder({ 4, 8 }) },
      { "labels", tp.Numpy.Placeholder({ 4 }, { dtype = flow.int32 }) },
    },
    body = function(images, labels)
      local logits = flow.layers.dense(images, 10, { name = "output" })
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
      flow.optimizer.SGD(0.1):minimize(loss)
      return loss
    end,
  }
end

local function adder(name, returns)
  return flow.global_function { name = name, returns = returns,
    inputs = { { "x", flow.typing.Numpy.Placeholder({ 2 }) } },
    body = function(x) return x + 1 end,
  }
end

function shared.future_job() return adder("add_job") end

function shared.callback_job() return adder("add_job", flow.typing.Callback(flow.typing.Numpy)) end

--- Runs an entry's script; gives whether it ended, and its message. directory: an empty one for it.
function run.script(entry, directory)
  local chunk, err = loadstring(entry.text, "@train.lua")
  if not chunk then return false, err end
  local env = setmetatable({ directory = directory, print = function() end },
    { __index = function(_, key) return shared[key] or rawget(_G, key) end })
  function env.write(name, bytes)
    local file = assert(io.open(directory .. "/" .. name, "wb"))
    file:write(bytes)
    file:close()
    return directory .. "/" .. name
  end
  function env.small_mnist()
    local nd = flow.ndarray
    local images, labels = nd.zeros({ 20, 28, 28 }, "uint8"), nd.zeros({ 20 }, "uint8")
    nd.save(directory .. "/mnist.npz",
      { x_train = images, y_train = labels, x_test = images, y_test = labels })
    return directory
  end
  local said = print
  rawset(_G, "print", env.print)
  local ok, message = pcall(setfenv(chunk, env))
  rawset(_G, "print", said)
  return ok, message
end

return run
