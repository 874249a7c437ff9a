# An agent that learns in a game, by playing (REINFORCE): examples/recipes/agent.lua with PyTorch.
import torch
from torch import nn

SIDE, GAMES, ROUNDS = 8, 64, 300

torch.manual_seed(6)
net = nn.Sequential(nn.Linear(SIDE * SIDE, 64), nn.ReLU(), nn.Linear(64, 3))
adam = torch.optim.Adam(net.parameters(), 0.005)


def screens_of(x, y, paddle):
    screens = torch.zeros(GAMES, SIDE, SIDE)
    games = torch.arange(GAMES)
    screens[games, y, x] = 1
    screens[games, SIDE - 1, paddle] = 1
    return screens.reshape(GAMES, -1)


def play(temperature):
    x, paddle = torch.randint(SIDE, (GAMES,)), torch.randint(SIDE, (GAMES,))
    seen, moves = [], []
    for y in range(SIDE - 1):
        screens = screens_of(x, y, paddle)
        with torch.no_grad():
            logits = net(screens)
        if temperature > 0:
            move = torch.multinomial((logits / temperature).softmax(1), 1)[:, 0]
        else:
            move = logits.argmax(1)
        seen.append(screens)
        moves.append(move)
        paddle = (paddle + move - 1).clamp(0, SIDE - 1)
    caught = (x == paddle).float()
    worth = (caught - caught.mean()).repeat(SIDE - 1)
    return torch.cat(seen), torch.cat(moves), worth, caught.mean().item()


for round in range(1, ROUNDS + 1):
    seen, moves, worth, caught = play(1)
    adam.zero_grad()
    losses = nn.functional.cross_entropy(net(seen), moves, reduction="none")
    (losses * worth).mean().backward()
    adam.step()
    if round % 50 == 1:
        print(f"round {round}: caught {caught:.2f}")
print(f"in earnest: caught {play(0)[3]:.2f}")
