import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.errors import UsageError
from dwarfgpu.program.language import syntax as s
from dwarfgpu.program.language.arithmetic import DataModel, string_bytes
from dwarfgpu.program.language.parser import TypeBuilder, parse, parse_type
from dwarfgpu.program.language.tokens import MAX_LENGTH, ExpressionError, tokens
from dwarfgpu.program.types.declaration import type_text
from dwarfgpu.program.types.model import Base, Body, Lazy, Struct, byte_size
from tests.builders.errors import raised
from tests.builders.parameters import for_each

KNOWN = {"T", "ns::T", "Buffer<short, 4>", "Buffer<Buffer<int, 1>, 2>", "Text", "S"}


def shown(node) -> str:
    """A tree as text with all its brackets."""
    one = {
        s.Name: lambda n: (f"{n.file}!" if n.file else "") + n.text,
        s.RegisterName: lambda n: f"${n.name}",
        s.Integer: lambda n: f"{n.value}{n.suffix}",
        s.Float: lambda n: f"{n.numerator / n.denominator}{n.suffix}",
        s.Character: lambda n: f"{n.prefix}'{n.value}'",
        s.StringLiteral: lambda n: f'{n.prefix}"{n.value}"',
        s.Boolean: lambda n: str(n.value).lower(),
        s.Null: lambda _: "null",
        s.MemberAccess: lambda n: f"({shown(n.operand)}{'->' if n.is_arrow else '.'}{'::'.join(n.name)})",
        s.MemberPointerAccess: lambda n: f"({shown(n.operand)}{'->*' if n.is_arrow else '.*'}{shown(n.pointer)})",
        s.Subscript: lambda n: f"{shown(n.operand)}[{shown(n.index)}]",
        s.Unary: lambda n: f"({n.operator}{shown(n.operand)})",
        s.Binary: lambda n: f"({shown(n.left)} {n.operator} {shown(n.right)})",
        s.Conditional: lambda n: f"({shown(n.condition)} ? {shown(n.yes)} : {shown(n.no)})",
        s.Assignment: lambda n: (
            f"({shown(n.target)}{2 * n.operator})"
            if n.is_postfix
            else f"({shown(n.target)} {n.operator}= {shown(n.value)})"
        ),
        s.Cast: lambda n: f"<{shown(n.type)}>{shown(n.operand)}",
        s.SizeOf: lambda n: f"sizeof[{shown(n.operand)}]",
        s.Repeat: lambda n: f"({shown(n.operand)}@{shown(n.count)})",
        s.At: lambda n: f"{{{shown(n.type)}}}{shown(n.address)}",
        s.InSpace: lambda n: f"{n.space}#{shown(n.address)}",
        s.Call: lambda n: f"{shown(n.function)}({', '.join(map(shown, n.arguments))})",
        s.NamedType: lambda n: f"{n.keyword} {n.name}".strip(),
        s.QualifiedType: lambda n: f"{' '.join(n.words)} {shown(n.to)}",
        s.PointerType: lambda n: f"{shown(n.to)}{f'@{n.space}' if n.space else ''}{n.sign}",
        s.MemberPointerType: lambda n: f"{shown(n.to)} {n.owner}::*",
        s.ArrayType: lambda n: f"{shown(n.element)}[{'' if n.count is None else n.count}]",
        s.FunctionType: lambda n: (
            f"{shown(n.result)}({', '.join(map(shown, n.parameters))}{'...' if n.is_variadic else ''})"
        ),
    }
    return one[type(node)](node)


