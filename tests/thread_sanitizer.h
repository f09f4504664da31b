// Whether ThreadSanitizer watches this build.
#pragma once

namespace muster {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

}  // namespace muster
