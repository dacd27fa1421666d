// What lane-pc.s would be the machine code of: its line table refers to these lines.

LOCAL int tile[64];

void X(int *out, int limit) {
  int lane = WORK_ITEM_ID;  // a: every lane that was there on entry
  int slots[4];
  int unused = limit + 1;
  int result = 0;
  if (lane < limit) {  // c1
    int left = lane * 2;  // b
    if ((lane & 1) == 0) {  // c2
      int even = left + 10;  // c
      result = even;
    } else {
      int odd = left - 1;  // d
      result = odd * odd;
    }
    result += left;  // e
  } else {
    int rest = lane - limit;  // f
    result = -rest;
  }
  out[lane] = result;  // g
}

// All lanes run for a while, whichever were active before.
int whole_wave(int value) {
  int sum = value;
  sum = add_across_all_lanes(sum);
  return sum;
}