@for_each("text, tree",
    ("1+2*3", "(1 + (2 * 3))"),           ("1-2-3", "((1 - 2) - 3)"),
    ("a || b && c | d ^ e & f", "(a || (b && (c | (d ^ (e & f)))))"),
    ("e & f == g < h << i + j * k", "(e & (f == (g < (h << (i + (j * k))))))"),
    ("a = b += c ? d : e ? f : g", "(a = (b += (c ? d : (e ? f : g))))"),       ("a <<= 1", "(a <<= 1)"),
    ("-a.b[1]->c", "(-((a.b)[1]->c))"),   ("*p++", "(*(p++))"),                 ("++*p", "((*p) += 1)"),
    ("- --x[1]", "(-(x[1] -= 1))"),       ("a - --b", "(a - (b -= 1))"),        ("x++->y--", "(((x++)->y)--)"),
    ("!~-+*&x", "(!(~(-(+(*(&x))))))"),   ("s.Base::m", "(s.Base::m)"),         ("*p.*m * 2", "(((*p).*m) * 2)"),
    ("p->*m", "(p->*m)"),                 ("f(1, x)", "f(1, x)"),               ("f()", "f()"),
    # what GDB adds
    ("x[0]@8", "(x[0]@8)"),               ("x@n+1", "(x@(n + 1))"),             ("x@2 << 1", "((x@2) << 1)"),
    ("{int}0x1000", "{int}4096"),         ("{struct S *}p+1", "({struct S*}p + 1)"),
    ("$pc + 4", "($pc + 4)"),             ("$v4", "$v4"),
    ("local#0x10", "local#16"),
    ("private_lane#$a+1", "(private_lane#$a + 1)"),
    ("*local#p", "(*local#p)"),
    ("file.c::x", "file.c!x"),            ("my.file.cpp::f::x", "my.file.cpp!f::x"),
    ("'dir/file.c'::x", "dir/file.c!x"),  ("fn::x", "fn::x"),                   ("ns::T::x", "ns::T::x"),
    ("::x", "::x"),                       ("a.b.c", "((a.b).c)"),
    # types
    ("(int)x", "<int>x"),       ("(int*)p", "<int*>p"),     ("(unsigned long int)-1", "<unsigned long>(-1)"),
    ("(struct S *)p->q", "<struct S*>(p->q)"),              ("(T)x", "<T>x"),           ("(T)(x)", "<T>x"),
    ("(t)+x", "(t + x)"),       ("(T)+x", "<T>(+x)"),       ("(ns::T*)x", "<ns::T*>x"),
    ("(const char *const)p", "<const const char*>p"),       ("(int (*)[3])p", "<int[3]*>p"),
    ("(int *[3])p", "<int*[3]>p"),                          ("(int (*(*)[2])(int, ...))p", "<int(int...)*[2]*>p"),
    ("(void (*)(void))p", "<void()*>p"),                    ("(int T::*)m", "<int T::*>m"),
    ("(char @local *)p", "<char@local*>p"),                 ("(Buffer<short,4> *)p", "<Buffer<short, 4>*>p"),
    ("(Buffer<Buffer<int,1>,2>*)p", "<Buffer<Buffer<int, 1>, 2>*>p"),
    ("Buffer<short, 4>::count", "Buffer<short, 4>::count"), ("int(x)", "<int>x"),       ("T(x) + 1", "(<T>x + 1)"),
    ("sizeof(int)", "sizeof[int]"),                         ("sizeof(int[4])", "sizeof[int[4]]"),
    ("sizeof x + 1", "(sizeof[x] + 1)"),                    ("sizeof(x) + 1", "(sizeof[x] + 1)"),
    ("a < b", "(a < b)"),       ("a < b > c", "((a < b) > c)"),
    # literals
    ("10 010 0x1F", None), ("0x1F", "31"),        ("017", "15"),         ("0b101", "5"),
    ("1'000'000", "1000000"),                     ("1u", "1u"),          ("1LLU", "1ull"),      ("1.5", "1.5"),
    (".5f", "0.5f"),       ("1e3", "1000.0"),     ("0x1.8p1", "3.0"),    ("'a'", "'97'"),       (r"'\n'", "'10'"),
    (r"'\x41'", "'65'"),   (r"'\101'", "'65'"),   ("L'é'", "L'233'"),    ("u'x'", "u'120'"),
    ('"a\\tb" "c"', '"a\tbc"'),                   ('L"w"', 'L"w"'),      ("true || false", "(true || false)"),
    ("nullptr", "null"),   ("operator+", "operator+"),                   ("T::operator[]", "T::operator[]"),
)  # fmt: skip
def test_trees(text, tree):
    if tree is None:
        raised(ExpressionError, parse, text, KNOWN.__contains__)
    else:
        assert shown(parse(text, KNOWN.__contains__)) == tree


@for_each("text, column, message",
    ("", 1, "an operand is missing before the end"),         ("1 +", 4, "an operand is missing before the end"),
    ("(1 + 2", 7, "a ) is missing"),                         ("1 + * 2 )", 9, ") does not belong here"),
    ("a[1", 4, "a ] is missing"),                            ("a ? b", 6, "a : is missing"),
    ("a.", 3, "the name of a member is missing"),            ("a.1", 2, ".1 does not belong here"),
    ("x, y", 2, "one expression is expected, and a comma"),  ("x y", 3, "y does not belong here"),
    ("a `b", 3, "unexpected character '`'"),                 ("f x", 3, "x does not belong here"),
    ("'a", 1, "the character has no end"),                   ('x + "abc', 5, "the string has no end"),
    (r"'\q'", 2, "unknown escape sequence"),                 ("''", 1, "'' is not one character"),
    ("08", 1, "08 is not an octal number"),                  ("1x", 1, "1x is not a number"),
    ("1.2.3", 4, ".3 does not belong here"),                 ("1.5q", 1, "1.5q is not a number"),
    ("1e99999999", 1, "1e99999999 is not a number"),         ("int", 1, "int is a type, and a value is needed"),
    ("1 + int", 5, "int is a type, and a value is needed"),  ("(float int)x", 2, "float int is not a type"),
    ("(struct)x", 8, "the name of a struct is missing"),     ("x++ y", 5, "y does not belong here"),
    ("--", 3, "an operand is missing before the end"),       ("{x}1", 2, "a type is missing"),
    ("int(1, 2)", 1, "a conversion takes one value"),        ("fn::", 5, "a name is missing before the end"),
    ("(int[x])y", 6, "an array size must be an integer"),
    ("(char @local)p", 13, "`*` is missing after an address space"))  # fmt: skip
