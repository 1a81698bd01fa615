"""Ids and tokens: equal tokens, merges, rows of the model, tokens that no text becomes; faults and near faults."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest

from tests.core.lint.made import added, content, folder, found, message
from tokstudio import FormatError, load, save
from tokstudio.core.lint.lint import lint
from tokstudio.core.text.byte_level import CHARACTER_OF
from tokstudio.core.tokenizer.tokenizer import Tokenizer


class TestEqualTokens:
    def written(self, tmp_path, change):
        place = folder(tmp_path)
        file = place / "tokenizer.json"
        text = json.dumps(content(), ensure_ascii=False)
        changed = change(text)
        assert changed != text
        file.write_text(changed, "utf-8")
        return place

    def test_a_token_that_the_vocabulary_lists_twice_is_an_error(self, tmp_path):
        place = self.written(tmp_path, lambda text: text.replace('"the": 257', '"the": 257, "the": 300'))
        with pytest.raises(FormatError):
            load(place)
        [finding] = found(place, "two-tokens-of-one-text")
        assert (finding.level, finding.example) == ("error", "the")
        assert "257 and 300" in finding.message

    def test_an_id_of_two_tokens_is_an_error(self, tmp_path):
        place = self.written(tmp_path, lambda text: text.replace('"the": 257', '"the": 257, "thee": 257'))
        assert found(place, "two-tokens-of-one-text")[0].pieces == ("the", "thee")

    def test_two_spellings_of_one_text_are_an_error(self, tmp_path):
        # A character as it is, and the bytes of it as the vocabulary writes them.
        tokenizer = content(merges=["ä ¸", "ä¸ Ń"], vocabulary=["中"])
        assert "ids 257 and 258" in message(folder(tmp_path, tokenizer), "two-tokens-of-one-text")

    def test_an_added_token_beside_an_equal_one_and_other_texts_are_none(self, tmp_path):
        tokenizer = content(merges=["ä ¸", "ä¸ Ń"], vocabulary=["丁"], specials=[added("中", 259, special=False)])
        assert not found(folder(tmp_path, tokenizer), "two-tokens-of-one-text")

    def test_bytes_of_sentencepiece_beside_characters_are_none(self, tmp_path):
        vocabulary = {"<unk>": 0, "<0x41>": 1, "A": 2, "▁": 3, " ": 4}
        model = {"type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "vocab": vocabulary, "merges": []}
        space = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
        tokenizer = content(specials=[], model=model, pre_tokenizer=space, decoder=space)
        assert not found(folder(tmp_path, tokenizer), "two-tokens-of-one-text")


class TestMerges:
    def test_merges_of_unknown_tokens_are_an_error_though_the_file_does_not_open(self, tmp_path):
        tokenizer = content(model={"merges": [["t", "h"], ["th", "e"], ["th", "x"]]})
        with pytest.raises(FormatError):
            load(folder(tmp_path, tokenizer))
        [finding] = found(folder(tmp_path, tokenizer), "merges-of-unknown-tokens")
        assert finding.level == "error"
        assert "merge 3" in finding.message
        assert '"thx" is missing' in finding.message

    def test_so_are_those_of_a_merges_txt_beside_its_vocab_json(self, tmp_path):
        (tmp_path / "vocab.json").write_text(json.dumps(content()["model"]["vocab"], ensure_ascii=False), "utf-8")
        (tmp_path / "merges.txt").write_text("#version: 0.2\nt h\nth e\nth x\n", "utf-8")
        with pytest.raises(FormatError):
            load(tmp_path, "gpt2")
        assert "merge 3 joins" in message(tmp_path, "merges-of-unknown-tokens")
        (tmp_path / "merges.txt").write_text("t h\nth e\n", "utf-8")
        assert not found(tmp_path, "merges-of-unknown-tokens")
        (tmp_path / "merges.txt").write_text("t h e\n", "utf-8")
        with pytest.raises(FormatError, match="with a space between them"):
            lint(tmp_path)

    def test_merges_of_tokens_that_later_ones_make_are_none(self, tmp_path):
        tokenizer = content(merges=["t h", "th e"], model={"merges": [["th", "e"], ["t", "h"]]})
        assert not found(folder(tmp_path, tokenizer), "merges-of-unknown-tokens")


class TestRows:
    def test_an_id_beyond_the_rows_of_the_model_is_an_error(self, tmp_path):
        [finding] = found(folder(tmp_path, model={"vocab_size": 258}), "ids-without-a-row")
        assert finding.level == "error"
        assert "258 <|end|>" in finding.message.replace('"', "")

    def test_rows_without_a_token_are_a_remark(self, tmp_path):
        place = folder(tmp_path, model={"text_config": {"vocab_size": 320}})
        assert "61 rows without a token" in message(place, "rows-without-token")
        assert not found(place, "ids-without-a-row")

    def test_as_many_rows_as_ids_are_neither(self, tmp_path):
        place = folder(tmp_path, model={"vocab_size": 259})
        assert not found(place, "ids-without-a-row")
        assert not found(place, "rows-without-token")

    def test_holes_are_counted(self, tmp_path):
        model = {"vocab": {**content()["model"]["vocab"], "far": 262}}
        assert "4 ids below the highest have no token, the first is 258" in message(
            folder(tmp_path, content(specials=[], model=model)), "holes-in-ids"
        )
        assert not found(folder(tmp_path), "holes-in-ids")

    def test_reserved_tokens_are_counted_with_those_that_are_free(self, tmp_path):
        names = [f"<|reserved_{n}|>" for n in range(12)]
        config = {"pad_token": names[0], "chat_template": f"{names[11]}{{{{ messages }}}}"}
        said = message(folder(tmp_path, content(specials=names), config=config), "reserved-tokens")
        assert "12 special tokens" in said
        assert "10 of them have no role" in said
        assert not found(folder(tmp_path, content(specials=names[:3])), "reserved-tokens")
        # A comment of the template uses none.
        config["chat_template"] = f"{{# as {names[11]} #}}{{{{ messages }}}}"
        place = folder(tmp_path, content(specials=names), config=config)
        assert "11 of them have no role" in message(place, "reserved-tokens")
        # Added tokens that are not special are none.
        tokenizer = content(specials=names)
        for token in tokenizer["added_tokens"][:7]:
            token["special"] = False
        assert "5 special tokens" in message(folder(tmp_path, tokenizer), "reserved-tokens")
        tokenizer["added_tokens"][7]["special"] = tokenizer["added_tokens"][8]["special"] = False
        assert not found(folder(tmp_path, tokenizer), "reserved-tokens")


class TestReach:
    def test_tokens_that_no_text_becomes_are_told_by_reason(self, tmp_path):
        # "a b" is cut by the pattern; of "hee", "he" comes first, so "h" never meets "ee"; no merge makes "zz".
        tokenizer = content(merges=["a Ġ", "aĠ b", "h e", "e e", "h ee"], vocabulary=["zz"])
        said = [one.message for one in found(folder(tmp_path, tokenizer), "unreachable-tokens")]
        assert ["no merge makes" in one for one in said] == [True, False, False]
        assert "merging makes other tokens" in said[1]
        assert '"hee"' in said[1]
        assert "the pattern splits" in said[2]
        assert not found(folder(tmp_path), "unreachable-tokens")
        tokenizer = {**content(merges=["e Ì", "eÌ ģ"]), "normalizer": {"type": "NFC"}}
        said = message(folder(tmp_path, tokenizer), "unreachable-tokens")
        assert said == 'No text becomes 1 token, because the normalizer changes its text: "e\u0301".'

    def test_whole_words_that_merging_never_makes_are_told(self, tmp_path):
        tokenizer = content(vocabulary=["zz"], model={"ignore_merges": True})
        assert '"zz"' in message(folder(tmp_path, tokenizer), "whole-words-only")
        assert not found(folder(tmp_path, content(vocabulary=["zz"])), "whole-words-only")
        assert not found(folder(tmp_path, content(model={"ignore_merges": True})), "whole-words-only")


class TestBytes:
    def without(self, *missing):
        return content(model={"vocab": {token: n for n, token in enumerate(
            [c for byte, c in CHARACTER_OF.items() if byte not in missing] + ["th", "the"])}})  # fmt: skip

    def test_bytes_that_text_can_have(self, tmp_path):
        said = message(folder(tmp_path, self.without(0xF0, 0xC0)), "bytes-without-token")
        assert said.startswith("1 byte that text can have has no token: F0")

    def test_bytes_that_text_never_has(self, tmp_path):
        assert "none of which UTF-8 ever has: C0, F5" in message(
            folder(tmp_path, self.without(0xC0, 0xF5)), "bytes-without-token"
        )
        assert not found(folder(tmp_path), "bytes-without-token")

    def characters(self, unknown):
        vocabulary = {token: number for number, token in enumerate(["<unk>", *"abc "])}
        model = {"vocab": vocabulary, "merges": [], "unk_token": unknown}
        return content(specials=[], model=model, pre_tokenizer=None, decoder={"type": "Fuse"})

    def test_characters_that_become_the_unknown_token(self, tmp_path):
        place = folder(tmp_path, self.characters("<unk>"))
        [finding] = found(place, "unknown-characters", {"text": "a cab d"})
        assert "1 of 4 characters" in finding.message
        assert finding.example == "d"
        assert not found(place, "unknown-characters", {"text": "a cab"})

    def test_characters_that_cannot_be_encoded(self, tmp_path):
        said = message(folder(tmp_path, self.characters(None)), "unknown-characters", {"text": "a cab d"})
        assert "cannot be encoded" in said


def test_a_trained_tokenizer_is_checked_in_memory_as_in_its_files(tmp_path):
    tokenizer = Tokenizer.from_parts(
        {**{n: bytes([n]) for n in range(256)}, 256: b"th", 257: b"the"},
        [(b"t", b"h"), (b"th", b"e")],
        "gpt2",
        {"<|end|>": 258},
    )
    save(tokenizer, tmp_path / "saved", "huggingface")
    assert lint(tokenizer) == lint(tmp_path / "saved")
