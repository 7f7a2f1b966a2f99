# SPDX-License-Identifier: Apache-2.0
# kf_flags: what every target of ours is compiled with. Never applied to third-party code.
add_library(kf_flags INTERFACE)
target_compile_features(kf_flags INTERFACE cxx_std_23)
target_include_directories(kf_flags INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
target_compile_options(kf_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Wno-missing-field-initializers)
# g++ 12 sees overlapping copies in every optimised std::string + (GCC bug 105651, fixed in 13).
target_compile_options(kf_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(KF_WERROR)
  target_compile_options(kf_flags INTERFACE -Werror)
endif()
if(KF_SANITIZE)
  target_compile_options(kf_flags INTERFACE -fsanitize=${KF_SANITIZE} -fno-omit-frame-pointer)
  # The tests' own code is watched for its memory and races alone: undefined behaviour in it would take most of the build's time.
  target_compile_options(kf_flags INTERFACE $<$<BOOL:$<TARGET_PROPERTY:KF_IS_TEST>>:-O0$<SEMICOLON>-fno-sanitize=undefined>)
  target_link_options(kf_flags INTERFACE -fsanitize=${KF_SANITIZE})
  target_compile_definitions(kf_flags INTERFACE KF_SANITIZED=1)
endif()
if(KF_PORTABLE)
  # Dynamic glibc, because opening the driver at run time needs one; everything else is static.
  target_link_options(kf_flags INTERFACE -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL -Wl,--gc-sections)
  target_compile_options(kf_flags INTERFACE -ffunction-sections -fdata-sections)
endif()
find_package(Threads REQUIRED)
target_link_libraries(kf_flags INTERFACE Threads::Threads ${CMAKE_DL_LIBS})

# kf_library(NAME source... [LINKS target...]): the static library of one src folder.
function(kf_library name)
  cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE kf_flags PUBLIC ${ARG_LINKS})
endfunction()

# kf_test(NAME source... [LINKS target...] [LABELS label...]): one GoogleTest binary.
function(kf_test name)
  cmake_parse_arguments(ARG "" "" "LINKS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES KF_IS_TEST ON)
  target_link_libraries(${name} PRIVATE kf_flags ${ARG_LINKS} dep::test)
  target_compile_definitions(${name} PRIVATE KF_SOURCE_DIR="${CMAKE_SOURCE_DIR}" KF_BINARY_DIR="${CMAKE_BINARY_DIR}")
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 300)
endfunction()
