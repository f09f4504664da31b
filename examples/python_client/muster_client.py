#!/usr/bin/python3
"""A client of a Muster federation, with a table of its own; docs/protocol.md has the rules, README.md how to run it."""
import argparse, csv, importlib, json, math, pathlib, queue, random, sys, time, tomllib
import grpc, numpy as np, xxhash
from muster.v1 import federation_pb2 as pb

CHUNK = 1 << 18  # values in a chunk at most: 1 MiB


class Table:
    """A CSV file of numbers: a header, a column of labels, and perhaps one that marks tests by 1."""

    def __init__(self, path):
        self.rows = list(csv.DictReader(path.read_text().splitlines()))

    def part(self, columns, mark):
        rows = [row for row in self.rows if row.get(self.split, "0") == mark]
        values = [float(row[column]) for row in rows for column in columns]
        return np.array(values, np.float32).reshape(-1, len(columns)), [row[self.label] for row in rows]

    def sheet(self, data):  # what is told of it, read as section [data] of the recipe says
        self.label, self.split = data.get("label", "label"), data.get("split", "split")
        columns = [column for column in self.rows[0] if column not in (self.label, self.split)]
        (x, _), labels = self.part(columns, "0"), {row[self.label] for row in self.rows}
        told = pb.DataSheet(rows=len(x), test_rows=len(self.rows) - len(x), labels=sorted(labels))
        for column, values in zip(columns, x.T.astype(float)):
            told.columns.add(name=column, kind=pb.COLUMN_KIND_NUMBERS)
            if data.get("normalize", True):
                told.sums.add(count=len(x), sum=values.sum(), squares=((values - values.mean()) ** 2).sum())
        return told

    def samples(self, agreed, mark):  # features and classes, read as all clients agreed to
        x, labels = self.part([column["name"] for column in agreed["columns"]], mark)
        x = x * np.float32(agreed["scale"] or [1]) + np.float32(agreed["offset"] or [0])
        return x, np.array([agreed["classes"].index(label) for label in labels], int)


