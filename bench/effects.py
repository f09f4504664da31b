#!/usr/bin/env python3
"""The effects that the papers claim, measured on real data at a scale of minutes. Prints one table per effect.

  bench/effects.py [EFFECT...] [--seeds 1,2,3] [--muster ./muster] [--out runs/effects] [--kept]

A run is a built-in recipe with settings; a table gives mean and spread (smallest to largest) over the seeds. The runs
of one table are comparable: their resolved recipes may differ only in the keys that a row names as its method, and the
program stops where they differ in others. Every run's resolved recipe, rounds and groups stay in the output folder: a
run whose resolved recipe has not changed is not repeated, and --kept makes the tables from what is there without
running anything. docs/results.md holds what came out, with the commands.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field


@dataclass
class Row:
    """One line of a table: runs of `recipe` with `settings`. `method`: the keys, or whole sections, that may differ
    from the table's first row, because they are what the row compares."""

    label: str
    recipe: str
    settings: list
    method: list = field(default_factory=list)


def flat(table, prefix=""):
    """{"data": {"alpha": 1}} -> {"data.alpha": 1}; tables below a section stay values."""
    keys = {}
    for key, value in table.items():
        if isinstance(value, dict) and not prefix:
            keys |= flat(value, key + ".")
        else:
            keys[prefix + key] = value
    return keys


def unequal(recipe, reference, method):
    """Keys in which two resolved recipes differ although no part of `method`."""
    one, other = (flat(tomllib.loads(text)) for text in (recipe, reference))
    allowed = {"name", "summary", *method}
    return [f"{key}: {one.get(key, 'not there')}, but {other.get(key, 'not there')}"
            for key in sorted(one.keys() | other.keys())
            if one.get(key) != other.get(key) and key not in allowed and key.split(".")[0] not in allowed]


class Lab:
    def __init__(self, muster, out, seeds, kept):
        self.muster, self.out, self.seeds, self.kept = muster, pathlib.Path(out), seeds, kept

    def resolved(self, recipe, settings, seed):
        command = [self.muster, "show", recipe] + [f"--set={s}" for s in [*settings, f"seed={seed}"]]
        shown = subprocess.run(command, capture_output=True, text=True)
        if shown.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: {shown.stderr.strip()}")
        return "".join(line for line in shown.stdout.splitlines(keepends=True) if not line.startswith("#"))

    def run(self, label, recipe, settings, seed):
        """Resolved recipe, summary, rounds and groups of one run."""
        folder = self.out / label / str(seed)
        done = folder / "result.json"
        if self.kept:
            if not done.exists():
                raise SystemExit(f"{label}, seed {seed}: not among the runs kept in {self.out}; run it without --kept")
            return json.loads(done.read_text())
        wanted = self.resolved(recipe, settings, seed)
        if done.exists():
            kept = json.loads(done.read_text())
            if tomllib.loads(kept["recipe"]) == tomllib.loads(wanted):
                return kept
        command = [self.muster, "run", recipe, "--quiet", "--json", "--seed", str(seed), "--out", str(folder)]
        for setting in settings:
            command += ["--set", setting]
        print("  " + " ".join(command), file=sys.stderr, flush=True)
        finished = subprocess.run(command, capture_output=True, text=True)
        if finished.returncode != 0:
            raise SystemExit(f"{label}: {finished.stderr.strip()}")
        summary = json.loads(finished.stdout)
        lines = lambda name: [json.loads(line) for line in (pathlib.Path(summary["dir"]) / name).open()]
        result = {"command": command, "recipe": (pathlib.Path(summary["dir"]) / "recipe.toml").read_text(),
                  "summary": summary, "rounds": lines("rounds.jsonl"), "groups": lines("groups.jsonl")}
        done.parent.mkdir(parents=True, exist_ok=True)
        done.write_text(json.dumps(result))
        return result

    def all(self, label, recipe, settings):
        return [self.run(label, recipe, settings, seed) for seed in self.seeds]

    def table(self, prefix, rows):
        """The runs of each row, seed by seed. Refuses rows that differ from the first in more than their method:
        before anything runs, and again by what the runs recorded."""
        def check(recipes):
            for row, own in zip(rows, recipes):
                for recipe, reference in zip(own, recipes[0]):
                    if wrong := unequal(recipe, reference, row.method):
                        raise SystemExit(f"{prefix}: \"{row.label}\" and \"{rows[0].label}\" cannot be compared; they "
                                         "differ in\n  " + "\n  ".join(wrong))
        if not self.kept:
            check([[self.resolved(row.recipe, row.settings, seed) for seed in self.seeds] for row in rows])
        name = lambda row: row.label.replace(",", "").replace("(", "").replace(")", "").replace(" ", "-")
        runs = [self.all(f"{prefix}-{name(row)}", row.recipe, row.settings) for row in rows]
        check([[run["recipe"] for run in own] for own in runs])
        return runs


