// An operator new that fails at a chosen call. In a separate file, so that the compiler sees calls
// of new and delete, not of malloc and free.
#pragma once

namespace failing {

extern long long left;  // allocations until one fails; below 0: none does
extern bool failed;

}  // namespace failing