def test_errors_name_the_column(text, column, message):
    with pytest.raises(ExpressionError, match=r"at column \d+ of ") as found:
        parse(text, KNOWN.__contains__)
    assert (found.value.column, found.value.kind) == (column, "bad_expression")
    assert message in found.value.message


def test_limits():
    for text in ("(" * 1000, "-" * 1000 + "1", "1" + "+1" * 5000, "a" * (MAX_LENGTH + 1), "(int" + "*" * 500 + ")1"):
        raised(ExpressionError, parse, text)
    assert parse("1" + "+1" * 1000)


def test_a_string_of_bytes_has_no_surrogate():
    assert "surrogate" in str(raised(UsageError, string_bytes, parse(r'"\ud800"'), DataModel()))
    assert string_bytes(parse(r'u"\ud800"'), DataModel()) == ("char16_t", b"\x00\xd8\x00\x00")


def test_tokens_say_where_they_are():
    assert [(each.text, each.position, each.kind) for each in tokens("  ab+= 12")] == [
        ("ab", 2, "name"), ("+=", 4, "sign"), ("12", 7, "integer"), ("", 9, "end")]  # fmt: skip


@for_each("text, expected",
    ("int", "int"),                       ("unsigned", "unsigned int"),         ("long unsigned", "unsigned long"),
    ("long long int", "long long"),       ("char signed", "signed char"),       ("long double", "long double"),
    ("_Complex double", "complex double"),                                      ("bool", "_Bool"),
    ("const int *", "const int *"),       ("int *const", "int * const"),        ("int[2][3]", "int [2][3]"),
    ("int (*)[3]", "int (*)[3]"),         ("int (*)(int, char *)", "int (*)(int, char *)"),
    ("int (*(*)(void))[2]", "int (*(*)(void))[2]"),                             ("struct S *", "struct S *"),
    ("int S::*", "int struct S::*"),      ("int *(S::*)(int)", "int *(struct S::*)(int)"),
    ("int (*(S::*)(void))(char)", "int (*(struct S::*)(void))(char)"))  # fmt: skip
def test_types_are_built(text, expected):
    model = DataModel()
    kind = Struct("struct", "S", 4, Lazy.known(Body()))
    builder = TypeBuilder(model, lambda name, _keyword: kind if name == "S" else None)
    assert type_text(builder.build(parse_type(text, KNOWN.__contains__)), is_cplus=False) == expected


def test_types_that_are_not_there():
    builder = TypeBuilder(DataModel(), lambda _name, _keyword: None, {"local": 3}.get)
    for text in ("T", "struct S", "char @nowhere *"):
        assert "there is no" in str(raised(UsageError, builder.build, parse_type(text, KNOWN.__contains__)))
    assert builder.build(parse_type("char @local *")).address_space == 3


@pytest.mark.parametrize("model, expected", [(DataModel(), 8), (DataModel(long_size=4, pointer_size=4), 4)])
def test_the_data_model_fixes_sizes(model, expected):
    assert byte_size(model.type("unsigned long")) == expected
    assert isinstance(model.type("int"), Base)
    assert "no type named nothing" in str(raised(UsageError, model.type, "nothing"))


WORDS = [
    "1", "x", "T", "int", "(", ")", "[", "]", "*", "&", "+", "-", "<", ">", ">>", "::", ".", "->", "?", ":", "=", "@",
    "#", "{", "}", "'a'", '"s"', "sizeof", "const", "struct", "$r", "1.5", ",", "~", "operator", "true",
]  # fmt: skip


@given(st.text(max_size=30) | st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join))
def test_any_text_gives_a_tree_or_an_error_with_a_column(text):
    for read in (parse, parse_type):
        column = 1
        try:
            assert shown(read(text, KNOWN.__contains__))
        except ExpressionError as error:
            column = error.column
        assert 1 <= column <= len(text) + 1
