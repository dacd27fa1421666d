define float @inverse(float %x) {
  %difference = fsub float 0.0, %x
  %inverse = call float @llvm.amdgcn.rcp.f32(float %difference)
  ret float %inverse
}
