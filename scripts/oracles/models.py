"""Writes networks of transformers with random weights, their inputs and what they give, which
spec/lua/models/models_spec.lua reads: spec/lua/models/cases. Developers run it:

    python3 scripts/oracles/models.py spec/lua/models/cases"""
import os
import sys

sys.path.pop(0)                # this folder, whose math.py is not Python's
import torch                   # noqa: E402
import transformers            # noqa: E402
from safetensors.torch import save_file  # noqa: E402

torch.manual_seed(1)
SMALL = dict(vocab_size=13, hidden_size=8, num_hidden_layers=2, num_attention_heads=4,
             intermediate_size=12)
cases = {
    "gpt2": transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=13, n_positions=7, n_embd=8, n_layer=2, n_head=2)),
    "llama": transformers.LlamaForCausalLM(transformers.LlamaConfig(
        **SMALL, num_key_value_heads=2, rms_norm_eps=1e-5, rope_theta=500.0)),
    "bert": transformers.BertModel(transformers.BertConfig(**SMALL, max_position_embeddings=7)),
    "resnet": transformers.ResNetForImageClassification(transformers.ResNetConfig(
        num_channels=2, embedding_size=4, hidden_sizes=[8, 12], depths=[2, 1], num_labels=3)),
    "resnet_basic": transformers.ResNetForImageClassification(transformers.ResNetConfig(
        num_channels=1, embedding_size=3, hidden_sizes=[4, 6], depths=[1, 2], num_labels=3,
        layer_type="basic")),
}
ids = torch.tensor([[1, 5, 12, 0, 7], [3, 3, 9, 2, 11]], dtype=torch.int32)
mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], dtype=torch.int32)
for name, net in cases.items():
    folder = os.path.join(sys.argv[1], name)
    for parameter in net.parameters():
        parameter.data = parameter.data + 0.2 * torch.randn_like(parameter)
    for key, value in net.named_buffers():
        if "running" in key:
            value.copy_(torch.rand_like(value) + 0.5)
    net.eval()
    net.save_pretrained(folder)
    if os.path.exists(os.path.join(folder, "generation_config.json")):
        os.remove(os.path.join(folder, "generation_config.json"))
    if "resnet" in name:
        x = torch.randn(2, net.config.num_channels, 20, 17)
        with torch.no_grad():
            save_file({"x": x, "out": net(x)[0].contiguous()},
                      os.path.join(folder, "case.safetensors"))
        continue
    more = {"attention_mask": mask.long()} if name == "bert" else {}
    with torch.no_grad():
        out = net(ids.long(), **more)[0]
    save_file({"ids": ids, "mask": mask, "out": out.contiguous()},
              os.path.join(folder, "case.safetensors"))