def spread(values, scale=1.0, digits=2):
    values = [v * scale for v in values]
    text = f"{statistics.mean(values):.{digits}f}"
    return text if len(values) == 1 else f"{text} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def tail_accuracy(run, evaluations=5):
    """Mean over the last evaluations: single rounds are noisy."""
    known = [r["accuracy"] for r in run["rounds"] if r["accuracy"] is not None]
    return statistics.mean(known[-evaluations:])


def best_accuracy(run):
    return max(r["accuracy"] for r in run["rounds"] if r["accuracy"] is not None)


def paid_by(run, budget):
    """The run up to the last round that the budget paid for."""
    return run | {"rounds": [r for r in run["rounds"] if r["cost_total_s"] <= budget]}


def first_round(run, accuracy):
    for r in run["rounds"]:
        if r["accuracy"] is not None and r["accuracy"] >= accuracy:
            return r["round"]
    return None


def print_table(title, head, rows):
    print(f"\n{title}\n")
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


def group_cov(runs):
    """How uneven the classes in each run's groups are, averaged over its groups."""
    return spread([r["summary"]["quality"]["cov_mean"] for r in runs])


def rounds_to_reach(lab, title, prefix, rows):
    """First round in which each row, the baseline (the first row) too, has an accuracy of at least the target: the mean
    of the baseline's last five evaluations with the same seed. And everybody's own mean of the last five. Returns the
    runs of each row."""
    runs = lab.table(prefix, rows)
    targets = [tail_accuracy(run) for run in runs[0]]
    reached = [[first_round(run, target) for run, target in zip(own, targets)] for own in runs]
    lines = []
    for row, own, first in zip(rows, runs, reached):
        all_reached = None not in first
        lines.append((row.label, spread([tail_accuracy(run) for run in own], 100),
                      spread(first, digits=1) if all_reached else ", ".join("never" if r is None else str(r) for r in first),
                      f"{statistics.mean(r / b for r, b in zip(first, reached[0])):.2f}" if all_reached else "-"))
    print_table(title, ["run", "final accuracy, %", "rounds to the target", "of the baseline's"], lines)
    return runs


# What sets chains of groups apart from plain averaging.
CHAINS = ["profile", "grouping", "plan", "training", "aggregation"]


def fedgsp(lab, name, data, rounds):
    base = ["model.name=cnn", "model.channels=[16,32]", "local.epochs=1", "local.batch-size=10", "local.learning-rate=0.02"]
    base += data + [f"rounds={rounds}"]
    rounds_to_reach(
        lab, f"FedGSP, {name}: against FedAvg with as many clients a round", f"fedgsp-{name}",
        [Row("fedavg", "fedavg", base + ["plan.sample-clients=0.3"]),
         Row("fedgsp", "fedgsp", base, CHAINS),
         Row("naivegsp", "naivegsp", base, CHAINS),
         Row("naivegsp-icg", "naivegsp-icg", base, CHAINS)])


def fedgsp_recipes(lab, rounds):
    """The built-in recipes as they are, on as many clients a round."""
    rounds_to_reach(
        lab, "FedGSP: the built-in recipes on Fashion-MNIST", "recipes",
        [Row("fedavg", "fedavg", ["data.clients=360", "plan.sample-clients=0.3", f"rounds={rounds}"]),
         Row("fedgsp", "fedgsp", [f"rounds={rounds}"], CHAINS)])


def mixing(lab):
    """Groups only, of 36 clients: how far apart their classes are."""
    lines = []
    for name, data, groups in (("writers", ["data.partition=natural", "data.clients=539"], 15),
                               ("Dirichlet 0.1, 360 clients", ["data.partition=dirichlet", "data.alpha=0.1", "data.clients=360"], 10)):
        base = ["data.source=mnist", "model.name=softmax", "plan.sample-groups=1", "rounds=1"] + data
        drawn, mixed = lab.table(f"mixing-{name.split(',')[0]}",
                                 [Row("random", "naivegsp", base),
                                  Row("inter-cluster", "naivegsp-icg", base + [f"plan.groups={groups}"], ["profile", "grouping", "plan.groups"])])
        drawn, mixed = ([run["summary"]["quality"]["cpd_median"] for run in runs] for runs in (drawn, mixed))
        lines.append((name, spread(drawn, 1000, 3), spread(mixed, 1000, 3), spread([m / d - 1 for m, d in zip(mixed, drawn)], 100, 0)))
    print_table("FedGSP, MNIST: median distance between groups' classes (CPD), in thousandths",
                ["clients", "random groups", "inter-cluster", "change, %"], lines)


