-- The inputs of a job, as a definition may state them: a list of { name, placeholder }; a list of
-- types such as flow.float32 { -1, 28, 28 }; or types by the names of the body's parameters, whose
-- order is theirs.
local apart = require "jfl.job.apart"
local args = require "jfl.base.args"
local core = require "jfl.core"
local debug = require "debug"
local names = require "jfl.base.names"
local typing = require "jfl.job.typing"

local inputs = {}

local MOST = 3900         -- inputs: twice as many values do not fit what Lua gives a function of C

--- Gives the names of the parameters of a function of another Lua state, of a restricted script.
function inputs.of_other() end

--- The names of a function's parameters, and whether it takes more; none where it is no function of
-- Lua, or was compiled without names.
function inputs.parameters(f)
  local others = { inputs.of_other(f) }
  if #others > 0 then return others, false end
  local info, list = debug.getinfo(f, "u"), {}
  for i = 1, info.nparams do list[i] = debug.getlocal(f, i) end
  return #list == info.nparams and list or {}, info.isvararg
end

-- Fails for a name that no parameter has.
local function refuse_name(who, name, params)
  local known = {}
  for _, param in ipairs(params) do known[param] = true end
  args.check(#params > 0, "%s: inputs with names go to the parameters that have them, and the body "
    .. "names none; state them in order: { { \"%s\", flow.float32 { 100, 10 } } }", who, name)
  core.fail("%s: inputs: '%s' is no parameter of the body, which takes (%s)%s", who, tostring(name),
    table.concat(params, ", "), names.suggest(tostring(name), known))
end

-- Fails for names in order of which none is that of a parameter: a table by names has no order. The
-- names are not sorted here: table.sort asks for no time where it compares without a function.
local function refuse_all(who, given, params)
  local quoted = {}
  for i, name in ipairs(given) do quoted[i] = ("'%s'"):format(tostring(name)) end
  core.fail("%s: inputs: %s: none is the name of a parameter of the body, which takes (%s); call "
    .. "them as these, or state them in order: { { \"%s\", flow.float32 { 100, 10 } }, ... }",
    who, args.listed(quoted), table.concat(params, ", "), tostring(given[1]))
end

-- Types by name as a list, in the order of the parameters.
local function in_order(who, t, params)
  local list, seen, wrong = {}, {}, {}
  for _, param in ipairs(params) do
    if t[param] ~= nil then
      list[#list + 1] = { param, t[param] }
      seen[param] = true
    end
  end
  for name in pairs(t) do
    if not seen[name] then wrong[#wrong + 1] = name end
  end
  table.sort(wrong, function(a, b) return tostring(a) < tostring(b) end)
  if #wrong > 1 and #list == 0 and #params > 0 then refuse_all(who, wrong, params) end
  if #wrong > 0 then refuse_name(who, wrong[1], params) end
  return list
end

-- The name and the type that entry i of a list states.
local function read_entry(who, entry, i, params)
  if typing.is_placeholder(entry) then return params[i] or "input_" .. i, entry end
  local label = type(entry) == "table" and entry[1]
  if type(label) ~= "string" or label == "" then
    core.fail("%s: inputs: entry %d must be { \"name\", placeholder }, got %s; a type such as "
      .. "flow.float32 { 100, 10 } will do, too", who, i, args.describe(entry))
  end
  args.name(who, ("inputs: the name of entry %d"):format(i), label)
  return label, entry[2]
end

--- The inputs of a definition as a list of { name, type }, and whether they are in a short form.
-- params: the names of the body's parameters.
function inputs.read(who, given, params)
  if given == nil then return {}, false end
  if typing.is_placeholder(given) then
    core.fail("%s: inputs must be a list of types such as { flow.float32 { 100, 10 } }, got one "
      .. "type alone; put { } around it", who)
  end
  args.check(#args.expect(who, "inputs", given, "table") <= MOST, "%s: inputs must be at most %d, "
    .. "as many as Lua passes to a function, got %d; arrays of one shape go into one: "
    .. "flow.ndarray.stack(list)", who, MOST, #given)
  local entries, list, seen, named = given, {}, {}, args.is_options(given)
  local short = named or next(given) == nil
  if named then entries = in_order(who, given, params) end
  for i, entry in ipairs(entries) do
    local label, kind = read_entry(who, entry, i, params)
    if seen[label] then core.fail("%s: inputs: '%s' is there twice", who, label) end
    if not typing.is_placeholder(kind) then
      core.fail("%s: inputs: '%s' must be a placeholder such as "
        .. "flow.typing.Numpy.Placeholder({100, 10}), got %s; flow.float32 { 100, 10 } is short "
        .. "for that", who, label, args.describe(kind))
    end
    short = short or kind == entry
    seen[label] = true
    list[i] = { name = label, type = kind }
  end
  for key in pairs(entries) do
    if not list[key] then
      core.fail("%s: inputs must be a list of { \"name\", placeholder } without holes, got an "
        .. "entry under %s after %d of them", who, args.describe(key), #list)
    end
  end
  return list, short
end

--- The arguments of a call by position, of one that gave them by name.
function inputs.by_name(job, values)
  local list, known = {}, {}
  for i, input in ipairs(job._inputs) do
    known[input.name] = true
    list[i] = values[input.name]
    if list[i] == nil then core.fail("%s: '%s' is missing", job.name, input.name) end
  end
  for name in pairs(values) do
    if not known[name] then
      core.fail("%s: has no input '%s'; it takes %s%s", job.name, tostring(name),
        args.names_of(known), names.suggest(tostring(name), known))
    end
  end
  return list
end

-- Whether an input of the whole is cut into parts where the body is in the mirrored view: unless
-- its placeholder says that each device has all of it, or there are no such parts.
local function is_cut(t, shape, members)
  local kind = t.distribute and t.distribute.kind
  return kind ~= "broadcast" and #shape > 0 and shape[1] % members == 0
end

--- An input of the graph as the body sees it: of a placeholder's type, and of this shape.
function inputs.blob(context, name, t, shape)
  local graph = context.graph
  local blob = core.input(graph, name, t.dtype, shape)
  if context.total == 1 then return blob end
  if t.kind ~= "Numpy" then
    core.distribute(blob, "mirrored")
    return blob
  end
  if t.distribute then core.distribute(blob, t.distribute.kind, t.distribute.axis) end
  if not context.mirrored or not is_cut(t, shape, context.total) then return blob end
  return core.change_view(graph, blob, true)
end

--- Notes the inputs of bodies that run once for each device, with arrays of their own sizes there.
-- context.inputs are then what the body of a context has: an array of the whole is one input.
function inputs.apart(contexts, list, shapes)
  for i, input in ipairs(list) do
    local whole = input.type.kind == "Numpy"
    for k, context in ipairs(contexts) do
      local name = whole and input.name or ("%s@%d"):format(input.name, k - 1)
      local shape = shapes[i].each and shapes[i].each[k] or shapes[i]
      apart.place(context)
      local blob = whole and k > 1 and contexts[1].inputs[i]
        or core.input(context.graph, name, input.type.dtype, shape)
      if not whole then core.distribute(blob, "mirrored") end
      context.inputs[i] = blob
    end
  end
end

return inputs
