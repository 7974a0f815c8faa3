"""The JSON file next to a VW model file that says how its stream is written for VW.

It describes derived groups, centred columns, and the labels that the model learned. Past values are
written as the shortest text that reads back as the same float32, other numbers as the shortest that
reads back as the same double.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from chacha.config.config import Config, Product, show_product
from chacha.config.derived_groups import LABEL, check_derived_name, derived
from chacha.data.label_map import LabelMap
from chacha.errors import ConfigError, fail
from chacha.features.centring import Centre, ColumnKey
from chacha.features.derivation import Recipe
from chacha.features.formulas import Basis
from chacha.vw.model_file import BITS, read_vw_options
from chacha.vw.options import LETTERS, PRODUCTS, is_float32
from chacha.vw.relabel import changes_labels, raw_label_options

__all__ = ["FeatureFile", "belongs_to", "derived_in", "digest", "features_path"]

VERSION = 3
SINGLE = 2  # knots and values were single precision
OLDEST = 1  # without centres and labels, which were learned as they are
FILE_KIND = "derived groups of a VW model"


def features_path(path: str | os.PathLike[str]) -> str:
    """Return the path of the feature file that belongs to a model file.

    >>> features_path("champion.vw")
    'champion.vw.features.json'
    """
    return f"{os.fspath(path)}.features.json"


def digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 digest of a file."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        fail(name, f"cannot be read: {error.strerror}", error)


@dataclass(frozen=True)
class FeatureFile:
    """A configuration, its derived groups, the names of others, and the model file's digest.

    `centres` are those of numeric columns, by group and hash. `label_map` says how the
    configuration learned labels; None: as they are. The model file is for the labels as they are.
    Groups of the label are made of what labels are beyond `label_origin`, if there is one.
    `label_range` is that of predictions, if it is known.

    >>> import tempfile
    >>> bins = Recipe(derived("bins(temp,3)"), {7: Basis("c", [1.0, 25.0, 50.0])})
    >>> config = Config(derived=["bins(temp,3)"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     FeatureFile(config, {"bins(temp,3)": bins}).write(f"{folder}/model.vw.features.json")
    ...     FeatureFile.read(f"{folder}/model.vw.features.json").recipes["bins(temp,3)"] == bins
    True
    """

    config: Config
    recipes: Mapping[str, Recipe]
    excluded: Sequence[str] = ()
    model: str = ""
    centres: Mapping[ColumnKey, Centre] = field(default_factory=dict)
    label_map: LabelMap | None = None
    label_origin: float | None = None
    label_range: tuple[float, float] | None = None

    def write(self, path: str) -> None:
        """Write the file, completely or not at all."""
        data = {
            "chacha": FILE_KIND,
            "version": VERSION,
            "model": self.model,
            "config": self.config.to_json(),
            "labels": None if self.label_map is None else self.label_map._asdict(),
            "label_origin": self.label_origin,
            "label_range": self.label_range,
            "apart": list(self.excluded),
        }
        recipes = {name: _recipe_json(self.recipes[name]) for name in sorted(self.recipes)}
        groups = [f"{json.dumps(name)}: {json.dumps(recipe)}" for name, recipe in recipes.items()]
        lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in data.items()]
        centres = [
            json.dumps({"group": group, "hash": hashed, **_centre_json(centre)})
            for (group, hashed), centre in sorted(self.centres.items())
        ]
        lines.append('"centres": [\n  ' + ",\n  ".join(centres) + "]")
        lines.append('"groups": {\n  ' + ",\n  ".join(groups) + "}")
        temporary = Path(f"{path}.writing")
        try:
            temporary.write_text("{" + ",\n ".join(lines) + "}\n", encoding="utf-8")
            temporary.replace(path)
        except OSError as error:
            fail(path, f"cannot be written: {error.strerror}", error)

    @classmethod
    def read(cls, path: str) -> FeatureFile:
        """Read a file of :meth:`write`, or raise an error that says what is wrong with it."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            fail(path, f"cannot be read: {error.strerror}", error)
        except (ValueError, RecursionError) as error:
            fail(path, f"it is no JSON, cut or damaged: {error}", error)
        if not isinstance(data, dict) or data.get("chacha") != FILE_KIND:
            fail(path, "chacha did not write it: it does not describe derived groups")
        if (version := data.get("version")) not in (OLDEST, SINGLE, VERSION):
            remedy = "read it with the chacha version that wrote it, or write the model again"
            known = f"only {OLDEST} to {VERSION} are read here"
            fail(path, f"it has version {version!r}, but {known}; {remedy}")
        if version == OLDEST:
            data = {"centres": [], "labels": None, **data}
        try:
            config = Config.from_json(data["config"])
            single = version <= SINGLE
            recipes = {name: _recipe(name, g, single) for name, g in data["groups"].items()}
            excluded, model = tuple(map(str, data["apart"])), str(data["model"])
            if lacking := [name for name in config.derived if name not in recipes]:
                raise ValueError(f"{lacking[0]} is missing")
            centres, label_map = _centres(data["centres"]), _label_map(data["labels"])
            origin = data.get("label_origin")  # older files have neither
            origin = None if origin is None else _double(origin, "the origin of labels")
            label_range = _label_range(data.get("label_range"))
        except (KeyError, TypeError, ValueError, AttributeError, ConfigError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            fail(path, f"it is damaged: {reason}", error)
        return cls(config, recipes, excluded, model, centres, label_map, origin, label_range)


def _short(value: float) -> float:
    return float(str(np.float32(value)))


def _recipe_json(recipe: Recipe) -> dict[str, Any]:
    """Return a derived group as JSON data."""
    columns: list[dict[str, Any]] = []
    for hashed, basis in recipe.bases.items():
        numbers = {"at": [*basis.at], "past": [*map(_short, basis.past)]}
        not_empty = {key: value for key, value in numbers.items() if value}
        columns.append({"name": basis.name, "hash": hashed, **not_empty})
    return {"clock": recipe.clock, "columns": columns}


def _recipe(name: str, data: Mapping[str, Any], single: bool) -> Recipe:
    """Return the derived group that JSON data describes."""
    group = derived(check_derived_name(name))
    assert group is not None
    recipe = Recipe(group, clock=_whole(data["clock"], f"the clock of {name}"))
    for column in data["columns"]:
        hashed = _whole(column["hash"], f"a hash of {name}")
        if hashed > 0xFFFFFFFF or hashed in recipe.bases:
            raise ValueError(f"the hash {hashed} of {name} is too large, or occurs twice")
        at, past = column.get("at", ()), _singles(column.get("past", ()), name)
        at = _singles(at, name) if single else [_double(x, f"a number of {name}") for x in at]
        recipe.bases[hashed] = basis = Basis(str(column["name"]), at, past)
        if not recipe.formula.is_valid(group.parameter, basis):
            raise ValueError(f"the numbers of {group} are not valid for such a group")
    if recipe.of_label and {h: b.name for h, b in recipe.bases.items()} != {0: LABEL}:
        raise ValueError(f"{name} must have the label as its only column")
    return recipe


def _centre_json(centre: Centre) -> dict[str, float | None]:
    """Return a centre as JSON data, which has no infinite numbers."""
    inverse = None if centre.inverse == math.inf else centre.inverse
    return {"centre": centre.centre, "inverse": inverse}


def _centres(data: Any) -> dict[ColumnKey, Centre]:
    """Return the centres that JSON data describes."""
    centres: dict[ColumnKey, Centre] = {}
    for column in data:
        group, hashed = str(column["group"]), _whole(column["hash"], "the hash of a column")
        inverse = column["inverse"]
        inverse = math.inf if inverse is None else _double(inverse, "an inverse")
        centre = Centre(_double(column["centre"], "a centre"), inverse)
        if hashed > 0xFFFFFFFF or (group, hashed) in centres:
            raise ValueError(f"the hash {hashed} of {group} is too large, or occurs twice")
        if not centre.inverse >= 0.0:
            raise ValueError(f"the inverse of a column of {group} must not be negative")
        centres[group, hashed] = centre
    return centres


def _label_map(data: Any) -> LabelMap | None:
    """Return the label map that JSON data describes."""
    if data is None:
        return None
    shift, scale = (_double(data[key], f"the {key}") for key in ("shift", "scale"))
    label_map = LabelMap(shift, scale)
    if data.get("logarithm", False) is True:
        low, unit = (_double(data[key], f"the {key}") for key in ("low", "unit"))
        label_map = LabelMap(shift, scale, True, low, unit)
    if label_map.scale < 0.0 or not label_map.unit > 0.0:
        raise ValueError("the scale of the labels must not be negative")
    return label_map


def _label_range(data: Any) -> tuple[float, float] | None:
    """Return the label range that JSON data describes."""
    if data is None:
        return None
    low, high = (_double(y, "an end of the label range") for y in data)
    if not low <= high:
        raise ValueError(f"the label range ends at {high:g}, before it begins at {low:g}")
    return low, high


def _double(value: Any, what: str) -> float:
    if type(value) is int and abs(value) < 1 << 53:
        return float(value)
    if type(value) is not float or not math.isfinite(value):
        raise ValueError(f"{what} is {value!r:.40}, not a finite number")
    return value


def _whole(value: Any, what: str) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{what} is {value!r:.40}, not a whole number of at least 0")
    return value


def _singles(values: Any, name: str) -> list[float]:
    if not all(map(is_float32, values)):
        raise ValueError(f"{name} has a value that is not a float32 number")
    return [float(np.float32(value)) for value in values]


def derived_in(config: Config) -> list[str]:
    """Return the derived groups that occur in the products of a configuration.

    >>> derived_in(Config([("bins(temp,16)", "hour"), "ab"]))
    ['bins(temp,16)']
    """
    return sorted({name for names in config.interactions for name in names if derived(name)})


def belongs_to(model: str, file: FeatureFile, path: str) -> None:
    """Raise an error unless a feature file has the products and options of the model file."""
    bits, options = read_vw_options(model)
    products = {
        tuple(sorted(word.split("|") if key == PRODUCTS else word))
        for key, words in options
        for word in words
        if key == PRODUCTS or key in LETTERS
    }
    config, remedy = file.config, "write both again (--to-vw, ChaCha.to_vw)"
    if file.label_map is not None and changes_labels(file.label_map):
        config = raw_label_options(path, config, file.label_map)
    problem = f"it belongs to another model than {model}"
    if products != set(config.interactions):
        here, there = (_shown(p) for p in (config.interactions, sorted(products)))
        fail(path, f"{problem}: its products are {here}, those of the model {there}; {remedy}")
    values = {"bit_precision": BITS, **config.values}
    constant = not any(key == "noconstant" for key, _ in options)
    if constant != (not values.get("noconstant")):
        fail(path, f"{problem}: only one of them has noconstant; {remedy}")
    for key, words in [("bit_precision", [str(bits)]), *options]:
        if key in values and words and not _same(values[key], words[0]):
            here, there = f"{key} is {values[key]} in it", f"{words[0]} in the model"
            fail(path, f"{problem}: {here} and {there}; {remedy}")


def _shown(products: Sequence[Product]) -> str:
    return ", ".join(map(show_product, products)) or "none"


def _same(value: Any, text: str) -> bool:
    """Return whether a value equals the text in which VW saved it."""
    if isinstance(value, str):
        return value == text
    try:
        return bool(np.float32(value) == np.float32(float(text)))
    except ValueError:
        return False
