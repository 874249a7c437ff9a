"""Writes the GGUF files that spec/lua/gguf reads, by the Python package gguf, and what is in them,
by gguf, numpy, transformers and tokenizers: spec/lua/gguf/cases. Developers run it, with a Python
that has those and PyTorch:

    python3 scripts/oracles/gguf/make.py spec/lua/gguf/cases

types.gguf has metadata and a tensor of each type. The others are networks with random weights, laid
out as the documents of the format say: rows of Llama's queries and keys are in the order of its own
rotary positions, where pairs are neighbours."""
import os
import sys

import gguf
import numpy as np
import tokenizers
import torch
import transformers
from safetensors.torch import save_file

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
torch.manual_seed(1)
random = np.random.default_rng(1)


# ---- types ----

def blocks(kind, rows, columns):
    """Random blocks of a type whose halves are no infinities."""
    numbers, size = gguf.GGML_QUANT_SIZES[kind]
    data = random.integers(0, 256, (rows, columns // numbers, size), dtype=np.uint8)
    scales = {"Q4_K": [0, 2], "Q6_K": [208]}[kind.name]
    for at in scales:
        half = random.normal(0, 0.02, data.shape[:2] + (1,)).astype(np.float16)
        data[:, :, at:at + 2] = half.view(np.uint8).reshape(*data.shape[:2], 2)
    return data.reshape(rows, -1)


def write_types():
    w = gguf.GGUFWriter(os.path.join(folder, "types.gguf"), "types")
    w.add_uint8("a.uint8", 255)
    w.add_int8("a.int8", -128)
    w.add_uint16("a.uint16", 65535)
    w.add_int16("a.int16", -32768)
    w.add_uint32("a.uint32", 4294967295)
    w.add_int32("a.int32", -2147483648)
    w.add_float32("a.float32", 0.1)
    w.add_bool("a.bool", True)
    w.add_string("a.string", 'é "\\\n\x7f')
    w.add_uint64("a.uint64", 2 ** 53)
    w.add_key_value("a.int64", -2 ** 53, gguf.GGUFValueType.INT64)
    w.add_float64("a.float64", 0.1)
    w.add_float32("a.infinity", float("-inf"))
    w.add_array("a.texts", ["x", "", "y"])
    w.add_array("a.numbers", [1, -2, 3])
    w.add_array("a.flags", [True, False])
    x = random.normal(0, 1, (3, 256)).astype(np.float32)
    want = {}
    for name, value in [("f32", x), ("f16", x.astype(np.float16)), ("f64", x.astype(np.float64)),
                        ("i8", np.arange(-3, 3, dtype=np.int8)),
                        ("i32", np.arange(-3, 3, dtype=np.int32).reshape(2, 3)),
                        ("i64", np.arange(-3, 3, dtype=np.int64).reshape(1, 2, 3))]:
        w.add_tensor(name, value)
        want[name] = torch.tensor(value)
    for name in ["BF16", "Q8_0", "Q4_0", "Q4_K", "Q6_K"]:
        kind = gguf.GGMLQuantizationType[name]
        data = blocks(kind, 3, 512) if name.endswith("_K") else gguf.quants.quantize(x, kind)
        w.add_tensor(name.lower(), data, raw_dtype=kind)
        value = torch.tensor(gguf.quants.dequantize(data, kind))
        want[name.lower()] = value.bfloat16() if name == "BF16" else value
    finish(w)
    save_file(want, os.path.join(folder, "types.safetensors"))


def finish(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


# ---- tokenizers ----

TEXTS = ["Hello, world!", " two  spaces", "naïve café 123456", "日本 🙂\n\n  x", "it's I'LL 12",
         "<s>low</s> lower", ""]
LEARN = ["the low lower lowest new newer newest wide wider widest hello world it's 12 34 " * 3]


def byte_level(pattern, special, ignore_merges=False):
    t = tokenizers.Tokenizer(tokenizers.models.BPE(ignore_merges=ignore_merges))
    pre = tokenizers.pre_tokenizers
    if pattern:
        t.pre_tokenizer = pre.Sequence([
            pre.Split(tokenizers.Regex(pattern), "isolated"),
            pre.ByteLevel(add_prefix_space=False, use_regex=False)])
    else:
        t.pre_tokenizer = pre.ByteLevel(add_prefix_space=False)
    t.decoder = tokenizers.decoders.ByteLevel()
    t.train_from_iterator(LEARN, tokenizers.trainers.BpeTrainer(
        vocab_size=280, special_tokens=special, initial_alphabet=pre.ByteLevel.alphabet(),
        show_progress=False))
    return t


def add_byte_level(w, t, pre, special, beginning=None, ending=None):
    import json
    model = json.loads(t.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre(pre)
    w.add_token_list(tokens)
    w.add_token_types([3 if token in special else 1 for token in tokens])
    w.add_token_merges([" ".join(pair) for pair in model["merges"]])
    if beginning is not None:
        w.add_bos_token_id(beginning)
        w.add_add_bos_token(True)
    w.add_eos_token_id(model["vocab"][ending or special[0]])
    return len(tokens)


def sentence_pieces():
    """Pieces with scores, and the tokenizer that transformers makes of such: merges in the order
    of the scores of what they give."""
    pieces = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % i for i in range(256)]
    learned = ["▁l", "▁t", "er", "ow", "▁low", "▁lower", "he", "ll", "▁the", "st", "▁h", "▁hello",
               "el", "▁w", "or", "▁wor", "ld", "▁world", "▁▁"]
    letters = ["▁"] + sorted(set("abcdefghijklmnopqrstuvwxyzHI,.!'é0123456789"))
    pieces += learned + letters
    scores = [0.0] * 259 + [-float(i) for i in range(len(learned) + len(letters))]
    rank = {piece: i for i, piece in enumerate(pieces)}
    merges = []
    for piece in sorted(learned + letters, key=lambda p: -scores[rank[p]]):
        halves = [(piece[:i], piece[i:]) for i in range(1, len(piece))]
        known = [h for h in halves if h[0] in rank and h[1] in rank]
        merges += sorted(known, key=lambda h: (rank[h[0]], rank[h[1]]))
    t = tokenizers.Tokenizer(tokenizers.models.BPE(
        vocab=rank, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = tokenizers.normalizers.Sequence([
        tokenizers.normalizers.Prepend("▁"), tokenizers.normalizers.Replace(" ", "▁")])
    d = tokenizers.decoders
    t.decoder = d.Sequence([d.Replace("▁", " "), d.ByteFallback(), d.Fuse(), d.Strip(" ", 1, 0)])
    t.add_special_tokens(["<unk>", "<s>", "</s>"])
    t.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    return t, pieces, scores


def add_sentence_pieces(w, pieces, scores):
    w.add_tokenizer_model("llama")
    w.add_tokenizer_pre("default")
    w.add_token_list(pieces)
    w.add_token_scores(scores)
    w.add_token_types([2, 3, 3] + [6] * 256 + [1] * (len(pieces) - 259))
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    w.add_unk_token_id(0)
    w.add_add_bos_token(True)
    return len(pieces)


def write_texts(name, t):
    with open(os.path.join(folder, name + ".txt"), "w", newline="") as f:
        for text in TEXTS:
            ids = t.encode(text).ids
            f.write(repr(text.encode())[2:-1].replace("\\'", "'") + "\t"
                    + " ".join(map(str, ids)) + "\n")


# ---- networks ----

SIZES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             intermediate_size=64, max_position_embeddings=64, rms_norm_eps=1e-5)
NAMES = {
    "model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight", "transformer.wte.weight": "token_embd.weight",
    "transformer.wpe.weight": "position_embd.weight",
    "transformer.ln_f.weight": "output_norm.weight",
    "transformer.ln_f.bias": "output_norm.bias",
}
PARTS = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "ln_1": "attn_norm", "attn.c_attn": "attn_qkv",
    "attn.c_proj": "attn_output", "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up",
    "mlp.c_proj": "ffn_down",
}


def name_of(name):
    if name in NAMES:
        return NAMES[name]
    _, _, block, rest = name.split(".", 3)
    part, kind = rest.rsplit(".", 1)
    return "blk.%s.%s.%s" % (block, PARTS[part], kind)


def neighbours(x, heads):
    """Rows of a head in the order 0, n / 2, 1, n / 2 + 1, ..."""
    return x.reshape(heads, 2, -1, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


def write_network(name, arch, net, add_tokenizer, kind, more=None, factors=None):
    c = net.config
    for key, parameter in net.named_parameters():
        if parameter.dim() > 1:
            parameter.data = parameter.data + 0.2 * torch.randn_like(parameter)
            if kind in ("F16", "Q8_0"):           # what the file can say
                parameter.data = parameter.data.half().float()
        else:
            parameter.data = parameter.data + 0.1 * torch.randn_like(parameter)
    w = gguf.GGUFWriter(os.path.join(folder, name + ".gguf"), arch)
    heads = c.num_attention_heads
    w.add_context_length(c.max_position_embeddings)
    w.add_embedding_length(c.hidden_size)
    w.add_block_count(c.num_hidden_layers)
    w.add_head_count(heads)
    if arch == "gpt2":
        w.add_feed_forward_length(4 * c.hidden_size)
        w.add_layer_norm_eps(c.layer_norm_epsilon)
    else:
        w.add_feed_forward_length(c.intermediate_size)
        w.add_head_count_kv(c.num_key_value_heads)
        w.add_layer_norm_rms_eps(c.rms_norm_eps)
        w.add_rope_freq_base(c.rope_parameters["rope_theta"])
        if arch == "llama":
            w.add_rope_dimension_count(c.hidden_size // heads)
            w.add_vocab_size(c.vocab_size)
    for add, value in more or []:
        getattr(w, add)(value)
    add_tokenizer(w)
    tensors = dict(net.named_parameters())
    for key, parameter in list(tensors.items()):
        x = parameter.data.numpy()
        if arch == "gpt2" and key.endswith("weight") and ("attn" in key or "mlp" in key):
            x = np.ascontiguousarray(x.T)
        if arch == "llama" and ("q_proj" in key or "k_proj" in key):
            x = np.ascontiguousarray(
                neighbours(x, heads if "q_proj" in key else c.num_key_value_heads))
        as_kind = gguf.GGMLQuantizationType[kind if x.ndim > 1 else "F32"]
        data = gguf.quants.quantize(x.astype(np.float32), as_kind)
        if kind == "Q8_0" and x.ndim > 1:          # the logits are those of what the file has
            x = gguf.quants.dequantize(data, as_kind)
            parameter.data = torch.tensor(x.copy())
        if as_kind.name == "F16":
            w.add_tensor(name_of(key), x.astype(np.float16))
        else:
            plain = data.dtype == np.float32
            w.add_tensor(name_of(key), data, raw_dtype=None if plain else as_kind)
    if factors is not None:
        w.add_tensor("rope_freqs.weight", factors.numpy().astype(np.float32))
    finish(w)
    ids = torch.tensor([[1, 5, 12, 0, 7, 259, 33, 2, 9, 100, 101],
                        [3, 3, 9, 2, 11, 260, 1, 44, 8, 7, 6]], dtype=torch.int32)
    with torch.no_grad():
        out = net.eval()(ids.long()).logits
    save_file({"ids": ids, "out": out[:, 1::4].contiguous()},
              os.path.join(folder, name + ".safetensors"))


def llama(vocabulary, rope=None, **more):
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=vocabulary,
        rope_parameters=rope or {"rope_type": "default", "rope_theta": 500.0},
        **{**SIZES, **more}))


GPT_2 = None
LLAMA_3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+"
           r"[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN_2 = LLAMA_3.replace("{1,3}", "")

write_types()
pieces_t, pieces, scores = sentence_pieces()
write_texts("llama", pieces_t)
write_network("llama", "llama", llama(len(pieces)),
              lambda w: add_sentence_pieces(w, pieces, scores), "F16")

t3 = byte_level(LLAMA_3, ["<s>", "</s>"], True)
one = dict(num_hidden_layers=1, tie_word_embeddings=True)
rope3 = dict(rope_type="llama3", rope_theta=500.0, factor=8.0, low_freq_factor=1.0,
             high_freq_factor=4.0, original_max_position_embeddings=16)
net3 = llama(280, rope3, **one)
default = 1 / 500.0 ** (torch.arange(0, 8, 2).float() / 8)
add3 = lambda w: add_byte_level(w, t3, "llama-bpe", ["<s>", "</s>"], 0, "</s>")  # noqa: E731
write_network("llama3", "llama", net3, add3, "F16",
              factors=default / net3.model.rotary_emb.inv_freq)
t3.post_processor = tokenizers.processors.TemplateProcessing(
    single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 0)])
write_texts("llama3", t3)
write_network("linear", "llama", llama(280, dict(rope_type="linear", rope_theta=500.0,
                                                 factor=4.0), **one), add3, "F16",
              [("add_rope_scaling_type", gguf.RopeScalingType.LINEAR),
               ("add_rope_scaling_factor", 4.0)])
write_network("yarn", "llama", llama(280, dict(
    rope_type="yarn", rope_theta=500.0, factor=4.0, original_max_position_embeddings=16), **one),
    add3, "F16", [("add_rope_scaling_type", gguf.RopeScalingType.YARN),
                  ("add_rope_scaling_factor", 4.0), ("add_rope_scaling_orig_ctx_len", 16)])

tq = byte_level(QWEN_2, ["<|endoftext|>", "<|im_end|>"])
tq.normalizer = tokenizers.normalizers.NFC()
write_texts("qwen2", tq)
qwen = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(
    vocab_size=280, rope_parameters={"rope_type": "default", "rope_theta": 1000.0}, **SIZES))
write_network("qwen2", "qwen2", qwen, lambda w: add_byte_level(
    w, tq, "qwen2", ["<|endoftext|>", "<|im_end|>"]), "Q8_0")

t2 = byte_level(GPT_2, ["<|endoftext|>"])
write_texts("gpt2", t2)
gpt2 = transformers.GPT2LMHeadModel(transformers.GPT2Config(
    vocab_size=280, n_positions=32, n_embd=32, n_layer=2, n_head=4))
write_network("gpt2", "gpt2", gpt2, lambda w: add_byte_level(w, t2, "gpt-2", ["<|endoftext|>"]),
              "F16")
