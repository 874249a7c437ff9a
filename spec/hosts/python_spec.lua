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

  it("finds the library in the folder where the command was installed", function()
    local missing = helper.missing("python3", helper.root .. "/build/libjfl.so")
    if missing then return pending(missing) end
    local place = helper.place()
    os.execute(("mkdir -p %s/bin %s/lib; ln -s %s/build/libjfl.so %s/lib/libjfl.so.1; "
      .. "printf '#!/bin/sh\\n' >%s/bin/jfl; chmod +x %s/bin/jfl"):format(place, place, helper.root,
      place, place, place))
    helper.write("numpy.py", "ndarray = generic = bool_ = None\n")
    local out, err = helper.run { "env", "-u", "JFL_LIBRARY", "PYTHONDONTWRITEBYTECODE=1",
      "PATH=" .. place .. "/bin:" .. os.getenv "PATH",
      ("PYTHONPATH=%s:%s/scripts/package/python"):format(place, helper.root),
      "python3", "-c", "import jfl; print(jfl._jfl._name)" }
    assert.same({ place .. "/lib/libjfl.so.1\n", "" }, { out, err })
  end)

  it("is told what it does wrong, by ctypes on four threads, and goes on", function()
    local missing = helper.missing("python3", helper.root .. "/build/libjfl.so")
    if missing then return pending(missing) end
    local out, err, status = helper.run { "python3", helper.root .. "/spec/hosts/misuse.py",
      helper.root .. "/build/libjfl.so" }
    assert.same({ "well\n", "", 0 }, { out, err, status })
  end)
end)
