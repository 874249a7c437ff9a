# A served model: GET /?x=0.3&y=-0.2 gives {"inside": 0.949}: examples/recipes/serve.lua with
# PyTorch and Python's own server. Usage: serve.py [port]
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
points = torch.rand(2000, 2) * 2 - 1
distance = points.norm(dim=1)
inside = ((distance > 0.3) & (distance < 0.8)).long()
net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
adam = torch.optim.Adam(net.parameters(), 0.01)
for _ in range(20):
    for x, y in DataLoader(TensorDataset(points, inside), batch_size=32, shuffle=True):
        adam.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        adam.step()
net.eval()


class Handler(BaseHTTPRequestHandler):
    timeout = 2  # seconds to ask in

    def do_GET(self):
        try:
            query = parse_qs(urlparse(self.path).query)
            point = [float(query["x"][0]), float(query["y"][0])]
        except (KeyError, ValueError):
            self.answer(400, {"error": "ask for /?x=0.3&y=-0.2"})
            return
        with torch.no_grad():
            share = net(torch.tensor([point])).softmax(1)[0, 1].item()
        self.answer(200, {"inside": round(share, 3)})

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


server = HTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8080), Handler)
print(f"http://127.0.0.1:{server.server_port}/?x=0.3&y=-0.2", flush=True)
server.serve_forever()