class Work:
    """What is asked, on the client's own samples: each method gives an answer, and the vectors that it names."""

    def __init__(self, recipe, agreed, table, make_network):
        data, self.train_set, tests = recipe["data"], table.samples(agreed, "0"), table.samples(agreed, "1")
        share = data.get("test-fraction", 0 if agreed.get("split") else 0.1)
        self.held_out = {False: self.cut(share) if share else tests, True: self.cut(data.get("validation-fraction", 0))}
        self.local, self.told, self.classes = recipe["local"], recipe["profile"], len(agreed["classes"])
        hidden = {recipe["aggregation"].get("in-group"), recipe["training"].get("relay")} & {"secure-sum", "sealed"}
        if hidden or self.local["objective"] not in ("plain", "prox") or self.local.get("momentum"):
            raise ValueError("this client has no secure sums, no sealed chains, and no training but (proximal) descent")
        self.network = make_network(recipe["model"], self.train_set[0].shape[1], self.classes)
        self.batches, self.mu = math.ceil(len(self.train_set[1]) / self.local["batch-size"]), self.local.get("mu", 0)

    def cut(self, share):  # sets a share of the training samples aside, but never the last one
        (x, y), rows = self.train_set, np.random.default_rng(0).permutation(len(self.train_set[1]))
        left = len(y) - min(int(len(y) * share + 0.5), len(y) - 1)
        self.train_set, aside = [(x[some], y[some]) for some in np.split(rows, [left])]
        return aside

    def losses(self, model, x, y):  # of each sample, and the outputs
        out = self.network.outputs(model, x).astype(float)
        return np.logaddexp.reduce(out, axis=1) - out[np.arange(len(y)), y], out

    def descend(self, model, round_, steps, part):  # the model after so many steps, and the samples gone through
        (x, y), flat, draws, done, seen = self.train_set, model.copy(), np.random.default_rng([round_, part]), 0, 0
        rate = self.local["learning-rate"] * self.local.get("learning-rate-decay", 1) ** (round_ - 1)
        while done < steps:
            for rows in np.array_split(draws.permutation(len(y)), self.batches)[: steps - done]:
                flat -= rate * (self.network.gradient(flat, x[rows], y[rows]) + self.mu * (flat - model))
                done, seen = done + 1, seen + len(rows)
        return flat, seen

    def train(self, asked, place, model, *_):
        epochs = asked.epochs if asked.HasField("epochs") else self.local.get("epochs")
        steps = math.ceil(epochs * self.batches) if epochs else self.local["steps"]
        flat, seen = self.descend(model, place.round, steps, place.part)
        loss = self.losses(flat, *self.train_set)[0].mean()
        told = pb.Trained(samples=len(self.train_set[1]), steps=steps, samples_trained=seen, loss=loss, loss_after=loss)
        return told, {"model": flat}

    def profile(self, asked, place, *models):
        if asked.kind == "update-direction":
            steps = self.told.get("steps") or math.ceil(self.told["epochs"] * self.batches)
            flat, seen = self.descend(models[0], asked.as_of_round, steps, 0)
            return pb.Told(samples_trained=seen), {"vector": flat - models[0]}
        if asked.kind != "label-histogram":
            raise LookupError(f"this client has no profile {asked.kind}")
        noise = np.random.default_rng().laplace(size=self.classes) / self.told.get("epsilon", math.inf)
        counts = np.rint(np.bincount(self.train_set[1], minlength=self.classes) + noise).clip(min=0)
        return pb.Told(labels=counts.astype(int).tolist()), {}

    def evaluate(self, asked, place, model):
        (losses, out), y = self.losses(model, *self.held_out[asked.validation]), self.held_out[asked.validation][1]
        taken, margin = out.argmax(axis=1), out[:, 1] - out[:, 0]
        told = pb.Evaluated(samples=len(y), correct=int((taken == y).sum()), loss_sum=losses.sum(),
                            with_predictions=asked.predictions or asked.scores)
        if asked.predictions:
            for (label, predicted), count in zip(*np.unique(np.c_[y, taken], axis=0, return_counts=True)):
                told.counts.add(label=label, predicted=predicted, samples=count)
        return told, {"negative_scores": margin[y == 0], "positive_scores": margin[y == 1]} if asked.scores else {}


