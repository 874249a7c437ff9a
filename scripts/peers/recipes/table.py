# A table with missing values, numbers and texts: who will cancel a contract?
# examples/recipes/table.lua with PyTorch, pandas and scikit-learn.
import copy
import math
import random

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FILE, MODEL = "customers.csv", "customers-model.pt"


def write_table(path, n):
    def cell(value):
        return "" if random.randint(1, 6) == 1 else value

    with open(path, "w") as file:
        file.write("age,calls,city,plan,cancelled\n")
        for _ in range(n):
            age, calls = random.randint(18, 80), random.randint(0, 12)
            city, plan = random.choice(["Oslo", "Rome"]), random.choice(["basic", "plus", "family"])
            score = (45 - age) / 12 + (calls - 6) / 3 + (1.5 if city == "Oslo" else -1.5)
            cancelled = int(random.random() < 1 / (1 + math.exp(-2 * score)))
            file.write(f"{cell(age)},{cell(calls)},{city},{plan},{cancelled}\n")


random.seed(2)
torch.manual_seed(2)
write_table(FILE, 2000)

NUMBERS, TEXTS = ["age", "calls"], ["city", "plan"]
customers = pd.read_csv(FILE)
categories = {name: sorted(customers[name].unique()) for name in TEXTS}
train, test = train_test_split(customers, test_size=0.2, random_state=1)
mean, deviation = train[NUMBERS].mean(), train[NUMBERS].std(ddof=0)


def features(rows):
    numbers, columns = rows[NUMBERS], []
    columns.append(((numbers - mean) / deviation).fillna(0).to_numpy())
    columns.append(numbers.notna().to_numpy())
    for name in TEXTS:
        columns.append(rows[name].to_numpy()[:, None] == np.array(categories[name]))
    return torch.tensor(np.concatenate(columns, 1), dtype=torch.float32)


x, y = features(train), torch.tensor(train.cancelled.to_numpy())
x_test, y_test = features(test), test.cancelled.to_numpy()
net = nn.Sequential(nn.Linear(x.shape[1], 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 2))
adam = torch.optim.Adam(net.parameters(), 0.01)
batches = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
best, best_state, waited = math.inf, None, 0
for epoch in range(30):
    net.train()
    for rows, labels in batches:
        adam.zero_grad()
        nn.functional.cross_entropy(net(rows), labels).backward()
        adam.step()
    net.eval()
    with torch.no_grad():
        scores = net(x_test)
        loss = nn.functional.cross_entropy(scores, torch.tensor(y_test)).item()
    accuracy = accuracy_score(y_test, scores.argmax(1))
    auc = roc_auc_score(y_test, scores.softmax(1)[:, 1])
    print(f"epoch {epoch + 1}: loss {loss:.4f}, accuracy {accuracy:.4f}, AUC {auc:.4f}")
    waited += 1
    if loss < best:
        best, best_auc, best_state, waited = loss, auc, copy.deepcopy(net.state_dict()), 0
    if waited == 6:
        break
torch.save({"net": best_state, "mean": mean.to_dict(), "deviation": deviation.to_dict(),
            "categories": categories}, MODEL)
print(f"AUC {best_auc:.3f}")
