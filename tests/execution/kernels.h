// Work-item functions of OpenCL by the builtins of the compiler, so that no device library is needed.
#define get_local_id(d) ((d) == 0 ? __builtin_amdgcn_workitem_id_x() : (d) == 1 ? __builtin_amdgcn_workitem_id_y() : __builtin_amdgcn_workitem_id_z())
#define get_group_id(d) ((d) == 0 ? __builtin_amdgcn_workgroup_id_x() : (d) == 1 ? __builtin_amdgcn_workgroup_id_y() : __builtin_amdgcn_workgroup_id_z())
#define get_local_size(d) ((d) == 0 ? __builtin_amdgcn_workgroup_size_x() : (d) == 1 ? __builtin_amdgcn_workgroup_size_y() : __builtin_amdgcn_workgroup_size_z())
#define get_global_id(d) (get_group_id(d) * get_local_size(d) + get_local_id(d))
#define barrier(flags) do { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); } while (0)
