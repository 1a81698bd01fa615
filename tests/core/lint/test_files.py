"""Files that disagree, and what they name that is not there: each with a file that has the fault, and a near one."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from base64 import b64encode

import pytest
from sentencepiece import sentencepiece_model_pb2 as schema

from tests.core.lint.made import END, added, content, folder, found, message


def model_of_pieces(pieces):
    """A SentencePiece model; the first three are the unknown token and two that control."""
    model = schema.ModelProto()  # pyright: ignore[reportAttributeAccessIssue]  made when it is loaded
    for number, piece in enumerate(pieces):
        model.pieces.add(piece=piece, score=-float(number), type={0: 2, 1: 3, 2: 3}.get(number, 1))
    model.trainer_spec.model_type = 2
    model.normalizer_spec.name = "identity"
    return model.SerializeToString()


def described(token, **flags):
    return {key: value for key, value in added(token, 0, **flags).items() if key != "id"}


def listing(*tokens, first=258, **flags):
    """A configuration that lists added tokens with ids one after another."""
    return {"added_tokens_decoder": {str(first + n): described(token, **flags) for n, token in enumerate(tokens)}}


class TestTokens:
    def test_another_id_in_the_configuration_is_an_error(self, tmp_path):
        [finding] = found(folder(tmp_path, config=listing(END, first=300)), "files-disagree-on-token")
        assert finding.level == "error"
        assert finding.example == END
        assert "300 in the first and 258 in the second" in finding.message

    def test_also_in_added_tokens_json(self, tmp_path):
        assert "added_tokens.json" in message(folder(tmp_path, more={END: 300}), "files-disagree-on-token")

    def test_a_token_that_only_the_configuration_has_is_an_error(self, tmp_path):
        said = message(folder(tmp_path, config=listing(END, "<|user|>", first=258)), "files-disagree-on-token")
        assert '1 token that tokenizer.json does not have: "<|user|>"' in said
        assert "is written with" not in said

    def test_the_id_that_it_gets_is_told_where_another_is_written(self, tmp_path):
        config = {"added_tokens_decoder": {**listing(END)["added_tokens_decoder"], "300": described("<|user|>")}}
        said = message(folder(tmp_path, config=config), "files-disagree-on-token")
        assert said.endswith('"<|user|>" is written with 300 and gets 259.')

    def test_the_same_ids_in_all_files_are_none(self, tmp_path):
        assert not found(folder(tmp_path, config=listing(END), more={END: 258}), "files-disagree-on-token")

    def test_a_file_that_contradicts_itself_is_an_error(self, tmp_path):
        tokenizer = content(specials=[added("the", 300)])
        assert '"the" is written with 300' in message(folder(tmp_path, tokenizer), "files-disagree-on-token")


class TestPair:
    def pair(self, tmp_path, vocabulary, merges):
        place = folder(tmp_path, vocabulary=vocabulary)
        (place / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{merge}\n" for merge in merges), "utf-8")
        return place

    def test_the_same_pair_is_none(self, tmp_path):
        vocabulary = content()["model"]["vocab"]
        for tokens in (vocabulary, {**vocabulary, END: 258}):
            assert not found(self.pair(tmp_path, tokens, ["t h", "th e"]), "files-disagree-on-token")

    def test_another_id_is_an_error(self, tmp_path):
        vocabulary = {**content()["model"]["vocab"], "th": 257, "the": 256}
        said = message(self.pair(tmp_path, vocabulary, ["t h", "th e"]), "files-disagree-on-token")
        assert "disagree on 2 tokens" in said

    def test_a_token_that_the_pair_lacks_is_an_error(self, tmp_path):
        vocabulary = {token: n for token, n in content()["model"]["vocab"].items() if token != "the"}
        said = message(self.pair(tmp_path, vocabulary, ["t h", "th e"]), "files-disagree-on-token")
        assert 'vocab.json lacks 1 token of tokenizer.json: "the"' in said

    @pytest.mark.parametrize(("merges", "first"), [(["t h", "h e"], 2), (["t h"], 2), (["t h", "th e", "a b"], 3)])
    def test_the_first_other_merge_is_an_error(self, tmp_path, merges, first):
        place = self.pair(tmp_path, content()["model"]["vocab"], merges)
        assert f"merge {first} joins" in message(place, "files-disagree-on-token")


class TestPieces:
    PIECES = ("<unk>", "<s>", "</s>", *map(chr, range(0x4E00, 0x4E00 + 150)))

    def both(self, tmp_path, tokens):
        vocabulary = {token: number for number, token in enumerate(tokens)}
        model = {"type": "BPE", "unk_token": "<unk>", "vocab": vocabulary, "merges": []}
        place = folder(tmp_path, content(specials=[], model=model, pre_tokenizer=None, decoder={"type": "Fuse"}))
        (place / "tokenizer.model").write_bytes(model_of_pieces(self.PIECES))
        return place

    def test_the_same_pieces_also_behind_others_are_none(self, tmp_path):
        for tokens in (self.PIECES, ["<s>", "<pad>", "</s>", "<unk>", *self.PIECES[3:]]):
            assert not found(self.both(tmp_path, tokens), "files-disagree-on-token")

    def test_two_that_changed_places_are_an_error(self, tmp_path):
        tokens = [*self.PIECES]
        tokens[50], tokens[60] = tokens[60], tokens[50]
        assert "disagree on 2 tokens" in message(self.both(tmp_path, tokens), "files-disagree-on-token")

    def test_one_that_is_no_model_is_damaged(self, tmp_path):
        place = folder(tmp_path)
        for junk in (b"junk\x00\xff" * 99, model_of_pieces(self.PIECES)[:-40], b'{"model": '):
            (place / "tokenizer.model").write_bytes(junk)
            [finding] = found(place, "file-is-damaged")
            assert finding.level == "error"
            assert finding.message.startswith("tokenizer.model: ")
            assert not found(place, "files-disagree-on-token")

    def test_ranks_of_the_same_name_are_no_damage(self, tmp_path):
        place = folder(tmp_path)
        lines = "".join(f"{b64encode(bytes([byte])).decode()} {byte}\n" for byte in range(256))
        (place / "tokenizer.model").write_text(lines)
        assert not found(place, "file-is-damaged")


class TestRoles:
    def test_another_token_in_the_map_is_an_error(self, tmp_path):
        tokenizer = content(specials=[END, "<|user|>"])
        place = folder(tmp_path, tokenizer, config={"eos_token": END}, roles={"eos_token": {"content": "<|user|>"}})
        [finding] = found(place, "files-disagree-on-role")
        assert finding.level == "error"
        assert "eos_token" in finding.message

    def test_the_same_token_or_a_role_in_one_file_is_none(self, tmp_path):
        config = {"eos_token": END, "pad_token": None}
        place = folder(tmp_path, config=config, roles={"eos_token": {"content": END}, "bos_token": END})
        assert not found(place, "files-disagree-on-role")

    def test_a_map_that_transformers_does_not_read_is_none(self, tmp_path):
        tokenizer = content(specials=[END, "<|user|>"])
        config = {"eos_token": END, "added_tokens_decoder": {}}
        roles = {"eos_token": "<|user|>", "bos_token": "<|nowhere|>"}
        place = folder(tmp_path, tokenizer, config=config, roles=roles)
        assert not found(place, "files-disagree-on-role")
        assert not found(place, "role-without-token")

    def test_another_id_for_generation_is_an_error(self, tmp_path):
        place = folder(tmp_path, config={"eos_token": END}, generation={"eos_token_id": 257})
        assert 'the eos token is 257 ("the"), but the tokenizer\'s is "<|end|>" (258)' in message(
            place, "files-disagree-on-role"
        )
        place = folder(tmp_path, config={"eos_token": END}, generation={"eos_token_id": [300]})
        assert "300 (no token)" in message(place, "files-disagree-on-role")

    def test_its_id_among_others_or_no_role_is_none(self, tmp_path):
        generation = {"eos_token_id": [257, 258], "bos_token_id": 3}
        assert not found(folder(tmp_path, config={"eos_token": END}, generation=generation), "files-disagree-on-role")


class TestTemplates:
    def test_a_token_that_is_not_there_is_a_danger(self, tmp_path):
        place = folder(tmp_path, config={"chat_template": "<|im_start|>{{ x }}" + END, "eos_token": END})
        [finding] = found(place, "template-names-no-token")
        assert (finding.level, finding.example) == ("danger", "<|im_start|>")
        assert "".join(finding.pieces) == "<|im_start|>"
        assert "12 ordinary tokens" in finding.message

    def test_in_a_file_of_its_own_too(self, tmp_path):
        place = folder(tmp_path, **{"chat_template.jinja": "<|im_start|>", "config": {"eos_token": END}})
        assert found(place, "template-names-no-token")

    def test_special_and_other_added_tokens_are_none(self, tmp_path):
        tokenizer = content(specials=[END, added("<|tool|>", 259, special=False)])
        template = END + "<|tool|>{{ '<|' + message['role'] + '|>' }}"
        assert not found(folder(tmp_path, tokenizer, config={"chat_template": template}), "template-names-no-token")

    @pytest.mark.parametrize(
        ("template", "named"),
        [
            ("{# as <|im_start|> #}" + END, False),
            ("{#- not <|im_start|>\n, #} {{ x }}{# {{ y }} <|im_start|> -#}" + END, False),
            ("{{ '{# ' }}<|im_start|>{{ ' #}' }}", True),
            ("{% if x == '{#' %}<|im_start|>{% endif %} #}", True),
            ("{# a comment #}<|im_start|>{# another #}", True),
            ("<|im_start|>{# without an end", True),
        ],
    )
    def test_what_stands_in_a_comment_is_not_named(self, tmp_path, template, named):
        place = folder(tmp_path, config={"chat_template": template})
        assert bool(found(place, "template-names-no-token")) == named

    @pytest.mark.parametrize("text", ["<|" * 300_000, "<|a" * 300_000, "<|im_start|>" * 90_000])
    def test_a_template_of_a_megabyte_is_read_as_text(self, tmp_path, text):
        place = folder(tmp_path, config={"chat_template": text})
        assert len(found(place, "template-names-no-token")) == ("start" in text)

    def test_names_are_found_without_running_it(self, tmp_path):
        trap = "{% for a in range(10**9) %}{% for b in range(10**9) %}x{% endfor %}{% endfor %}{{ 1 / 0 }}"
        assert not found(folder(tmp_path, config={"chat_template": trap}), "template-names-no-token")


class TestRenderedTemplates:
    BEGIN = "<|begin|>"
    TEMPLATE = "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}"

    def beginning(self, tmp_path, template, token=None, **config):
        """A tokenizer whose post-processor puts a token before each text."""
        token = token or self.BEGIN
        number = 258 + [self.BEGIN, END].index(token)
        parts = {"SpecialToken": {"id": token, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}
        adding = {
            "type": "TemplateProcessing",
            "single": list(parts),
            "pair": [*parts, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {token: {"id": token, "ids": [number], "tokens": [token]}},
        }
        tokenizer = content(specials=[self.BEGIN, END], post_processor=adding)
        return folder(tmp_path, tokenizer, config={"bos_token": self.BEGIN, "chat_template": template, **config})

    def test_a_second_beginning_is_told_with_its_tokens(self, tmp_path):
        [finding] = found(self.beginning(tmp_path, self.TEMPLATE), "begins-twice")
        assert finding.level == "remark"
        assert 'The chat template begins with "<|begin|>"' in finding.message
        assert finding.example == 2 * self.BEGIN + "user: Hello"
        assert finding.pieces[:2] == (self.BEGIN, self.BEGIN)

    def test_each_template_is_rendered(self, tmp_path):
        named = [{"name": "default", "template": "{{ messages }}"}, {"name": "rag", "template": "<|begin|>x"}]
        assert '"rag" begins' in message(self.beginning(tmp_path, named), "begins-twice")

    def test_another_beginning_or_one_alone_is_none(self, tmp_path):
        plain = content(specials=[self.BEGIN, END])
        for place in (
            self.beginning(tmp_path, "{# <|begin|> #}{{ messages[0].content }}{{ bos_token }}"),
            self.beginning(tmp_path, self.TEMPLATE, END),
            folder(tmp_path, plain, config={"bos_token": self.BEGIN, "chat_template": self.TEMPLATE}),
            self.beginning(tmp_path, "{{ raise_exception('No.') }}"),
        ):
            assert not found(place, "begins-twice")

    def test_one_that_refuses_any_message_is_a_danger(self, tmp_path):
        place = folder(tmp_path, config={"chat_template": "{{ messages[0].contents.x }}"})
        [finding] = found(place, "template-fails")
        assert finding.level == "danger"
        assert finding.message.startswith("With one message of a user: The chat template cannot be rendered")
        assert not found(folder(tmp_path, config={"chat_template": self.TEMPLATE}), "template-fails")
        assert not found(folder(tmp_path), "template-fails")


def test_flags_that_differ_are_told(tmp_path):
    said = message(folder(tmp_path, config=listing(END, special=False)), "files-disagree-on-flags")
    assert '"special" of 1 token: "<|end|>"' in said
    assert not found(folder(tmp_path, config=listing(END)), "files-disagree-on-flags")


def test_a_damaged_file_that_opening_does_not_need_is_an_error(tmp_path):
    [finding] = found(folder(tmp_path, generation='{"eos_token_id": 2'), "file-is-damaged")
    assert (finding.level, finding.example) == ("error", "generation_config.json")
    assert "ends too early" in finding.message
    assert not found(folder(tmp_path, generation={"eos_token_id": 2}), "file-is-damaged")


def test_settings_that_encoding_leaves_out_are_told(tmp_path):
    truncation = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    assert "truncates" in message(folder(tmp_path, content(truncation=truncation)), "said-on-reading")
    assert not found(folder(tmp_path), "said-on-reading")
