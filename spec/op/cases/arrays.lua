--- Cases of ops that move elements.
return function(give)
  local case, of = give.case, give.of

  -- shapes and moves
  case("reshape", { of { 2, 3, 4 } }, { shape = { 4, -1 } })
  case("reshape", { of { 2, 3 } }, { shape = 6 })
  case("flatten", { of { 2, 3, 4 } })
  case("flatten", { of { 2, 3, 4 } }, { start_dim = 1 })
  case("squeeze", { of { 2, 1, 3, 1 } })
  case("squeeze", { of { 2, 1, 3, 1 } }, { axis = -1 })
  case("expand_dims", { of { 2, 3 } }, { axis = 1 })
  case("expand_dims", { of { 2, 3 } }, { axis = -1 })
  case("transpose", { of { 2, 3, 4 } }, { perm = { 1, 2, 0 } })
  case("transpose", { of { 2, 3, 4 } }, { perm = { 1, 0, 2 } })
  case("transpose", { of { 2, 3 } })
  case("broadcast_to", { of { 3, 1 } }, { shape = { 2, 3, 4 } })
  case("broadcast_to", { of { 1 } }, { shape = { 2, 2 } })
  case("slice", { of { 4, 5, 3 } }, { begin = { 1, -3, 0 }, size = { 2, 2, -1 } })
  case("slice_grad", { of { 2, 2 } }, { begin = { 1, 0 }, shape = { 4, 3 } })
  case("concat", { of { 2, 3 }, of { 1, 3 }, of { 3, 3 } })
  case("concat", { of { 2, 3, 2 }, of { 2, 1, 2 } }, { axis = 1 })
  case("stack", { of { 2, 3 }, of({ 2, 3 }, 0, 5) })
  case("stack", { of { 2, 3 }, of({ 2, 3 }, 0, 5) }, { axis = -1 })
  case("gather", { of { 4, 3 }, { data = { 3, 0, 3 }, dtype = "int32" } })
  case("gather", { of { 2, 4, 2 }, { data = { { 1, 1 }, { 3, 0 } }, dtype = "int64" } },
    { axis = 1 })
  case("unsorted_segment_sum", { of { 4, 3 }, { data = { 2, 0, 2, 1 }, dtype = "int32" } },
    { num_segments = 4 })
  case("unsorted_segment_sum", { of { 2, 3, 2 }, { data = { 1, 1, 0 }, dtype = "int64" } },
    { num_segments = 2, axis = 1 })
  case("one_hot", { { data = { 2, 0, 1 } } }, { depth = 3 })
  case("one_hot", { { data = { { 2, 0 }, { 1, 1 } } } },
    { depth = 4, on_value = 5, off_value = -1, axis = 0, dtype = "int32" })
  case("split", { of { 5, 3 } }, { sizes = 2 })
  case("split", { of { 2, 6 } }, { sizes = { 1, 3, 2 }, axis = -1 })
  case("split", { of { 3, 2, 2 } }, { sizes = { 0, 2 }, axis = 1 })
  case("split", { of { 0, 2 } }, { sizes = 4 })
  local data = require("jfl.core").from_table
  case("array", {}, { value = data({ { 1, 2, 3 }, { 4, 5, 6 } }, "float32") })
  case("array", {}, { value = data({ 7, 7, 7 }, "int32") })
end