def fedgroup(lab):
    mnist = ["data.source=mnist", "data.partition=classes-per-client", "data.classes-per-client=2", "data.clients=1000",
             "data.merge-test=true", "local.learning-rate=0.03"]
    synthetic = ["data.source=synthetic", "data.clients=100", "data.alpha=1.0", "data.beta=1.0", "local.learning-rate=0.01"]
    for name, data, groups in (("mnist", mnist, 3), ("synthetic", synthetic, 5)):
        base = data + ["data.test-fraction=0.1", "model.name=softmax", "local.epochs=20", "local.batch-size=10",
                       "plan.sample-clients=20", "evaluation.on=clients", "evaluation.discrepancy=false", "rounds=200"]
        own = base + [f"grouping.groups={groups}", f"profile.clients={20 * groups}"]
        grouped = ["profile", "grouping", "aggregation", "newcomers"]
        rows = [Row("fedavg", "fedavg", base),
                Row("fedprox", "fedprox", base + ["local.mu=1.0"], ["local.objective", "local.mu"]),
                Row("fedgroup", "fedgroup", own, grouped),
                Row("fedgroup, MADC", "fedgroup", own + ["grouping.method=mean-absolute-cosine"], grouped),
                Row("fedgrouprox", "fedgrouprox", own, grouped + ["local.objective", "local.mu"]),
                Row("random centres (RCC)", "fedgroup", own + [f"profile.clients={groups}"], grouped),
                Row("random assignment (RAC)", "fedgroup", own + ["newcomers.assign=random"], grouped)]
        runs = lab.table(f"fedgroup-{name}", rows)
        print_table(f"FedGroup, {name}: best and final weighted accuracy over the clients' own tests",
                    ["run", "best, %", "mean of the last five rounds, %", "clients never placed"],
                    [(row.label, spread([best_accuracy(run) for run in own], 100), spread([tail_accuracy(run) for run in own], 100),
                      spread([run["rounds"][-1]["idle"] for run in own], digits=0)) for row, own in zip(rows, runs)])


def newcomers(lab):
    runs = lab.all("fedgroup-newcomers", "fedgroup",
                   ["data.source=mnist", "data.partition=label-groups", "data.clients=100", "data.label-groups=0-2,3-5,6-9",
                    "data.test-fraction=0.1", "local.epochs=2", "rounds=30", "profile.clients=30", "grouping.groups=3",
                    "newcomers.round=5", "newcomers.clients=30", "plan.sample-clients=30"])
    lines = []
    for run in runs:
        formed = run["groups"][0]["members"]
        cluster = lambda client: client * 3 // 100
        of_group = [statistics.mode(cluster(c) for c in members) for members in formed]
        placed = [p for line in run["groups"] if line["why"] == "newcomers" for p in line["placed"]]
        right = sum(of_group[p["group"]] == cluster(p["client"]) for p in placed)
        lines.append((run["summary"]["seed"], len(placed), right))
    print_table("FedGroup, newcomers in three planted clusters", ["seed", "placed", "in their cluster's group"], lines)


def fedseq(lab, alpha, rounds):
    base = ["data.source=cifar10", "data.partition=dirichlet", f"data.alpha={alpha}", "data.clients=500", "data.augment=true",
            "model.name=cnn", "model.channels=[16,32]", "local.epochs=1", "local.batch-size=32",
            "local.learning-rate=0.02", "local.weight-decay=0.0004", "evaluation.every=2"]
    quota = ["grouping.min-samples=800", "grouping.max-clients=11"]
    trained = base + [f"rounds={rounds}"]
    # The server's exemplars are 100 of the 10,000 test images: a run that uses none is tested on all.
    _, confident, _ = rounds_to_reach(
        lab, f"FedSeq, CIFAR-10, 500 clients, alpha {alpha}", f"fedseq-{alpha}",
        [Row("fedavg", "fedavg", trained + ["plan.sample-clients=0.2"]),
         Row("fedseq", "fedseq", trained + quota, CHAINS + ["data.exemplars"]),
         Row("fedseqinter", "fedseqinter", trained + quota, CHAINS + ["data.exemplars"])])
    # Only the groups are looked at: one round is enough.
    drawn = lab.all(f"fedseq-{alpha}-random-groups", "fedseq-random", base + quota + ["rounds=1"])
    print_table(f"FedSeq, CIFAR-10, alpha {alpha}: groups", ["groups", "CoV in groups"],
                [("by confidence, greedy", group_cov(confident)), ("at random, by the same quota", group_cov(drawn))])


