-- What loading tells of names: which matched nothing, and which may have been meant.
local args = require "jfl.base.args"
local names = require "jfl.base.names"
local warn = require "jfl.base.warn"

local report = {}

-- What other programs call the parts of a layer, and what jfl's layers may call them.
local PARTS = {
  weight = { "weight", "gamma" }, kernel = { "weight" }, embeddings = { "weight" },
  scale = { "gamma" }, gamma = { "gamma" }, g = { "gamma" }, w = { "weight" },
  bias = { "bias", "beta" }, beta = { "beta" }, offset = { "beta" }, b = { "bias", "beta" },
  running_mean = { "moving_mean" }, moving_mean = { "moving_mean" },
  running_var = { "moving_variance" }, running_variance = { "moving_variance" },
  mean = { "moving_mean" }, var = { "moving_variance" }, moving_var = { "moving_variance" },
  moving_variance = { "moving_variance" },
  in_proj_weight = { "in_proj-weight" }, in_proj_bias = { "in_proj-bias" },
}

-- A name with one sign between its parts: "transformer.h.0.ln_1.weight" and the "conv/kernel:0" of
-- Keras are "transformer-h-0-ln_1-weight" and "conv-kernel".
local function plain(name) return (name:lower():gsub(":%d+$", ""):gsub("[./]", "-")) end

local function ends_with(name, tail) return name == tail or name:sub(-#tail - 1) == "-" .. tail end

--- The names of `known` that what others call `name` may be, the most alike.
function report.alike(name, known)
  local head, part = plain(name):match("^(.+)%-([^-]+)$")
  local found, most = {}, 0
  for _, tail in ipairs(head and PARTS[part] or {}) do
    for other in pairs(known) do
      local layer = ends_with(plain(other), tail) and plain(other):sub(1, -#tail - 2)
      if layer and layer ~= "" and (ends_with(head, layer) or ends_with(layer, head)) then
        if #layer > most then found, most = {}, #layer end
        if #layer == most then found[#found + 1] = other end
      end
    end
  end
  table.sort(found)
  return found
end

--- The end of a message that suggests the variables, of those that are keys of `known`, which a
-- wrong name may mean; "" where there are none.
function report.suggest(name, known)
  local found = report.alike(name, known)
  if #found == 0 then return names.suggest(name, known) end
  return "; did you mean " .. table.concat(found, " or ", 1, math.min(#found, 3)) .. "?"
end

--- A list of names as a text, in their order and not too long; text_of(name): how one is shown.
function report.shorten(names_given, text_of)
  local shown = args.copied(names_given)
  table.sort(shown)
  if text_of then
    for i = 1, math.min(#shown, args.LISTED) do shown[i] = text_of(shown[i]) end
  end
  return args.listed(shown)
end

-- A list of names without those of state; nil: there are no others.
local function list(found, state, text_of)
  local shown = {}
  for _, name in ipairs(found) do
    if not state[name] then shown[#shown + 1] = name end
  end
  return #shown > 0 and report.shorten(shown, text_of)
end

--- Warns of names that matched nothing, but for state of optimizers and of the step: the names of
-- `r.missing` and `r.unexpected`. `where` is what was loaded.
function report.tell(where, r, lacks, has)
  local missing = {}
  for _, name in ipairs(r.missing) do missing[name] = true end
  local kept = list(r.missing, r.state)
  local strange = list(r.unexpected, r.state, function(name)
    local hint = report.alike(name, missing)
    return #hint == 1 and ("%s (did you mean %s?)"):format(name, hint[1]) or name
  end)
  if kept then warn.say("%s: %s: %s", where, lacks, kept) end
  if strange then warn.say("%s: %s: %s", where, has, strange) end
end

return report
