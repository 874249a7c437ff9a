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

  it("is told what it does wrong, by ctypes on four threads, and goes on", function()
    local missing = helper.missing("python3", helper.root .. "/build/libjfl.so")
    if missing then return pending(missing) end
    local out, err, status = helper.run { "python3", helper.root .. "/spec/hosts/misuse.py",
      helper.root .. "/build/libjfl.so" }
    assert.same({ "well\n", "", 0 }, { out, err, status })
  end)
end)
