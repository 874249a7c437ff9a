-- What flow.text.tokenizer gives: texts to numbers of tokens, and back.
local metatable = require "jfl.base.metatable"
local archive = require "jfl.data.archive"
local args = require "jfl.base.args"
local core = require "jfl.core"

local tokenizer = {}

local Tokenizer = { box = "tokenizer" }        -- of which texts of a box have the methods
local SIDES = { left = 1, right = 2 }

-- ---- what calls ask for ----

local function check_side(who, name, value)
  if value == nil then return 0 end
  if SIDES[value] then return SIDES[value] end
  core.fail("%s: %s must be \"left\" or \"right\", got %s", who, name, args.describe(value))
end

-- The options of a call as the core reads them; `most` and `length` of false mean any and none.
local function settings(who, o)
  local most, length = o.most, o.length
  if most ~= nil and most ~= false then args.integer(who, "most", most, 1) end
  if length ~= nil and length ~= false then args.integer(who, "length", length, 1) end
  return { bare = args.expect(who, "special", o.special, "boolean") == false,
    literal = args.expect(who, "literal", o.literal, "boolean"),
    most = most == false and -1 or most, length = length == false and -1 or length,
    cut = check_side(who, "cut", o.cut), pad = check_side(who, "pad", o.pad) }
end

local function options(more)
  local list = { { "self" } }
  for _, param in ipairs(more) do list[#list + 1] = param end
  for _, param in ipairs { { "special", nil, true }, { "literal", nil, false },
    { "most", nil, args.none }, { "length", nil, args.none }, { "cut", nil, args.none },
    { "pad", nil, args.none } } do
    list[#list + 1] = param
  end
  return list
end

local function check_self(who, self)
  if metatable(self) == Tokenizer then return end
  core.fail("%s: call it with a colon: tokenizer:%s(...), got %s", who, who, args.describe(self))
end

-- ---- texts to numbers ----

local encode = args.unlisted("encode", options { { "text",
  type = "string" }, { "pair", nil, args.none, type = "string" },
  { "details", nil, false, type = "boolean" } }, function(o)
  local result = core.tokenizer_encode(o.self._core, o.text, o.pair, settings("encode", o),
    o.details, "encode")
  if not o.details then return result.ids end
  result.tokens = {}
  for i, id in ipairs(result.ids) do
    result.tokens[i] = core.tokenizer_token(o.self._core, id) or ""
  end
  return result
end)

local function check_texts(name, list)
  args.must(#args.expect("batch", name, list, "table") ~= 0, list,
    "batch: %s must be a list of one string or more", name)
  args.list("batch", name, list, "string")
end

local batch = args.unlisted("batch", options { { "texts" }, { "pairs", nil, args.none } },
  function(o)
    check_texts("texts", o.texts)
    if o.pairs ~= nil then
      check_texts("pairs", o.pairs)
      args.check(#o.pairs == #o.texts, "batch: pairs must be as many as texts, got %d for %d",
        #o.pairs, #o.texts)
    end
    local ids, mask, types = core.tokenizer_batch(o.self._core, o.texts, o.pairs,
      settings("batch", o), "batch")
    return { ids = ids, mask = mask, types = types }
  end)

-- ---- numbers to texts ----

-- The numbers of a list, of an NdArray of one axis, or of such a part of one.
local function numbers_of(ids)
  if core.type(ids) ~= "array" then return args.expect("decode", "ids", ids, "table or NdArray") end
  local list = {}
  for i = 1, ids.shape[1] do list[i] = ids[i] end
  return list
end

local decode

decode = args.unlisted("decode", { { "self" }, { "ids" }, { "skip_special", nil, true,
  type = "boolean" } },
  function(o)
    local ids, is_array, texts = o.ids, core.type(o.ids) == "array", {}
    if not is_array then args.expect("decode", "ids", ids, "table") end
    local first = not is_array and ids[1]
    local is_list = type(first) ~= "table" and core.type(first) ~= "array"
    if is_list and not (is_array and #ids.shape > 1) then
      return core.tokenizer_decode(o.self._core, numbers_of(ids), o.skip_special, "decode")
    end
    for i = 1, is_array and ids.shape[1] or #ids do
      texts[i] = decode(o.self, ids[i], o.skip_special)
    end
    return texts
  end)

-- ---- the vocabulary ----

local id = args.unlisted("id", { { "self" }, { "token" } }, function(o)
  return core.tokenizer_id(o.self._core, args.expect("id", "token", o.token, "string"))
end)

local token = args.unlisted("token", { { "self" }, { "id" } }, function(o)
  return core.tokenizer_token(o.self._core, args.integer("token", "id", o.id, 0))
end)

local save = args.unlisted("save", { { "self" }, { "path", type = "string" } }, function(o)
  archive.replace("save", o.path, function(write) write(core.tokenizer_json(o.self._core)) end)
end)

local methods = { encode = encode, batch = batch, decode = decode, id = id, token = token,
  save = save }
for name, method in pairs(methods) do
  methods[name] = function(self, ...)
    check_self(name, self)
    return method(self, ...)
  end
end

function Tokenizer:__index(name)
  if name == "size" then return core.tokenizer_size(rawget(self, "_core")) end
  return methods[name]
end

function Tokenizer:__tostring() return ("tokenizer of %d tokens"):format(self.size) end

--- A tokenizer of what the core read or learned.
function tokenizer.new(handle) return setmetatable({ _core = handle }, Tokenizer) end

return tokenizer
