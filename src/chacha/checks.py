"""The contract of a pool, as checks that you can run on a custom pool.

With pytest::

    @pytest.mark.parametrize("check", chacha.checks.all_checks(), ids=lambda c: c.__name__)
    def test_my_pool(check):
        check(MyPool)

Each check takes a function that returns an empty pool, and raises an AssertionError that says
what is wrong.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory

from chacha.config.config import Config
from chacha.data.example import Example
from chacha.data.text_parser import parse_line
from chacha.errors import BadExample, PoolError
from chacha.pools.base import Capabilities, LivePool, capabilities_of, copies, learn_many
from chacha.pools.native import NativePool
from chacha.sources.synthetic import SynthSource
from chacha.vw.model_file import read_vw_model

__all__ = ["all_checks"]

MakePool = Callable[[], LivePool]
Check = Callable[[MakePool], None]

PLAIN, CROSSED, DEEPER = Config(), Config(["ab"]), Config(["ab", "cd"])

METHODS = {"copies": ("copy", "undamp"), "exports": ("to_vw",), "imports": ("load_vw",)}
"""The methods that a pool with a capability has."""


def stream(n: int, seed: int = 1) -> list[Example]:
    """Return the first examples of a built-in stream."""
    return list(islice(SynthSource("interactions", seed=seed), n))


def _pool(make: MakePool, *configs: Config) -> LivePool:
    pool = make()
    for config in configs:
        pool.start(config)
    return pool


def _learn_all(pool: LivePool, examples: Sequence[Example], config: Config) -> list[float]:
    return [pool.learn(example)[config] for example in examples]


def check_starts_empty(make: MakePool) -> None:
    """A new pool has no live model and predicts nothing."""
    pool = make()
    assert not list(pool.live), "a new pool has live models"
    assert not pool.predict(stream(1)[0]), "an empty pool predicts"


def check_live_is_what_was_started(make: MakePool) -> None:
    """`live` and the keys of predictions are the started configurations."""
    pool = _pool(make, PLAIN, CROSSED)
    assert set(pool.live) == {PLAIN, CROSSED}
    assert set(pool.predict(stream(1)[0])) == {PLAIN, CROSSED}
    pool.stop(PLAIN)
    assert set(pool.live) == {CROSSED}, "a stopped configuration is still live"
    assert set(pool.learn(stream(1)[0])) == {CROSSED}


def check_start_twice_is_refused(make: MakePool) -> None:
    """A configuration is live at most once."""
    pool = _pool(make, PLAIN)
    try:
        pool.start(PLAIN)
    except PoolError:
        assert set(pool.live) == {PLAIN}
    else:
        raise AssertionError("starting a live configuration again was not refused")


def check_stop_idle_is_refused(make: MakePool) -> None:
    """Only a live configuration can be stopped."""
    try:
        _pool(make, PLAIN).stop(CROSSED)
    except PoolError:
        return
    raise AssertionError("stopping a configuration that is not live was not refused")


def check_predictions_are_finite(make: MakePool) -> None:
    """On finite input, every prediction is a finite float."""
    pool = _pool(make, PLAIN, CROSSED)
    for example in stream(200):
        for prediction in pool.learn(example).values():
            assert type(prediction) is float, f"a prediction is a {type(prediction)}"
            assert isfinite(prediction)


def check_predict_is_pure(make: MakePool) -> None:
    """Predicting, once or repeatedly, changes nothing."""
    examples = stream(120)
    expected, pool = _pool(make, PLAIN, CROSSED), _pool(make, PLAIN, CROSSED)
    for example in examples:
        first = dict(pool.predict(example))
        assert dict(pool.predict(example)) == first, "two predictions differ"
        pool.predict(examples[0])
        learned = dict(pool.learn(example))
        assert learned == dict(expected.learn(example)), "predicting changed a model"


def check_learn_returns_the_prediction_before(make: MakePool) -> None:
    """`learn` returns what `predict` would have returned just before."""
    pool = _pool(make, PLAIN, CROSSED)
    for example in stream(120):
        before = dict(pool.predict(example))
        assert dict(pool.learn(example)) == before


def check_weights_and_initial_predictions_are_taken(make: MakePool) -> None:
    """`learn` returns the prediction before, whatever the weight and the initial prediction."""
    pool = _pool(make, PLAIN, CROSSED)
    _learn_all(pool, stream(30), PLAIN)
    for line in ("1 1 0.5 |a 0:1", "2 2 -3 |b 0:1"):
        example = parse_line(line)
        before = dict(pool.predict(example))
        assert dict(pool.learn(example)) == before


def check_a_batch_is_learned_as_single_examples_are(make: MakePool) -> None:
    """`learn_many` returns what `learn` would for each example, and the models become the same."""
    pool, other = _pool(make, PLAIN, CROSSED), _pool(make, PLAIN, CROSSED)
    examples = stream(60)
    assert learn_many(pool, []) == [], "an empty batch has predictions"
    batches = [learn_many(pool, examples[start:end]) for start, end in ((0, 1), (1, 40), (40, 60))]
    predictions = [dict(each) for batch in batches for each in batch]
    assert predictions == [dict(other.learn(example)) for example in examples]
    assert dict(pool.predict(examples[0])) == dict(other.predict(examples[0]))


def check_a_batch_ends_at_a_bad_example(make: MakePool) -> None:
    """`learn_many` learns what comes before a bad example, gives its position, and stops."""
    pool, other = _pool(make, PLAIN), _pool(make, PLAIN)
    examples = stream(20)
    try:
        learn_many(pool, [*examples[:12], parse_line("|a 0:1"), *examples[12:]])
    except BadExample as error:
        message = " ".join([str(error), *getattr(error, "__notes__", ())])
        assert "13" in message, f"the position of a bad example, 13, is not in: {message}"
    else:
        raise AssertionError("a batch with an example without a label was not refused")
    _learn_all(other, examples[:12], PLAIN)
    for example in examples[12:]:
        assert dict(pool.learn(example)) == dict(other.learn(example)), (
            "a batch with a bad example did not leave just the examples before it learned"
        )


def check_label_is_not_seen_by_predict(make: MakePool) -> None:
    """The prediction does not depend on the label."""
    pool = _pool(make, CROSSED)
    for example in stream(60):
        other = example.with_label(example.label + 100.0 if example.label else 100.0)
        assert dict(pool.predict(example)) == dict(pool.predict(other))
        pool.learn(example)


def check_models_are_independent(make: MakePool) -> None:
    """A model learns the same alone and among others, in whatever order they started."""
    examples = stream(150)
    alone = _learn_all(_pool(make, CROSSED), examples, CROSSED)
    for configs in ([PLAIN, CROSSED, DEEPER], [DEEPER, CROSSED, PLAIN]):
        together = _learn_all(_pool(make, *configs), examples, CROSSED)
        assert together == alone, "other live models change what a model learns"


def check_stop_leaves_the_others_alone(make: MakePool) -> None:
    """Stopping and starting one model does not affect another."""
    examples = stream(150)
    alone = _learn_all(_pool(make, PLAIN), examples, PLAIN)
    pool, predictions = _pool(make, CROSSED, PLAIN), list[float]()
    for i, example in enumerate(examples):
        if i == 50:
            pool.stop(CROSSED)
        if i == 70:
            pool.start(DEEPER)
        predictions.append(pool.learn(example)[PLAIN])
    assert predictions == alone


def check_restart_is_from_scratch(make: MakePool) -> None:
    """A configuration that is stopped and started again begins with an empty model."""
    examples = stream(160)
    pool = _pool(make, CROSSED, PLAIN)
    for example in examples[:60]:
        pool.learn(example)
    pool.stop(CROSSED)
    pool.start(CROSSED)
    again = _learn_all(pool, examples[60:], CROSSED)
    assert again == _learn_all(_pool(make, CROSSED), examples[60:], CROSSED)


def check_same_input_same_output(make: MakePool) -> None:
    """Two pools with the same input give the same output."""
    examples = stream(120)
    assert _learn_all(_pool(make, DEEPER), examples, DEEPER) == _learn_all(
        _pool(make, DEEPER), examples, DEEPER
    )


def check_fresh_is_empty(make: MakePool) -> None:
    """`fresh` returns an empty pool that shares nothing."""
    pool = _pool(make, PLAIN)
    for example in stream(30):
        pool.learn(example)
    fresh = pool.fresh()
    assert not list(fresh.live)
    fresh.start(PLAIN)
    assert _learn_all(fresh, stream(30), PLAIN) == _learn_all(_pool(make, PLAIN), stream(30), PLAIN)


def check_unlabelled_is_refused(make: MakePool) -> None:
    """Learning without a label is refused and changes nothing."""
    pool, other = _pool(make, PLAIN), _pool(make, PLAIN)
    for example in stream(20):
        pool.learn(example)
        other.learn(example)
    try:
        pool.learn(parse_line("|a 0:1"))
    except BadExample:
        pass
    else:
        raise AssertionError("learning without a label was not refused")
    assert _learn_all(pool, stream(40, seed=2), PLAIN) == _learn_all(
        other, stream(40, seed=2), PLAIN
    )


def check_weight_zero_teaches_nothing(make: MakePool) -> None:
    """An example with importance weight 0 is predicted, but not learned."""
    pool, other = _pool(make, PLAIN), _pool(make, PLAIN)
    for example in stream(40):
        pool.learn(example)
        pool.learn(example.with_label(example.label or 0.0, weight=0.0))
        other.learn(example)
    example = stream(1, seed=3)[0]
    assert dict(pool.predict(example)) == dict(other.predict(example))


def check_survives_odd_examples(make: MakePool) -> None:
    """Predictions stay finite without features, with new or reordered groups, at any scale."""
    pool = _pool(make, PLAIN, CROSSED, DEEPER)
    for line in (
        "1 |",
        "1 |a 0:1 |b 0:2",
        "2 |b 0:2 |a 0:1",
        "0 |z new",
        "1 |a |b 0:1",
        "-1 |a 0:1e30 |b 0:1e-30",
        "1 0.5 'tag|user x |usher y",
    ):
        for prediction in pool.learn(parse_line(line)).values():
            assert isfinite(prediction), f"{line!r} gave {prediction}"


def check_learns(make: MakePool) -> None:
    """The model with the right product becomes clearly better than the one without."""
    pool = _pool(make, PLAIN, CROSSED)
    late = {PLAIN: 0.0, CROSSED: 0.0}
    examples = stream(800)
    for i, example in enumerate(examples):
        for config, prediction in pool.learn(example).items():
            if i >= 500 and example.label is not None:
                late[config] += abs(prediction - example.label)
    assert late[CROSSED] < 0.8 * late[PLAIN], f"losses {late}"


def check_capabilities_are_those_declared(make: MakePool) -> None:
    """A pool has the methods of the capabilities that it declares, and `fresh` has the same."""
    pool = make()
    name, capabilities = type(pool).__name__, capabilities_of(pool)
    for capability, methods in METHODS.items():
        missing = [method for method in methods if not callable(getattr(pool, method, None))]
        if getattr(capabilities, capability):
            assert not missing, (
                f"{name} declares {capability} and has no {' and no '.join(missing)}"
            )
        elif not hasattr(pool, "capabilities"):
            assert missing, (
                f"{name} has {' and '.join(methods)}, which are not used: it has no capabilities; "
                f"add the property with Capabilities({capability}=True)"
            )
    if not hasattr(pool, "capabilities"):
        assert not getattr(pool, "derives", False), (
            f"{name}.derives is not used; add the property capabilities with "
            "Capabilities(derives=True)"
        )
    assert not capabilities.engine or isinstance(pool, NativePool), (
        f"{name} declares engine and is no NativePool: the engine cannot run its models"
    )
    assert capabilities_of(pool.fresh()) == capabilities, "fresh() has other capabilities"


def check_model_files_hold_the_model(make: MakePool) -> None:
    """If a pool exports or imports: a VW model file gives another pool the same predictions."""
    capabilities: Capabilities = capabilities_of(make())
    ways: list[tuple[MakePool, MakePool]] = [(make, NativePool)] * capabilities.exports
    ways += [(NativePool, make)] * capabilities.imports
    for make_source, make_other in ways:
        source, other = _pool(make_source, CROSSED), _pool(make_other, CROSSED)
        _learn_all(source, stream(60), CROSSED)
        with TemporaryDirectory(prefix="chacha-") as folder:
            path = Path(folder, "model.vw")
            source.to_vw(CROSSED, path)  # type: ignore[attr-defined]
            other.load_vw(CROSSED, read_vw_model(path))  # type: ignore[attr-defined]
        later = stream(40, seed=2)
        assert _learn_all(other, later, CROSSED) == _learn_all(source, later, CROSSED), (
            "a model does not continue from a VW model file as the model that was written does"
        )


def check_a_copy_goes_on_from_its_source(make: MakePool) -> None:
    """If a pool copies: a copy predicts as its source, learns by itself, and does not affect it."""
    pool, alone = _pool(make, PLAIN), _pool(make, PLAIN)
    if not copies(pool):
        return
    before, after = stream(60)[:30], stream(60)[30:]
    _learn_all(pool, before, PLAIN)
    _learn_all(alone, before, PLAIN)
    pool.copy(PLAIN, CROSSED, 0.1)
    first = pool.predict(after[0])
    assert first[CROSSED] == first[PLAIN], "a copy does not predict as its source does"
    learned = [pool.learn(example) for example in after]
    assert [p[PLAIN] for p in learned] == _learn_all(alone, after, PLAIN), "the source was changed"
    assert any(p[CROSSED] != p[PLAIN] for p in learned), "the copy does not learn its product"
    pool.undamp(CROSSED)
    pool.stop(PLAIN)
    assert list(pool.live) == [CROSSED]
    for source, config in ((PLAIN, DEEPER), (CROSSED, CROSSED)):
        try:
            pool.copy(source, config, 0.0)
        except PoolError:
            continue
        raise AssertionError(f"{source} was copied to {config}")


def check_derived_groups_are_for_those_that_have_them(make: MakePool) -> None:
    """If a pool derives: a model uses the derived groups of its configuration and no others."""
    coded = Config(derived=["onehot(a)"])
    crossed = Config([("b", "onehot(a)")], {}, ["onehot(a)"])
    if not capabilities_of(make()).derives:
        return
    pool, plain = _pool(make, PLAIN, coded, crossed), _pool(make, PLAIN)
    late = {PLAIN: 0.0, coded: 0.0, crossed: 0.0}
    for i in range(300):
        k, b = i % 5, 1 + i * 7 % 3
        example = parse_line(f"{b * (k in (1, 3))} |a x:{k} |b y:{b}")
        groups = parse_line(f"|onehot(a) x={k} |log(a) noise{i}").groups
        complete = replace(example, derived=groups)
        before = dict(pool.predict(complete))
        learned = pool.learn(complete)
        assert dict(learned) == before
        assert learned[PLAIN] == plain.learn(example)[PLAIN], "a model used a group it lacks"
        for config, prediction in learned.items():
            late[config] += abs(prediction - (example.label or 0.0)) * (i >= 200)
    assert late[coded] < 0.8 * late[PLAIN], f"a derived group was not used: {late}"
    assert late[crossed] < 0.8 * late[coded], f"a derived group's product was not used: {late}"


def check_dropped_pool_is_freed(make: MakePool) -> None:
    """A pool without references is freed."""
    pool = _pool(make, PLAIN, CROSSED)
    for example in stream(20):
        pool.learn(example)
    pool.stop(CROSSED)
    try:
        reference = weakref.ref(pool)
    except TypeError:
        return
    del pool
    gc.collect()
    assert reference() is None, "the pool is still referenced from somewhere"


def all_checks() -> list[Check]:
    """Return every check, in the order of this file.

    >>> from chacha import ReferencePool
    >>> for check in all_checks()[:3]:
    ...     check(ReferencePool)
    """
    return [value for name, value in globals().items() if name.startswith("check_")]
