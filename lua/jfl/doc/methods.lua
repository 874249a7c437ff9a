-- The functions of flow that arrays and blobs have as methods, for help, completion, the reference
-- and editors: no file tells of them one by one.
local methods = {}

-- By class: the functions' paths by the methods' names.
local paths

local function collect()
  local nd, of = require "jfl.nd.class", require "jfl.op.methods"
  local of_arrays = {}
  for name, path in pairs(of.names("NdArray")) do
    if nd.methods[name] == nil then of_arrays[name] = path end
  end
  return { NdArray = of_arrays, Blob = require("jfl.net.blob").functions() }
end

--- The paths below flow of these functions by the methods' names. class: "NdArray" or "Blob".
function methods.of(class)
  paths = paths or collect()
  return paths[class]
end

--- A list of all: { class, name, of }, `of` being the function's path, in the order of names.
function methods.all()
  local list = {}
  for _, class in ipairs { "Blob", "NdArray" } do
    for name, path in pairs(methods.of(class)) do
      list[#list + 1] = { class = class, name = name, of = path }
    end
  end
  table.sort(list, function(a, b)
    if a.class ~= b.class then return a.class < b.class end
    return a.name < b.name
  end)
  return list
end

--- The path of the function that "Blob:softmax" is, the class and the name; nil for other paths.
function methods.find(path)
  local class, name = path:match("^(%u%w*)[.:]([%w_]+)$")
  if class ~= "NdArray" and class ~= "Blob" then return nil end
  return methods.of(class)[name], class, name
end

return methods
