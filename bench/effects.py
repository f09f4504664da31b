#!/usr/bin/env python3
"""The effects that the papers claim, measured on real data at a scale of minutes. Prints one table per effect.

  bench/effects.py [EFFECT...] [--seeds 1,2,3] [--muster ./muster] [--out runs/effects]

A run is a built-in recipe with settings; a table gives mean and spread (smallest to largest) over the seeds. Runs that
are already in the output folder are not repeated. docs/results.md holds what came out, with the commands.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys


class Lab:
    def __init__(self, muster, out, seeds):
        self.muster, self.out, self.seeds = muster, pathlib.Path(out), seeds

    def run(self, label, recipe, settings, seed):
        """Summary, rounds and groups of one run."""
        folder = self.out / label / str(seed)
        done = folder / "result.json"
        command = [self.muster, "run", recipe, "--quiet", "--json", "--seed", str(seed), "--out", str(folder)]
        for setting in settings:
            command += ["--set", setting]
        if done.exists():
            kept = json.loads(done.read_text())
            if kept["command"] == command:
                return kept
        print("  " + " ".join(command), file=sys.stderr, flush=True)
        finished = subprocess.run(command, capture_output=True, text=True)
        if finished.returncode != 0:
            raise SystemExit(f"{label}: {finished.stderr.strip()}")
        summary = json.loads(finished.stdout)
        lines = lambda name: [json.loads(line) for line in (pathlib.Path(summary["dir"]) / name).open()]
        result = {"command": command, "summary": summary, "rounds": lines("rounds.jsonl"), "groups": lines("groups.jsonl")}
        done.parent.mkdir(parents=True, exist_ok=True)
        done.write_text(json.dumps(result))
        return result

    def all(self, label, recipe, settings):
        return [self.run(label, recipe, settings, seed) for seed in self.seeds]


def spread(values, scale=1.0, digits=2):
    values = [v * scale for v in values]
    text = f"{statistics.mean(values):.{digits}f}"
    return text if len(values) == 1 else f"{text} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def tail_accuracy(run, rounds=5):
    """Mean over the last evaluations: single rounds are noisy."""
    known = [r["accuracy"] for r in run["rounds"] if r["accuracy"] is not None]
    return statistics.mean(known[-rounds:])


def best_accuracy(run, cost=None):
    known = []
    spent = 0.0
    for r in run["rounds"]:
        spent += r["cost_s"]
        if cost is not None and spent > cost:
            break
        if r["accuracy"] is not None:
            known.append(r["accuracy"])
    return max(known)


def first_round(run, accuracy):
    for r in run["rounds"]:
        if r["accuracy"] is not None and r["accuracy"] >= accuracy:
            return r["round"]
    return None


def table(title, head, rows):
    print(f"\n{title}\n")
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


def group_cov(runs):
    """How uneven the classes in each run's groups are, averaged over its groups."""
    return spread([r["summary"]["quality"]["cov_mean"] for r in runs])


def rounds_to_reach(lab, title, baseline, others, base_rounds):
    """Rounds in which each of `others` reaches what the baseline has at its end, and everybody's own end."""
    base = lab.all(*baseline)
    rows = [(baseline[0], spread([tail_accuracy(r) for r in base], 100), base_rounds, 1)]
    for label, recipe, settings in others:
        runs = lab.all(label, recipe, settings)
        reached = [first_round(r, tail_accuracy(b)) for r, b in zip(runs, base)]
        known = [r for r in reached if r is not None]
        rows.append((label, spread([tail_accuracy(r) for r in runs], 100),
                     spread(known, digits=1) if len(known) == len(reached) else f"{reached}",
                     f"{statistics.mean(known) / base_rounds:.2f}" if known else "-"))
    table(title, ["run", "final accuracy, %", "rounds to the baseline's end", "of its rounds"], rows)


def fedgsp(lab, name, data):
    rounds = 40
    base = ["model.name=cnn", "model.channels=[16,32]", "local.epochs=1", "local.batch-size=10", "local.learning-rate=0.02"]
    base += data + [f"rounds={rounds}"]
    rounds_to_reach(
        lab, f"FedGSP, {name}: against FedAvg with as many clients a round",
        (f"fedavg-{name}", "fedavg", base + ["plan.sample-clients=0.3"]),
        [(f"fedgsp-{name}", "fedgsp", base),
         (f"naivegsp-{name}", "naivegsp", base + ["grouping.size=36"]),
         (f"naivegsp-icg-{name}", "naivegsp-icg", base)], rounds)


