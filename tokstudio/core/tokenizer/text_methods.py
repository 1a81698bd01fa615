"""What every tokenizer does with texts, in terms of the little that each does in its own way."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Work, finish
from tokstudio.core.pretokenization.special_tokens import AllowedSpecial
from tokstudio.core.text.utf8 import Text
from tokstudio.core.tokenizer.batch import Batch, encode_each, encode_texts, padding_id


class TextMethods(ABC):
    """Encodes and decodes texts."""

    @property
    @abstractmethod
    def special_tokens(self) -> Mapping[str, int]:
        """Each special token's text with its id."""

    @property
    @abstractmethod
    def roles(self) -> Mapping[str, str]:
        """The special tokens that were given a role, by role."""

    @abstractmethod
    def encode_work(
        self, text: Text, allowed_special: AllowedSpecial = (), threads: int | None = None
    ) -> Work[NDArray[np.uint32]]:
        """Does the same as `encode_array` in bounded pieces."""

    @abstractmethod
    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of ids; raises the same as `decode`."""

    def encode(self, text: Text, allowed_special: AllowedSpecial = ()) -> list[int]:
        """The ids of a text, or of arbitrary bytes.

        Args:
            text: The text.
            allowed_special: The special tokens to recognise: "all", or their texts. Others are treated as text.

        Raises:
            ConfigError: A special token is unknown, or a character is not in the vocabulary.
        """
        return self.encode_array(text, allowed_special).tolist()

    def encode_array(
        self, text: Text, allowed_special: AllowedSpecial = (), threads: int | None = None
    ) -> NDArray[np.uint32]:
        """The ids of a text as uint32 [tokens]; like `encode`.

        From 4 MiB on, text that a named pattern splits is encoded in at most so many `threads`; None is one per core.
        """
        return finish(self.encode_work(text, allowed_special, threads))

    def encode_batch(
        self, texts: Iterable[Text], padding: bool | int = False, allowed_special: AllowedSpecial = ()
    ) -> Batch:
        """The ids of several texts.

        Args:
            texts: The texts.
            padding: Whether to pad all of them to the longest, with the padding token if there is one; or the id to pad
                with.
            allowed_special: As for `encode`.
        """
        role = self.roles.get("pad_token")
        filler = padding_id(self.special_tokens) if role is None else self.special_tokens[role]
        return encode_texts(lambda text: self.encode(text, allowed_special), texts, padding, filler)

    def encode_iterable(self, texts: Iterable[Text], allowed_special: AllowedSpecial = ()) -> Iterator[int]:
        """Yields the ids of one text after another; holds one text at a time, such as a line of an open file."""
        return encode_each(lambda text: self.encode(text, allowed_special), texts)

    def decode(self, ids: Iterable[int], errors: str = "replace") -> str:
        """The text of ids; invalid UTF-8 becomes U+FFFD unless `errors` says otherwise (see `bytes.decode`).

        Raises:
            ConfigError: An id is not in the vocabulary; the message names it.
        """
        return self.decode_bytes(ids).decode("utf-8", errors)
