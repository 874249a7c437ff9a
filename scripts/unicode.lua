-- Writes src/text/unicode.inc, what tokenizers know of characters, from the Unicode Character
-- Database:
--
--   build/jfl scripts/unicode.lua /usr/share/unicode >src/text/unicode.inc
--
-- The folder is that of Debian's package unicode-data, or another copy of the database whose
-- ReadMe.txt names its version.
local folder = arg[1] or "/usr/share/unicode"
local LAST = 0x10ffff
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

-- Writes numbers from 0 on; -2n stands for n times the one before it, -2n - 1 for n numbers that
-- go on as the last two.
local function put_packed(name, list)
  local packed, i = {}, 1
  local function like(back)
    local n = 0
    while i > back and i + n <= #list and list[i + n] == list[i + n - back] do n = n + 1 end
    return n
  end
  while i <= #list do
    local same, alternating = like(1), like(2)
    local n = math.max(same, alternating)
    packed[#packed + 1] = n < 2 and list[i] or same == n and -2 * n or -2 * n - 1
    i = i + (n < 2 and 1 or n)
  end
  put_list(("static const int32_t %s[]"):format(name), packed)
end

-- What is said of each code point, as the number of a record, of which the first is that of those
-- that are not assigned.
local function put_records()
  local records, by_text, all = { "{0,0,0,0}" }, { ["{0,0,0,0}"] = 0 }, {}
  for code = 0, LAST do
    local text = ("{%d,%d,%d,%d}"):format(category[code] or 0, flags[code] or 0,
      cluster[code] or 0, class[code] or 0)
    if not by_text[text] then records[#records + 1], by_text[text] = text, #records end
    all[#all + 1] = by_text[text]
  end
  assert(#records <= 256)
  put_list("static const jf_char_record char_records[]", records)
  put_packed("packed_numbers", all)
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
-- one behind the other. Of each part its distance from that of the code point before is written, in
-- a run; those below 0 as odd numbers.
local function put_parts()
  local list, parts, steps = {}, {}, {}
  for code = 0, LAST do
    local own, before = mapping[code] or {}, mapping[code - 1] or {}
    if #own > 0 and #own ~= #before then list[#list + 1] = { code, #own, #parts } end
    for i, part in ipairs(own) do
      local step = part - (#own == #before and before[i] or 0)
      parts[#parts + 1], steps[#steps + 1] = part, step < 0 and -2 * step - 1 or 2 * step
    end
  end
  put_runs("char_apart", list)
  io.write(("enum { N_PARTS = %d };\n"):format(#parts))
  put_packed("packed_parts", steps)
end

-- The code points whose two parts do not make them.
local function put_excluded()
  local list, count = {}, 0
  for code = 0, LAST do
    if mapping[code] and #mapping[code] == 2 and not compatible[code] then
      count = count + 1
      if excluded[code] then list[#list + 1] = code end
    end
  end
  io.write(("enum { N_COMPOSITIONS = %d };\n"):format(count - #list))
  put_list("static const int32_t char_excluded[]", list)
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
put_excluded()
