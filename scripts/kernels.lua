-- kernels.lua [OP...]: prints the kernels of the GPU that serve each op, or those ops, in which
-- dtypes; then what none serves. It needs no GPU: `make emulated` builds what it asks.
local kernels = require "scripts.doc.kernels"

if ... == "--each" then return kernels.write(io.stdout, select(2, ...) == "all") end

local by_op, wrong = kernels.lists()
if not by_op then
  io.stderr:write("kernels: ", wrong, "\n")
  os.exit(1)
end

local wanted, names = {}, {}
for _, name in ipairs { ... } do wanted[name] = true end
for name in pairs(by_op) do
  if not next(wanted) or wanted[name] then names[#names + 1] = name end
end
table.sort(names)
for _, name in ipairs(names) do
  print(("%-28s %s"):format(name, kernels.text(by_op[name])))
end

local hosted, calls = {}, 0
for _, name in ipairs(names) do
  local lacks = #kernels.lacking { [name] = by_op[name] }
  calls = calls + #by_op[name]
  if lacks > 0 then hosted[#hosted + 1] = ("%s (%d)"):format(name, lacks) end
end
print(("\n%d ops, %d calls; %d ops have calls that no kernel serves%s%s"):format(#names, calls,
  #hosted, #hosted > 0 and ": " or "", table.concat(hosted, ", ")))
