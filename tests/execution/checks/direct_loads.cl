// Loads that write local memory, with one place in turn, that FAULT numbers, without its barrier or its wait.
#ifdef __gfx1250__
#define LOAD(TO, AT) __builtin_amdgcn_global_load_async_to_lds_b32(in + (AT) + l, (TO) + l, 0, 0)
#define STORE(AT, FROM) __builtin_amdgcn_global_store_async_from_lds_b32(out + (AT) + l, (FROM) + l, 0, 0)
#define WAIT(LEFT) __builtin_amdgcn_s_wait_asynccnt(LEFT)
#define MEET WAIT(0); barrier(CLK_LOCAL_MEM_FENCE)
#elif defined(BUFFERS)
#define LOAD(TO, AT) __builtin_amdgcn_raw_ptr_buffer_load_lds( \
    __builtin_amdgcn_make_buffer_rsrc(in, 0, 65536, BUFFERS), (local void *)((TO) + wave), 4, 4 * ((AT) + l), 0, 0, 0)
#else
#define LOAD(TO, AT) __builtin_amdgcn_global_load_lds(in + (AT) + l, (local void *)((TO) + wave), 4, 0, 0)
#endif
#define KERNEL(NAME) kernel void NAME(global int *out, global int *in) { \
    local int t[256], u[256]; const int l = get_local_id(0), wave = l & -__builtin_amdgcn_wavefrontsize();
#define UNLESS(N, RIGHT) if (FAULT != N) { RIGHT; }
#ifndef WAIT
#define WAIT(LEFT) __builtin_amdgcn_s_waitcnt(0x3f70 + (LEFT))  // vmcnt
#define MEET barrier(CLK_LOCAL_MEM_FENCE)
#endif
#define MEET_ALONE __builtin_amdgcn_s_barrier()

KERNEL(stage)
  LOAD(t, 0);  // first
  if (FAULT == 2) MEET_ALONE; else UNLESS(1, MEET)
  out[l] = t[l ^ 128];  // second
}
KERNEL(pipeline)
  LOAD(t, 0);
  LOAD(u, 256);  // first
  WAIT(1); MEET_ALONE;
  out[l] = t[l ^ 128];
  UNLESS(1, WAIT(0))
  UNLESS(2, MEET_ALONE)
  out[l] += u[l ^ 128];  // second
}
KERNEL(early)
  LOAD(t, 0);  // first
  LOAD(u, 256);
  WAIT(FAULT == 1 ? 2 : 1); MEET_ALONE;
  out[l] = t[l ^ 128];  // second
  WAIT(0); MEET_ALONE;
  out[l] += u[l ^ 128];
}
KERNEL(again)
  LOAD(t, 0); MEET;
  int x = t[l ^ 128];  // second
  UNLESS(1, MEET)
  LOAD(t, 256); MEET;  // first
  out[l] = x + t[l ^ 128];
}
KERNEL(own)
  LOAD(t, 0);  // first
  UNLESS(1, WAIT(0))
  out[l] = t[l ^ 1];  // second
}
KERNEL(behind)
  LOAD(t, 0);  // first
  UNLESS(1, WAIT(0))
  int x = *(volatile local int *)(t + (l ^ 1));  // second
  WAIT(0);
  out[l] = x;
}
#ifdef STORE
KERNEL(sent)
  t[l] = l; MEET;
  STORE(0, t);  // first
  UNLESS(1, WAIT(0))
  *(volatile local int *)(t + l) = 1;  // second
}
KERNEL(passed)
  LOAD(t, 0);  // first
  UNLESS(1, WAIT(0))
  MEET_ALONE;
  STORE(0, t);  // second
}
KERNEL(taken)
  t[l] = l; MEET;
  STORE(0, t);  // first
  UNLESS(1, WAIT(0))
  MEET_ALONE;
  *(volatile local int *)(t + (l ^ 128)) = 1;  // second
}
KERNEL(seen)
  t[l] = l; MEET;
  STORE(0, t);  // first
  UNLESS(1, WAIT(0))
  MEET_ALONE;
  out[256 + l] = out[l ^ 128];  // second
}
#endif
