#define CHACHA_KERNEL avx512
#include "learner/kernel_impl.hpp"

namespace chacha {
const Kernel kAvx512Kernel = {"avx512",      avx512::dot,    avx512::rate, avx512::train,
                              avx512::learn, avx512::charge, avx512::bound};
}  // namespace chacha
