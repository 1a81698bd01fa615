"""Special tokens: what text makes them, what only looks like one, roles without a token; faults and near faults."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from tokenizers import AddedToken, Tokenizer, models, normalizers
from transformers import AutoTokenizer

from tests.core.formats.gguf.files import byte_pairs, gguf, pieces
from tests.core.formats.gguf.llama import ids_of_llama, needs_llama
from tests.core.formats.trained import trained
from tests.core.lint.made import END, added, content, folder, found, message
from tokstudio import load, save
from tokstudio.core.formats.saving import fit
from tokstudio.core.lint.specials import LIKE_SPECIAL

START = "<|im_start|>"


def normalizing(*kinds, **flags):
    """A tokenizer with a special token, and a normalizer of these steps."""
    steps = [{"type": kind} if isinstance(kind, str) else kind for kind in kinds]
    token = added(START, 258, **{"normalized": True, **flags})
    return content(specials=[token], normalizer={"type": "Sequence", "normalizers": steps})


class TestFromOtherText:
    def test_full_width_characters_become_a_special_token_by_nfkc(self, tmp_path):
        [finding] = found(folder(tmp_path, normalizing("NFKC")), "special-from-other-text")
        assert finding.level == "danger"
        assert finding.example == "a ＜｜ｉｍ＿ｓｔａｒｔ｜＞ b"
        assert START in finding.pieces

    def test_it_is_not_where_it_is_looked_for_in_the_text_as_it_is(self, tmp_path):
        assert not found(folder(tmp_path, normalizing("NFKC", normalized=False)), "special-from-other-text")

    def test_it_is_not_with_nfc(self, tmp_path):
        assert not found(folder(tmp_path, normalizing("NFC")), "special-from-other-text")

    @pytest.mark.parametrize(
        ("step", "how"),
        [
            ({"type": "Replace", "pattern": {"Regex": "[\u200b\u200d]"}, "content": ""}, "zero-width space"),
            ("Lowercase", "other case"),
        ],
    )
    def test_what_a_normalizer_removes_or_changes_can_hide_in_it(self, tmp_path, step, how):
        assert any(how in one.message for one in found(folder(tmp_path, normalizing(step)), "special-from-other-text"))

    def test_accents_are_removed_by_strip_accents(self, tmp_path):
        said = message(folder(tmp_path, normalizing("NFD", "StripAccents")), "special-from-other-text")
        assert "with an accent" in said


class TestFromMerges:
    def unigram(self, tmp_path, piece):
        tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0), (piece, -1.0), *((c, -9.0) for c in "<>s/ab ")], 0))
        tokenizer.add_special_tokens([AddedToken("<s>", normalized=False)])
        tokenizer.save(str(tmp_path / "tokenizer.json"))
        return tmp_path

    def test_a_model_that_makes_it_of_text_is_a_danger(self, tmp_path):
        [finding] = found(self.unigram(tmp_path, "<s>"), "special-from-merges")
        assert (finding.level, finding.example) == ("danger", "<s>")

    def test_one_whose_tokens_do_not_is_none(self, tmp_path):
        assert not found(self.unigram(tmp_path, "s>"), "special-from-merges")

    def test_a_model_of_a_library_without_any_special_token_has_none(self, tmp_path):
        Tokenizer(models.Unigram([("a", -1.0), ("b", -2.0)])).save(str(tmp_path / "tokenizer.json"))
        assert not found(tmp_path, "special-from-merges")


class TestSpelled:
    def test_an_ordinary_token_of_the_same_text_is_a_danger(self, tmp_path):
        # A character as the vocabulary writes it, and as an added token.
        tokenizer = content(merges=["ä ¸", "ä¸ Ń"], specials=[added("中", 258)])
        [finding] = found(folder(tmp_path, tokenizer), "special-is-ordinary")
        assert finding.level == "danger"
        assert finding.pieces == ("中 (258)", "中 (257)")

    def test_another_text_or_an_added_token_that_is_not_special_is_none(self, tmp_path):
        for token in (added("丁", 258), added("中", 258, special=False)):
            place = folder(tmp_path, content(merges=["ä ¸", "ä¸ Ń"], specials=[token]))
            assert not found(place, "special-is-ordinary")

    @needs_llama
    def test_libraries_agree_on_it_so_that_it_is_no_error(self, tmp_path):
        place = folder(tmp_path, content(merges=["ä ¸", "ä¸ Ń"], specials=[added("中", 258)]))
        tokenizer = load(place)
        assert not found(place, "special-of-one-text")
        library = Tokenizer.from_file(str(place / "tokenizer.json"))
        auto = AutoTokenizer.from_pretrained(str(place))
        save(tokenizer, tmp_path / "a.gguf", "gguf")
        assert tokenizer.encode("中", "all") == [258] == library.encode("中").ids == auto("中").input_ids
        assert ids_of_llama(tmp_path / "a.gguf", ["中"]) == [[258]]
        library.encode_special_tokens = True
        assert tokenizer.encode("中") == [257] == library.encode("中").ids
        assert auto("中", split_special_tokens=True).input_ids == [257]

    def test_one_that_files_write_alike_is_an_error_because_formats_hold_one_of_both(self):
        base = trained("the the the", 2)
        [ordinary] = [number for number, token in enumerate(base.tokens) if token == b"the"]
        tokenizer = base.changed(special_tokens={"the": 300, "an": 301}, pattern="gpt2")
        [finding] = found(tokenizer, "special-of-one-text")
        assert (finding.level, finding.example) == ("error", "the")
        assert f"(300) and the ordinary token {ordinary} are one text" in finding.message
        assert not found(tokenizer, "special-is-ordinary")
        assert "same spelling" in (fit(tokenizer, "huggingface").problem or "")
        assert "same spelling" in (fit(tokenizer, "gguf").problem or "")
        assert fit(tokenizer, "tiktoken").problem is None


class TestSplit:
    def test_special_tokens_that_transformers_takes_for_text_are_a_danger(self, tmp_path):
        place = folder(tmp_path, config={"split_special_tokens": True})
        [finding] = found(place, "specials-are-split")
        assert (finding.level, finding.example, "".join(finding.pieces)) == ("danger", END, END)
        assert len(finding.pieces) > 1
        assert '"<|end|>"' in finding.message
        ids = AutoTokenizer.from_pretrained(str(place))(f"a{END}").input_ids
        assert len(ids) > len(Tokenizer.from_file(str(place / "tokenizer.json")).encode(f"a{END}").ids) == 2

    @pytest.mark.parametrize("said", [{"split_special_tokens": False}, {"split_special": True}, {}])
    def test_a_configuration_that_does_not_say_so_is_none(self, tmp_path, said):
        assert not found(folder(tmp_path, config=said), "specials-are-split")

    def test_without_a_special_token_there_is_nothing_to_split(self, tmp_path):
        for specials in ([], [added("<tool>", 258, special=False)]):
            place = folder(tmp_path, content(specials=specials), config={"split_special_tokens": True})
            assert not found(place, "specials-are-split")


class TestLooks:
    def test_an_ordinary_token_that_looks_special(self, tmp_path):
        tokenizer = content(vocabulary=["<|user|>", "<pad>"])
        [finding] = found(folder(tmp_path, tokenizer), "looks-special")
        assert "2 tokens look special" in finding.message
        assert "ordinary" in finding.message

    def test_an_added_token_that_is_not_special(self, tmp_path):
        tokenizer = content(specials=[added("<|user|>", 258, special=False)])
        assert "added token that is not special" in message(folder(tmp_path, tokenizer), "looks-special")

    def test_special_ones_and_other_signs_do_not(self, tmp_path):
        tokenizer = content(specials=["<|user|>", added("<tool>", 259, special=False)], vocabulary=["<|", "<|a b|>"])
        assert not found(folder(tmp_path, tokenizer), "looks-special")

    def test_signs_of_a_template_are_no_token(self):
        text = "{{ '<|' + message.role + '|>' }} <|end|> <｜User｜> <||> <| x |>"
        assert [match[0] for match in LIKE_SPECIAL.finditer(text)] == ["<|end|>", "<｜User｜>"]


class TestMissingRole:
    def test_a_role_whose_token_is_nowhere_is_an_error(self, tmp_path):
        [finding] = found(folder(tmp_path, config={"eos_token": "<|stop|>"}), "role-without-token")
        assert finding.level == "error"
        assert "eos_token" in finding.message
        assert finding.example == "<|stop|>"

    def test_roles_in_both_files_and_in_lists_are_one_finding_a_token(self, tmp_path):
        config = {"eos_token": {"content": "<|stop|>"}, "additional_special_tokens": ["<|x|>", END]}
        place = folder(tmp_path, config=config, roles={"eos_token": "<|stop|>"})
        assert [one.example for one in found(place, "role-without-token")] == ["<|stop|>", "<|x|>"]

    def test_one_in_any_list_is_none(self, tmp_path):
        entry = {key: value for key, value in added("<|stop|>", 0).items() if key != "id"}
        config = {"eos_token": "<|stop|>", "bos_token": END, "pad_token": "the", "added_tokens_decoder": {"259": entry}}
        assert not found(folder(tmp_path, config=config), "role-without-token")
        place = folder(tmp_path, config={"eos_token": "<|stop|>"}, more={"<|stop|>": 259})
        assert not found(place, "role-without-token")

    @pytest.mark.parametrize(
        ("ids", "told"),
        [
            ({"bos": 9, "eos": 258}, []),
            ({"eos": 258}, []),
            ({"eos": 258, "padding": 2**32 - 1}, []),
            ({"eos": 258, "padding": 700}, ["tokenizer.ggml.padding_token_id is 700, which no token has."]),
            ({"eos": 999}, ['eos_token_id is 999, which no token has: llama.cpp takes "ċ", id 11, in its place.']),
            ({}, ['tokenizer.ggml.eos_token_id is missing: llama.cpp takes "ċ", id 11, in its place.']),
            ({"eos": 258, "pre": "llama-bpe"}, ["tokenizer.ggml.bos_token_id is missing: llama.cpp takes"]),
        ],
    )
    def test_in_a_gguf_file_an_id_without_a_token_is_an_error_and_so_is_no_end_of_a_text(self, tmp_path, ids, told):
        roles = {f"tokenizer.ggml.{role}_token_id": ("u32", number) for role, number in ids.items() if role != "pre"}
        tokenizer = trained("the the the", 2).changed(special_tokens={END: 258})
        path = tmp_path / "model.gguf"
        path.write_bytes(gguf(byte_pairs(tokenizer, ids.get("pre", "gpt-2"), **roles)))
        findings = found(path, "role-without-token")
        assert [finding.level for finding in findings] == ["error"] * len(told)
        assert all(words in finding.message for words, finding in zip(told, findings, strict=True))

    def test_a_gguf_file_of_pieces_without_keys_has_the_usual_roles(self, tmp_path):
        path = tmp_path / "model.gguf"
        path.write_bytes(gguf({key: one for key, one in pieces().items() if not key.endswith("_token_id")}))
        assert not found(path, "role-without-token")
        path.write_bytes(gguf(pieces(**{"tokenizer.ggml.bos_token_id": ("u32", 99_999)})))
        assert (
            'bos_token_id is 99,999, which no token has: llama.cpp takes "<s>", id 1'
            in found(path, "role-without-token")[0].message
        )

    def processor(self, number, token=END):
        special = {token: {"id": token, "ids": [number], "tokens": [token]}}
        single = [{"SpecialToken": {"id": token, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
        pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}]
        return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special}

    def test_a_post_processor_with_the_id_of_another_token_is_an_error(self, tmp_path):
        [finding] = found(folder(tmp_path, content(post_processor=self.processor(7))), "role-without-token")
        assert "id 7" in finding.message
        assert "258" in finding.message

    def test_one_with_the_right_id_is_none(self, tmp_path):
        assert not found(folder(tmp_path, content(post_processor=self.processor(258))), "role-without-token")


def test_flags_that_take_space_or_need_a_whole_word_are_told(tmp_path):
    tokens = [added("<a>", 258, lstrip=True), added("<b>", 259, rstrip=True), added("<c>", 260, single_word=True)]
    first, second = found(folder(tmp_path, content(specials=tokens)), "special-takes-space")
    assert '"<a>", "<b>"' in first.message
    assert '"<c>"' in second.message
    assert not found(folder(tmp_path), "special-takes-space")


def test_the_disguises_are_what_normalizers_of_the_library_undo():
    assert normalizers.NFKC().normalize_str("＜｜ｉｍ＿ｓｔａｒｔ｜＞") == START
