void checkpoint(int n) { static volatile int visits; visits += n; }
struct A { int a = 1; }; struct B { int b = 2; virtual ~B() {} }; struct C : A, B { int c = 3; };
struct V : virtual A, virtual B { int v = 4; }; struct D : C { int d = 5; }; struct W : V { int w = 6; };
int main() { C c; V v; D d; W w; A *pa = &d; B *pb = &d; B *pc = &c; C *null = nullptr; V *pv = &w; void *any = &c; D *array[2] = {&d, nullptr};
  checkpoint(1); return (pa != 0) + (pb != 0) + (pc != 0) + (null != 0) + (pv != 0) + (any != 0) + (array[0] != 0) + c.c + v.v + d.d + w.w; }
