/* Elements of vectors by a mask: a part of its own, since it needs no other and others do not need it. */
#include "common.h"

#define SHUFFLE(T, M, n, m) IN T##n shuffle(T##m a, M##n i) { T##n r; for (int k = 0; k < n; k++) r[k] = a[i[k] & (m - 1)]; return r; } \
  IN T##n shuffle2(T##m a, T##m b, M##n i) { T##n r; for (int k = 0; k < n; k++) { int j = (int)i[k] & (2 * m - 1); r[k] = j < m ? a[j] : b[j - m]; } return r; }
#define FROM(T, M, m) SHUFFLE(T, M, 2, m) SHUFFLE(T, M, 4, m) SHUFFLE(T, M, 8, m) SHUFFLE(T, M, 16, m)
#define SHUFFLES(T, M) FROM(T, M, 2) FROM(T, M, 4) FROM(T, M, 8) FROM(T, M, 16)
SHUFFLES(char, uchar) SHUFFLES(uchar, uchar) SHUFFLES(short, ushort) SHUFFLES(ushort, ushort) SHUFFLES(half, ushort) SHUFFLES(int, uint) SHUFFLES(uint, uint) SHUFFLES(float, uint)
SHUFFLES(long, ulong) SHUFFLES(ulong, ulong) SHUFFLES(double, ulong)