class Client:
    """Answers every ask, and keeps the answer until its verdict: if it is lost with a stream, it is sent again."""

    def __init__(self, args):
        self.keys = [(args.pki / name).read_bytes() for name in ("ca.crt", "own.key", "own.crt")]
        self.name, self.table, self.run, self.kept, self.last = args.name, Table(args.data), None, {}, 0
        self.make_network = importlib.import_module(args.model).make_network

    def hello(self, **told):
        self.up.put(pb.Frame(hello=pb.Hello(version=1, clients=[pb.Client(name=self.name, **told)])))

    def attach(self, address):
        self.up, self.down, self.welcomed = queue.SimpleQueue(), {}, False  # of one stream, from Hello to its end
        options = [("grpc.keepalive_time_ms", 3000), ("grpc.use_local_subchannel_pool", 1)]
        with grpc.secure_channel(address, grpc.ssl_channel_credentials(*self.keys), options) as channel:
            self.hello()
            rpc = channel.stream_stream("/muster.v1.Federation/Attach", pb.Frame.SerializeToString, pb.Frame.FromString)
            try:
                for frame in rpc(iter(self.up.get, None)):
                    if (body := frame.WhichOneof("body")) == "finished":
                        return frame.finished
                    if body == "refusal" and not frame.refusal.again:
                        sys.exit(f"{address} refused this client: {frame.refusal.reason}")
                    getattr(self, "take_" + body, print)(getattr(frame, body))
            except (grpc.RpcError, ConnectionError) as error:
                print(f"{address}: {error.details() if isinstance(error, grpc.RpcError) else error}", file=sys.stderr)
            except ValueError as error:  # a table or a recipe that this client cannot work with
                self.up.put(pb.Frame(refusal=pb.Refusal(reason=str(error))))
                sys.exit(time.sleep(0.5) or str(error))  # so that the refusal is heard
            finally:
                self.up.put(None)

    def take_how_to_read(self, told):
        self.hello(data=self.table.sheet(tomllib.loads(told.recipe)["data"]))

    def take_welcome(self, welcome):
        if welcome.run != self.run:
            recipe, agreed = tomllib.loads(welcome.recipe), json.loads(welcome.preparation)
            self.work, self.kept = Work(recipe, agreed, self.table, self.make_network), {}
        self.run, self.welcomed = welcome.run, True

    def take_chunk(self, chunk):
        held = self.down.setdefault(chunk.vector, bytearray())
        if len(held) != 4 * chunk.offset or xxhash.xxh3_64_intdigest(chunk.values) != chunk.checksum:
            raise ConnectionError(f"a part of vector {chunk.vector} is damaged or out of order")
        held += chunk.values

    def take_forget(self, forget):
        self.down = {number: held for number, held in self.down.items() if number not in forget.vectors}

    def take_verdict(self, verdict):  # used or not: this client remembers nothing that would have to be undone
        self.kept = {key: kept for key, kept in self.kept.items() if kept[0].id.number != verdict.id.number}

    def take_ask(self, ask):
        work = getattr(ask, kind := ask.WhichOneof("work"))
        fields = [field for field in ("model", "models", "broadcast") if field in work.DESCRIPTOR.fields_by_name]
        numbers = np.ravel([getattr(work, field) for field in fields if getattr(work, field)])
        models = [np.frombuffer(self.down[number], "<f4") for number in numbers]
        for field in fields: work.ClearField(field)  # what is left is all that the answer depends on
        work.memory.ClearField("keep")
        place = ask.id.round, ask.id.group, ask.id.client, ask.id.part
        key = (*place, kind, str(work), *map(xxhash.xxh3_64_digest, models))
        reply, vectors = self.kept[key] = self.kept.get(key) or self.answer(kind, work, ask.id, models)
        reply.id.CopyFrom(ask.id)
        for field, values in vectors.items():
            self.last += 1
            setattr(getattr(reply, reply.WhichOneof("outcome")), field, self.last if len(values) else 0)
            for at in range(0, len(values), CHUNK):
                part = values[at : at + CHUNK].astype("<f4").tobytes()
                chunk = {"values": part, "checksum": xxhash.xxh3_64_intdigest(part)}
                self.up.put(pb.Frame(chunk=pb.Chunk(vector=self.last, size=len(values), offset=at, **chunk)))
        self.up.put(pb.Frame(reply=reply))

    def answer(self, kind, work, place, models):
        try:
            told, vectors = getattr(self.work, kind)(work, place, *models)
            return pb.Reply(**{{"train": "trained", "profile": "told", "evaluate": "evaluated"}[kind]: told}), vectors
        except (AttributeError, LookupError, TypeError) as error:
            print(f"cannot {kind}: {error}", file=sys.stderr)
            return pb.Reply(dropped=pb.Dropped(client=place.client, reason=pb.DROP_REASON_MALFORMED)), {}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", required=True, help="the cloud, or an edge, and others if that is gone: host:port,...")
    parser.add_argument("--pki", required=True, type=pathlib.Path, help="folder of `muster pki issue --role client`")
    parser.add_argument("--name", required=True, help="the client's name, as in its certificate")
    parser.add_argument("--data", required=True, type=pathlib.Path, help="its table, a CSV file of numbers")
    parser.add_argument("--model", default="network", help="module with make_network(), e.g. torch_network")
    parser.add_argument("--patience", type=float, default=60, help="seconds without a Welcome before it gives up")
    client, addresses, turn, heard = Client(args := parser.parse_args()), args.to.split(","), 0, time.monotonic()
    while not (finished := client.attach(addresses[turn % len(addresses)])):
        turn, heard = (0, time.monotonic()) if client.welcomed else (turn + 1, heard)
        if time.monotonic() - heard > args.patience:
            sys.exit(f"gave up: no answer for {args.patience:g} s")
        time.sleep(min(10, 0.1 * 2 ** min(turn, 7)) * random.uniform(0.5, 1))
    print(f"the run is over: {finished.signature}" if finished.signature else "the cloud has stopped for now")


if __name__ == "__main__": main()
