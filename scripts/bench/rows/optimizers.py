"""What scripts/bench/rows/optimizers.lua times, in PyTorch: each optimizer as it is fastest, fused,
over lists of tensors (foreach) or one tensor after another. LAMB, LARS and Lion are not there."""
import torch


def shapes():
    def conv(output, inputs, size):
        return [(output, inputs, size, size), (output,), (output,)]

    found, inputs = conv(64, 3, 7), 64
    for stage, depth in enumerate((3, 4, 6, 3)):
        inner = 64 << stage
        for block in range(depth):
            found += conv(inner, inputs, 1) + conv(inner, inner, 3) + conv(4 * inner, inner, 1)
            if block == 0:
                found += conv(4 * inner, inputs, 1)
            inputs = 4 * inner
    return found + [(1000, 2048), (1000,)]


def steps_of(optimizer, **options):
    """A function that makes the row's steps, by the name of what makes them differ."""
    def make():
        steps = {}
        for name, way in (("fused", {"fused": True}), ("foreach", {"foreach": True}),
                          ("single", {"foreach": False})):
            parameters = [torch.nn.Parameter(torch.rand(s) * 2 - 1) for s in shapes()]
            for p in parameters:
                p.grad = torch.rand_like(p)
            try:
                steps[name] = optimizer(parameters, **options, **way).step
                steps[name]()
            except (TypeError, RuntimeError):
                steps.pop(name, None)
        return steps
    return make


STEPS = {
    "SGD": steps_of(torch.optim.SGD, lr=1e-3),
    "SGD with momentum": steps_of(torch.optim.SGD, lr=1e-3, momentum=0.9),
    "Adam": steps_of(torch.optim.Adam, lr=1e-3),
    "AdamW": steps_of(torch.optim.AdamW, lr=1e-3),
    "RMSProp": steps_of(torch.optim.RMSprop, lr=1e-3),
    "Adagrad": steps_of(torch.optim.Adagrad, lr=1e-3),
    "Adadelta": steps_of(torch.optim.Adadelta, lr=1),
    "NAdam": steps_of(torch.optim.NAdam, lr=1e-3),
}
