// What functions of OpenCL answer where the specification demands one error: a line for each, `what number`.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>

static const char *source =
    "global int counts[25];\n"
    "kernel __attribute__((vec_type_hint(uchar2))) __attribute__((reqd_work_group_size(4, 2, 1)))\n"
    "void shown(write_only image2d_t out, sampler_t s, global int *p) { p[0] = counts[1] += 1; }\n";

int main(void) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  clGetPlatformIDs(1, &platform, NULL);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
  error = clBuildProgram(program, 1, &device, "-cl-std=CL3.0", NULL, NULL);
  printf("build %d\n", error);
  cl_kernel kernel = clCreateKernel(program, "shown", NULL);
  cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, NULL);
  cl_image_format format = {CL_RGBA, CL_FLOAT};
  cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 4};
  cl_mem image = clCreateImage(context, CL_MEM_READ_ONLY, &format, &shape, NULL, NULL);

  char attributes[100];
  clGetKernelInfo(kernel, CL_KERNEL_ATTRIBUTES, sizeof attributes, attributes, NULL);
  printf("attributes %s\n", attributes);
  printf("sampler %d\n", clSetKernelArg(kernel, 1, sizeof(cl_sampler), NULL));
  printf("image %d\n", clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
  printf("access %d\n", clSetKernelArg(kernel, 0, sizeof image, &image));
  printf("buffer %d\n", clSetKernelArg(kernel, 2, sizeof image, &image));
  cl_context_properties key = CL_CONTEXT_PLATFORM, twice[] = {key, (key, (cl_context_properties)platform), key, 0, 0};
  twice[3] = (cl_context_properties)platform;
  clCreateContextFromType(twice, CL_DEVICE_TYPE_GPU, NULL, NULL, &error);
  printf("property %d\n", error);
  size_t variables = 0, two[2] = {4, 4};
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE, sizeof variables, &variables, NULL);
  printf("variables %zu\n", variables);
  cl_device_id devices[2] = {device, device};
  const unsigned char *binaries[2] = {(const unsigned char *)"\x7f" "ELF", (const unsigned char *)"\x7f" "ELF"};
  clCreateProgramWithBinary(context, 2, devices, two, binaries, NULL, &error);
  printf("binaries %d\n", error);
  clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 64, NULL, &error);
  printf("flags %d\n", error);
  clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, 64, NULL, &error);
  printf("host %d\n", error);
  clCreateBuffer(context, 0, 0, NULL, &error);
  printf("size %d\n", error);
  clCreateCommandQueue(context, device, 1 << 2, &error);
  printf("queue %d\n", error);
  printf("device %d\n", clGetDeviceInfo(device, 0x4000, 0, NULL, NULL));
  cl_uint count = 0;
  error = clGetSupportedImageFormats(context, CL_MEM_KERNEL_READ_AND_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, NULL, &count);
  printf("formats %d %d\n", error, count > 20);
  void *shared = clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0);
  clCreateBuffer(context, CL_MEM_USE_HOST_PTR, 65, shared, &error);
  printf("shared %d\n", error);
  printf("none %d %d\n", clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, 0, NULL),
         clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, 0, &shared));

  cl_command_queue work = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
  float color[4] = {1e10f, -1e10f, NAN, 65519};  // infinities, no number, and what is rounded to the last one
  size_t start[3] = {0}, one[3] = {1, 1, 1};
  shape.image_width = shape.image_height = 1;
  for (int kind = 0; kind < 3; kind++) {
    unsigned short texel[4] = {0};
    format.image_channel_data_type = (cl_channel_type[]){CL_HALF_FLOAT, CL_UNORM_INT8, CL_SNORM_INT16}[kind];
    image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, NULL);
    clEnqueueFillImage(work, image, color, start, one, 0, NULL, NULL);
    clEnqueueReadImage(work, image, CL_TRUE, start, one, 0, 0, texel, 0, NULL, NULL);
    printf("texel %04x %04x %04x %04x\n", texel[0], texel[1], texel[2] & 0x7fff, texel[3]);
  }
  return 0;
}
