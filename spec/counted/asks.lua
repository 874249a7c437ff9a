-- How much work is done between two looks at the deadline:
--   build/counted spec/counted/asks.lua WHAT
-- prints how many calls it made, and each that went on for more than MOST places. WHAT is "arrays",
-- each function and method of arrays; "compiling", kinds of scripts/bench/growing.lua; "files",
-- tokenizers, long texts and large files; or else ops
-- whose names begin with one of these letters. A large call of an op is a case of spec/op/cases in
-- which an extent, wherever it occurs, is so much larger that a tensor has at least ELEMENTS
-- elements; what an op refuses then is left out. After LOOKS looks there is no time left, so that
-- no call takes long; each is made again with a few, as what a kernel does behind a loop that it
-- left may count on all of it.
local ffi = require "ffi"
local flow = require "jfl"
local core = require "jfl.core"
local index = require "jfl.doc.index"
local cases = require "spec.op.cases"
local support = require "spec.op.support"

ffi.cdef "void count_asks(double left, int looks); double count_longest(int looks);"
local ELEMENTS, PARTS = 2 ^ 20, 1000
local LOOKS, FEW = 50, { 2, 5, 13 }
-- Places of plain loops in a few ms; those of compiling PARTS of something have more lines each.
local MOST = 2.5e6
if arg[1] == "compiling" or arg[1] == "files" then LOOKS, FEW, MOST = 2 ^ 31 - 1, {}, 1e7 end
-- Those that hardly any fast kernel takes, whose places are not counted; LAST where none serves.
local KEYS, LAST = { "float64", "int32", "float32" }, "float32"

local function product(shape)
  local n = 1
  for _, d in ipairs(shape) do n = n * d end
  return n
end

