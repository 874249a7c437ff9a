-- Boxes for Lua texts that one does not trust.
---@flow sandbox
--[==[ guide 23: Untrusted scripts
A game runs mods, a server runs rules that its users write: Lua texts of others, which may compute
and learn, and do nothing else. `flow.sandbox` makes a *box* for them, a Lua state of its own.

```lua
local box = flow.sandbox { memory = "64M", seconds = 1 }
box:run([[
  local flow = require "jfl"
  local speed = 2
  function step(x) return x + speed end
  function total(list) return flow.ndarray.array(list):sum() end
]], "mod")
print(box:call("step", 3), box:call("total", { 1, 2, 3 }))      --> 5	6
local ok, message = pcall(box.run, box, "os.exit()")
print(message:match("text:.*"))          --> text:1: attempt to call field 'exit' (a nil value)
```

`box:run(text, name, ...)` runs a text, which gets what follows its name as `...`, and gives what it
returns; `box:call(name, ...)` calls a global function of the box, `box:get(name)` and
`box:set(name, value)` read and set a global. Values are copied on their way: numbers, texts,
booleans, tables without their metatables, arrays. In what goes over together a table or an array
is copied once, so that it is one on the other side too, and a table may hold itself. Functions of
yours can go in, and run outside with copies of what the box gives them; those of the box stay
there.

```lua
local box = flow.sandbox { print = function(line) print("mod: " .. line) end }
box:set("damage", function(who, points) return who .. " loses " .. points end)
box:run('print(damage("troll", 3))')             --> mod: troll loses 3
```

**What a text has there.** Lua's `string`, `table`, `math`, `bit`, `coroutine`, of `os` what tells
the time, and of jfl what `require "jfl"` gives: ops, layers, optimizers, job functions, arrays. It
has no `io`, `debug`, `package`, `ffi` or `jit`, cannot load bytecode, and does not get at files,
processes, devices, the network or settings of its host. The front end itself runs in another Lua
state than the text, and what goes from one to the other is copied or wrapped, so that nothing a
text does to its values reaches it. What is there is what the sources mark by `---@box`, and
all ops, optimizers and schedules; all else is not.

**How much it may do.** These options hold for each `run` and `call`; no default means no limit, and
no folder:

| option | default | |
|---|---|---|
| `memory` | `"64M"` | bytes for Lua, arrays and plans together |
| `seconds` | 1 | of the clock, also for what the text's calls do in C |
| `instructions` | | of Lua's virtual machine |
| `threads` | 1 | that jobs may use |
| `read` | | a folder for `ndarray.load`, `data.csv`, `data.load_image`, `checkpoint.get`, `load` |
| `write` | | a folder for `ndarray.save` and `checkpoint.save` |

Paths that a text gives start at these folders, the one to read or the one to write, which may be
one: `flow.ndarray.load("deep/a.npy")`. The box opens both when it is made, so it does not matter
who gives the folder another name later, and looks up each part of a path in the one before: `..`,
paths from the root and links are refused, pipes and devices too, whatever is called and however it
is given the path. Without folders a box opens no file.

What goes beyond a limit is ended by an error that nothing in the text holds up, `the script was
ended: it ran for more than 1 s`, and the box can be used again. `seconds` end when you have the
results, and include what your own functions do. What one call gives takes no more of your memory
than `memory`.

```lua
local box = flow.sandbox { seconds = 0.05 }
local ok, message = pcall(box.run, box, "while true do pcall(error) end", "mod")
print(message:match("the script was .*"))  --> the script was ended: it ran for more than 0.05 s
print(pcall(box.run, box, "return ('x'):rep(1e9)") == false)     --> true
```

**What it does not protect from.** A single op or kernel runs to its end before time is looked at: a
large product can take longer than `seconds`. Errors in LuaJIT itself or in jfl's core are not
contained, since the box is in your process: for texts that may be made to attack these, run them by
`jfl --sandbox`, in a process that the system locks up. What your own functions do for a text is
your affair: a `damage` that opens a file by a name the text gives opens any. Time is not hidden, so
one box can learn how busy the machine is.

From C `jfl_script_options` has the same limits beside `restricted`.

**A process behind walls.** On Linux `jfl --sandbox` runs a whole script, with LuaJIT's compiler and
`ffi`, in a process that the system keeps from everything else:

    jfl --sandbox --read data --write out --memory 512M --disk 4G --seconds 60 script.lua

It reads and changes files below these folders alone, which no link leads out of, and may read the
script itself and the system's libraries. It has no network, starts no process, sends no signal to
another one and has no file that was open before. Files and pipes that are its input and output stay
with the process that started it, which copies: so the script can print to a log, but neither cut
nor read it, and what it does not read of its input is left to the next program. Only a terminal it
gets as it is. Of the environment it gets what says how programs run, such as `HOME`, `LANG`,
`TERM`, `LUA_PATH` and the settings of jfl; keys and passwords there are not even in its memory. Of
what root may do it keeps the right to files of others, in its folders.

A limit that it passes ends it, and is named: `the script was ended: it used more than 512 MB`.
`--disk` counts all that it writes, to files and to its output, also what it writes over. The
process is kept by Landlock, seccomp, which allows the calls of a list and no other, and resource
limits; where the kernel lacks one of these, nothing is run and the message says what is missing. It
can still learn that a file exists, how large it is, and what time it is, make as many files as it
likes, of up to 1 GB each, read what is typed at its terminal, and print there what it likes.
`require` finds what is below the folders to read.
]==]
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

local function limit(name, value)
  if type(value) == "number" and value > 0 then return value end
  core.fail("sandbox: %s must be a number above 0, got %s", name, args.describe(value))
end

local function optional(name, value, kind)
  if value ~= nil then args.expect("sandbox", name, value, kind) end
  return value
end

local function folder(name, value)
  if optional(name, value, "string") and not core.is_directory(value) then
    core.fail("sandbox: %s must be a folder that is there, got %s", name, args.describe(value))
  end
  return value
end

local sandbox = {}

sandbox.sandbox = args.define("sandbox",
  "A box in which Lua texts of others run, without a way to files, processes or the host.", {
    { "memory", "the most bytes that it may take: a number, or a text such as \"64M\"", "64M",
      type = "number | string" },
    { "seconds", "the longest that one run or call may take", 1 },
    { "instructions", "the most that Lua may run of them in one run or call; none: any number",
      args.none, type = "number" },
    { "threads", "the most that its jobs may use", 1 },
    { "read", "a folder, below which it may read arrays, tables, pictures and checkpoints",
      args.none, type = "string" },
    { "write", "a folder, below which it may save arrays and checkpoints", args.none,
      type = "string" },
    { "print", "a function that gets each line that a text prints; without it they are printed",
      args.none, type = "function" },
    returns = "Sandbox",
  }, function(o)
    local core_box = require("jfl.sandbox.core").new {
      memory = bytes(o.memory), seconds = limit("seconds", o.seconds),
      instructions = o.instructions and limit("instructions", o.instructions),
      threads = args.integer("sandbox", "threads", o.threads, 1),
      read = folder("read", o.read), write = folder("write", o.write),
      print = optional("print", o.print, "function"),
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
