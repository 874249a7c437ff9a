local flow = require "jfl"

local nd = flow.ndarray

-- The texts are what numpy 1.24 prints.
describe("the text of an NdArray", function()
  local function prints(text, a) assert.equal(text, tostring(a)) end

  it("has the shortest digits, aligned", function()
    prints("[1.5  0.25]", nd.array { 1.5, 0.25 })
    prints("[ 0.1       -2.         3.1415927]", nd.array { 0.1, -2, 3.14159265 })
    prints("[0.33333333 0.66666667]", nd.array({ 1 / 3, 2 / 3 }, "float64"))
    prints("[ 0. -0.]", nd.array({ 0, -0.0 }, "float64"))
    prints("[0.001 0.5  ]", nd.array { 0.001, 0.5 })
    prints("[0.00195312 0.00585938]", nd.array({ 1 / 512, 3 / 512 }, "float64"))
    prints("[ 3.e-07 -6.e-08  1.e+00]", nd.array({ 3e-7, -6e-8, 1 }, "float16"))
    prints("[1.e-45 1.e+00]", nd.array { 1e-45, 1 })
    prints("[  1 -20 300]", nd.array({ 1, -20, 300 }, "int32"))
    prints("[ nan  inf -1.5]", nd.array { 0 / 0, math.huge, -1.5 })
  end)

  it("goes to exponents where numbers differ much or are long", function()
    prints("[1.0e+10 1.5e+00]", nd.array { 1e10, 1.5 })
    prints("[1.e-05 1.e+00]", nd.array { 1e-5, 1 })
    prints("[1.e+08]", nd.array { 100000000 })
    prints("[1.6777216e+07 5.0000000e-01]", nd.array { 16777216, 0.5 })
  end)

  it("shows axes as brackets and lines", function()
    prints("[[ 1.   2.5]\n [ 3.  -4. ]]", nd.array { { 1, 2.5 }, { 3, -4 } })
    prints("[[[ 0  1  2  3]\n  [ 4  5  6  7]\n  [ 8  9 10 11]]\n\n [[12 13 14 15]\n"
      .. "  [16 17 18 19]\n  [20 21 22 23]]]", nd.arange(0, 24, 1, "int64"):reshape(2, 3, 4))
    prints("[[[1.]]]", nd.array { { { 1 } } })
  end)

  it("breaks long lines and cuts long arrays", function()
    prints("[ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.\n"
      .. " 18. 19. 20. 21. 22. 23. 24. 25. 26. 27. 28. 29.]", nd.arange(30))
    prints("[[[[1.1035156 1.1035156 1.1035156 1.1035156 1.1035156 1.1035156\n"
      .. "    1.1035156]]]]", nd.full({ 1, 1, 1, 7 }, 1.1035156))
    prints("[[0.5       0.5       0.5       0.5       0.5       0.5       0.5\n  0.3333333]]",
      nd.array { { 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.3333333 } })
    prints("[   0    1    2 ...  998  999 1000]", nd.arange(0, 1001, 1, "int32"))
    prints("[[0 0 0 ... 0 0 0]\n [0 0 0 ... 0 0 0]\n [0 0 0 ... 0 0 0]\n ...\n [0 0 0 ... 0 0 0]\n"
      .. " [0 0 0 ... 0 0 0]\n [0 0 0 ... 0 0 0]]", nd.zeros({ 40, 50 }, "int32"))
  end)

  it("of one number goes to exponents where numpy does for its type", function()
    for text, x in pairs { ["999.0"] = 999, ["1e+03"] = 1000, ["1.5e+03"] = 1500,
      ["9.99e+03"] = 9990, ["0.0001"] = 1e-4, ["9e-05"] = 9e-5, ["0.5"] = 0.5 } do
      prints(text, nd.full({}, x, "float16"))
    end
    for text, x in pairs { ["999999.0"] = 999999, ["1e+06"] = 1e6, ["1.2345678e+07"] = 12345678,
      ["9e-05"] = 9e-5 } do
      prints(text, nd.full({}, x, "float32"))
    end
    for text, x in pairs { ["1000000000000000.0"] = 1e15, ["9900000000000000.0"] = 9.9e15,
      ["1e+16"] = 1e16, ["0.0001"] = 1e-4, ["9.9e-05"] = 9.9e-5, ["-123456.5"] = -123456.5 } do
      prints(text, nd.full({}, x, "float64"))
    end
  end)
end)