local function shape_of(data)
  local shape = {}
  while type(data) == "table" do shape[#shape + 1], data = #data, data[1] end
  return shape
end

-- A table of whole numbers in which those that are `extent` are `to`.
local function changed(list, extent, to)
  if type(list) ~= "table" then return list == extent and to or list end
  local out = {}
  for k, v in pairs(list) do out[k] = changed(v, extent, to) end
  return out
end

local function full(dtype, shape, value)
  local a = core.array(dtype, shape)
  if value ~= 0 then core.assign(a, core.from_table({ value }, dtype)) end
  return a
end

-- The shapes of a case's tensors, those among its options too.
local function shapes_of(case)
  local list, others = {}, {}
  for i, s in ipairs(case.inputs or {}) do list[i] = s.shape or shape_of(s.data) end
  for _, name in ipairs { "shape", "size" } do
    local given = (case.options or {})[name]
    others[#others + 1] = type(given) == "table" and given or nil
  end
  local n = (case.options or {}).n
  if n then others[#others + 1] = { n } end
  return list, others
end

local function each_extent(case, fn)
  local list, others = shapes_of(case)
  local seen = {}
  for _, shape in ipairs { unpack(list), unpack(others) } do
    for _, d in ipairs(shape) do
      if type(d) == "number" and not seen[d] and d > 0 then fn(d, list, others) end
      seen[d] = true
    end
  end
end

-- The extent with which the largest of the tensors has ELEMENTS elements.
local function enough(extent, list, others)
  local to = math.huge
  for _, some in ipairs { list, others } do
    for _, shape in ipairs(some) do
      local times = 0
      for _, d in ipairs(shape) do times = times + (d == extent and 1 or 0) end
      if times > 0 then
        local rest = product(shape) / extent ^ times
        to = math.min(to, math.ceil((ELEMENTS / rest) ^ (1 / times)))
      end
    end
  end
  return to
end

local calls, long = 0, 0

-- Calls fn; whether it took the call.
local function measured_with(looks, what, fn, ...)
  ffi.C.count_longest(looks)
  local ok, err = pcall(fn, ...)
  local most = ffi.C.count_longest(looks)
  if not ok and not tostring(err):find("time is over", 1, true) then return false, err end
  calls = calls + 1
  if most > MOST then
    long = long + 1
    io.write(("%s: %.2g places\n"):format(what, most))
  end
  return true
end

local function measured(...)
  for _, looks in ipairs(FEW) do measured_with(looks, ...) end
  return measured_with(LOOKS, ...)
end

-- Calls op once; whether it took the call.
local function try(op, case, key, extent, list, others, whole)
  local to, inputs = enough(extent, list, others), {}
  if to <= extent or to == math.huge then return false end
  for i, s in ipairs(case.inputs or {}) do
    local dtype = s.dtype or key
    local is_float = dtype:find "float" and not s.data
    inputs[i] = full(dtype, changed(list[i], extent, to), is_float and 0.5 or whole)
  end
  local large = { options = changed(case.options or {}, extent, to), dtype = case.dtype,
    name = case.name }
  return measured(("%s (%s) with %d for %d"):format(op.name, key, to, extent), support.call, op,
    large, inputs)
end

local function walk(op, case)
  each_extent(case, function(extent, list, others)
    local taken = false
    for _, key in ipairs(case.only and { case.only } or KEYS) do
      if key ~= LAST or not taken then
        taken = try(op, case, key, extent, list, others, 1)
          or try(op, case, key, extent, list, others, 0) or taken
      end
    end
  end)
end

local function ops_from(letters)
  local ops, names = core.ops(), {}
  for name in pairs(ops) do names[#names + 1] = name:find("^[" .. letters .. "]") and name end
  table.sort(names)
  for _, name in ipairs(names) do
    for i, case in ipairs(cases[name] or {}) do
      if i <= 2 then walk(ops[name], case) end
    end
    collectgarbage()
  end
end

-- Each function of arrays, with arguments of several kinds.
local function arrays()
  local nd, names = flow.ndarray, {}
  for path in pairs(index.paths()) do
    names[#names + 1] = path:match "^ndarray%.([%w_]+)$" or path:match "^NdArray[.:]([%w_]+)$"
  end
  table.sort(names)
  for _, dtype in ipairs(KEYS) do
    local a = full(dtype, { ELEMENTS }, 1)
    local square = core.reshape(a, { 1024, -1 })
    for _, name in ipairs(names) do
      local f = nd[name]
      for _, given in ipairs { { a }, { a, a }, { a, 1 }, { square, square }, { { a, a } },
        { ELEMENTS }, { { ELEMENTS } }, { { ELEMENTS }, 1 }, { { ELEMENTS }, dtype }, { a, dtype },
        { a, "float32" }, { a, { 1024, -1 } }, { square, 1 } } do
        if type(f) == "function" then measured(name .. " of " .. dtype, f, unpack(given)) end
      end
      collectgarbage()
    end
  end
end

-- The file of a tokenizer with N words more than the digits, each of which two others make.
local function tokenizer_of(model, n)
  local words, merges = {}, {}
  for i = 1, n do
    words[i] = (model == "Unigram" and '["%d",-1]' or '"%d":%d'):format(i, i - 1)
    merges[#merges + 1] = i > 10 and i % 10 > 0 and ('"%d %d"'):format(i / 10, i % 10) or nil
  end
  local list, path = table.concat(words, ","), os.tmpname()
  os.remove(path)
  path = path .. ".json"
  local file = assert(io.open(path, "w"))
  file:write(('{"model":{"type":"%s","vocab":%s%s}}'):format(model,
    model == "Unigram" and "[" .. list .. '],"unk_id":0' or "{" .. list .. "}",
    model == "BPE" and ',"merges":[' .. table.concat(merges, ",") .. "]"
      or model == "WordPiece" and ',"unk_token":"1","max_input_chars_per_word":9' or ""))
  file:close()
  return path
end

-- A GGUF file with so many numbers by their keys.
local function gguf_of(n)
  local whole, path = require("jfl.data.archive").whole, os.tmpname()
  local parts = { "GGUF", whole(3, 4), whole(0, 8), whole(n, 8) }
  for i = 1, n do parts[i + 4] = whole(6, 8) .. ("%06d"):format(i) .. whole(4, 4) .. whole(i, 4) end
  os.remove(path)
  path = path .. ".gguf"
  local file = assert(io.open(path, "wb"))
  file:write(table.concat(parts))
  file:close()
  return path
end

-- ---- what one long text or file can ask for ----

local LONG = 2e6

local function written(ending, text)
  local path = os.tmpname()
  os.remove(path)
  path = path .. ending
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  return path
end

-- Calls fn with the path of a file that has the text, which must not be wrong but for a number.
local function of_file(what, ending, text, fn)
  local path = written(ending, text)
  local ok, err = measured(what, fn, path)
  os.remove(path)
  assert(ok or tostring(err):find("at most 400 characters", 1, true), err)
end

local function words_file(parts)
  return ('{%s"model":{"type":"WordLevel","unk_token":"u","vocab":{"u":0,"a":1}}}'):format(parts)
end

-- Files with many entries, or with one long one.
local function long_files()
  local read, many = flow.text.tokenizer, 1e5
  local added, tensors, notes = {}, {}, {}
  for i = 1, many do
    local name = ("w%05d"):format(i * 7919 % many)
    added[i] = ('{"id":%d,"content":"%s","special":true}'):format(i + 1, name)
    tensors[i] = ('"%s":{"dtype":"U8","shape":[1],"data_offsets":[%d,%d]}'):format(name, i - 1, i)
    notes[i] = ('"note.%s":""'):format(name)
  end
  of_file("added tokens", ".json",
    words_file('"added_tokens":[' .. table.concat(added, ",") .. "],"), read)
  for what, value in pairs { text = '"' .. ("x"):rep(LONG) .. '"', blanks = (" "):rep(LONG) .. "1",
    number = ("1"):rep(LONG) } do
    of_file("a long " .. what, ".json", words_file('"version":' .. value .. ","), read)
  end
  local whole = require("jfl.data.archive").whole
  for what, entries in pairs { tensors = tensors,
    notes = { '"__metadata__":{' .. table.concat(notes, ",") .. "}" } } do
    local head = "{" .. table.concat(entries, ",") .. "}"
    local bytes = what == "tensors" and many or 0
    of_file("many " .. what, ".safetensors", whole(#head, 8) .. head .. ("x"):rep(bytes),
      function(path)
        local open = core.checkpoint_open(path)
        core.checkpoint_about(open)
      end)
  end
end

-- One long text through each part of a tokenizer.
local function long_texts()
  local accents, words = ("\195\137"):rep(LONG / 4), ("a "):rep(LONG / 4)
  local function part(kind, members) return ('{"type":"%s"%s}'):format(kind, members or "") end
  local parts = {}
  for _, kind in ipairs { "NFC", "NFKD", "Lowercase", "StripAccents", "BertNormalizer", "Nmt" } do
    parts[#parts + 1] = '"normalizer":' .. part(kind)
  end
  for _, made in ipairs { { "Strip", ',"strip_left":true,"strip_right":true' },
    { "Replace", ',"pattern":{"String":"' .. ("a "):rep(1000) .. 'b"},"content":""' },
    { "Replace", ',"pattern":{"Regex":"(?:a |a )*b"},"content":""' } } do
    parts[#parts + 1] = '"normalizer":' .. part(unpack(made))
  end
  for _, made in ipairs { { "Whitespace" }, { "WhitespaceSplit" }, { "BertPreTokenizer" },
    { "ByteLevel", ',"add_prefix_space":false,"trim_offsets":true,"use_regex":false' },
    { "Split", ',"pattern":{"Regex":"[^b]+b"},"behavior":"Isolated","invert":false' },
    { "CharDelimiterSplit", ',"delimiter":"b"' } } do
    parts[#parts + 1] = '"pre_tokenizer":' .. part(unpack(made))
  end
  local function try_texts(each)
    local path = written(".json", words_file(each .. ","))
    local tokenizer = flow.text.tokenizer(path)
    os.remove(path)
    for _, text in ipairs { accents, words, (" "):rep(LONG / 2) } do
      local ok, err = measured(each:sub(1, 60), tokenizer.batch, tokenizer, { text })
      assert(ok or tostring(err):find("so many attempts", 1, true), err)
      collectgarbage()
    end
  end
  for _, each in ipairs(parts) do
    try_texts(each)
    collectgarbage()
  end
end

local function files()
  local many, list = 1e5, {}
  for i = 1, many do list[i] = ("w%d x%d "):format(i, i % 1000) end
  assert(measured("learning", flow.text.train, { texts = list, size = 5000 }))
  for _, model in ipairs { "BPE", "Unigram", "WordPiece" } do
    local path = tokenizer_of(model, many)
    local ok, err = measured("reading of " .. model, flow.text.tokenizer, path)
    os.remove(path)
    assert(ok, err)
  end
  local path = gguf_of(many)
  local ok, err = measured("reading of GGUF", flow.gguf.read, path)
  os.remove(path)
  assert(ok, err)
  long_files()
  long_texts()
end

-- Of many small jobs none takes long, and a script that makes them is looked at between them.
local function compiling()
  for _, kind in ipairs(require "scripts.bench.growing") do
    flow.clear_default_session()
    if kind[1] ~= "jobs" then assert(measured(kind[2], kind[4], PARTS)) end
  end
end

io.stdout:setvbuf "line"
jit.off()
ffi.C.count_asks(1e9, 2 ^ 31 - 1)            -- modules that are loaded meanwhile ask, too
core.reset()
core.set("threads", 1)
if arg[1] == "arrays" then arrays()
elseif arg[1] == "compiling" then compiling()
elseif arg[1] == "files" then files()
else ops_from(arg[1]) end
print(calls .. " calls, " .. long .. " long")
