/* <hip/hiprtc.h>: kernels that are compiled while a program runs. */
#pragma once
#include <stddef.h>
typedef enum hiprtcResult {
  HIPRTC_SUCCESS, HIPRTC_ERROR_OUT_OF_MEMORY, HIPRTC_ERROR_PROGRAM_CREATION_FAILURE, HIPRTC_ERROR_INVALID_INPUT,
  HIPRTC_ERROR_INVALID_PROGRAM, HIPRTC_ERROR_INVALID_OPTION, HIPRTC_ERROR_COMPILATION,
  HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE, HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION,
  HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION, HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID, HIPRTC_ERROR_INTERNAL_ERROR,
  HIPRTC_ERROR_LINKING = 100
} hiprtcResult;
typedef struct _hiprtcProgram *hiprtcProgram;
typedef struct ihiprtcLinkState *hiprtcLinkState;
typedef enum hiprtcJIT_option { HIPRTC_JIT_MAX_REGISTERS, HIPRTC_JIT_IR_TO_ISA_OPT_EXT = 10000 } hiprtcJIT_option;
typedef enum hiprtcJITInputType {
  HIPRTC_JIT_INPUT_OBJECT = 3, HIPRTC_JIT_INPUT_LIBRARY, HIPRTC_JIT_INPUT_LLVM_BITCODE = 100, HIPRTC_JIT_INPUT_LLVM_BUNDLED_BITCODE,
  HIPRTC_JIT_INPUT_LLVM_ARCHIVES_OF_BUNDLED_BITCODE, HIPRTC_JIT_INPUT_SPIRV
} hiprtcJITInputType;
#ifdef __cplusplus
extern "C" {
#endif
const char *hiprtcGetErrorString(hiprtcResult);
hiprtcResult hiprtcVersion(int *, int *);
hiprtcResult hiprtcCreateProgram(hiprtcProgram *, const char *, const char *, int, const char **, const char **);
hiprtcResult hiprtcDestroyProgram(hiprtcProgram *);
hiprtcResult hiprtcAddNameExpression(hiprtcProgram, const char *);
hiprtcResult hiprtcCompileProgram(hiprtcProgram, int, const char **);
hiprtcResult hiprtcGetLoweredName(hiprtcProgram, const char *, const char **);
hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram, size_t *);
hiprtcResult hiprtcGetProgramLog(hiprtcProgram, char *);
hiprtcResult hiprtcGetCodeSize(hiprtcProgram, size_t *);
hiprtcResult hiprtcGetCode(hiprtcProgram, char *);
hiprtcResult hiprtcGetBitcodeSize(hiprtcProgram, size_t *);
hiprtcResult hiprtcGetBitcode(hiprtcProgram, char *);
hiprtcResult hiprtcLinkCreate(unsigned, hiprtcJIT_option *, void **, hiprtcLinkState *);
hiprtcResult hiprtcLinkAddData(hiprtcLinkState, hiprtcJITInputType, void *, size_t, const char *, unsigned, hiprtcJIT_option *, void **);
hiprtcResult hiprtcLinkAddFile(hiprtcLinkState, hiprtcJITInputType, const char *, unsigned, hiprtcJIT_option *, void **);
hiprtcResult hiprtcLinkComplete(hiprtcLinkState, void **, size_t *);
hiprtcResult hiprtcLinkDestroy(hiprtcLinkState);
#ifdef __cplusplus
}
#endif
