--- What flow.help() begins with.
local flow = require "jfl"
local golden = require "spec.golden"

it("the overview stays as it was", function()
  local text = require "jfl.doc.overview"()
  assert.equal("string", type(flow.version))
  golden.check("overview", (text:gsub("^jfl %S+,", "jfl VERSION,")) .. "\n")
end)
