# A folder of your own pictures, with a sub-folder for each class, becomes a network that names
# what is on a picture: examples/recipes/pictures.lua with PyTorch and torchvision.
import copy
import os
import random
import sys

import numpy as np
import torch
from PIL import Image
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, Subset
from torchvision import datasets, transforms

SIZE = 24
FOLDER = sys.argv[1] if len(sys.argv) > 1 else "shapes"

INSIDE = {
    "disc": lambda x, y, r: x * x + y * y < r * r,
    "square": lambda x, y, r: (abs(x) < r) & (abs(y) < r),
    "cross": lambda x, y, r: (np.minimum(abs(x), abs(y)) < r / 3)
    & (np.maximum(abs(x), abs(y)) < r),
}


def draw(is_inside):
    picture = np.random.rand(32, 32, 3) * 0.4
    x, y = np.arange(32) - random.randint(10, 22), np.arange(32)[:, None] - random.randint(10, 22)
    picture[is_inside(x, y, random.randint(5, 9))] = 0.5 + np.random.rand(3) / 2
    return Image.fromarray((picture * 255).astype("uint8"))


random.seed(1)
np.random.seed(1)
torch.manual_seed(1)
if len(sys.argv) < 2:
    for kind, is_inside in INSIDE.items():
        os.makedirs(f"{FOLDER}/{kind}", exist_ok=True)
        for i in range(100):
            draw(is_inside).save(f"{FOLDER}/{kind}/{i}.png")

sized = [transforms.Resize((SIZE, SIZE)), transforms.ToTensor()]
augmented = [transforms.RandomCrop(SIZE, padding=2), transforms.RandomHorizontalFlip()]
for_training = datasets.ImageFolder(FOLDER, transforms.Compose(sized + augmented))
for_testing = datasets.ImageFolder(FOLDER, transforms.Compose(sized))
train_ids, test_ids = train_test_split(range(len(for_testing)), test_size=0.2, random_state=1,
                                       stratify=for_testing.targets)
train = DataLoader(Subset(for_training, train_ids), batch_size=20, shuffle=True)
test = DataLoader(Subset(for_testing, test_ids), batch_size=20)

net = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding="same"), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding="same"), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(32 * (SIZE // 4) ** 2, len(for_testing.classes)))
loss_of = nn.CrossEntropyLoss()
adam = torch.optim.Adam(net.parameters(), 0.005)
best, best_state = 0, None
for epoch in range(25):
    net.train()
    for images, labels in train:
        adam.zero_grad()
        loss = loss_of(net(images), labels)
        loss.backward()
        adam.step()
    net.eval()
    with torch.no_grad():
        right = sum((net(images).argmax(1) == labels).sum().item() for images, labels in test)
    accuracy = right / len(test_ids)
    print(f"epoch {epoch + 1}: loss {loss.item():.4f}, accuracy {accuracy:.4f}")
    if accuracy > best:
        best, best_state = accuracy, copy.deepcopy(net.state_dict())
net.load_state_dict(best_state)

path, image = for_testing.samples[test_ids[0]][0], for_testing[test_ids[0]][0]
with torch.no_grad():
    print(f"{path}: {for_testing.classes[net(image[None]).argmax().item()]}")
print(f"accuracy {best:.2f}")
