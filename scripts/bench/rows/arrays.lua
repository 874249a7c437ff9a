-- Ops that move elements, put them in order or add them up.
local flow = require "jfl"

return function(row)
  local words = { { 16, 128 }, "int32", 0, 30522 }
  row("embedding of (16, 128) words in (30522, 768)", { { 30522, 768 }, words },
    function(w, ids) return flow.nn.embedding(ids, w) end)
  row("gather of (1000000) from (100000)", { { 100000 }, { { 1000000 }, "int32", 0, 100000 } },
    function(x, ids) return flow.gather(x, ids) end)
  row("dim_gather of (4096, 256) from (4096, 1024)",
    { { 4096, 1024 }, { { 4096, 256 }, "int64", 0, 1024 } },
    function(x, ids) return flow.dim_gather(x, 1, ids) end)
  row("segment sums of (100000, 64) in 1000", { { 100000, 64 }, { { 100000 }, "int32", 0, 1000 } },
    function(x, ids) return flow.math.unsorted_segment_sum(x, ids, 1000) end)
  row("gather_nd of (100000) from (512, 512, 16)",
    { { 512, 512, 16 }, { { 100000, 2 }, "int32", 0, 512 } },
    function(x, ids) return flow.gather_nd(x, ids) end)
  row("transpose of (2048, 2048)", { { 2048, 2048 } }, function(x) return flow.transpose(x) end)
  row("transpose of (32, 64, 56, 56) to channels last", { { 32, 64, 56, 56 } },
    function(x) return flow.transpose(x, { 0, 2, 3, 1 }) end)
  row("concat of two (32, 64, 56, 56) along channels", { { 32, 64, 56, 56 }, { 32, 64, 56, 56 } },
    function(a, b) return flow.concat({ a, b }, 1) end)
  row("stack of two (4096, 512) along the last axis", { { 4096, 512 }, { 4096, 512 } },
    function(a, b) return flow.stack({ a, b }, 2) end)
  row("split of (4096, 1536) in three, put together anew", { { 4096, 1536 } }, function(x)
    local a, b, c = flow.split(x, 512, 1)
    return flow.concat({ c, a, b }, 1)
  end)
  row("slice of (4096, 2048) along both axes", { { 4096, 2048 } },
    function(x) return flow.slice(x, { 100, 512 }, { 3000, 1024 }) end)
  row("every second column of (4096, 2048)", { { 4096, 2048 } },
    function(x) return flow.slice_v2(x, { {}, { nil, nil, 2 } }) end)
  row("reverse of (4096, 1024) along rows", { { 4096, 1024 } },
    function(x) return flow.reverse(x, 1) end)
  row("roll of (4096, 1024)", { { 4096, 1024 } }, function(x) return flow.roll(x, 100, 1) end)
  row("pad of (32, 64, 56, 56) by 1", { { 32, 64, 56, 56 } },
    function(x) return flow.pad(x, { { 0, 0 }, { 0, 0 }, { 1, 1 }, { 1, 1 } }) end)
  row("reflecting pad of (32, 64, 56, 56) by 3", { { 32, 64, 56, 56 } },
    function(x) return flow.reflection_pad2d(x, 3) end)
  row("tile of (1024, 64) by (4, 16)", { { 1024, 64 } },
    function(x) return flow.tile(x, { 4, 16 }) end)
  row("masked_fill of (4096, 1024)", { { 4096, 1024 }, { { 4096, 1024 }, "int8", 0, 2 } },
    function(x, mask) return flow.masked_fill(x, mask, -1) end)
  row("one_hot of (65536) in 256", { { { 65536 }, "int32", 0, 256 } },
    function(ids) return flow.one_hot(ids, 256) end, { backward = false })
  row("sort of (1000000)", { { 1000000 } }, function(x) return flow.sort(x) end)
  row("sort of (1000, 1000)", { { 1000, 1000 } }, function(x) return flow.sort(x) end)
  row("argsort of (64, 10000)", { { { 64, 10000 }, "int32", 0, 1000000 } },
    function(x) return flow.argsort(x) end, { backward = false })
  row("top_k of (256, 10000), 10", { { 256, 10000 } },
    function(x) return flow.math.top_k(x, { k = 10 }) end, { backward = false })
  row("top_k of (64, 50257), 50", { { 64, 50257 } },
    function(x) return flow.math.top_k(x, { k = 50 }) end, { backward = false })
  row("cumsum of (4096, 1024) along rows", { { 4096, 1024 } },
    function(x) return flow.cumsum(x, { axis = 1 }) end)
  row("cumsum of (4096, 1024) along columns", { { 4096, 1024 } },
    function(x) return flow.cumsum(x, { axis = 0 }) end)
  row("cumprod of (4096, 256) along rows", { { { 4096, 256 }, "float32", 0.9, 1.1 } },
    function(x) return flow.cumprod(x, { axis = 1 }) end)
  row("einsum bhid,bhjd->bhij of (8, 12, 128, 64)", { { 8, 12, 128, 64 }, { 8, 12, 128, 64 } },
    function(a, b) return flow.einsum("bhid,bhjd->bhij", { a, b }) end)
end
