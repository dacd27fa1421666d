// What docs/judge.md has: the work-item of a shared object of the host.
#ifndef __AMDGCN__
unsigned dwarfgpu_local_id[3], dwarfgpu_group_id[3], dwarfgpu_local_size[3];
#define __builtin_amdgcn_workitem_id_x() (dwarfgpu_local_id[0])
#define __builtin_amdgcn_workgroup_id_x() (dwarfgpu_group_id[0])
#define __builtin_amdgcn_workgroup_size_x() (dwarfgpu_local_size[0])
#define __builtin_amdgcn_s_barrier()
#endif
