--- Every op has kernels of the GPU, for each of its cases in each of its dtypes. Which ones is what
-- `make kernels` prints and the guide's table of ops says.
local kernels = require "scripts.doc.kernels"

-- Ops with calls that the host's plain kernels still serve.
local HOSTED = {
  argmax = true, argmin = true, argsort = true, assign = true, average_share = true,
  batch_norm = true, batch_norm_grad = true, bias_add = true, carry = true, clip_scale = true,
  cosine_restarts_schedule = true, cosine_schedule = true, cosine_warmup_schedule = true,
  crop_mirror_normalize = true, ctc_loss = true, cumprod = true, cumprod_grad = true,
  cumsum = true, dim_gather = true, dim_scatter_add = true, exponential_schedule = true,
  fused_scale_tril = true, gather = true, gather_nd = true, image_resize = true,
  image_resize_grad = true, inverse_time_schedule = true, linear_cosine_schedule = true,
  loss_scale_update = true, matmul = true, matmul_update = true, moving_average = true,
  natural_exp_schedule = true, one_cycle_schedule = true, one_hot = true, optimizer_scalars = true,
  pad = true, pad_grad = true, piecewise_constant_schedule = true,
  piecewise_scaling_schedule = true, polynomial_schedule = true, random_crop = true,
  random_crop_grad = true, random_normal = true, random_permutation = true, random_randint = true,
  random_uniform = true, recurrent = true, recurrent_grad = true, roll = true,
  rotary_embedding = true, row_norm = true, row_norm_grad = true, scale_filters = true,
  scaled_dot_product_attention = true, scaled_dot_product_attention_grad = true,
  scaled_dot_product_attention_mask_grad = true, scatter_nd = true, segment_update = true,
  softmax_cross_entropy_with_logits = true, sort = true, step_turn = true, step_turn_count = true,
  strided_slice_update = true, tensor_scatter_nd_add = true, tensor_scatter_nd_update = true,
  top_k = true, train_step_increment = true, tril = true, triu = true, unsorted_segment_sum = true,
  update = true, upsample_2d = true, upsample_2d_grad = true,
}

describe("the kernels of a GPU", function()
  local by_op = assert(kernels.lists())

  it("serve every op that has cases, whatever the dtype", function()
    local list = {}
    for name in pairs(require("spec.op.cases")) do
      if not by_op[name] then list[#list + 1] = name .. " was not tried" end
    end
    for _, line in ipairs(kernels.lacking(by_op)) do
      if not HOSTED[line:match "^[%w_]+"] then list[#list + 1] = line end
    end
    assert.equal("", table.concat(list, "\n", 1, math.min(#list, 20)))
  end)

  it("are named where they are asked for", function()
    assert.truthy(kernels.text(by_op.softmax):find("f32", 1, true))
    assert.truthy(kernels.text(by_op.add):find("cuda_each (f32 f64 i32 i64)", 1, true))
    assert.equal("none: nothing is computed", kernels.text(by_op.reshape))
  end)

  it("are missing where the host serves a call or no job can be made", function()
    local list = kernels.lacking { a = { { number = 2, dtype = "int8", host = true } },
      b = { { number = 1, dtype = "float32", wrong = "no kernel" }, { number = 2 } } }
    assert.same({ "a, case 2, int8: the host's plain kernel serves it",
      "b, case 1, float32: no kernel" }, list)
  end)
end)
