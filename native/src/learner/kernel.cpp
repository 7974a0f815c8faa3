#include "learner/kernel.hpp"

#include <cstring>
#include <initializer_list>

namespace chacha {

const Kernel* kernel_named(const char* name) {
  if (std::strcmp(name, "plain") == 0) return &kPlainKernel;
#if defined(__x86_64__)
  const bool fma = __builtin_cpu_supports("fma") != 0;  // those files are compiled with -mfma
  if (std::strcmp(name, "avx2") == 0 && __builtin_cpu_supports("avx2") && fma) return &kAvx2Kernel;
  if (std::strcmp(name, "avx512") == 0 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && fma)
    return &kAvx512Kernel;
#endif
  return nullptr;
}

const Kernel* best_kernel() {
  for (const char* name : {"avx512", "avx2"}) {
    if (const Kernel* kernel = kernel_named(name)) return kernel;
  }
  return &kPlainKernel;
}

}  // namespace chacha
