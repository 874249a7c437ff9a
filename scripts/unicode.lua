-- Writes src/text/unicode.inc, what tokenizers know of characters, from the Unicode Character
-- Database:
--
--   build/jfl scripts/unicode.lua /usr/share/unicode >src/text/unicode.inc
--
-- The folder is that of Debian's package unicode-data, or another copy of the database whose
-- ReadMe.txt names its version.
local folder = arg[1] or "/usr/share/unicode"
local LAST, BLOCK, BLOCKS = 0x10ffff, 16, 32
local ALPHABETIC, SPACE, PICTURE, LOWER, UPPER, CANONICAL, COMPATIBLE, SECOND =
  1, 2, 4, 8, 16, 32, 64, 128
local CATEGORIES = { "Cn", "Cc", "Cf", "Co", "Cs", "Ll", "Lm", "Lo", "Lt", "Lu", "Mc", "Me", "Mn",
  "Nd", "Nl", "No", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "Sc", "Sk", "Sm", "So", "Zl", "Zp",
  "Zs" }
-- Regional indicators are missing: a cluster that begins with one has more bytes than any rule of
-- ours asks for. Hangul syllables are told by their numbers.
local BREAKS = { CR = 1, LF = 2, Control = 3, Extend = 4, ZWJ = 5, Prepend = 6, SpacingMark = 7,
  L = 8, V = 9, T = 10, LV = 11, LVT = 12 }

local function lines(name)
  return assert(io.open(folder .. "/" .. name)):lines()
end

--- Calls each(first, last, property) for the lines of a file of ranges.
local function ranges(name, each)
  for line in lines(name) do
    local first, last, property = line:match("^(%x+)%.?%.?(%x*)%s*;%s*([%w_]+)")
    if first then
      first = tonumber(first, 16)
      each(first, last ~= "" and tonumber(last, 16) or first, property)
    end
  end
end

-- ---- what the files say, by code point ----

local category, flags, cluster, class, lower, upper, mapping, compatible = {}, {}, {}, {}, {}, {},
  {}, {}

local function add_flag(code, flag)
  flags[code] = (flags[code] or 0) + flag
end

local function mark(name, wanted, flag)
  ranges(name, function(first, last, property)
    if property ~= wanted then return end
    for code = first, last do add_flag(code, flag) end
  end)
end

