"""How text is split, and what replaces that: each rule with a file that has the fault, and one that nearly has it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from base64 import b64encode

import pytest
import tokenizers
import transformers

from tests.core.lint.made import GPT2, added, content, folder, found, message, split
from tokstudio.core.formats.common.spelling import written_regex
from tokstudio.core.lint.lint import lint
from tokstudio.core.lint.patterns import all_characters
from tokstudio.core.tokenizer.tokenizer import Tokenizer

O200K, QWEN2, CL100K = map(written_regex, ("o200k", "qwen2", "cl100k"))
# It finds only the places where groups of three digits begin, and takes no character.
GROUPS = r"(?=(\d{3})+(?!\d))"


def with_split(*arguments, **parts):
    return content(pre_tokenizer=split(*arguments), **parts)


class TestLiteral:
    @pytest.mark.parametrize("pattern", [GPT2, r"\p{N}{1,3}", r"(?i:'s|'t)| ?\p{L}+", r"[^\r\n]+"])
    def test_an_expression_that_is_written_as_a_string_is_an_error(self, tmp_path, pattern):
        [finding] = found(folder(tmp_path, with_split(pattern, "String")), "pattern-is-literal")
        assert finding.level == "error"
        assert finding.example == pattern
        assert "pre-tokenizer" in finding.message

    @pytest.mark.parametrize("text", [" ", "▁", "[SEP]", "a+b", "C:\\Users", "(?)", "<|x|>"])
    def test_a_text_at_which_is_split_is_none(self, tmp_path, text):
        assert not found(folder(tmp_path, with_split(text, "String")), "pattern-is-literal")

    def test_a_normalizer_has_patterns_too(self, tmp_path):
        replacing = {"type": "Replace", "pattern": {"String": r"\s+"}, "content": " "}
        assert "normalizer" in message(folder(tmp_path, content(normalizer=replacing)), "pattern-is-literal")


class TestNeverMatching:
    @pytest.mark.parametrize("pattern", [r"\\p\{L\}+", r"(?!)", "qzxqzxqzx"])
    def test_a_pattern_that_finds_nothing_is_an_error(self, tmp_path, pattern):
        [finding] = found(folder(tmp_path, with_split(pattern)), "pattern-never-matches")
        assert (finding.level, finding.example) == ("error", pattern)

    @pytest.mark.parametrize("pattern", [r"[\s\S]+", GPT2, "[\u1a20-\u1aad]+", "\u2e9b", "\U0001f9ff", GROUPS])
    def test_one_that_finds_all_or_a_single_rare_character_is_none(self, tmp_path, pattern):
        assert not found(folder(tmp_path, with_split(pattern)), "pattern-never-matches")

    def test_texts_can_have_what_it_finds(self, tmp_path):
        place = folder(tmp_path, with_split("qzxqzxqzx"))
        assert not found(place, "pattern-never-matches", {"mine": "a qzxqzxqzx b"})

    def test_all_characters_are_looked_at_but_those_of_large_blocks(self):
        characters = set(all_characters())
        assert set(map(chr, range(0x20, 0x7F))) <= characters
        assert {"ß", "ɐ", "ก", "\u0301", "😀", "一"} <= characters
        assert not {chr(0xD800), "\ue000", "丁"} & characters


class TestLosing:
    def test_text_that_splitting_drops_is_told(self, tmp_path):
        place = folder(tmp_path, with_split(r"\p{L}+", "Regex", "Removed", True))
        assert '"."' in message(place, "pattern-loses-text")

    def test_dropped_white_space_is_not(self, tmp_path):
        place = folder(tmp_path, with_split(r"\s+", "Regex", "Removed"))
        assert not found(place, "pattern-loses-text")


class TestMarks:
    def test_scripts_are_named_the_worst_first(self, tmp_path):
        # In Devanagari two of three letters are cut, in Latin script the only one, in Thai none of two.
        pattern = r"[ก-๛]+|[\p{L}]+|\p{M}+|\s+"
        text = "कि की क ที่ที่ e\u0301"
        said = message(folder(tmp_path, with_split(pattern)), "pattern-cuts-marks", {"text": text})
        assert said.split(": ")[1] == "Latin 100.0\u00a0%, Devanagari 66.7\u00a0%."

    def test_texts_are_named_where_there_are_several(self, tmp_path):
        texts = {"German": "a\u0308pfel", "Hindi": "कि की", "English": "apple"}
        said = message(folder(tmp_path), "pattern-cuts-marks", texts)
        assert "Hindi 100.0\u00a0%, German 20.0\u00a0%" in said
        assert "English" not in said

    def test_the_share_is_that_of_letters_with_marks(self, tmp_path):
        # Cut where the mark is an accent, but not where it is a dot below.
        pattern = "(?:\\p{L}|\u0323)+|\u0301+|\\s+"
        text = "a\u0323 e\u0323 o\u0323 e\u0301"
        assert "cuts combining marks off 25.0\u00a0% of" in message(
            folder(tmp_path, with_split(pattern)), "pattern-cuts-marks", {"text": text}
        )

    def test_the_pattern_of_gpt4o_keeps_marks(self, tmp_path):
        assert not found(folder(tmp_path, with_split(O200K)), "pattern-cuts-marks", {"text": "कि की ที่ e\u0301"})

    def test_the_example_is_a_word_in_its_pre_tokens(self, tmp_path):
        [finding] = found(folder(tmp_path), "pattern-cuts-marks", {"text": "one cafe\u0301 two"})
        assert finding.example == "cafe\u0301"
        assert finding.pieces == ("cafe", "\u0301")


class TestDigits:
    @pytest.mark.parametrize(("pattern", "pieces"), [(CL100K, ("123", "456", "7")), (r"\d{1,2}|\D", None)])
    def test_groups_from_the_left_are_told(self, tmp_path, pattern, pieces):
        [finding] = found(folder(tmp_path, with_split(pattern)), "digits-from-the-left")
        assert finding.pieces == (pieces or ("12", "34", "56", "7"))

    @pytest.mark.parametrize(
        "pattern",
        [GPT2, QWEN2, r"\d{1,3}(?=(?:\d{3})*(?!\d))|\p{N}{1,3}|[^\d]+"],
        ids=["whole", "single", "from the right"],
    )
    def test_whole_numbers_single_digits_and_groups_from_the_right_are_not(self, tmp_path, pattern):
        assert not found(folder(tmp_path, with_split(pattern)), "digits-from-the-left")


DIGITS = ("t h", "th e", "1 2", "12 3")


class TestClass:
    @pytest.mark.parametrize(
        ("tokenizer", "config", "example", "pieces"),
        [
            (content(DIGITS), {"tokenizer_class": "Qwen2Tokenizer"}, "12345 people",
             ("1", "2", "3", "4", "5", " people")),
            (content(), {"tokenizer_class": "GPTNeoXTokenizer"}, "e\u0301a", None),
            (content(["Ġ 1"]), {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True},
             "e\u0301a", None),
            (content(vocabulary=["it's"], model={"ignore_merges": True}, pre_tokenizer=split(r"\S+|\s+")),
             {"tokenizer_class": "GPT2Tokenizer"}, "it's 2024", None),
            # A pattern of characters is encoded by the library.
            (content(DIGITS, pre_tokenizer=split("123", "String")), {"tokenizer_class": "Qwen2Tokenizer"},
             "12345 people", None),
        ],
    )  # fmt: skip
    def test_a_class_that_gives_other_ids_is_a_danger_with_a_text_that_shows_it(
        self, tmp_path, tokenizer, config, example, pieces
    ):
        place = folder(tmp_path, tokenizer, config=config)
        [finding] = found(place, "class-changes-ids")
        assert finding.level == "danger"
        assert config["tokenizer_class"] in finding.message
        assert finding.example == example
        assert pieces in (None, finding.pieces)
        assert not found(place, "class-splits-otherwise")
        library = tokenizers.Tokenizer.from_file(str(place / "tokenizer.json"))
        theirs = transformers.AutoTokenizer.from_pretrained(str(place))
        assert theirs(example).input_ids != library.encode(example).ids

    def test_a_class_that_splits_otherwise_and_gives_the_same_ids_is_a_remark(self, tmp_path):
        place = folder(tmp_path, content(normalizer={"type": "NFC"}), config={"tokenizer_class": "Qwen2Tokenizer"})
        [finding] = found(place, "class-splits-otherwise")
        assert finding.level == "remark"
        assert "Qwen2Tokenizer" in finding.message
        assert (finding.example, finding.pieces) == ("12345 people", ("1", "2", "3", "4", "5", " people"))
        assert not found(place, "class-changes-ids")

    def test_also_where_only_the_model_names_it(self, tmp_path):
        assert "config.json" in message(folder(tmp_path, model={"model_type": "qwen2"}), "class-changes-ids")

    @pytest.mark.parametrize("name", ["GPT2Tokenizer", "PreTrainedTokenizerFast", "LlamaTokenizer", "MyTokenizer"])
    def test_a_class_that_splits_alike_or_takes_the_file_whole_is_not(self, tmp_path, name):
        place = folder(tmp_path, content(DIGITS), config={"tokenizer_class": name})
        assert not found(place, "class-splits-otherwise") + found(place, "class-changes-ids")


class TestOrdinaryRole:
    def test_a_role_of_an_ordinary_token_is_an_error(self, tmp_path):
        [finding] = found(folder(tmp_path, config={"foo_token": "the"}), "role-of-ordinary-token")
        assert finding.level == "error"
        assert "foo_token" in finding.message
        assert "257" in finding.message

    def test_also_in_the_map_of_roles_and_for_a_base_token(self, tmp_path):
        assert "pad_token" in message(folder(tmp_path, roles={"pad_token": "!"}), "role-of-ordinary-token")

    def test_the_map_does_not_count_beside_a_list_of_added_tokens(self, tmp_path):
        place = folder(tmp_path, config={"added_tokens_decoder": {}}, roles={"pad_token": "!"})
        assert not found(place, "role-of-ordinary-token")

    def test_a_role_of_an_added_token_or_of_one_that_looks_special_is_none(self, tmp_path):
        tokenizer = content(specials=[added("the end", 259), added("stop", 260)], vocabulary=["<pad>"])
        config = {"eos_token": "the end", "pad_token": "<pad>", "add_bos_token": True, "foo_token": "stop"}
        assert not found(folder(tmp_path, tokenizer, config=config), "role-of-ordinary-token")


def test_files_without_a_pattern_are_told_of_and_not_judged_by_one(tmp_path):
    lines = "".join(f"{b64encode(bytes([byte])).decode()} {byte}\n" for byte in range(256))
    (tmp_path / "mine.tiktoken").write_text(lines)
    rules = {finding.rule for finding in lint(tmp_path / "mine.tiktoken")}
    assert "pattern-is-not-given" in rules
    assert not {"pattern-cuts-marks", "digits-from-the-left"} & rules
    rules = {finding.rule for finding in lint(tmp_path / "mine.tiktoken", pattern="cl100k")}
    assert {"pattern-cuts-marks", "digits-from-the-left"} <= rules
    assert "pattern-is-not-given" not in rules


def test_a_tokenizer_without_files_is_checked_by_its_pattern():
    rules = {finding.rule for finding in lint(Tokenizer.from_parts({n: bytes([n]) for n in range(256)}, [], "cl100k"))}
    assert {"digits-from-the-left", "pattern-cuts-marks"} <= rules
