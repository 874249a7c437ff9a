-- Functions of flow as methods of arrays and of blobs.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd = flow.ndarray

describe("methods", function()
  before_each(flow.clear_default_session)
  teardown(flow.clear_default_session)

  local a = nd.array { { 1, -2, 3 }, { 4, 5, -6 } }

  -- Calls f with a blob in a body; gives the result.
  local function of_blob(f)
    local job = helper.predict("job", { 2, 3 }, f)
    return job(a)
  end

  it("are the functions whose first argument is a tensor, for arrays and blobs alike", function()
    for name, f in pairs {
      relu = function(x) return x:relu() end,
      softmax = function(x) return x:softmax(1) end,
      cast = function(x) return x:cast("float64") end,
      astype = function(x) return x:astype("int32") end,
      reshape = function(x) return x:reshape { 3, -1 } end,
      reshape_by_numbers = function(x) return x:reshape(3, 2) end,
      transpose = function(x) return x:transpose() end,
      transpose_by_numbers = function(x) return x:transpose(1, 0) end,
      sum = function(x) return x:sum(1) end,
      sum_kept = function(x) return x:sum(1, true) end,
      sum_by_name = function(x) return x:sum { axis = 0, keepdims = true } end,
      mean = function(x) return x:mean(0) end,
      max = function(x) return x:max(1) end,
      std = function(x) return x:std(1) end,
      prod = function(x) return x:prod(1) end,
      argmax = function(x) return x:argmax(1) end,
      gt = function(x) return x:gt(0) end,
      flatten = function(x) return x:flatten() end,
      gelu = function(x) return x:gelu() end,
    } do
      local array, blob = f(a), of_blob(f)
      assert.same(array.shape, blob.shape, name)
      assert.equal(array.dtype, blob.dtype, name)
      assert.same(array:totable(), blob:totable(), name)
    end
  end)

  it("reduce over everything without an axis", function()
    assert.equal(a:sum(), of_blob(function(x) return x:sum() end):item())
    assert.equal(a:argmax(), of_blob(function(x) return x:argmax() end):item())
  end)

  it("leave data to arrays, and unknown names an error", function()
    helper.fails(function() of_blob(function(x) return x:totable() end) end,
      "totable: blob 'x' has no data while its job's body runs; use the job's result")
    helper.fails(function() of_blob(function(x) return x.sofmax end) end, "a blob has no 'sofmax'")
    helper.fails(function() return a.zip end, "an NdArray has no 'zip'")
    helper.fails(function() return a.placeholder end, "an NdArray has no 'placeholder'")
  end)
end)
