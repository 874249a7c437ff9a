"""Writes networks of transformers with random weights, their inputs and what they give, which
spec/lua/models/models_spec.lua reads: spec/lua/models/cases. Developers run it:

    python3 scripts/oracles/models.py spec/lua/models/cases"""
import os
import sys

sys.path.pop(0)                # this folder, whose math.py is not Python's
import torch                   # noqa: E402
import torchvision             # noqa: E402
import transformers            # noqa: E402
from safetensors.torch import save_file  # noqa: E402

torch.manual_seed(1)
SMALL = dict(vocab_size=13, hidden_size=8, num_hidden_layers=2, num_attention_heads=4,
             intermediate_size=12)
VECTORS = {key: value for key, value in SMALL.items() if key != "vocab_size"}
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
    "mobilenet_v2": transformers.MobileNetV2ForImageClassification(transformers.MobileNetV2Config(
        num_channels=2, depth_multiplier=0.05, depth_divisible_by=2, min_depth=2, expand_ratio=2.0,
        finegrained_output=False, output_stride=16, first_layer_is_expansion=False,
        hidden_act="silu",
        num_labels=3)),
    "vit": transformers.ViTForImageClassification(transformers.ViTConfig(
        **VECTORS, num_channels=2, image_size=9, patch_size=4, num_labels=2)),
    "whisper": transformers.WhisperModel(transformers.WhisperConfig(
        vocab_size=13, num_mel_bins=3, d_model=8, encoder_layers=2, encoder_attention_heads=2,
        encoder_ffn_dim=12, decoder_layers=1, decoder_attention_heads=2, decoder_ffn_dim=8,
        max_source_positions=6, max_target_positions=4, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, decoder_start_token_id=1)),
    "qwen2": transformers.Qwen2ForCausalLM(transformers.Qwen2Config(
        **SMALL, num_key_value_heads=2)),
    "mistral": transformers.MistralForCausalLM(transformers.MistralConfig(
        **SMALL, num_key_value_heads=2, sliding_window=None)),
}
# Networks of torchvision: names and shapes of weights, which the spec computes as fill() does.
plain = {
    "resnet": torchvision.models.resnet.ResNet(
        torchvision.models.resnet.BasicBlock, [1, 1, 1, 1], num_classes=3),
    "mobilenet_v2": torchvision.models.MobileNetV2(3, 0.5),
    "mobilenet_v3": torchvision.models.mobilenet_v3_small(num_classes=3, width_mult=0.125),
    "mobilenet_v3_large": torchvision.models.mobilenet_v3_large(num_classes=3, width_mult=0.125),
}
ids = torch.tensor([[1, 5, 12, 0, 7], [3, 3, 9, 2, 11]], dtype=torch.int32)
mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], dtype=torch.int32)
for name, net in cases.items():
    folder = os.path.join(sys.argv[1], name)
    for parameter in net.parameters():
        parameter.data = parameter.data + 0.2 * torch.randn_like(parameter)
        if parameter.dim() == 4:       # what the last layer gives must tell the inputs apart
            torch.nn.init.kaiming_normal_(parameter)
    for key, value in net.named_buffers():
        if "running" in key:
            value.copy_(torch.rand_like(value) + 0.5)
    if name == "mobilenet_v2":         # statistics that fit: else so few channels fall silent
        for module in net.modules():
            module.momentum = 1.0
        net.train()(torch.randn(8, 2, 33, 40))
    net.eval()
    net.save_pretrained(folder)
    if os.path.exists(os.path.join(folder, "generation_config.json")):
        os.remove(os.path.join(folder, "generation_config.json"))
    shape = {"resnet": (20, 17), "mobilenet_v2": (33, 40), "vit": (9, 9)}.get(name.split("_b")[0])
    if shape or name == "whisper":
        x = torch.randn(2, 3, 12) if name == "whisper" else torch.randn(
            2, net.config.num_channels, *shape)
        with torch.no_grad():
            out = net.encoder(x)[0] if name == "whisper" else net(x)[0]
            save_file({"x": x, "out": out.contiguous()}, os.path.join(folder, "case.safetensors"))
        continue
    more = {"attention_mask": mask.long()} if name == "bert" else {}
    with torch.no_grad():
        out = net(ids.long(), **more)[0]
    save_file({"ids": ids, "mask": mask, "out": out.contiguous()},
              os.path.join(folder, "case.safetensors"))


def fill(k, name, tensor):
    """Numbers that follow from the place of a weight among the others."""
    n = tensor.numel()
    values = ((torch.arange(n) * 37 + 11 * k) % 1009).double() / 1009 - 0.5
    if tensor.dim() > 1:
        values *= 5.5 / (n / tensor.shape[0]) ** 0.5
    elif name.endswith("var") or name.endswith("weight"):
        values += 1
    tensor.copy_(values.reshape(tensor.shape))


folder = os.path.join(sys.argv[1], "torchvision")
os.makedirs(folder, exist_ok=True)
results = {"x": torch.randn(2, 3, 40, 33)}
with torch.no_grad(), open(os.path.join(folder, "names.txt"), "w") as names:
    for name, net in plain.items():
        print(name, file=names)
        for k, (each, tensor) in enumerate(net.state_dict().items()):
            if tensor.dim() > 0:
                print(" ", k, each, *tensor.shape, file=names)
                fill(k, each, tensor)
        results[name] = net.eval()(results["x"])
save_file(results, os.path.join(folder, "case.safetensors"))
