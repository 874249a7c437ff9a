"""Writes the small models of spec/lua/onnx/cases, with what onnxruntime gives for them.

python3 scripts/oracles/onnx_cases/models.py spec/lua/onnx/cases
"""
import logging
import os
import sys
import warnings

import numpy
import onnx
import onnxruntime
import torch
import torchvision
import transformers

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
FOLDER = sys.argv[1]


def drawn(module):
    """Weights that are neither 0 nor 1, so that no two of them are equal."""
    for name, p in module.named_parameters():
        if p.dim() > 1:
            torch.nn.init.xavier_uniform_(p)
        else:
            torch.nn.init.uniform_(p, 0.5, 1.5) if "weight" in name else torch.nn.init.normal_(p)
    for name, b in module.named_buffers():
        if name.endswith("running_var"):
            torch.nn.init.uniform_(b, 0.5, 1.5)
        elif name.endswith("running_mean"):
            torch.nn.init.normal_(b)
    return module.eval()


def keep(name, path, feeds):
    """Strips what no reader needs, and writes inputs and results for each feed."""
    model = onnx.load(path)
    del model.metadata_props[:]
    del model.graph.value_info[:]
    for node in model.graph.node:
        node.doc_string = ""
        del node.metadata_props[:]
    onnx.save(model, path)
    session = onnxruntime.InferenceSession(path)
    names = [i.name for i in session.get_inputs()]
    arrays = {}
    for k, feed in enumerate(feeds):
        results = session.run(None, dict(zip(names, feed)))
        for i, a in enumerate(feed):
            arrays["in_%d_%d" % (k, i)] = a
        for i, a in enumerate(results):
            arrays["out_%d_%d" % (k, i)] = a
    numpy.savez_compressed(os.path.join(FOLDER, name + ".npz"), **arrays)


def export(name, module, batches, opset, dynamo=False):
    """batches: lists of tensors; the first exports the model, and the batch may vary."""
    path = os.path.join(FOLDER, name + ".onnx")
    names = ["input_%d" % i for i in range(len(batches[0]))]
    if dynamo:
        torch.onnx.export(module, tuple(batches[0]), path, dynamo=True, input_names=names,
                          external_data=False, verbose=False)
    else:
        torch.onnx.export(module, tuple(batches[0]), path, dynamo=False, opset_version=opset,
                          input_names=names, dynamic_axes={n: {0: "batch"} for n in names},
                          training=torch.onnx.TrainingMode.PRESERVE)  # keeps batch norms
    keep(name, path, [[t.numpy() for t in batch] for batch in batches])


def pictures(*sizes):
    return [[torch.randn(n, 3, 12, 12)] for n in sizes]


def words(*sizes):
    return [[torch.randint(0, 40, (n, 8))] for n in sizes]


class Recurrent(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.words = torch.nn.Embedding(40, 6)
        self.rnn = kind(6, 4, num_layers=2, bidirectional=True, batch_first=True)
        self.out = torch.nn.Linear(8, 3)

    def forward(self, x):
        return self.out(self.rnn(self.words(x))[0][:, -1])


class Bert(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = transformers.BertModel(transformers.BertConfig(
            vocab_size=40, hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=12, max_position_embeddings=16,
            attn_implementation="eager"))

    def forward(self, ids, mask):
        r = self.bert(input_ids=ids, attention_mask=mask)
        return r.last_hidden_state, r.pooler_output


class Gpt(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gpt = transformers.GPT2LMHeadModel(transformers.GPT2Config(
            vocab_size=40, n_embd=8, n_layer=1, n_head=2, n_positions=16))

    def forward(self, ids):
        return self.gpt(input_ids=ids, use_cache=False).logits


class Llama(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.llama = transformers.LlamaForCausalLM(transformers.LlamaConfig(
            vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=4,
            num_key_value_heads=2, intermediate_size=24, max_position_embeddings=16))

    def forward(self, ids):
        return self.llama(input_ids=ids, use_cache=False).logits


def sklearn_cases():
    from skl2onnx import to_onnx
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    r = numpy.random.RandomState(0)
    x = r.randn(60, 4).astype(numpy.float32)
    y = (x[:, 0] > 0).astype(int) + (x[:, 1] > 0.5)
    m = make_pipeline(StandardScaler(), MLPClassifier((6,), max_iter=50)).fit(x, y)
    path = os.path.join(FOLDER, "mlp.onnx")
    with open(path, "wb") as f:
        f.write(to_onnx(m, x[:1], options={"zipmap": False}).SerializeToString())
    keep("mlp", path, [[x[:1]], [x[:5]]])


def main():
    torch.manual_seed(7)
    os.makedirs(FOLDER, exist_ok=True)
    models = torchvision.models
    resnet = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 7, 2, 3, bias=False), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
        torch.nn.MaxPool2d(3, 2, 1), models.resnet.BasicBlock(8, 8),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 5))
    export("resnet", drawn(resnet), pictures(2, 3), 12)
    mobile = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, 2, 1), torch.nn.ReLU6(), models.mobilenetv2.InvertedResidual(
            8, 8, 1, 2), torch.nn.Hardswish(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    export("mobilenet", drawn(mobile), pictures(1, 4), 9)
    vit = models.VisionTransformer(12, 6, 1, 2, 8, 12, num_classes=5)
    export("vit", drawn(vit), pictures(2), None, dynamo=True)
    mask = torch.ones(2, 8, dtype=torch.long)
    mask[1, 5:] = 0
    ids = torch.randint(0, 40, (2, 8))
    export("bert", drawn(Bert()), [[ids, mask], [ids[:1], mask[1:]]], 13)
    export("gpt2", drawn(Gpt()), words(2), None, dynamo=True)
    export("llama", drawn(Llama()), words(2), None, dynamo=True)
    export("lstm", drawn(Recurrent(torch.nn.LSTM)), words(3, 2), 17)
    export("gru", drawn(Recurrent(torch.nn.GRU)), words(3, 2), 14)
    sklearn_cases()


main()
