-- Boxes for Lua texts that one does not trust.
---@flow sandbox
local args = require "jfl.base.args"
local core = require "jfl.core"

local Box = {}
Box.__index = Box
function Box.__tostring() return "sandbox" end

local UNITS = { [""] = 1, K = 2 ^ 10, M = 2 ^ 20, G = 2 ^ 30 }

-- "64M" or a number of bytes.
local function bytes(value)
  local number, unit = tostring(value):upper():match("^(%d+%.?%d*)([KMG]?)B?$")
  local n = number and tonumber(number) * UNITS[unit]
  if n and n >= 2 ^ 20 then return n end
  core.fail("sandbox: memory must be a number of bytes from 1M on, such as \"64M\", got %s",
    args.describe(value))
end

local function folder(name, value)
  args.must(value == nil or core.is_directory(value), value,
    "sandbox: %s must be a folder that is there", name)
  return value
end

local LIMIT = "a number above 0 or math.huge"

local sandbox = {}

sandbox.sandbox = args.define("sandbox",
  "A box in which Lua texts of others run, without a way to files, processes or the host.", {
    { "memory", "the most bytes that it may take: a number, or a text such as \"64M\"", "64M",
      type = "number | string" },
    { "seconds", "the longest that one run or call may take", 1, range = LIMIT },
    { "instructions", "the most that Lua may run of them in one run or call; none: any number",
      args.none, type = "number", range = LIMIT },
    { "threads", "the most that its jobs may use", 1, least = 1 },
    { "read", "a folder, below which it may read arrays, tables, pictures and checkpoints",
      args.none, type = "string" },
    { "write", "a folder, below which it may save arrays and checkpoints", args.none,
      type = "string" },
    { "print", "a function that gets each line that a text prints; without it they are printed",
      args.none, type = "function" },
    returns = "Sandbox",
  }, function(o)
    local core_box = require("jfl.sandbox.core").new {
      memory = bytes(o.memory), seconds = o.seconds, instructions = o.instructions,
      threads = o.threads, read = folder("read", o.read), write = folder("write", o.write),
      print = o.print,
    }
    return setmetatable({ _core = core_box }, Box)
  end)

local function boxes() return require "jfl.sandbox.core" end

--- Runs a text, with further arguments as its `...`; gives what it returns.
function Box:run(text, name, ...)
  args.expect("sandbox.run", "text", text, "string")
  args.expect("sandbox.run", "name", name or "text", "string")
  return boxes().run(self._core, text, "=" .. (name or "text"), ...)
end

--- Calls a global function of the box.
function Box:call(name, ...)
  args.expect("sandbox.call", "name", name, "string")
  return boxes().call(self._core, name, ...)
end

--- The value of a global of the box; nil where there is none.
function Box:get(name)
  args.expect("sandbox.get", "name", name, "string")
  return boxes().get(self._core, name)
end

--- Makes a value, which may be a function, a global of the box.
function Box:set(name, value)
  args.expect("sandbox.set", "name", name, "string")
  boxes().set(self._core, name, value)
end

--- The bytes that the box takes now.
function Box:used() return boxes().used(self._core) end

--- Frees all that it has; what is left to the garbage collector goes later.
function Box:close() boxes().close(self._core) end

return sandbox
