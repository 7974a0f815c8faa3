#define CHACHA_KERNEL avx2
#include "learner/kernel_impl.hpp"

namespace chacha {
const Kernel kAvx2Kernel = {"avx2",      avx2::dot,    avx2::rate, avx2::train,
                            avx2::learn, avx2::charge, avx2::bound};
}  // namespace chacha
