-- libjfl.so in a language that knows nothing of it but how to call C.
local helper = require "spec.hosts.helper"

describe("python #cpu #hosts", function()
  after_each(helper.clean)

  it("trains in the background, asks, saves, and gets errors as exceptions, by ctypes", function()
    local missing = helper.missing("python3", helper.root .. "/build/libjfl.so")
    if missing then return pending(missing) end
    local out, err, status = helper.run { "python3", helper.root .. "/examples/embed.py",
      helper.root .. "/build/libjfl.so" }
    assert.equal("", err)
    local first, last = out:match "^jfl [%d.]+: loss (%S+), then (%S+)\n"
    assert.is_true(tonumber(last) < 0.01 * tonumber(first), out)
    assert.matches("\nthe script has no job 'tarin'; did you mean train%?\n$", out)
    assert.equal(0, status, out .. err)
    assert.is_true(helper.exists(helper.place() .. "/sine/model.safetensors"))
    helper.row("Python", helper.version "python3", "examples/embed.py, by ctypes: 2000 steps")
  end)

  it("trains and asks with numpy's arrays, by the module that pip installs", function()
    local missing = helper.missing("python3", helper.root .. "/build/libjfl.so")
    if missing then return pending(missing) end
    local python = os.getenv "PYTHON" or "python3"
    if os.execute(python .. " -c 'import numpy' 2>/dev/null") ~= 0 then
      return pending("needs a Python with numpy, which PYTHON names")
    end
    local out, err, status = helper.run { "env",
      "JFL_LIBRARY=" .. helper.root .. "/build/libjfl.so",
      "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=" .. helper.root .. "/scripts/package/python",
      python, helper.root .. "/spec/hosts/module.py" }
    assert.same({ "well with jfl " .. require("jfl").version .. "\n", "", 0 }, { out, err, status })
  end)

  it("is told what it does wrong, by ctypes on four threads, and goes on", function()
    local missing = helper.missing("python3", helper.root .. "/build/libjfl.so")
    if missing then return pending(missing) end
    local out, err, status = helper.run { "python3", helper.root .. "/spec/hosts/misuse.py",
      helper.root .. "/build/libjfl.so" }
    assert.same({ "well\n", "", 0 }, { out, err, status })
  end)
end)
