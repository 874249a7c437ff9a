"""Times llama.cpp on a GGUF file, as scripts/bench/gguf.lua times jfl:
    python peer_gguf.py FILE [THREADS [TOKENS [PROMPT [BEHIND]]]]
It needs the package llama-cpp-python, built for this machine (GGML_NATIVE). Prints one line of
numbers: seconds to the first token, milliseconds a token (the least by the clock, the least by the
processors' time), milliseconds a token of the prompt by both, and MiB that the process holds."""
import sys
import time

import llama_cpp.llama_cpp as llama

path = sys.argv[1].encode()
threads, tokens, prompt, behind = (int(sys.argv[i]) if len(sys.argv) > i else d
                                   for i, d in ((2, 2), (3, 64), (4, 256), (5, 4)))


def held():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


class Peer:
    def __init__(self):
        self.model = llama.llama_model_load_from_file(path, llama.llama_model_default_params())
        self.params = llama.llama_context_default_params()
        self.params.n_ctx, self.params.n_batch, self.params.n_ubatch = 2048, 512, 512
        self.params.n_threads = self.params.n_threads_batch = threads
        self.context = llama.llama_init_from_model(self.model, self.params)
        size = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(self.model))
        self.size = size

    def read(self, ids):
        """Reads ids behind those before, and gives the most probable next one."""
        array = (llama.llama_token * len(ids))(*ids)
        if llama.llama_decode(self.context, llama.llama_batch_get_one(array, len(ids))):
            raise SystemExit("llama_decode failed")
        logits = llama.llama_get_logits_ith(self.context, -1)
        return max(range(0, self.size, self.size // 64), key=lambda i: logits[i])

    def clear(self):
        llama.llama_memory_clear(llama.llama_get_memory(self.context), True)


def least(times, f):
    best = [float("inf"), float("inf")]
    for _ in range(times):
        clock, used = time.perf_counter(), time.process_time()
        f()
        best[0] = min(best[0], time.perf_counter() - clock)
        best[1] = min(best[1], time.process_time() - used)
    return [each * 1e3 for each in best]


llama.llama_backend_init()
start = time.perf_counter()
peer = Peer()
peer.read([5, 6, 7, 8])
first = time.perf_counter() - start
for i in range(4, behind, 512):
    peer.read([5] * min(512, behind - i))
one = least(tokens, lambda: peer.read([9]))
many = [float("nan")] * 2
if prompt:
    def read_prompt():
        peer.clear()
        peer.read([5 + i % 100 for i in range(prompt)])
    many = [each / prompt for each in least(3, read_prompt)]
print("%.3f %.3f %.3f %.4f %.4f %.0f" % (first, *one, *many, held()))
