"""The Python face of generation: settle what is wanted, estimate what it takes, make it, and say what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from amemgym import files
from amemgym.errors import AMemGymError, RunDirectoryError, RunFailed, UnknownName, UsageError
from amemgym.generate.bank import Bank, bank_names, is_bank_name, open_bank
from amemgym.generate.estimate import Cost, estimate, priced
from amemgym.generate.personas import Persona, find_personas
from amemgym.generate.run import Generation
from amemgym.generate.shape import Shape, make_shape, parse_query
from amemgym.generate.sources import Users, users_sha256
from amemgym.generate.spec import GenerationSpec, Settings, make_generation_spec, read_configuration, split_settings
from amemgym.generate.watch import GenerationWatcher
from amemgym.generate.work import WorkDirectory
from amemgym.llm import LIMIT_SETTINGS, ModelSettings, check_model_name, know_keys
from amemgym.llm.prices import PriceList, Rate
from amemgym.scenario import Scenario, save_dataset
from amemgym.tasks import prompts_for
from amemgym.together import wait_for


@dataclass(frozen=True)
class Plan:
    """What is to be made and how, with everything checked that can be without asking a model.

    From the bank, `bank` is the whole of it; else there are people, and a model and a judge to reach.
    """

    spec: GenerationSpec
    shape: Shape
    people: tuple[Persona, ...] = ()
    model: ModelSettings | None = None
    judge: ModelSettings | None = None
    bank: Bank | None = None
    remarks: tuple[str, ...] = ()
    prices: PriceList = field(default_factory=lambda: PriceList.read(None))

    def estimate(self) -> list[Cost]:
        """What it takes, stage by stage; nothing from the bank."""
        if self.model is None or self.judge is None:
            return []
        profiles = [person.text for person in self.people]
        return estimate(self.shape, profiles, prompts_for(self.spec.language), *self.rates())

    def rates(self) -> tuple[Rate | None, Rate | None]:
        """What the model costs, and the judge; None where that is not known."""
        if self.model is None or self.judge is None:
            return None, None
        return self.prices.rate(self.model), self.prices.rate(self.judge)


@dataclass(frozen=True)
class GenerationReport:
    """What was made: the file (None where no user is finished), its users, questions and hash, what is not finished,
    and the bill, which counts every reply that was paid for, also in earlier starts of the same generation."""

    path: Path | None
    users: int
    wanted: int
    questions: int
    sha256: str
    failures: tuple[str, ...] = ()
    bill: tuple[Cost, ...] = ()


def plan_generation(config: str | None = None, **settings: Any) -> Plan:
    """Settle what is wanted.

    Args:
        config: `base`, `extra`, or a file of settings (YAML, TOML, JSON; also a v1 environment configuration).
        settings: any field of `Shape` or of `GenerationSpec`; they override the configuration.

    Raises:
        AMemGymError: UsageError, UnknownName, or DataError where the people cannot be read.
    """
    know_keys()
    given = split_settings(settings, "the settings")
    source = given.spec.get("source")
    configuration = read_configuration(config)
    if is_bank_name(str(source or configuration.spec.get("source"))):
        return _bank_plan(given, configuration, config)
    both = given.over(configuration)
    shape, spec = make_shape(both.shape), make_generation_spec(both.spec)
    if spec.source != "model":
        names = {"model": "", **bank_names()}
        raise UnknownName("source", spec.source, names)
    model, judge = spec.model_settings(both.key), spec.judge_settings(both.key)
    _check_model(spec.model, "--model")
    if spec.judge_model:
        _check_model(spec.judge_model, "--judge-model")
    for one in (model, judge):
        one.resolved_url()
    prompts_for(spec.language)
    people = find_personas(spec.personas, spec.language, shape.users, shape.seed)
    prices = PriceList.read(spec.prices)
    return Plan(spec, shape, tuple(people), model, judge, remarks=both.remarks, prices=prices)


def make_planned(plan: Plan, out: str | Path, watcher: GenerationWatcher | None = None) -> GenerationReport:
    """Make what was planned and write it to `out`, a v1 JSON file. What stopped earlier goes on.

    Raises:
        AMemGymError: one of `amemgym.errors`; RunFailed where users are not finished, with the report of the others.
    """
    watcher, path = watcher or GenerationWatcher(), files.at_home(out)
    if plan.bank is not None:
        return _write_bank(plan.bank, path, watcher)
    if plan.model is None or plan.judge is None:
        raise UsageError("the plan names no model")
    work = WorkDirectory(path)
    generation = Generation(plan.spec, plan.shape, plan.people, plan.model, plan.judge, work, watcher)
    if not work.is_claimed:
        generation.check()
    with work.lock():
        work.claim(generation.compared())
        try:
            outcome = wait_for(generation.make)
        except (UsageError, RunDirectoryError):
            raise
        except AMemGymError as error:
            error.args = (go_on_with(str(error), path),)
            raise
        order = [cost.stage for cost in plan.estimate()]
        used = sorted(work.usage().items(), key=lambda e: order.index(e[0]) if e[0] in order else len(order))
        bill = tuple(priced(used, *plan.rates()))
        users = _Finished(work, plan.people, outcome.finished)
        digest = save_dataset(users, path) if outcome.finished else ""
        questions = len(users) * plan.shape.questions
    written, failures = path if outcome.finished else None, tuple(outcome.failures)
    report = GenerationReport(written, len(users), len(plan.people), questions, digest, failures, bill)
    raise_for_failures(report, path)
    return report


def generate_data(
    out: str | Path, config: str | None = None, *, watcher: GenerationWatcher | None = None, **settings: Any
) -> GenerationReport:
    """Make a data set by a language model, or from the scenario bank, and write it to `out`, a v1 JSON file.

    Args:
        out: the file; replies of a model and finished users are kept beside it, in `<out>.work`.
        config: `base`, `extra` or a file of settings.
        watcher: is told what happens.
        settings: any field of `Shape` (users, periods, seed, explicitness, …) and of `GenerationSpec` (source, model,
            judge_model, personas, language, repairs, …); they override the configuration.

    Raises:
        AMemGymError: one of `amemgym.errors`; RunFailed where users are not finished, with the report of the others.
    """
    return make_planned(plan_generation(config, **settings), out, watcher)


def is_begun(out: str | Path) -> bool:
    """Whether a generation was begun there, whose replies need not be paid for again."""
    return WorkDirectory(files.at_home(out)).is_claimed


def go_on_with(sentence: str, out: Path) -> str:
    """The sentence, and how to go on."""
    end = "" if sentence.endswith((".", "!", "?")) else "."
    if not WorkDirectory(out).is_claimed:  # from the bank, which keeps nothing of what it does not finish
        return f"{sentence}{end} Nothing is written; the same command again begins anew"
    return f"{sentence}{end} Every reply so far is kept in {WorkDirectory(out).path}; the same command again goes on"


def raise_for_failures(report: GenerationReport, out: Path) -> None:
    """Raise RunFailed where users are not finished."""
    if not report.failures:
        return
    more = f" (and {len(report.failures) - 1} more)" if len(report.failures) > 1 else ""
    where = f"{out} has the finished ones" if report.users else f"{out} is not written"
    counted = f"{report.users} of {report.wanted} users are finished, {where}"
    said = go_on_with(f"{counted}; not finished: {report.failures[0]}{more}", out)
    raise RunFailed(f"{said} and tries what failed afresh", report)


class _Finished:
    """The finished users, read one after another."""

    def __init__(self, work: WorkDirectory, people: Sequence[Persona], numbers: Sequence[int]) -> None:
        self._work = work
        self._people = people
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[Scenario]:
        for number in self._numbers:
            user = self._work.user(number, self._people[number])
            if user is not None:
                yield user


def _check_model(model: str | None, flag: str) -> None:
    """Raises UsageError or UnknownName where no language model goes by that name."""
    way = "the scenario bank needs no model: --source bank:base"
    if not model:
        raise UsageError(f"generation needs a language model: name one with {flag} openai:<name>; {way}")
    if model == "offline":
        raise UsageError(f"{flag} offline: generation needs a language model, which the offline model is not; {way}")
    check_model_name(model)


def _bank_plan(given: Settings, configuration: Settings, config: str | None) -> Plan:
    """The bank's set with what the query, the flags and the configuration say, the flags first."""
    useless, unused = (
        [name for name in settings.spec if name not in ("source", *LIMIT_SETTINGS)]
        for settings in (given, configuration)
    )
    if useless:
        flag = f"--{useless[0].replace('_', '-')}"
        raise UsageError(f"{flag} has no use with --source bank:…, which needs no model; leave one of them out")
    source = str(given.spec.get("source") or configuration.spec["source"])
    name, _, query = source.partition("?")
    said: Mapping[str, Any] = {**configuration.shape, **parse_query(query, source), **given.shape}
    bank = open_bank(f"{name}?{urlencode(said, safe='/:')}" if said else name)
    left = (f"{config}: not used with {name}: {', '.join(unused)}",) if unused else ()
    remarks = (*configuration.remarks, *left)
    return Plan(make_generation_spec({"source": source}), bank.shape, bank=bank, remarks=remarks)


