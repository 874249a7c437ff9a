local flow = require "jfl"
local helper = require "spec.lua.helper"

local csv = flow.data.csv

describe("data.csv", function()
  local path

  before_each(function() path = os.tmpname() end)
  after_each(function() os.remove(path) end)

  local function read(text, o)
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
    return csv(path, o)
  end

  -- Every column as "name: dtype: values", in order.
  local function shown(set)
    local parts = {}
    for _, name in ipairs(require("jfl.data.columns").order(set)) do
      local column = set[name]
      local is_list = type(column) == "table"
      parts[#parts + 1] = ("%s: %s: %s"):format(name, is_list and "texts" or column.dtype,
        table.concat(is_list and column or column:totable(), "|"))
    end
    return parts
  end

  it("fills missing numbers, and other files with the same", function()
    local text = "a,b,c,d,e\n1,,x,,1\n2,4,,8,2\n,2,y,5,3\n4,9,x,,4\n"
    local train = read(text, { fill = { a = "mean", b = "median", d = -1, e = "mean" },
      indicators = true })
    assert.same({ "a: float32: 1|2|" .. tostring(train.a[3]) .. "|4", "a_missing: float32: 0|0|1|0",
      "b: float32: 4|4|2|9", "b_missing: float32: 1|0|0|0", "c: texts: x||y|x",
      "d: float32: -1|8|5|-1", "d_missing: float32: 1|0|0|1", "e: int32: 1|2|3|4" }, shown(train))
    assert.near(7 / 3, train.a[3], 1e-6)
    assert.same({ "a", "b", "d" }, train.indicators)
    assert.equal(2.5, train.fills.e)
    local test = read("a,b,c,d,e\n,,z,1,\n3,1,z,2,3\n", { fill = train.fills,
      indicators = train.indicators })
    assert.same({ "a: float32: " .. tostring(train.a[3]) .. "|3", "a_missing: float32: 1|0",
      "b: float32: 4|1", "b_missing: float32: 1|0", "c: texts: z|z", "d: int32: 1|2",
      "d_missing: float32: 0|0", "e: float32: 2.5|3" }, shown(test))
    assert.same({ "a: float32: 1|1", "b: texts: x|y", "c: float32: 3|3" },
      shown(read("a,b,c\n1,x,\n,y,3\n", { fill = "mean" })))
  end)

  it("refuses to fill what it cannot", function()
    for why, o in pairs {
      ["fill.a must be \"mean\", \"median\" or a number, got string 'mode'"] =
        { fill = { a = "mode" } },
      ["fill: the file has no column 'x'"] = { fill = { x = 1 } },
      ["fill: column 'c' must have numbers, got texts"] = { fill = { c = 1 } },
      ["column 'b' must have a number for its median, got none"] = { fill = { b = "median" },
        types = { b = "float32" } },
      ["indicators: 'b' must be a column that fill names"] = { fill = { a = 1 },
        indicators = { "b" } },
      ["there is a column 'a_missing' already"] = { fill = { a = 0 }, indicators = true },
    } do
      helper.fails(function() read("a,b,c,a_missing\n,,x,1\n2,,y,1\n", o) end, why)
    end
  end)

  it("gives a column for each in the file, of the kind that its cells are of", function()
    assert.same({ "id: int32: 1|2|-3", "big: int64: 1|5000000000|3", "x: float32: 0.5|-200|3",
      "name: texts: a|b c|", "half: float32: nan|7|nan" },
      shown(read("id,big,x,name,half\n1,1,.5,a,\n2,5000000000,-2e2,b c,7\n-3,3,3,,NA\n")))
  end)

  it("takes quotes, other separators, line ends, blank lines and a byte order mark", function()
    assert.same({ 'a,"b": texts: x, y|say "hi"|two\nlines|""', "n: int32: 1|2|3|4" },
      shown(read('\239\187\191"a,""b""",n\r\n"x, y",1\r\n\r\n"say ""hi""",2\r\n"two\nlines",3\n'
        .. '"""""",4')))
    assert.same({ "column_1: int32: 1|3", "column_2: float32: 2.5|4" },
      shown(read("1\t 2.5\n3\t4", { separator = "\t", header = false })))
    assert.same({ "column_1: int32: 1", "b: int32: 2" }, shown(read(",b\n1,2\n")))
  end)

  it("reads numbers as exactly as their dtype has them", function()
    local texts = { "0.1", "1e22", "123456789012345678", "1e-300", "3.4028235e38", "-0",
      "9007199254740993.0", "0.30000000000000004", "1e23", "2.2250738585072011e-308", "inf",
      "00012.50", "+5", "5e", "1234567890123456789012" }
    local text = "x\n" .. table.concat(texts, "\n", 1, 13) .. "\n" .. texts[15] .. "\n"
    local x = read(text, { types = { x = flow.float64 } }).x
    for i = 1, 13 do assert.equal(tonumber(texts[i]), x[i], texts[i]) end
    assert.equal(1234567890123456789012, x[14])
    assert.same({ "x: texts: 1|5e" }, shown(read("x\n1\n5e\n")))
    assert.same({ "x: texts: 0x10|1 2" }, shown(read("x\n0x10\n1 2\n")))
  end)

  it("reads a column again whose kind shows late", function()
    local lines = { "a,b,c" }
    for i = 1, 3000 do lines[#lines + 1] = ("%d,%d,%d"):format(i, i, i) end
    lines[#lines + 1] = '2.5,"text ""x""",'
    local set = read(table.concat(lines, "\n"))
    assert.same({ "float32", "float32" }, { set.a.dtype, set.c.dtype })
    assert.same({ 2.5, 3000, 3001 }, { set.a[3001], set.a[3000], #set.b })
    assert.same({ "7", 'text "x"' }, { set.b[7], set.b[3001] })
    assert.are_not.equal(set.c[3001], set.c[3001])
  end)

  it("takes types and what stands for missing numbers", function()
    assert.same({ "zip: texts: 01234|99", "y: float64: 1|2" },
      shown(read("zip,y\n01234,1\n99,2\n", { types = { zip = "string", y = flow.float64 } })))
    assert.same({ "a: float32: -|1" }, { (shown(read("a\n-\n1\n", { missing = { "-" } }))[1]
      :gsub("nan", "-")) })
    assert.same({ "a: texts: NA|1" }, shown(read("a\nNA\n1\n", { missing = {} })))
  end)

  it("numbers the texts of categories", function()
    local set = read("city,n,kind\nRome,1,a\nOslo,2,b\nRome,3,a\n", { categories = { "city" } })
    assert.same({ "city: int32: 0|1|0", "n: int32: 1|2|3", "kind: texts: a|b|a" }, shown(set))
    assert.same({ city = { "Rome", "Oslo" } }, set.categories)
    assert.same({ "int32", "int32" }, (function()
      local all = read("city,n,kind\nRome,1,a\n", { categories = true })
      return { all.city.dtype, all.kind.dtype }
    end)())
  end)

  it("gives texts the numbers that they have elsewhere", function()
    local first = read("city,kind\nRome,a\nOslo,b\n", { categories = true })
    local second = read("kind,city\nb,Oslo\nb,Rome\n", { categories = first.categories })
    assert.same({ "kind: int32: 1|1", "city: int32: 1|0" }, shown(second))
    assert.same(first.categories, second.categories)
    local third = read("city,zip,kind\nOslo,7,x\nRome,8,y\n",
      { categories = { "kind", city = { "Paris", "Rome", "Oslo" }, zip = { "8", "7" } } })
    assert.same({ "city: int32: 2|1", "zip: int32: 1|0", "kind: int32: 0|1" }, shown(third))
    assert.same({ "Paris", "Rome", "Oslo" }, third.categories.city)
  end)

  it("makes texts that are no category an error, or a class of their own", function()
    local text, of = "city\nOslo\nParis\nRome\n", { city = { "Rome", "Oslo" } }
    helper.fails(function() read(text, { categories = of }) end, "data.csv: " .. path
      .. ": row 2: 'Paris' is none of the categories of column 'city': Rome, Oslo; unknown = "
      .. "\"class\" makes a class of all that are none")
    assert.same({ "city: int32: 1|2|0" }, shown(read(text, { categories = of, unknown = "class" })))
    assert.same({ "city: int32: 0|1|2" },
      shown(read(text, { categories = { "city" }, unknown = "class" })))
  end)

  it("has categories that a model is saved with", function()
    flow.clear_default_session()
    local directory = helper.directory()
    local first = read("city\nRome\nOslo\n", { categories = true })
    flow.checkpoint.save(directory .. "/model", { notes = { categories = first.categories } })
    local notes = flow.checkpoint.notes(directory .. "/model")
    helper.remove(directory)
    assert.same({ "city: int32: 1" }, shown(read("city\nOslo\n", notes)))
  end)

  it("gives its columns to batches in the order of the file", function()
    local set = read("z,a\n1,10\n2,20\n3,30\n")
    assert.equal("data set: z (3), a (3)", tostring(set))
    assert.equal("data set: t, n (1)", tostring(read("t,n\nx,1\n")))
    set = read("z,a\n1,10\n2,20\n3,30\n")
    for _, i, z, a in flow.data.batches(set, { batch_size = 2 }) do
      if i == 2 then assert.same({ 3, 30 }, { z[1], a[1] }) end
    end
  end)

  -- How many lines a text ends before what comes next.
  local function lines_of(text) return select(2, text:gsub("\n", "")) end

  it("counts lines through quotes, blank lines and any line ends", function()
    -- Rows of two cells that are right, with line ends inside and around.
    local rows = { "x,1\n", '"one\ntwo",2\n', '"a\r\n\r\nb",3\r\n', '"say ""hi""\n",4\n',
      "\n\ny,5\n", '"\n",6\n', '"""\n""",7\r\n', "\r\n\n", '",\n,",8\n' }
    local heads = { "a,b\n", '\n\na,b\r\n', '"a",b\n' }
    -- What is wrong, before what makes it so within the row, and what is said of it.
    local wrong = {
      { "", "z\n", "line %d must have 2 cells, got fewer" },
      { "", "z,1,2\n", "line %d must have 2 cells, got more" },
      { '"z\nz",1', ",2\n", "line %d must have 2 cells, got more", 1 },
      { "", '"z,1\n\n', "line %d: a quote is not closed" },
      { '"z\n\n", ', '"1\n', "line %d, column 'b': a number must stand there, got ' \"1'" },
      { '"z\n\n",', '"1\n', "line %d: a quote is not closed" },
      { '"z\n', '"z,1\n', "line %d: a separator must follow a closing quote, got 'z'" },
      { '"z\n""\n', '"z,1\n', "line %d: a separator must follow a closing quote, got 'z'" },
      { "z,", "w\n", "line %d, column 'b': a number must stand there, got 'w'" },
      { '"z\r\n\n",', "w\n", "line %d, column 'b': a number must stand there, got 'w'" },
    }
    for k, each in ipairs(wrong) do
      for first = 0, #rows do
        for last = first, math.min(first + 3, #rows) do
          local before = heads[(k + last) % #heads + 1] .. table.concat(rows, "", first + 1, last)
          local line = 1 + lines_of(before .. each[1]) - (each[4] or 0)
          local said = path .. ": " .. each[3]:format(line)
          helper.fails(function()
            read(before .. each[1] .. each[2] .. "end,9\n", { types = { b = "int32" } })
          end, said)
        end
      end
    end
  end)

  it("names the line of a header that is wrong", function()
    helper.fails(function() read("\n\r\na,a\n1,2\n") end,
      "line 3: columns must have names that differ, got 'a' twice")
    helper.fails(function() read('\n"x') end, "line 2: a quote is not closed")
    helper.fails(function() read('"a\n\n"x,b\n1,2\n') end,
      "line 3: a separator must follow a closing quote, got 'x'")
    helper.fails(function() read('"a\n\n",b\n1\n') end, "line 4 must have 2 cells, got fewer")
  end)

  it("reads what it is given, whatever the cells hold", function()
    local letters = { "a", ",", '"', "\n", "\r\n", " ", "1", "\r", "" }
    local state = 1
    local function draw(n)
      state = (state * 1103515245 + 12345) % 2 ^ 31
      return math.floor(state / 2 ^ 16) % n + 1
    end
    for round = 1, 60 do
      local width, height = draw(4), draw(5)
      local want, text = {}, {}
      for i = 1, width do
        want[i] = { name = "n" .. i }
        text[i] = ('"%s"'):format(want[i].name)
      end
      text = { table.concat(text, ",") }
      for row = 1, height do
        local cells = {}
        for i = 1, width do
          local parts = { "t" }
          for k = 1, draw(5) - 1 do parts[k + 1] = letters[draw(#letters)] end
          want[i][row] = table.concat(parts)
          cells[i] = '"' .. want[i][row]:gsub('"', '""') .. '"'
        end
        text[row + 1] = table.concat(cells, ",")
      end
      local ending = round % 2 == 0 and "\r\n" or "\n"
      local set = read(table.concat(text, ending) .. (round % 3 == 0 and "" or ending))
      for i = 1, width do
        assert.equal(height, #set[want[i].name])
        for row = 1, height do assert.equal(want[i][row], set[want[i].name][row]) end
      end
    end
  end)

  it("names line and column of what is wrong", function()
    local function fails(text, content, o)
      helper.fails(function() read(content, o) end, text)
    end
    fails(path .. ": line 3 must have 2 cells, got fewer", "a,b\n1,2\n3\n")
    fails("line 4 must have 2 cells, got more", "a,b\n1,2\n\n3,4,5\n")
    fails("line 3: a quote is not closed", 'a\n1\n"x\n\n')
    fails("line 2: a separator must follow a closing quote, got 'y'", 'a\n"x"y\n')
    fails("line 3, column 'b': a number must stand there, got 'x'", "a,b\n1,2\n3,x\n",
      { types = { b = "int32" } })
    fails("column 'b': row 2 must fit int32, got 1.5", "a,b\n1,2\n3,1.5\n",
      { types = { b = "int32" } })
    fails("columns must have names that differ, got 'a' twice", "a,a\n1,2\n")
    fails("types must name columns, got 'c', which is none", "a\n1\n", { types = { c = "int32" } })
    fails("it has no lines", "")
    fails("it has no lines behind the names of the columns", "a,b\n")
    fails("types.a must be \"string\" or a dtype, got string 'int'", "a\n1\n",
      { types = { a = "int" } })
    fails("separator must be one character, got string '||'", "a\n1\n", { separator = "||" })
    fails("separator must be one ASCII character", "a\n1\n", { separator = '"' })
    fails("missing[1] must be a string, got number 3", "a\n1\n", { missing = { 3 } })
    fails("categories: the file has no column 'b'; its columns are a",
      "a\nx\n", { categories = { "b" } })
    fails("categories: column 'a' must have texts, got numbers; types = {a = \"string\"} reads",
      "a\n1\n", { categories = { "a" } })
    fails("categories: the file has no column 'b'",
      "a\nx\n", { categories = { b = { "x" } } })
    fails("categories.a must be a table, got string 'x'", "a\nx\n", { categories = { a = "x" } })
    fails("categories.a[1] must be a string, got number 1",
      "a\nx\n", { categories = { a = { 1 } } })
    fails("categories.a[2] must be another text than those before, got 'x'", "a\nx\n",
      { categories = { a = { "x", "x" } } })
    fails("categories[1] must be a string, got number 3", "a\nx\n", { categories = { 3 } })
    fails("unknown must be \"error\" or \"class\", got string 'none'", "a\nx\n",
      { unknown = "none" })
    helper.fails(function() csv("/nowhere/a.csv") end, "/nowhere/a.csv: No such file")
    helper.fails(function() csv("/dev") end, "/dev: it is not a file")
  end)
end)
