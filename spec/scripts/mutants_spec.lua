--- What plants faults in the sources: on made sources, in a folder of their own.
local code = require "scripts.mutants.code"
local copy = require "scripts.mutants.copy"
local draw = require "scripts.mutants.draw"
local judged = require "scripts.mutants.judged"
local tests = require "scripts.mutants.tests"

--- What the rules make of a line in a function, by the names of the rules.
local function faults(path, line)
  local lua = code.language(path) == "lua"
  local source = draw.source(path, (lua and "local x\n%s\nreturn x\n" or "{\n%s\n}\n"):format(line))
  local found = {}
  for _, each in ipairs(source.lines) do
    if each.line == 2 then
      for _, fault in ipairs(each.faults) do found[fault.rule] = fault.text end
    end
  end
  return found
end

local C = [[
/* a < b
   && c */
#define MORE(a, b) \
  ((a) < (b))
static const char *text = "a < b /* && "; // a < b
int f(int a, int b)
{
  char quote = '"';
  int room[64];
  assert(a < b);
  return a < b;   /* a && b */
}
]]

local LUA = [=[
--[[ a < b
  1 + 1 ]]
local text = "a < b -- " .. [[ a
  < b ]] -- a < b
return a < b
]=]

local function lines_of(source)
  local list = {}
  for _, line in ipairs(source.lines) do list[#list + 1] = line.line end
  return list
end

describe("where faults are planted", function()
  it("leaves out comments, strings, lines of the preprocessor and assertions", function()
    assert.same({ 11 }, lines_of(draw.source("f.c", C)))
    assert.same({ 5 }, lines_of(draw.source("f.lua", LUA)))
  end)

  it("hides as many bytes as there are", function()
    for path, text in pairs { ["f.cu"] = C, ["f.lua"] = LUA } do
      local whole = {}
      for i, line in ipairs(code.lines(text, code.language(path))) do
        assert.equal(#line.text, #line.code)
        whole[i] = line.text
      end
      assert.equal(text, table.concat(whole, "\n") .. "\n")
    end
  end)

  it("goes by what stands in C and in CUDA", function()
    assert.same({ bound = "  if (a <= b) return 12;", more = "  if (a < b) return 13;",
      negated = "  if (!(a < b)) return 12;", fewer = "  if (a < b) return 11;",
      guard = "  if (a < b) ;" }, faults("f.c", "  if (a < b) return 12;"))
    assert.same({ sync = "  ;" }, faults("f.cu", "  __syncthreads();"))
    assert.same({ freed = "  ;" }, faults("f.c", "  jf_free(x);"))
    assert.same({ removed = "  ;", update = "  n -= m;", ["update.2"] = "  n = m;" },
      faults("f.c", "  n += m;"))
    assert.same({ arms = "  x = y ? b[i] : a;", removed = "  ;" },
      faults("f.c", "  x = y ? a : b[i];"))
    assert.same({ try = "  (void)(f(x));", removed = "  ;" }, faults("f.c", "  JF_TRY(f(x));"))
    assert.same({ equal = "  int x = a != b && !c;", logic = "  int x = a == b || !c;",
      ["not"] = "  int x = a == b && c;" }, faults("f.c", "  int x = a == b && !c;"))
    assert.same({ scale = "  float x = (2 * 0.5f);" }, faults("f.c", "  float x = 0.5f;"))
    assert.same({ scale = "  float x = 1.0f;" }, faults("f.c", "  float x = 0.0f;"))
    assert.same({}, faults("f.c", "  jf_graph *g;"))
    assert.same({}, faults("f.c", "  void (*run)(int *x);"))
  end)

  it("goes by what stands in Lua", function()
    assert.same({ bound = "  if x <= y then return end", guard = "  if x < y then  end",
      negated = "  if not (x < y) then return end" }, faults("f.lua", "  if x < y then return end"))
    assert.same({ removed = "  ", logic = "  x = y and z" }, faults("f.lua", "  x = y or z"))
    assert.same({ logic = "    and y" }, faults("f.lua", "    or y"))
    assert.same({ bound = "  for i = 1, (n - 1) do", more = "  for i = 2, n do",
      fewer = "  for i = 0, n do" }, faults("f.lua", "  for i = 1, n do"))
    assert.same({ flag = "  local a = false" }, faults("f.lua", "  local a = true"))
    assert.same({ length = "  local a = (#b.c - 1)" }, faults("f.lua", "  local a = #b.c"))
    assert.same({ ["not"] = "  local a = b" }, faults("f.lua", "  local a = not b"))
  end)
end)

describe("the order of faults", function()
  local function ids(seed)
    local list = {}
    local sources = { draw.source("f.c", C), draw.source("f.lua", LUA) }
    for i, fault in ipairs(draw.sequence(sources, seed)) do list[i] = fault.id end
    return list
  end

  it("is that of the seed, has each fault once and one on each line first", function()
    local list = ids(7)
    assert.same(list, ids(7))
    local seen = {}
    for _, id in ipairs(list) do
      assert.is_nil(seen[id])
      seen[id] = true
    end
    assert.not_equal(list[1]:match("^[^:]+"), list[2]:match("^[^:]+"))
    local others = {}
    for seed = 1, 20 do others[table.concat(ids(seed), " ")] = true end
    assert.truthy(next(others, next(others)))
  end)

  it("can be asked for one by its id", function()
    local sources = { draw.source("f.c", C) }
    local fault = draw.find(sources, "f.c:11:bound")
    assert.equal("  return a <= b;   /* a && b */", fault.after)
    assert.is_nil(draw.find(sources, "f.c:10:bound"))
  end)
end)

describe("the tests of a fault", function()
  local function in_order(list)
    local names = {}
    for i, test in ipairs(tests.best_first(list, "src/run/queue.c")) do names[i] = test.name end
    return names
  end

  it("are asked the quickest first, those of its name and its room before others", function()
    assert.same({ "b", "c", "a" }, in_order { { name = "a", cost = 41 }, { name = "b", cost = 3 },
      { name = "c" } })
    local near, called = "spec/run/job_spec.lua:gpu", "spec/lua/job/queue_spec.lua"
    local own, other = "spec/run/queue_test.c sanitized", "spec/run_spec.lua"
    local list = { { name = other, cost = 1 }, { name = near, cost = 2 },
      { name = called, cost = 4 }, { name = own, cost = 7 } }
    assert.same({ own, near, called, other }, in_order(list))
    for _, test in ipairs(list) do test.cost = 12 * test.cost end
    assert.same({ near, other, own, called }, in_order(list))
  end)

  it("may take longer where no fault is planted", function()
    local test = tests.patient { name = "a", cpu = 40, seconds = 120, line = "true" }
    assert.same({ "a", "true" }, { test.name, test.line })
    assert.is_true(test.cpu > 40 and test.seconds > 120)
    assert.equal(5000, tests.patient({ cpu = 5000, seconds = 120 }).cpu)
  end)
end)

describe("judgements", function()
  it("are kept by the text of the line, and name faults of the sources as they stand", function()
    local set, list = judged.read("scripts/mutants/equivalent.txt")
    local read, found = {}, {}
    for _, one in ipairs(list) do
      if not read[one.path] then
        read[one.path] = true
        for _, fault in ipairs(draw.sequence(draw.sources("'" .. one.path .. "'"), 1)) do
          local judgement = judged.of(set, fault)
          if judgement then found[judgement] = true end
        end
      end
      assert(found[one], ("no such fault: %s %s\n%s"):format(one.path, one.rule, one.text))
    end
  end)
end)

-- A tree of one source; `all` is what copies are built by.
local MAKEFILE = [[
build/jfl: build/obj-gcc/src/f.o
build/obj-gcc/src/f.o: src/f.c
	@mkdir -p $(@D)
	gcc -g -c -o $@ $< 2>/dev/null
]]

describe("a copy", function()
  local folder, tree
  local function put(path, text)
    local file = assert(io.open(folder .. "/" .. path, "w"))
    file:write(text)
    file:close()
  end
  before_each(function()
    folder = os.tmpname()
    os.execute("rm " .. folder .. " && mkdir -p " .. folder .. "/src " .. folder .. "/build "
      .. folder .. "/scripts && cp scripts/unset.sh " .. folder .. "/scripts")
    put("Makefile", MAKEFILE)
    tree = copy.open(folder)
    tree.clean = tree
  end)
  after_each(function() os.execute("rm -r " .. folder) end)

  --- Plants what stands in place of a line of a source; returns also the fault.
  local function plant(path, text, line, after)
    local fault = { source = draw.source(path, text), line = line, after = after }
    put(path, text)
    tree:build("build/jfl")
    return tree:plant(fault), fault
  end

  --- The same, and takes it out again.
  local function told(...)
    local state, fault = plant(...)
    tree:mend(fault)
    return state
  end

  it("tells faults from what changes nothing and from what is no program", function()
    local text = "int f(int x)\n{\n  return x + 1;\n}\n"
    assert.equal("planted", told("src/f.c", text, 3, "  return x - 1;"))
    assert.equal("equivalent", told("src/f.c", text, 3, "  return 1 + x;"))
    assert.equal("invalid", told("src/f.c", text, 3, "  return x +;"))
    assert.equal("planted", told("src/f.lua", "local x = 1\nreturn x + 1\n", 2, "return x + 2"))
    assert.equal("equivalent", told("src/f.lua", "local x = 1\nreturn x\n", 1, "local x =  1"))
    assert.equal("invalid", told("src/f.lua", "local x = 1\nreturn x\n", 1, "local x = +"))
  end)

  it("has the fault until it is mended", function()
    local text = "int f(int x)\n{\n  return x + 1;\n}\n"
    local function now() return (tree:run(5, "cat src/f.c")) end
    local _, fault = plant("src/f.c", text, 3, "  return x - 1;")
    assert.equal("int f(int x)\n{\n  return x - 1;\n}\n", now())
    tree:mend(fault)
    assert.equal(text, now())
  end)

  it("ends a test where the time of its fault ends", function()
    local endless = { seconds = 1000, cpu = 1000, line = "while true; do :; done" }
    local cut = tests.within(endless, 0.5, 1000)
    assert.same({ 1, 1000, true, endless.line }, { cut.cpu, cut.seconds, cut.is_cut, cut.line })
    assert.equal(124, select(2, tree:test(cut)))
    cut = tests.within({ seconds = 1000, cpu = 1000, line = "sleep 1000" }, 1000, 0.5)
    assert.is_true(cut.is_cut)
    assert.equal(124, select(2, tree:test(cut)))
    assert.is_false(tests.within(endless, 2000, 1000).is_cut)
  end)

  it("ends what goes on for too long", function()
    assert.equal(124, select(2, tree:run(1, "sleep 1000")))
    assert.equal(124, select(2, tree:test { seconds = 1000, cpu = 1,
      line = "while true; do :; done" }))
  end)
end)