def _write_bank(bank: Bank, path: Path, watcher: GenerationWatcher) -> GenerationReport:
    """Write the bank's users, one at a time. Raises RunDirectoryError where another file stands there."""
    work = WorkDirectory(path).path
    if work.exists():
        raise RunDirectoryError(f"{work} holds a generation by a language model; choose another --out")
    if path.is_dir():
        raise RunDirectoryError(f"{path} is a folder; give the file to write with --out, such as data.json")
    users = _Watched(bank, watcher)
    watcher.begins(path)
    watcher.planned(len(bank), 0)
    try:
        there = files.sha256(path.read_bytes()) if path.exists() else None
    except OSError as error:
        raise files.storage_error(error, path) from error
    if there is None:
        digest = save_dataset(users, path)
    elif there != (digest := users_sha256(users)):
        raise RunDirectoryError(f"{path} is there already and holds something else; choose another --out")
    return GenerationReport(path, len(bank), len(bank), len(bank) * bank.shape.questions, digest)


class _Watched:
    """Users, each of which the watcher is told of."""

    def __init__(self, users: Users, watcher: GenerationWatcher) -> None:
        self.name = users.name
        self._users = users
        self._watcher = watcher

    def __len__(self) -> int:
        return len(self._users)

    def __iter__(self) -> Iterator[Scenario]:
        for user in self._users:
            self._watcher.made(user.id)
            yield user