def group_fel(lab):
    budget = 100000
    base = [f"budget={budget}", "rounds=60", "evaluation.every=1"]
    at_random = ["grouping.method=random", "grouping.size=5"]
    method = ["grouping", "plan.sampling", "profile"]
    rows = [Row(f"{grouping} {sampling}", "group-fel", base + more + [f"plan.sampling={sampling}"], method)
            for grouping, more, sampling in (("coefficient-of-variation", [], "exp-inverse-cov-squared"),
                                             ("random", at_random, "uniform"),
                                             ("coefficient-of-variation", [], "uniform"),
                                             ("random", at_random, "exp-inverse-cov-squared"))]
    runs = [[paid_by(run, budget) for run in own] for own in lab.table("group-fel", rows)]
    print_table(f"Group-FEL, Fashion-MNIST, alpha 0.1, 300 clients on 3 edges: best accuracy within a cost of {budget:,} s",
                ["grouping", "sampling", "best accuracy, %", "last five rounds, %", "rounds", "CoV", "group size"],
                [(*row.label.split(), spread([best_accuracy(r) for r in own], 100),
                  spread([tail_accuracy(r) for r in own], 100), spread([len(r["rounds"]) for r in own], digits=0),
                  group_cov(own), spread([r["summary"]["groups"]["size_mean"] for r in own])) for row, own in zip(rows, runs)])


def autocfl(lab, source):
    rows = []
    for name, settings, clusters in (
            ("IID, balanced", ["data.partition=iid", "data.imbalance=false"], 1),
            ("IID, imbalanced", ["data.partition=iid", "data.imbalance=true"], 1),
            ("rotated, balanced", ["data.partition=rotations", "data.rotations=2", "data.imbalance=false"], 2),
            ("rotated, imbalanced", ["data.partition=rotations", "data.rotations=2", "data.imbalance=true"], 2),
            ("labels, balanced", ["data.partition=label-groups", "data.imbalance=false"], 4),
            ("labels, imbalanced", ["data.partition=label-groups", "data.imbalance=true"], 4)):
        sizes = ["data.samples-max=1500"] + ([] if clusters == 4 else ["data.samples-min=1500"])
        base = [f"data.source={source}", "data.normalize=true", "rounds=5"] + sizes + settings
        cells = []
        for runs in lab.table(f"autocfl-{source}-{name.replace(', ', '-')}",
                              [Row("adjusted", "autocfl", base), Row("plain", "autocfl", base + ["local.adapt-epochs=0"], ["local.adapt-epochs"])]):
            found = []
            for run in runs:
                line = run["groups"][-1]
                found.append(f"{line['count']} in round {line['round']}" +
                             (f", {line['truth']['correct']}/20" if "truth" in line and clusters > 1 else ""))
            cells.append("; ".join(found))
        rows.append((name, clusters, *cells))
    print_table(f"AutoCFL, 20 clients, {source}: clusters found (and clients placed right), seed by seed",
                ["setting", "true clusters", "with adjusted epochs", "without"], rows)


EFFECTS = {
    "fedgsp-writers": lambda lab: fedgsp(lab, "writers", ["data.source=mnist", "data.partition=natural", "data.clients=539"], 40),
    "fedgsp-emnist": lambda lab: fedgsp(lab, "emnist", ["data.source=emnist", "data.partition=dirichlet", "data.alpha=0.1", "data.clients=360"], 40),
    "fedgsp-recipes": lambda lab: fedgsp_recipes(lab, 100),
    "fedgsp-mixing": mixing,
    "fedgroup": fedgroup,
    "newcomers": newcomers,
    "fedseq-0.0": lambda lab: fedseq(lab, "0.0", 150),
    "fedseq-0.2": lambda lab: fedseq(lab, "0.2", 70),
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
    parser.add_argument("--kept", action="store_true", help="make the tables from the runs in --out; run nothing")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.effects if name not in EFFECTS]
    if unknown:
        parser.error(f"unknown effect {unknown[0]}; accepted: {', '.join(EFFECTS)}")
    lab = Lab(arguments.muster, arguments.out, [int(seed) for seed in arguments.seeds.split(",")], arguments.kept)
    for name in arguments.effects or EFFECTS:
        EFFECTS[name](lab)


if __name__ == "__main__":
    main()
