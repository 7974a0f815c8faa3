#define CHACHA_KERNEL plain
#include "learner/kernel_impl.hpp"

namespace chacha {
const Kernel kPlainKernel = {"plain",      plain::dot,    plain::rate, plain::train,
                             plain::learn, plain::charge, plain::bound};
}  // namespace chacha
