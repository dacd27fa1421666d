__kernel void early(__global const int *in, __global int *out) {
  int number;
  __global const int *from = in + get_global_id(0);
  __asm__ volatile("global_load_b32 %0, %1, off" : "=&v"(number) : "v"(from));
  out[get_global_id(0)] = number + 1;
}
