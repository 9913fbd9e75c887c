"""What the offline model replies to a memory system's own prompt that nobody told it the meaning of.

It cannot read such a prompt. It gives back the lines of the last user message, as text or in the smallest JSON that has
the form asked for: a stand-in, which keeps a memory system running without a language model and shows nothing of what
that system is worth with one. A tool is called only where one must be.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from amemgym.tasks import Chat, ToolCall

#: a schema that goes deeper (one that refers to itself) is filled no further
DEEPEST = 8
ANY_OBJECT: Mapping[str, Any] = {"type": "object", "properties": {"facts": {"type": "array"}}, "required": ["facts"]}


def reply_plainly(chat: Chat, facts: Sequence[str]) -> str | tuple[ToolCall, ...]:
    """The facts in the form that the request asks for."""
    tool = _demanded_tool(chat.body)
    if tool is not None:
        arguments = fill(tool.get("parameters") or {"type": "object"}, facts)
        return (ToolCall("call_0", str(tool.get("name", "")), json.dumps(arguments, ensure_ascii=False)),)
    form = chat.body.get("response_format")
    kind = form.get("type") if isinstance(form, Mapping) else None
    if kind == "json_object":
        return json.dumps(fill(ANY_OBJECT, facts), ensure_ascii=False)
    if kind == "json_schema":
        described = form.get("json_schema") if isinstance(form, Mapping) else None
        schema = described.get("schema") if isinstance(described, Mapping) else None
        return json.dumps(fill(schema or ANY_OBJECT, facts), ensure_ascii=False)
    return "\n".join(facts)


def _demanded_tool(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The function that must be called: the one named, else the first; None where none must be."""
    tools = body.get("tools")
    functions = [t["function"] for t in (tools if isinstance(tools, list) else ()) if _has_function(t)]
    choice = body.get("tool_choice")
    if isinstance(choice, Mapping) and _has_function(choice):
        return next((f for f in functions if f.get("name") == choice["function"].get("name")), None)
    return functions[0] if functions and choice == "required" else None


def _has_function(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("function"), Mapping)


def fill(schema: Any, facts: Sequence[str]) -> Any:
    """The smallest value that has a JSON schema's form, with the facts for its texts."""
    return _fill(schema, facts, schema if isinstance(schema, Mapping) else {}, 0)


def _fill(schema: Any, facts: Sequence[str], root: Mapping[str, Any], depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return None
    if "$ref" in schema:
        return _fill(_resolved(str(schema["$ref"]), root), facts, root, depth + 1)
    for name in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(name), list) and schema[name]:
            return _fill(schema[name][0], facts, root, depth + 1)
    if "const" in schema:
        return schema["const"]
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object" or (kind is None and "properties" in schema):
        properties = schema.get("properties") or {}
        # what is wanted but not described has no form to fill; where nothing must be there, everything is given
        names = schema.get("required") or (properties if depth == 0 else ())
        return {name: _fill(properties.get(name, {"type": "string"}), facts, root, depth + 1) for name in names}
    if kind == "array":
        items = schema.get("items") or {"type": "string"}
        count = max(len(facts), schema.get("minItems", 0))
        count = min(count, schema.get("maxItems", count))
        lines = [*facts, *[""] * count][:count]
        return [_fill(items, [line] if line else [], root, depth + 1) for line in lines] if depth < DEEPEST else []
    if kind == "string":
        return "\n".join(facts)[: schema.get("maxLength")]
    return {"integer": schema.get("minimum", 0), "number": schema.get("minimum", 0), "boolean": False}.get(str(kind))


def _resolved(reference: str, root: Mapping[str, Any]) -> Any:
    """The part of the schema that `#/a/b` means; None where there is none."""
    part: Any = root
    for name in reference.removeprefix("#").strip("/").split("/"):
        part = part.get(name) if isinstance(part, Mapping) and name else part
    return part
