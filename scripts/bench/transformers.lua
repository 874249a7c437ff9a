-- Transformers of the bench: a training step of GPT-2 with 124 million weights, on 4 pieces of 64
-- words, and an answer of BERT-base to 128 words.
local flow = require "jfl"

local tp = flow.typing

local SIZE, HEADS, LAYERS = 768, 12, 12
local narrow = flow.random_normal_initializer(0, 0.02)

local function norm(x, name)
  return flow.layers.layer_norm(x, { begin_norm_axis = -1, name = name })
end

local function mlp(x, name, approximate)
  local h = flow.layers.dense(x, 4 * SIZE, { kernel_initializer = narrow, name = name .. "-1" })
  h = flow.nn.gelu(h, { approximate = approximate })
  return flow.layers.dense(h, SIZE, { kernel_initializer = narrow, name = name .. "-2" })
end

local function attention(x, name, causal)
  return flow.layers.multi_head_attention(x, HEADS, { causal = causal,
    kernel_initializer = narrow, name = name })
end

-- The sum of the vectors of words and of places.
local function embed(ids, vocabulary, places)
  local x = flow.layers.embedding(ids, vocabulary, SIZE, { embeddings_initializer = narrow,
    name = "words" })
  local table_of_places = flow.get_variable("places", { places, SIZE }, { initializer = narrow })
  return x + flow.slice(table_of_places, { 0, 0 }, { ids.shape[2], -1 })
end

local function gpt2(ids)
  local x = embed(ids, 50257, 1024)
  for i = 1, LAYERS do
    x = x + attention(norm(x, "norm1_" .. i), "attention" .. i, true)
    x = x + mlp(norm(x, "norm2_" .. i), "mlp" .. i, "tanh")
  end
  x = flow.reshape(norm(x, "norm"), { -1, SIZE })
  return flow.matmul(x, flow.get_variable("words-weight"), { transpose_b = true })
end

local function bert(ids)
  local x = norm(embed(ids, 30522, 512), "norm")
  for i = 1, LAYERS do
    x = norm(x + attention(x, "attention" .. i, false), "norm1_" .. i)
    x = norm(x + mlp(x, "mlp" .. i, "none"), "norm2_" .. i)
  end
  return x
end

local function ids_of(name, batch, length)
  return { name, tp.Numpy.Placeholder({ batch, length }, { dtype = flow.int32 }) }
end

local function words(batch, length, vocabulary)
  return flow.random.randint(0, vocabulary, { batch, length }, { dtype = flow.int32 })
end

return {
  gpt2 = function(batch, length, bare)
    batch, length = batch or 4, length or 64
    local job = flow.global_function {
      name = "train", type = "train", returns = tp.Numpy,
      inputs = { ids_of("ids", batch, length), ids_of("nexts", batch, length) },
      body = function(ids, nexts)
        local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(
          flow.reshape(nexts, { -1 }), gpt2(ids))
        flow.optimizer.Adam(1e-4):minimize(loss)
        return loss
      end,
    }
    if bare then return job end
    local ids, nexts = words(batch, length, 50257), words(batch, length, 50257)
    return function() job(ids, nexts) end
  end,
  --- The job of a training step of BERT-base that tells two kinds of texts apart, 32 of 128 words.
  bert = function()
    return flow.global_function {
      name = "train", type = "train", returns = tp.Numpy,
      inputs = { ids_of("ids", 32, 128),
        { "kinds", tp.Numpy.Placeholder({ 32 }, { dtype = flow.int32 }) } },
      body = function(ids, kinds)
        local first = flow.reshape(flow.slice(bert(ids), { 0, 0, 0 }, { -1, 1, -1 }), { 32, SIZE })
        local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(kinds,
          flow.layers.dense(first, 2, { name = "kinds" }))
        flow.optimizer.Adam(2e-5):minimize(loss)
        return loss
      end,
    }
  end,
  bert_predict1 = function()
    local job = flow.global_function { name = "predict", returns = tp.Numpy,
      inputs = { ids_of("ids", 1, 128) }, body = bert }
    local ids = words(1, 128, 30522)
    return function() job(ids) end
  end,
}
