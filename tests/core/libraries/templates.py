"""Chat templates with everything that published ones use, and messages for them; all written for these tests."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

HELLO = [{"role": "user", "content": "Hello"}]
TALK = [
    {"role": "system", "content": " Be brief. "},
    {"role": "user", "content": "What is <1 & 2>?\n"},
    {"role": "assistant", "content": '  "Two" – it\'s zwei. '},
    {"role": "user", "content": "Why?", "name": None, "weight": 1.5},
]
PARTS = [
    {"role": "user", "content": [{"type": "text", "text": "See:"}, {"type": "image"}, {"type": "text", "text": "here"}]}
]
CALLS = [
    {"role": "user", "content": "Weather in Ulm?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"type": "function", "function": {"name": "weather", "arguments": {"city": "Ülm <1>", "days": 2}}},
            {"type": "function", "function": {"name": "clock", "arguments": {}}},
        ],
    },
    {"role": "tool", "name": "weather", "content": {"sky": "clear", "degrees": [21, 3.5, True, None]}},
    {"role": "assistant", "content": "Clear.", "thinking": "It is\nclear."},
]
THOUGHTS = [
    {"role": "user", "content": "2 + 2?"},
    {"role": "assistant", "content": "<think>\nfour, surely\n</think>\n\n4"},
    {"role": "user", "content": "And 3?"},
    {"role": "assistant", "content": "7", "reasoning": "4 + 3"},
]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "The weather of a place – now & then",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "Where"},
                    "days": {"type": ["integer", "null"], "default": 1},
                    "how": {"type": "array", "items": {"type": "string", "enum": ["long", "short"]}},
                },
                "required": ["city"],
            },
        },
    },
    {"type": "function", "function": {"name": "clock", "description": "", "parameters": {"type": "object"}}},
]
DOCUMENTS = [{"title": "One", "text": "first"}, {"title": "Two", "text": "second"}]

#: The inputs that each template is tried with: messages, and what else it gets.
INPUTS = {
    "hello": (HELLO, {}),
    "prompt": (HELLO, {"add_generation_prompt": True}),
    "talk": (TALK, {"add_generation_prompt": True}),
    "parts": (PARTS, {}),
    "calls": (CALLS, {"tools": TOOLS, "add_generation_prompt": True}),
    "thoughts": (THOUGHTS, {"enable_thinking": False, "add_generation_prompt": True}),
    "documents": (TALK, {"documents": DOCUMENTS, "citations": "fast", "bos_token": "<unk>"}),
}

TEMPLATES = {
    "marks of beginning and end": """
{%- for message in messages %}
    {{- '<|user|>' + message['role'] + '\\n' + message['content'] + '<|endoftext|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|user|>assistant\\n' }}{% endif %}""",
    "white space of blocks": """{{ bos_token }}
{% for message in messages %}
  {% if message.role == 'user' %}
    Q: {{ message.content | trim }}
  {% elif message.role == "system" -%}
    S: {{ message.content }}
  {%- else %}
    A: {{ message.content }}{{ eos_token }}
  {% endif %}
{% endfor %}
end
""",
    "instructions in brackets": """
{%- if messages[0]['role'] == 'system' %}
    {%- set system = messages[0]['content'].strip() %}
    {%- set rest = messages[1:] %}
{%- else %}
    {%- set system = '' %}
    {%- set rest = messages %}
{%- endif %}
{{- bos_token }}
{%- for message in rest %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Roles must alternate: user, assistant, user, …') }}
    {%- endif %}
    {%- if message['role'] == 'user' %}
        {{- '[' ~ ('(' + system + ') ' if loop.first and system else '') ~ message['content'].strip() ~ ']' }}
    {%- else %}
        {{- ' ' + message['content'].strip() + ' ' + eos_token }}
    {%- endif %}
{%- endfor %}""",
    "headers with a date": """
{{- bos_token }}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}{%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}{%- set date_string = "1 Jan 2000" %}{%- endif %}
{%- endif %}
{{- 'Today: ' + date_string + ', ' ~ strftime_now('%Y-%m-%dT%H:%M') ~ '\\n' }}
{%- for message in messages %}{{ '<' ~ message.role ~ '>' ~ (message.content | string | length) }}{% endfor %}""",
    "tools as JSON": """
{%- if tools is not none and tools | length > 0 %}
    {{- 'Tools:' }}
    {%- for tool in tools %}{{ '\\n' + tool | tojson }}{% endfor %}
    {{- '\\n' ~ (tools[0].function | tojson(indent=2)) }}
    {{- tools[0].function.parameters | tojson(separators=(',', ':'), sort_keys=True, ensure_ascii=True) }}
{%- endif %}
{%- for m in messages %}
    {%- if m.tool_calls is defined and m.tool_calls %}
        {%- for call in m.tool_calls %}
            {%- set f = call.function if 'function' in call else call %}
            {{- '{"name": "' + f.name + '", "arguments": ' ~ (f.arguments | tojson) ~ '}' }}
            {%- if not loop.last %}, {% endif %}
        {%- endfor %}
    {%- elif m.content is mapping %}{{ m.content | tojson }}
    {%- else %}{{ m.content }}
    {%- endif %}
{%- endfor %}""",
    "the last question": """
{%- set ns = namespace(found=false, last=messages | length - 1, at=0) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages | length - 1) - loop.index0 %}
    {%- if not ns.found and message.role == 'user' and message.content is string %}
        {%- set ns.found = true %}
        {%- set ns.at = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- set thought = '' %}
    {%- if message.reasoning_content is string %}{% set thought = message.reasoning_content %}
    {%- elif '</think>' in content %}
        {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
        {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
    {%- endif %}
    {{- message.role }}:
    {%- if thought and loop.index0 > ns.at %}({{ thought.strip('\\n') }}){% endif %}
    {{- content }}
{%- endfor %}
{%- if add_generation_prompt and enable_thinking is defined and enable_thinking is false %}
    {{- '<think></think>' }}
{%- endif %}""",
    "content in parts": """
{%- for message in messages %}
    {%- if message.content is string %}{{ message.content }}
    {%- elif message.content is iterable and message.content is not mapping %}
        {%- for part in message['content'] | selectattr('type', 'equalto', 'text') %}{{ part.text }};{% endfor %}
        {%- for part in message.content | rejectattr('type', 'eq', 'text') | list %}[{{ part['type'] | upper }}]
        {%- endfor %}
    {%- endif %}
{%- endfor %}""",
    "what the assistant says": """
{%- for message in messages %}
{{ message.role }}>
{% if message.role == 'assistant' %}
{% generation %}
{{ message.content }}{{ eos_token }}
{% endgeneration %}
{% else %}{{ message.content }}{% endif %}
{% endfor %}""",
    "loops that end early": """
{%- for message in messages %}
    {%- if message.role == 'system' %}{% continue %}{% endif %}
    {%- if loop.index > 2 %}{% break %}{% endif %}
    {{- loop.index ~ '/' ~ loop.length ~ ':' ~ loop.revindex ~ (loop.previtem.role if loop.previtem else '-') ~ ' ' }}
{%- else %}nothing
{%- endfor %}""",
    "a type in words": """
{%- macro kind(spec) -%}
    {%- if spec.type is string and spec.type == 'array' -%}list of {{ kind(spec['items']) }}
    {%- elif spec.enum -%}{{ spec.enum | map('tojson') | join(' | ') }}
    {%- elif spec.type is iterable and spec.type is not string -%}{{ spec.type | join(' or ') }}
    {%- else -%}{{ spec.type | default('any', true) }}
    {%- endif -%}
{%- endmacro -%}
{%- if tools %}
    {%- for tool in tools | map(attribute='function') %}
        {{- tool.name }}(
        {%- for name, spec in tool.parameters.get('properties', {}).items() %}
            {{- name ~ ('' if name in tool.parameters.required else '?') ~ ': ' ~ kind(spec) }}
            {%- if not loop.last %}, {% endif %}
        {%- endfor %})
    {%- endfor %}
{%- endif %}
{{- kind({'type': 'array', 'items': {'type': 'object'}}) }}""",
    "documents": """
{%- if documents %}
{% for document in documents %}
## {{ document['title'] }} {{ loop.index0 }}: {{ document.text | capitalize }}
{% endfor %}
{% endif %}
{{ citations | default('none') }} {{ unk_token is defined }} {{ sep_token is defined }} {{ bos_token }}""",
    "methods of texts": """
{%- set text = 'Some Text, with Words' %}
{{- text.upper() ~ text.lower().title() ~ text.replace('Text', 'Thing') ~ text.startswith('Some') }}
{{- text.split(', ')[1].find('W') ~ text[-5:] ~ text[::2] ~ text.endswith(('x', 's')) ~ ' '.join(['a', 'b']) }}
{{- '%s-%03d' % ('n', 7) ~ '{:>6}|{key}'.format('r', key=3) ~ '  x '.strip() ~ '\\n' ~ 'a\\tb' ~ text.count('t') }}
{{- text | replace('Some', 'Any') | lower | title | truncate(12) ~ text.splitlines() | first ~ 'abc' | last }}""",
    "lists and mappings": """
{%- set seen = dict(a=1, **{'b': 2}) %}
{{- seen ~ (seen.items() | list) ~ ({'z': 1, 'y': [2, (3, 4)]} | dictsort) ~ seen.keys() | list }}
{{- dict.fromkeys(['k'], 0) ~ [3, 1, 2] | sort | reverse | list ~ range(2, 9, 3) | list ~ [1, 2] + [3] }}
{{- messages | map(attribute='role') | unique | list ~ messages | groupby('role') | map('first') | list }}
{%- set a, b = 'x', 'y' %}{{ a ~ b ~ (1 if a < b else 2) ~ 7 // 2 ~ 2 ** 5 ~ -7 % 3 ~ 1.0 ~ (not a) ~ none ~ true }}""",
    "one refuses": """
{%- for message in messages %}
    {%- if message.role not in ['user', 'assistant'] %}
        {{- raise_exception('Only user and assistant roles are supported, not ' + message.role + '!') }}
    {%- endif %}
{%- endfor %}
{{- messages | length }} messages""",
    "blocks of settings": """
{%- set ns = namespace(system='', self='own') %}
{%- set fixed %}fixed {{ eos_token }} text{% endset %}
{%- filter upper %}{{ fixed }}{% endfilter %}
{%- with inner = ns.self %}{{ inner }}{% endwith %}
{%- for message in messages if message.role == 'system' %}{% set ns.system = message.content %}{% endfor %}
{%- call(x) wrap('b') %}{{ x }}{% endcall %}
{%- macro wrap(tag) %}<{{ tag }}>{{ caller(tag ~ 1) }}{{ varargs }}{{ kwargs }}</{{ tag }}>{% endmacro %}
{{- wrap is defined ~ ns.system ~ '{# no comment #}' }}{# a comment #}{% raw %}{{ raw }}{% endraw %}""",
    "the wrapper first": """
{%- macro wrap(tag) %}<{{ tag }}>{{ caller(tag ~ 1) }}{{ varargs }}{{ kwargs }}</{{ tag }}>{% endmacro %}
{%- call(x) wrap('b', 1, c=2) %}{{ x }}{% endcall %}
{%- generation %}{% set inner = 1 %}{{ inner }}{% endgeneration %}{{ inner is defined }}""",
    "roles by another name": """
{%- set names = {'assistant': 'model', 'user': 'person'} %}
{%- for message in messages %}
{{ names.get(message.role, message.role) }}|{{ names[message.role] }}|
{%- if message.content is none %}none{% elif message['content'] is undefined %}undefined{% else %}{{ message.content }}
{%- endif %}
{%- endfor %}""",
    "numbers and nothing": """
{{- messages[-1].weight }}{{ messages[-1]['name'] is defined }}{{ messages[0].nothing }}{{ nothing }}
{{- (messages[-1].get('weight', 0) * 2) | round | int ~ tools ~ documents ~ add_generation_prompt }}
{{- (true, none, 1.5, 'a<b') | tojson ~ 'é' | tojson(ensure_ascii=true) ~ ['<'] | join | escape }}""",
    "tools in pairs": """
{%- if tools %}{% set names = tools | map(attribute='function.name') | list %}{{ names | join('/') }}{% endif %}
{%- for message in messages if message.role in ('tool', 'assistant') %}
{{ loop.cycle('odd', 'even') }} {{ loop.changed(message.role) }} {{ message.get('name', '?') }}
{%- for key, value in (message.content.items() if message.content is mapping else []) %} {{ key }}={{ value }}
{%- endfor %}
{%- if 'reasoning_content' in message %} because {{ message['reasoning_content'] }} {{ message.thinking }}{% endif %}
{%- endfor %}""",
    "a joiner": """
{%- set comma = joiner(', ') %}
{%- set turn = cycler('a', 'b') %}
{%- for message in messages %}{{ comma() }}{{ turn.next() }}{{ message.role[0] }}{% endfor %}
{{- messages | length > 2 and messages[0].role == 'system' or 'short' }}
{{- '\\n' if messages is sequence and 3 is odd and 'x' is not number }}""",
    "a missing filter": "{{ messages | nonesuch }}",
    "a fault": "{% for message in messages %}\n{{ message.content }\n{% endfor %}",
    "forbidden": "{{ messages.append({}) }}",
    "a name with underscores": "{% set ns = namespace() %}{% set ns._x = 1 %}{{ ns }}",
}
