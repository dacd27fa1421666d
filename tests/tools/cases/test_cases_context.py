from cases import run_case

AMD = {"rules": "amd", "dialect": "llvm-user"}


def ask(text, context=None, **case):
    return run_case({"ops": text, "context": context or {}, **case}, 1)


def short(found):
    """The kind of an error, a number, or the location without what is 0."""
    if found["status"] == "error":
        return found["error"]["kind"]
    found = found["result"]
    if found["kind"] == "value":
        return found["value"]
    return {key: one for key, one in found.items() if one and key not in ("space_name", "name")}


def test_expressions_of_the_context_are_evaluated_where_they_are_used():
    error = ask("DW_OP_lit1; DW_OP_call4 16", {"dies": {"unit:16": {"location": "3030301b"}}})["error"]
    assert (error["kind"], error["operation"], error["offset"]) == ("division_by_zero", "DW_OP_div", 3)
    context = {"dies": {"unit:16": {"location": "05"}, "unit:17": {"location": {"ops": "DW_OP_lit4"}}}}
    assert short(ask("DW_OP_call4 17", context)) == 4
    assert short(ask("DW_OP_call4 16", context)) == "unknown_operation"
    dies = {f"unit:{i}": {"location": [{"ops": f"DW_OP_call4 {i + 1}"}]} for i in range(2000)}
    dies["unit:2000"] = {"location": ["50"]}
    assert short(ask("DW_OP_call4 0", {"dies": dies}, limits={"nesting": 10**9}, **AMD)) == "limit_exceeded"
    assert short(ask("DW_OP_call4 1970", {"dies": dies}, **AMD)) == {"kind": "register"}
