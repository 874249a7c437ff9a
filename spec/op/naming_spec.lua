--- A call that is right but for one argument fails by the name of this argument: for each op of the
--- front end, each of its inputs and options, and values of each wrong kind.
local cases = require "spec.op.cases"
local core = require "jfl.core"
local support = require "spec.op.support"

teardown(core.reset)

local NEVER = { print, coroutine.create(print), { banana = 1 } }
local WRONG = {
  integer = { true, "banana", 0.5, 1e300, 0 / 0, 1 / 0 },
  number = { true, "banana", {} },
  boolean = { "banana", {}, 0.5 },
  string = { true, 0.5, {}, "banana" },
  dtype = { true, 0.5, {}, "banana" },
  integers = { true, "banana", { "a" }, { 0.5 }, { 0 / 0 }, { 1e300 }, { 1, 2, x = 3 } },
  numbers = { true, "banana", { "a" }, { {} } },
  padding = { true, "banana", { "a" }, { 0.5 } },
  array = { true, "banana", { { 1 }, { 2, 3 } } },
}

local function has_word(text, word) return text:find("%f[%w_]" .. word .. "%f[^%w_]") ~= nil end

--- The op's first case that can be called on floats, with `options` in place of some of its own.
local function fitting(op, options)
  for _, case in ipairs(cases[op.name]) do
    local call = { inputs = support.inputs(case, case.only or "float32"), options = {} }
    for k, v in pairs(case.options or {}) do call.options[k] = v end
    if pcall(support.call, op, call, call.inputs) then
      for k, v in pairs(options or {}) do call.options[k] = v end
      return call
    end
  end
end

--- Calls what must fail; nil, or what is wrong with how it does.
local function unnamed(op, call, names, what)
  local ok, message = pcall(support.call, op, call, call.inputs)
  if ok then return ("takes %s"):format(what) end
  message = message:gsub("^[^ ]+:%d+: ", "")
  if message:sub(1, #op.name + 2) ~= op.name .. ": " then return message end
  for _, name in ipairs(names) do
    if has_word(message:sub(#op.name + 3), name) then return nil end
  end
  return ("with %s says: %s"):format(what, message)
end

--- Whether a word is one that the op takes there: such an option is right.
local function fits(op, call) return pcall(support.call, op, call, call.inputs) end

describe("one wrong argument is named in a call of", function()
  for name, op in pairs(core.ops()) do
    local path = op.path and op.path:match "%S+"
    if path and path ~= "" and #cases[name] > 0 then
      it(name, function()
        assert.truthy(fitting(op), "no case can be called")
        for _, p in ipairs(op.params) do
          local function try(value, may_fit)
            local call = fitting(op, { [p.name] = value })
            if may_fit and fits(op, call) then return end
            assert.is_nil(unnamed(op, fitting(op, { [p.name] = value }), { p.name },
              ("%s = %s"):format(p.name, tostring(value))))
          end
          for _, value in ipairs(NEVER) do try(value) end
          for _, value in ipairs(assert(WRONG[p.type], p.type)) do try(value, true) end
        end
        assert.is_nil(unnamed(op, fitting(op, { banana = 1 }), { "banana" }, "an unknown option"))
        local n = #fitting(op).inputs
        for i = 1, n do
          for _, value in ipairs { "banana", print, io.stdout } do
            local call = fitting(op)
            call.inputs[i] = value
            local input = op.inputs[math.min(i, #op.inputs)]
            assert.is_nil(unnamed(op, call, { input, "input " .. i, "argument " .. i },
              ("input %d = %s"):format(i, tostring(value))))
          end
        end
      end)
    end
  end
end)
