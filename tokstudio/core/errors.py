"""The few exceptions the core raises; each message says what happened, to what, and what to do."""

# SPDX-License-Identifier: MIT


class TokStudioError(Exception):
    """Anything a person can act on; its text is one sentence fit to be shown."""


class ConfigError(TokStudioError, ValueError):
    """A setting or an argument that cannot work."""


class CorpusError(TokStudioError):
    """A source that cannot be read, or a corpus that cannot be trained on."""


class FormatError(TokStudioError):
    """A tokenizer file that is damaged, not what its name says, or unable to hold what it is given."""
