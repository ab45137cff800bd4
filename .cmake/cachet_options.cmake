# Interface targets that our own targets link privately, so that nothing of them leaks to consumers.

option(CACHET_WERROR "Treat warnings as errors" OFF)
set(CACHET_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, e.g. address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

add_library(cachet_options INTERFACE)
target_compile_features(cachet_options INTERFACE cxx_std_20)
target_compile_options(cachet_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # GCC 12 warns of "a" + std::string (GCC bug 105651)
                       -ffp-contract=off $<$<BOOL:${CACHET_WERROR}>:-Werror>)
if(CACHET_SANITIZE)
  target_compile_options(cachet_options INTERFACE -fsanitize=${CACHET_SANITIZE} -fno-sanitize-recover=all
                         -fno-omit-frame-pointer -g1)
  target_link_options(cachet_options INTERFACE -fsanitize=${CACHET_SANITIZE})
endif()
