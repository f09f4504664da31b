"""The same with PyTorch: any torch.nn.Module whose outputs are a logit per class. The flat vector is the module's
parameters one after the other, in PyTorch's own layout, so all clients of a run must use this file."""
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class Network:
    def __init__(self, features, classes):
        torch.manual_seed(1)
        torch.set_num_threads(1)
        self.module = torch.nn.Sequential(
            torch.nn.Linear(features, 16), torch.nn.ReLU(), torch.nn.Linear(16, classes))

    def tensors(self):
        """The first model, as names and values in the order of the flat vector."""
        return ((name, value.detach().numpy()) for name, value in self.module.named_parameters())

    def outputs(self, flat, x):
        vector_to_parameters(torch.tensor(flat), self.module.parameters())
        with torch.no_grad():
            return self.module(torch.from_numpy(x)).numpy()

    def gradient(self, flat, x, y):
        """Of the mean cross-entropy."""
        vector_to_parameters(torch.tensor(flat), self.module.parameters())
        self.module.zero_grad()
        torch.nn.functional.cross_entropy(self.module(torch.from_numpy(x)), torch.from_numpy(y)).backward()
        return parameters_to_vector([value.grad for value in self.module.parameters()]).numpy()


def make_network(model, features, classes):
    """`model`: section [model] of the recipe."""
    if model["name"] != "external":
        raise ValueError("this client trains a model of its own: model.name = \"external\"")
    return Network(features, classes)