def mixing(lab):
    """Groups only, of 36 clients: how far apart their classes are."""
    rows = []
    for name, data, groups in (("writers", ["data.partition=natural"], 15),
                               ("Dirichlet 0.1, 360 clients", ["data.partition=dirichlet", "data.alpha=0.1", "data.clients=360"], 10)):
        base = ["data.source=mnist", "model.name=softmax", "plan.sample-groups=1", "rounds=1"] + data
        cpd = lambda label, recipe, more: [r["summary"]["quality"]["cpd_median"]
                                           for r in lab.all(f"{label}-groups-{name.split(',')[0]}", recipe, base + more)]
        drawn = cpd("random", "naivegsp", ["grouping.size=36"])
        mixed = cpd("mixed", "naivegsp-icg", [f"plan.groups={groups}"])
        rows.append((name, spread(drawn, 1000, 3), spread(mixed, 1000, 3), spread([m / d - 1 for m, d in zip(mixed, drawn)], 100, 0)))
    table("FedGSP, MNIST: median distance between groups' classes (CPD), in thousandths",
          ["clients", "random groups", "inter-cluster", "change, %"], rows)


def fedgroup(lab):
    mnist = ["data.source=mnist", "rounds=200"]
    synthetic = ["data.source=synthetic", "data.clients=100", "data.alpha=1.0", "data.beta=1.0",
                 "data.test-fraction=0.1", "local.learning-rate=0.01", "rounds=200"]
    for name, data, groups in (("mnist", mnist, 3), ("synthetic", synthetic, 5)):
        flat = ["local.epochs=20", "local.batch-size=10", "plan.sample-clients=20", "model.name=softmax", "evaluation.on=clients",
                "local.learning-rate=" + ("0.03" if name == "mnist" else "0.01")]
        own = [f"grouping.groups={groups}", f"profile.clients={20 * groups}"]
        if name == "mnist":
            flat += ["data.partition=classes-per-client", "data.classes-per-client=2", "data.clients=1000", "data.test-fraction=0.1",
                     "data.merge-test=true"]
        rows = []
        for label, recipe, settings in (
                ("fedavg", "fedavg", flat + data),
                ("fedprox", "fedprox", flat + data + ["local.mu=1.0"]),
                ("fedgroup", "fedgroup", own + data),
                ("fedgroup, MADC", "fedgroup", own + data + ["grouping.method=mean-absolute-cosine"]),
                ("fedgrouprox", "fedgrouprox", own + data),
                ("random centres (RCC)", "fedgroup", own + data + [f"profile.clients={groups}"]),
                ("random assignment (RAC)", "fedgroup", own + data + ["newcomers.assign=random"])):
            runs = lab.all(f"fedgroup-{name}-{label.split(',')[-1].split('(')[0].strip().replace(' ', '-')}-{recipe}", recipe, settings)
            rows.append((label, spread([r["summary"]["accuracy"]["best"] for r in runs], 100)))
        table(f"FedGroup, {name}: best weighted accuracy over the clients' own tests", ["run", "accuracy, %"], rows)

    runs = lab.all("fedgroup-newcomers", "fedgroup",
                   ["data.source=mnist", "data.partition=label-groups", "data.clients=100", "data.label-groups=0-2,3-5,6-9",
                    "data.test-fraction=0.1", "local.epochs=2", "rounds=30", "profile.clients=30", "grouping.groups=3",
                    "newcomers.round=5", "newcomers.clients=30", "plan.sample-clients=30"])
    rows = []
    for run in runs:
        formed = run["groups"][0]["members"]
        cluster = lambda client: client * 3 // 100
        of_group = [statistics.mode(cluster(c) for c in members) for members in formed]
        placed = [p for line in run["groups"] if line["why"] == "newcomers" for p in line["placed"]]
        right = sum(of_group[p["group"]] == cluster(p["client"]) for p in placed)
        rows.append((run["summary"]["seed"], len(placed), right))
    table("FedGroup, newcomers in three planted clusters", ["seed", "placed", "in their cluster's group"], rows)


def fedseq(lab, alpha, rounds):
    base = ["data.source=cifar10", "data.partition=dirichlet", f"data.alpha={alpha}", "data.clients=500", "data.augment=true",
            "data.exemplars=10", "model.name=cnn", "model.channels=[16,32]", "local.epochs=1", "local.batch-size=32",
            "local.learning-rate=0.02", "local.weight-decay=0.0004", f"rounds={rounds}", "evaluation.every=2"]
    seq = base + ["grouping.min-samples=800", "grouping.max-clients=11", "profile.epochs=10.0"]
    rounds_to_reach(
        lab, f"FedSeq, CIFAR-10, 500 clients, alpha {alpha}",
        (f"fedavg-cifar-{alpha}", "fedavg", base + ["plan.sample-clients=0.2"]),
        [(f"fedseq-cifar-{alpha}", "fedseq", seq), (f"fedseqinter-cifar-{alpha}", "fedseqinter", seq)], rounds)
    # The last setting of a key counts.
    groups = lambda label, recipe, settings: lab.all(f"{label}-groups-{alpha}", recipe, settings + ["rounds=1"])
    table(f"FedSeq, CIFAR-10, alpha {alpha}: groups", ["groups", "CoV in groups"],
          [("by confidence, greedy", group_cov(groups("confidence", "fedseq", seq))),
           ("at random, of 8", group_cov(groups("random", "naivegsp", base + ["grouping.size=8"])))])


