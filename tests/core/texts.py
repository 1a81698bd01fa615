"""What Hypothesis trains and encodes in the tests of the engine: small texts with many ties, overlaps and edges."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from tokstudio.core.model.algorithms import OWN_SETTINGS, TIE_BREAKS, algorithm_of
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.pretokenization.custom_regex import without_newer

# For tests that do each example over again, slowly.
few_examples = settings(max_examples=20)

_alphabets = st.sampled_from(["a", "ab", "abc", "abcdefgh", "aé😀", " \n\t", "日本本", "\0\x01"])
_short = _alphabets.flatmap(lambda alphabet: st.text(alphabet, max_size=40)).map(str.encode)
_repeated = st.tuples(_short, st.integers(0, 8), _short).map(lambda part: part[0][:7] * part[1] + part[2][:5])
_runs = st.tuples(st.sampled_from([b"a", b"\0", b"\xff"]), st.integers(0, 70)).map(lambda part: part[0] * part[1])


def _is_known(data: bytes) -> bool:
    """Whether the `regex` library, with which the slow reference splits, has no newer Unicode for any character."""
    text = data.decode("utf-8", "replace")
    return without_newer(text) == text


document = st.one_of(_short, _repeated, _runs, st.binary(max_size=30).filter(_is_known))
documents = st.lists(document, max_size=8)

limits = st.one_of(
    st.builds(lambda size: {"vocabulary_size": size}, st.integers(257, 330)),
    st.builds(lambda frequency: {"min_frequency": frequency}, st.integers(2, 5)),
    st.builds(
        lambda size, frequency: {"vocabulary_size": size, "min_frequency": frequency},
        st.integers(257, 280),
        st.integers(2, 4),
    ),
)
settings_of_runs = st.builds(
    lambda limit, rule, longest: {**limit, "tie_break": rule, "max_token_bytes": longest},
    limits,
    st.sampled_from(TIE_BREAKS),
    st.one_of(st.none(), st.integers(2, 5)),
)


def zipf_text(words: int, distinct: int) -> str:
    """Text with Zipf's spread of words, as languages have, most of which are rare."""
    random = np.random.default_rng(3)
    ends = np.cumsum(random.integers(1, 9, distinct)).tolist()
    letters = "".join(map("etaoinshrdlu".__getitem__, random.integers(0, 12, ends[-1]).tolist()))
    vocabulary = [letters[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    ranks = np.minimum(random.zipf(1.3, words) - 1, distinct - 1)
    return " ".join(map(vocabulary.__getitem__, ranks.tolist()))


def config_by_name(algorithm: str, **settings: Any) -> TrainingConfig:
    """A configuration with an algorithm by its name; the settings that only this has may stand among the others."""
    own = {name: settings.pop(name) for name in OWN_SETTINGS if name in settings}
    return TrainingConfig(algorithm=algorithm_of(algorithm, own), **settings)
