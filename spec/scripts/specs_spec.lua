--- The runner of specs for machines without busted, beside busted.
local assertions = require "scripts.specs.assertions"
local helper = require "spec.lua.helper"

local OWN, BUSTED = "scripts/specs.lua", "/usr/bin/busted -o plainTerminal"

--- What a runner says of a file of specs, and its exit status.
local function run(runner, text)
  local path = os.tmpname() .. ".lua"
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  local pipe = io.popen(("'%s' %s '%s' 2>&1; echo \"=$?\""):format(helper.command(), runner, path))
  local out, status = pipe:read("*a"):match "^(.*)=(%d+)\n$"
  pipe:close()
  os.remove(path)
  os.remove((path:gsub("%.lua$", "")))
  return out, tonumber(status)
end

--- The numbers in a runner's summary: successes, failures, errors, pending.
local function counts(out)
  local list = { out:match "(%d+) success%a* / (%d+) failure%a* / (%d+) error%a* / (%d+) pending" }
  assert(#list == 4, out)
  return table.concat(list, " ")
end

--- Both runners count a file's specs as told.
local function both(want, text)
  for _, runner in ipairs { OWN, BUSTED } do
    local out, status = run(runner, text)
    assert.equal(want, counts(out), out)
    assert.equal(want:find "^%d+ 0 0 " and 0 or 1, math.min(status, 1), out)
  end
end

--- The lines of a file of specs that begin with a mark: what ran, in its order.
local function steps(runner, text)
  local list = {}
  for step in run(runner, text):gmatch "@(%w+)" do list[#list + 1] = step end
  return table.concat(list, " ")
end

-- Of each assertion: arguments that it holds for, and arguments that it does not hold for.
local CASES = {
  equal = { { "1, 1", "nil, nil", "'a', 'a'" }, { "1, 2", "1, '1'", "{}, {}", "0/0, 0/0" } },
  same = { { "{}, {}", "{ 1, { a = 2 } }, { 1, { a = 2 } }", "2, 2" },
    { "{ 1 }, {}", "{}, { 1 }", "{ 1, { a = 2 } }, { 1, { a = 3 } }", "{ 1 }, 1", "1, 2" } },
  truthy = { { "0", "''", "true" }, { "nil", "false" } },
  falsy = { { "nil", "false" }, { "0", "''", "true" } },
  ["true"] = { { "true" }, { "1", "false", "nil" } },
  ["false"] = { { "false" }, { "nil", "true", "0", "" } },
  ["nil"] = { { "nil", "" }, { "false", "0" } },
  boolean = { { "true", "false" }, { "nil", "0" } },
  number = { { "1", "0/0" }, { "'1'", "nil", "1LL" } },
  string = { { "''" }, { "1", "nil" } },
  table = { { "{}" }, { "'table'", "nil" } },
  ["function"] = { { "print" }, { "setmetatable({}, { __call = print })", "nil" } },
  userdata = { { "io.stdout" }, { "{}", "nil" } },
  near = { { "1, 1.5, 0.5", "1, 0.5, 0.5", "-2, -2, 0" },
    { "1, 1.6, 0.5", "1, 0.4, 0.5", "0, 0/0, 1", "0/0, 0, 1", "0, 1/0, 1" } },
  matches = { { "'^a+$', 'aaa'", "'.', 'a.b', 1, true", "'2', 12" },
    { "'^a+$', 'aab'", "'b', 'abc', 3", "'.', 'ab', 1, true", "'b', 'ac', 'a message'" } },
  error = { { "error", "function() error('a', 2) end, 'a'", "function() error('a') end, 'a'" },
    { "function() end", "function() error('a', 0) end, 'b'", "function() error({}) end, 'b'" } },
  error_matches = { { "function() error('abc') end, '^ab'" }, {
    "function() error('abc') end, '^b'", "function() end, ''", "function() error({}) end, 'a'" } },
}
for name, other in pairs { equals = "equal", match = "matches", errors = "error",
  error_match = "error_matches" } do CASES[name] = CASES[other] end

--- A file of specs with one for each case of each assertion, and how many of them pass and fail:
-- those that are told of as they are, or by what is not so.
local function each_case(word, holding, failing)
  local lines, n = {}, { 0, 0 }
  for name, cases in pairs(CASES) do
    for _, which in ipairs { holding, failing } do
      for _, arguments in ipairs(cases[which]) do
        lines[#lines + 1] = ("it(%q, function() assert[%q](%s) end)"):format(#lines,
          word .. name, arguments)
      end
      n[which == holding and 1 or 2] = n[which == holding and 1 or 2] + #cases[which]
    end
  end
  return table.concat(lines, "\n"), ("%d %d 0 0"):format(n[1], n[2])
end

local AROUND = [[
  local function says(word, wrong)
    return function() print("@" .. word) if wrong then error(word) end end
  end
  setup(says "setup1") setup(says "setup2")
  teardown(says "teardown1") teardown(says "teardown2")
  before_each(says "before1") before_each(says "before2")
  after_each(says "after1") after_each(says "after2")
  print "@file"
  it("a", says "a")
  describe("inner", function()
    print "@inner"
    before_each(says "before3")
    after_each(says "after3")
    it("b", function() finally(says "finally") print "@b" error "b" end)
    describe("innermost", function()
      print "@innermost"
      before_each(says("before4", true)) before_each(says "before5")
      after_each(says "after4")
      it("is not run", says "c")
    end)
  end)
  describe("without specs", function()
    setup(says "setup6")
    teardown(says "teardown6")
  end)
  describe("with a setup that fails", function()
    setup(says("setup7", true))
    it("is not run", says "d")
    teardown(says "teardown7")
  end)
  describe("with a teardown that fails", function()
    it("e", says "e")
    after_each(says("after8", true))
    teardown(says("teardown8", true))
  end)
  describe("with a body that fails", function()
    it("is not run", says "f")
    teardown(says "teardown9")
    error "here"
  end)
  it("g", says "g")
]]

describe("scripts/specs.lua", function()
  it("has a case of each assertion here", function()
    for name in pairs(assertions.known) do assert.is_table(CASES[name], name) end
  end)

  it("passes and fails what busted passes and fails, by each assertion", function()
    local text, want = each_case("", 1, 2)
    both(want, text)
    text, want = each_case("is_not_", 2, 1)
    both(want, text)
    both("1 2 0 0", [[
      it("passes", function() assert(1) assert.are_not.equal(1, 2) assert.has_no.error(print) end)
      it("fails", function() assert(nil, "why") end)
      it("fails without a reason", function() assert(false) end)
    ]])
  end)

  it("says what was wanted, what there is, where, and the spec's own message", function()
    local out = run(OWN, [[
      describe("a", function()
        it("b", function()
          assert.same({ 1, { x = 2 } }, { 1, { x = 3 } }, "well?")
        end)
      end)
    ]])
    assert.truthy(out:find("Failure: a b\n  /[^\n]*:3: well%?\nexpected { 1, { x = 2 } }, got "
      .. "{ 1, { x = 3 } }, which differs at %[2%]%[x%]\n"), out)
  end)

  it("takes no word for an assertion that it does not know, and none with too little", function()
    for _, word in ipairs { "assert.resembles(1, 1)", "assert.is_not(1)", "assert.unique { 1 }",
      "assert.equal(1)", "assert.same(nil)", "assert.near(1, 1)", "assert.falsy()",
      "assert.truthy()", "assert.matches('a')", "assert.matches('a', {})", "assert.near('a', 1, 1)",
      "assert.message('a').equal(1, 1)", "spy.new(print)", "stub(io, 'write')" } do
      local out, status = run(OWN, ("it('x', function() %s end)"):format(word))
      assert.equal("0 0 1 0", counts(out), word)
      assert.equal(1, status, word)
    end
    for _, word in ipairs { "lazy_setup(print)", "insulate('a', print)", "it('a')", "it(print)",
      "describe 'a'", "finally(print)", "nothing()" } do
      assert.equal("0 0 1 0", counts((run(OWN, word))), word)
    end
  end)

  it("runs what is around specs as busted does, and counts what fails there as errors", function()
    assert.equal(steps(BUSTED, AROUND), steps(OWN, AROUND))
    assert.truthy(steps(OWN, AROUND):find "^file setup1 setup2 before1 before2 a after1 after2 ")
    both("3 0 6 0", AROUND)
  end)

  it("counts as busted does what ends a spec", function()
    both("1 2 4 3", [[
      local gone = function() error "gone" end
      it("passes", function() finally(function() end) end)
      it("fails", function() assert.equal(1, 2) end)
      it("is an error", gone)
      it("fails at its end, too", function() finally(gone) assert.equal(1, 2) end)
      it("fails at its end", function() finally(function() assert.equal(1, 2) end) end)
      it("is pending", function() pending "later" end)
      it("is pending and ends well", function() finally(function() end) pending "later" end)
      it("must hold no other", function() it("x", function() end) end)
      pending "is yet to be written"
    ]])
  end)

  it("tells of files that cannot be read", function()
    both("0 0 1 0", "it(")
    local out, status = run(OWN .. " /nowhere_spec.lua", "it('x', function() end)")
    assert.equal("1 0 1 0", counts(out))
    assert.equal(1, status)
    assert.equal(2, select(2, run(OWN .. " --filters=x", "")))
  end)

  it("leaves globals and modules as they were to the next file", function()
    local text = [[
      it("keeps ffi, which cannot be loaded twice", function()
        local registry, ffi = debug.getregistry(), require "ffi"
        assert.equal(registry.spec_ffi or ffi, ffi)
        registry.spec_ffi = ffi
      end)
      it("begins anew", function()
        assert.is_nil(rawget(_G, "left"))
        assert.is_nil(package.loaded.left)
        assert.equal(print, _G.print)
        rawset(_G, "left", 1)
        package.loaded.left = 1
        rawset(_G, "tostring", nil)
      end)
    ]]
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
    local out = run(OWN .. " " .. path, text)
    os.remove(path)
    assert.equal("4 0 0 0", counts(out), out)
  end)

  it("takes those that a filter names, leaves out tags, and takes a share", function()
    local text = [[
      describe("a block", function()
        it("is one", function() print "@one" end)
        it("is two", function() print "@two" end)
        it("is three #slow", function() print "@three" end)
      end)
      describe("a #big block", function()
        print "@big"
        it("is four", function() print "@four" end)
      end)
    ]]
    for _, option in ipairs { "--filter='block is t'", "--exclude-tags=slow",
      "--filter=one --filter=four", "--exclude-tags=slow --exclude-tags=big" } do
      assert.equal(steps(BUSTED .. " " .. option, text), steps(OWN .. " " .. option, text), option)
    end
    assert.equal("two three big", steps(OWN .. " --filter='block is t'", text))
    assert.equal("one three big", steps(OWN .. " --share=1/2", text))
    assert.equal("two big four", steps(OWN .. " --share=2/2", text))
    assert.equal("one two three big four", steps(OWN .. " --share=1/1", text))
  end)

  it("gives what busted gives of specs of this project", function()
    local files = "spec/lua/base/*_spec.lua spec/lua/nd/npy_spec.lua spec/pass/cse_spec.lua"
    local function said(runner)
      local pipe = io.popen(("'%s' %s %s 2>&1"):format(helper.command(), runner, files))
      local out = pipe:read("*a")
      pipe:close()
      return counts(out)
    end
    local want = said(BUSTED)
    assert.truthy(want:find "^[1-9]%d+ 0 0 ", want)
    assert.equal(want, said(OWN))
  end)
end)