def group_fel(lab):
    budget = 100000
    data = ["data.source=fashion-mnist", "cost.model=group-operations", f"budget={budget}", "rounds=60", "evaluation.every=5"]
    # The rest of the recipe group-fel, for random groups.
    alike = ["data.partition=dirichlet-truncated", "data.alpha=0.1", "data.clients=300", "data.samples-min=20", "data.samples-max=200",
             "data.edges=3", "local.epochs=2", "local.batch-size=10", "local.learning-rate=0.02", "local.momentum=0.9",
             "local.weight-decay=0.0001", "grouping.size=5", "plan.sample-groups=12", "training.mode=parallel",
             "training.group-rounds=5", "aggregation.global=samples-weighted"]
    rows = []
    for grouping, recipe, more in (("coefficient-of-variation", "group-fel", []), ("random", "naivegsp", alike)):
        for sampling in ("exp-inverse-cov-squared", "uniform"):
            runs = lab.all(f"group-fel-{grouping}-{sampling}", recipe, data + more + [f"plan.sampling={sampling}"])
            rows.append((grouping, sampling, spread([best_accuracy(r, budget) for r in runs], 100),
                         spread([r["summary"]["rounds"] for r in runs], digits=0),
                         spread([r["summary"]["quality"]["cov_mean"] for r in runs]),
                         spread([r["summary"]["groups"]["size_mean"] for r in runs])))
    table(f"Group-FEL, Fashion-MNIST, alpha 0.1, 300 clients on 3 edges: best accuracy within a cost of {budget:,} s",
          ["grouping", "sampling", "accuracy, %", "rounds", "CoV", "group size"], rows)


def autocfl(lab, source):
    rows = []
    for name, settings, clusters in (
            ("IID, balanced", ["data.partition=iid", "data.imbalance=false"], 1),
            ("IID, imbalanced", ["data.partition=iid", "data.imbalance=true"], 1),
            ("rotated, balanced", ["data.partition=rotations", "data.rotations=2", "data.imbalance=false"], 2),
            ("rotated, imbalanced", ["data.partition=rotations", "data.rotations=2", "data.imbalance=true"], 2),
            ("labels, balanced", ["data.partition=label-groups", "data.imbalance=false"], 4),
            ("labels, imbalanced", ["data.partition=label-groups", "data.imbalance=true"], 4)):
        cells = []
        for label, more in (("adjusted", []), ("plain", ["local.adapt-epochs=0"])):
            runs = lab.all(f"autocfl-{source}-{name.replace(', ', '-')}-{label}", "autocfl",
                           [f"data.source={source}", "data.normalize=true", "rounds=5", "data.samples-min=1500",
                            "data.samples-max=1500"] + settings + more)
            found = []
            for run in runs:
                line = run["groups"][-1]
                found.append(f"{line['count']} in round {line['round']}" +
                             (f", {line['truth']['correct']}/20" if "truth" in line and clusters > 1 else ""))
            cells.append("; ".join(found))
        rows.append((name, clusters, *cells))
    table(f"AutoCFL, 20 clients, {source}: clusters found (and clients placed right), seed by seed",
          ["setting", "true clusters", "with adjusted epochs", "without"], rows)


EFFECTS = {
    "fedgsp-writers": lambda lab: fedgsp(lab, "writers", ["data.source=mnist", "data.partition=natural"]),
    "fedgsp-emnist": lambda lab: fedgsp(lab, "emnist", ["data.source=emnist", "data.partition=dirichlet", "data.alpha=0.1", "data.clients=360"]),
    "fedgsp-mixing": mixing,
    "fedgroup": fedgroup,
    "fedseq-0.0": lambda lab: fedseq(lab, "0.0", 150),
    "fedseq-0.2": lambda lab: fedseq(lab, "0.2", 90),
    "group-fel": group_fel,
    "autocfl-mnist": lambda lab: autocfl(lab, "mnist"),
    "autocfl-fashion-mnist": lambda lab: autocfl(lab, "fashion-mnist"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("effects", nargs="*", metavar="EFFECT", help=", ".join(EFFECTS) + "; default: all")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--muster", default="./muster")
    parser.add_argument("--out", default="runs/effects")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.effects if name not in EFFECTS]
    if unknown:
        parser.error(f"unknown effect {unknown[0]}; accepted: {', '.join(EFFECTS)}")
    lab = Lab(arguments.muster, arguments.out, [int(seed) for seed in arguments.seeds.split(",")])
    for name in arguments.effects or EFFECTS:
        EFFECTS[name](lab)


if __name__ == "__main__":
    main()