local function read_decomposition(code, text)
  if text == "" then return end
  local list = {}
  for hex in text:gsub("^<.->", ""):gmatch("%x+") do list[#list + 1] = tonumber(hex, 16) end
  mapping[code], compatible[code] = list, text:find("^<") ~= nil
end

local function read_data()
  local index, first = {}, nil
  for i, name in ipairs(CATEGORIES) do index[name] = i - 1 end
  for line in lines("UnicodeData.txt") do
    local field = {}
    for text in (line .. ";"):gmatch("([^;]*);") do field[#field + 1] = text end
    local code = tonumber(field[1], 16)
    for each = first or code, code do
      category[each], class[each] = index[field[3]], tonumber(field[4])
    end
    first = field[2]:find(", First>", 1, true) and code or nil
    read_decomposition(code, field[6])
    upper[code], lower[code] = tonumber(field[13], 16), tonumber(field[14], 16)
  end
end

local function has(code, flag)
  return math.floor((flags[code] or 0) / flag) % 2 == 1
end

local excluded = {}
local function read_all()
  read_data()
  mark("DerivedCoreProperties.txt", "Alphabetic", ALPHABETIC)
  mark("PropList.txt", "White_Space", SPACE)
  mark("emoji/emoji-data.txt", "Extended_Pictographic", PICTURE)
  ranges("auxiliary/GraphemeBreakProperty.txt", function(from, to, property)
    for code = from, to do cluster[code] = BREAKS[property] end
  end)
  ranges("DerivedNormalizationProps.txt", function(from, to, property)
    if property ~= "Full_Composition_Exclusion" then return end
    for code = from, to do excluded[code] = true end
  end)
end

-- ---- writing ----

local function put_list(declaration, list)
  io.write(declaration, " = {\n")
  local line = ""
  for _, item in ipairs(list) do
    local text = tostring(item)
    if #line + #text + 1 > 99 then
      io.write(line, "\n")
      line = ""
    end
    line = line .. text .. ","
  end
  io.write(line, "\n};\n")
end

-- Cuts a list into blocks of that size: gives those that differ, one behind the other, and of all
-- their numbers.
local function cut(list, size)
  local kept, numbers, at = {}, {}, {}
  for first = 1, #list, size do
    local text = table.concat(list, ",", first, first + size - 1)
    if not at[text] then
      at[text] = #kept / size
      for i = first, first + size - 1 do kept[#kept + 1] = list[i] end
    end
    numbers[#numbers + 1] = at[text]
  end
  return kept, numbers
end

-- What is said of each code point, as the number of a record, in blocks of blocks.
local function put_records()
  local records, by_text, all = {}, {}, {}
  for code = 0, LAST do
    local text = ("{%d,%d,%d,%d}"):format(category[code] or 0, flags[code] or 0,
      cluster[code] or 0, class[code] or 0)
    if not by_text[text] then records[#records + 1], by_text[text] = text, #records end
    all[#all + 1] = by_text[text]
  end
  local numbers, blocks = cut(all, BLOCK)
  local some, first = cut(blocks, BLOCKS)
  assert(#records <= 256 and #numbers / BLOCK <= 65536 and #some / BLOCKS <= 256)
  put_list("static const jf_char_record char_records[]", records)
  put_list("static const uint8_t char_groups[]", first)
  put_list("static const uint16_t char_blocks[]", some)
  put_list("static const uint8_t char_numbers[]", numbers)
end

local function put_runs(name, list)
  for i, run in ipairs(list) do list[i] = "{" .. table.concat(run, ",") .. "}" end
  put_list("static const jf_char_run " .. name .. "[]", list)
end

-- Code points that become others, as runs of those that become what is as far away.
local function put_cases(name, map)
  local list, last = {}, nil
  for code = 0, LAST do
    local change = map[code] and map[code] - code
    if change and change ~= last then list[#list + 1] = { code, 1, change } end
    last = change or last
  end
  put_runs(name, list)
end

-- What code points are taken apart into, as runs of those that become equally many, whose parts lie
-- one behind the other.
local function put_parts()
  local list, parts = {}, {}
  for code = 0, LAST do
    local own, before = mapping[code] or {}, mapping[code - 1] or {}
    if #own > 0 and #own ~= #before then list[#list + 1] = { code, #own, #parts } end
    for _, part in ipairs(own) do parts[#parts + 1] = part end
  end
  put_runs("char_apart", list)
  put_list("static const int32_t char_parts[]", parts)
end

local function put_compositions()
  local list = {}
  for code = 0, LAST do
    local parts = mapping[code]
    if parts and #parts == 2 and not compatible[code] and not excluded[code] then
      list[#list + 1] = { parts[1], parts[2], code }
    end
  end
  table.sort(list, function(a, b) return a[1] < b[1] or a[1] == b[1] and a[2] < b[2] end)
  for i, triple in ipairs(list) do
    list[i] = ("{%d,%d,%d}"):format(triple[1], triple[2], triple[3])
  end
  put_list("static const jf_char_triple char_compositions[]", list)
end

local function mark_mappings()
  for code, list in pairs(mapping) do
    add_flag(code, compatible[code] and COMPATIBLE or CANONICAL)
    if #list == 2 and not compatible[code] and not excluded[code] and not has(list[2], SECOND) then
      add_flag(list[2], SECOND)
    end
  end
end

read_all()
mark_mappings()
for code in pairs(lower) do add_flag(code, LOWER) end
for code in pairs(upper) do add_flag(code, UPPER) end
local version = assert(assert(io.open(folder .. "/ReadMe.txt")):read("*a"):match("Version (%S+)"))
io.write("/* Made by scripts/unicode.lua from the Unicode Character Database ",
  version:gsub("%.$", ""), ". */\n")
put_records()
put_cases("char_lower", lower)
put_cases("char_upper", upper)
put_parts()
put_compositions()
