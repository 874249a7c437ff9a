-- What is to be done before os.exit ends a program. It closes no state and runs no finalizer, and a
-- script may call it anywhere, so it is replaced by a function that does this first: where the
-- program is jfl's command or a stock luajit, in which a script's os.exit ends what the script
-- began. An editor, a game or a server has an os.exit, and an end, of its own; there nothing is
-- replaced, and the end of the state does what can be done.
local exit = {}

local steps = {}                 -- functions; the last is done first

-- Whether the program does nothing but run the script. src/cmd/main.c says so of the command.
local function runs_scripts()
  if package.loaded["jfl.command"] then return true end
  local names, first = type(arg) == "table" and arg or {}, 0
  while names[first - 1] ~= nil do first = first - 1 end
  return first < 0 and tostring(names[first]):match("[^/\\]*$"):find("^luajit") ~= nil
end

-- Does all steps, also after one that fails; gives whether none did.
local function do_all()
  local ok = true
  for i = #steps, 1, -1 do ok = steps[i]() ~= false and ok end
  return ok
end

local function watch()
  local leave, leaving, first = os.exit, false, nil
  rawset(os, "exit", function(code, ...)
    -- A step may call os.exit again, as callbacks do; the first status counts.
    if leaving then code = first end
    leaving, first = true, code
    if do_all() then return leave(code, ...) end
    return leave(1, ...)
  end)
end

--- Has os.exit call step() first, before the steps that were given earlier. One that gives false
-- has failed, and the program's status says so. In another kind of program it does nothing.
function exit.before(step)
  if not (os and os.exit and runs_scripts()) then return end
  if #steps == 0 then watch() end
  steps[#steps + 1] = step
end

return exit
