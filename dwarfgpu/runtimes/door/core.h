// What the parts of a door share; the functions of an API are made from the prototypes of its rows.
#include <stddef.h>
#include <stdint.h>

typedef uintptr_t word;

#define API __attribute__((visibility("default")))

// Call a function by its number; return what it returns.
word dwarfgpu_call(uint32_t number, const word *words, uint32_t count);

// The number of the API: its place in `runtimes/started.py`.
extern const uint32_t dwarfgpu_api;

// What each function returns if there is no device; those that return pointers, NULL.
extern const word dwarfgpu_no_device;
extern const char dwarfgpu_no_device_text[];
