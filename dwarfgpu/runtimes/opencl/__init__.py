"""OpenCL: a platform for programs that are run by `dwarfgpu exec`."""
