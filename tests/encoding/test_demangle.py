"""Mangled names as C++ has them. The texts are those of libstdc++, which are those of `c++filt -i`."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu import demangle
from dwarfgpu.demangle import MAX_LENGTH, demangled
from tests.builders.parameters import told


@pytest.mark.parametrize("name, text", told("""
    _Z3decIiEDTplfp_Li1EET_ -> decltype ({parm#1}+(1)) dec<int>(int)
    _Z4dot4Dv4_fS_ -> dot4(float __vector(4), float __vector(4))
    _ZN2ns3BoxINS_1AEE3refEPKS1_m -> ns::Box<ns::A>::ref(ns::A const*, unsigned long)
    _ZNK2ns3BoxINS_1AEEeqERKS2_ -> ns::Box<ns::A>::operator==(ns::Box<ns::A> const&) const
    _ZNSsC1Ev -> std::basic_string<char, std::char_traits<char>, std::allocator<char> >::basic_string()
    _Z3strSsRSoRKSt6vectorISsSaISsEE
        -> str(std::string, std::ostream&, std::vector<std::string, std::allocator<std::string> > const&)
    _Z5packrIJRidEEvDpOT_ -> void packr<int&, double>(int&, double&&)
    _Z4litsILin3ELb1ELc120ELm5ELxn7EL5Color7EEvv -> void lits<-3, true, (char)120, 5ul, -7ll, (Color)7>()
    _Z2ttISt6vectorEvT_IiSaIiEE -> void tt<std::vector>(std::vector<int, std::allocator<int> >)
    _Z4fptrM1AiMS_KFicERFvvE -> fptr(int A::*, int (A::*)(char) const, void (&)())
    _Z4fptrPFviEPFPFidEcE -> fptr(void (*)(int), int (*(*)(char))(double))
    _Z1fDnwbgho -> f(decltype(nullptr), wchar_t, bool, __float128, unsigned char, unsigned __int128)
    _Z1fIjENSt2ifIXsr6is_intIT_EE5valueE1CE4typeEv -> std::if<is_int<unsigned int>::value, C>::type f<unsigned int>()
    _Z2faRA4_iPA2_A3_iPKi -> fa(int (&) [4], int (*) [2][3], int const*)
    _Z2cqPKPKPKcPViPri -> cq(char const* const* const*, int volatile*, int restrict*)
    _ZZ4mainENKUlvE0_clEv -> main::{lambda()#2}::operator()() const
    _Z1fv.isra.0.cold.1 -> f() [clone .isra.0] [clone .cold.1]
    _ZN2ns3sumIiLi4EEET_RAT0__S1_ -> int ns::sum<int, 4>(int (&) [4])
    _Z3addii -> add(int, int)    _ZN2ns3addEif -> ns::add(int, float)
    _Z1fPU3AS1fPU3AS3Kf -> f(float AS1*, float const AS3*)    _ZN1AC1Ev -> A::A()          _ZN1AD0Ev -> A::~A()
    _ZN1AIcEC2IiEET_ -> A<char>::A<int>(int)                  _ZN12_GLOBAL__N_11fEv -> (anonymous namespace)::f()
    _ZN1AnwEm -> A::operator new(unsigned long)               _ZN1AcviEv -> A::operator int()
    _ZNK1A1kEv -> A::k() const   _ZNVKR1A1kEv -> A::k() const volatile &                   _ZN1AppEv -> A::operator++()
    _ZN1ApLERKS_ -> A::operator+=(A const&)                   _ZN1AlsIiEERS_T_ -> A& A::operator<< <int>(int)
    _Zli3_kme -> operator"" _km(long double)                  _Z4packIJiPcEEvDpT_ -> void pack<int, char*>(int, char*)
    _Z4packIJEEvDpT_ -> void pack<>()                         _Z2mpIXadL_ZN1A1xEEEEvv -> void mp<&A::x>()
    _Z2mfIXadL_ZNK1A1fEvEEEvv -> void mf<&(A::f() const)>()   _Z1fDuDiDs -> f(char8_t, char32_t, char16_t)
    _Z4rettIiEPFvcET_ -> void (*rett<int>(int))(char)         _Z1fRA4_PFviE -> f(void (* (&) [4])(int))
    _Z4noexPDoFvvE -> noex(void (*)() noexcept)               _Z2vaiz -> va(int, ...)      _ZZ4mainE1x_0 -> main::x
    _ZTV1A -> vtable for A       _ZTIN2ns1AE -> typeinfo for ns::A                         _ZTS1A -> typeinfo name for A
    _ZTT1A -> VTT for A          _ZTC1A16_1B -> construction vtable for B-in-A
    _ZThn16_N1A1fEv -> non-virtual thunk to A::f()            _ZTv0_n24_N1A1fEv -> virtual thunk to A::f()
    _ZTch0_h16_N1A1fEv -> covariant return thunk to A::f()    _ZGVZ1fvE1x -> guard variable for f()::x
    _ZTW3tls -> TLS wrapper function for tls                  _ZN2v12TgB3foo1mEv -> v1::Tg[abi:foo]::m()
    _Z2mkB3foov -> mk[abi:foo]()                              _Z3barILi3EEvv.part.0 -> void bar<3>() [clone .part.0]
    _ZL7counter -> counter       _ZSt4cout -> std::cout       _Z1fM1AFivEMS_i -> f(int (A::*)(), int A::*)
    """))  # fmt: skip
def test_names(name, text):
    assert demangled(name) == text


NO_NAMES = [
    "main", "", "_", "_Z", "_Z1", "_Z9short", "_ZN", "_ZNE", "_ZN2nsE3f", "_Z1fS_", "_Z1fT_", "_Z1f\0i", "_Z2f\udc80v",
    "_Z1f" + "P" * MAX_LENGTH + "i", "_Z1f" + "1AI" * 1000, "printf", "__Z1fi"]  # fmt: skip


@pytest.mark.parametrize("name", NO_NAMES)
def test_what_is_no_mangled_name_stays_as_it_is(name):
    assert demangled(name) == name


@pytest.mark.parametrize("count", [10, 14, 16, 20, 35])
def test_a_name_whose_text_would_double_with_each_part_stays_mangled(count):
    parts = (f"S_I{2 * f'S{digit}_'}E" for digit in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXY"[:count])
    name = "_Z1f1AIiE" + "".join(parts)
    assert (demangled(name) == name) == (count > 11)


def test_without_a_library_names_stay_mangled(monkeypatch):
    monkeypatch.setattr(demangle, "LIBRARIES", ("libnone.so.7",))
    for function in (demangle._library_function, demangle.demangled):
        function.cache_clear()
    try:
        assert demangle._library_function() is None
        assert demangled("_Z1fi") == "_Z1fi"
    finally:
        for function in (demangle._library_function, demangle.demangled):
            function.cache_clear()
    monkeypatch.undo()
    assert demangled("_Z1fi") == "f(int)"


@given(st.text("_ZNSTtIEJPRKFAMDLXCUlvibj0123456789GVsrpaAB.", max_size=60))
def test_any_characters_give_a_text(text):
    assert demangled("_Z" + text)


NAMES = (
    "_ZNSt3mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEiSt4lessIS5_EEixERKS5_", "_Z5packrIJRidEEvDpOT_",
    "_ZTC1A16_1B", "_ZZ4mainENKUlvE0_clEv", "_Z2mfIXadL_ZNK1A1fEvEEEvv")  # fmt: skip


@given(st.sampled_from(NAMES), st.integers(0, 80), st.sampled_from("_ZNSTIEJPKFALX0123456789"))
def test_damaged_names_give_a_text(name, at, character):
    assert demangled(name[:at] + character + name[at + 1 :])
    assert isinstance(demangled(name[:at]), str)


@pytest.mark.slow
def test_the_names_of_a_library_are_those_of_cxxfilt(require_tool):
    compiler = require_tool("g++")
    library = subprocess.run([compiler, "-print-file-name=libstdc++.so"], check=True, capture_output=True, text=True)
    path = Path(library.stdout.strip()).resolve()
    written = subprocess.run([require_tool("nm"), "-D", path], check=True, capture_output=True, text=True)
    symbols = (line.split()[-1].partition("@")[0] for line in written.stdout.splitlines())
    names = sorted({each for each in symbols if each.startswith("_Z")})
    assert len(names) > 3000
    told = subprocess.run(
        [require_tool("c++filt"), "-i"], check=True, input="\n".join(names), capture_output=True, text=True
    ).stdout.splitlines()
    assert [name for name, text in zip(names, told, strict=True) if demangled(name) not in (name, text)] == []
    assert sum(demangled(name) == text for name, text in zip(names, told, strict=True)) > 0.99 * len(names)
