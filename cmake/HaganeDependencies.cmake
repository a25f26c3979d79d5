# External libraries: distribution packages, and oneDNN 3 from a PyPI wheel that scripts/setup
# unpacks into .deps/onednn. Nothing is downloaded here.
find_package(PkgConfig REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(GTest REQUIRED)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
find_path(RANDOM123_INCLUDE_DIR Random123/philox.h REQUIRED)
add_library(random123 INTERFACE)
target_include_directories(random123 SYSTEM INTERFACE ${RANDOM123_INCLUDE_DIR})

set(ONEDNN_ROOT "${CMAKE_SOURCE_DIR}/.deps/onednn" CACHE PATH "oneDNN >= 3 built for libgomp")
find_path(ONEDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp HINTS ${ONEDNN_ROOT}/include)
find_library(ONEDNN_LIBRARY NAMES dnnl HINTS ${ONEDNN_ROOT}/lib)
if(NOT ONEDNN_INCLUDE_DIR OR NOT ONEDNN_LIBRARY)
  message(FATAL_ERROR "oneDNN >= 3 not found; run scripts/setup first, or set ONEDNN_ROOT")
endif()
add_library(onednn INTERFACE)
target_include_directories(onednn SYSTEM INTERFACE ${ONEDNN_INCLUDE_DIR})
target_link_libraries(onednn INTERFACE ${ONEDNN_LIBRARY})

# For one more plug-in, where scripts/setup --oneccl has unpacked it.
set(ONECCL_ROOT "${CMAKE_SOURCE_DIR}/.deps/oneccl" CACHE PATH "oneCCL 2021 without SYCL")
find_path(ONECCL_INCLUDE_DIR oneapi/ccl.hpp HINTS ${ONECCL_ROOT}/include)
find_file(ONECCL_LIBRARY libccl.so.1 HINTS ${ONECCL_ROOT}/lib)

# The MPI libraries are not linked: each ABI is a plug-in that only needs the headers (src/comm).
find_path(MPICH_INCLUDE_DIR mpi.h NO_DEFAULT_PATH
  PATHS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/mpich /usr/include/mpich /usr/include/mpich-x86_64)
find_path(OPENMPI_INCLUDE_DIR mpi.h NO_DEFAULT_PATH
  PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openmpi/include /usr/include/openmpi-x86_64)
