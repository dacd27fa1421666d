// What kernels need on the host: each work-item is a thread, and host.c has the functions.
#define get_local_id(d) host_local_id()
#define get_group_id(d) host_group_id()
#define get_global_id(d) host_global_id()
#define barrier(flags) host_barrier()
#define __builtin_amdgcn_s_barrier() host_barrier()
#define __builtin_amdgcn_fence(order, ...) __atomic_thread_fence(order)
#define __builtin_amdgcn_readfirstlane(number) (number)
#define __builtin_amdgcn_ds_bpermute(place, number) (number)
unsigned long host_local_id(void), host_group_id(void), host_global_id(void);
void host_barrier(void);
