# libringtrue-cuda.so, where nvcc is found: the one part that is built with CUDA. Programs open it when they need it;
# nothing links it, and it links nothing of CUDA but its own copy of the runtime.
option(RINGTRUE_CUDA "Build the CUDA module where nvcc is found" ON)
set(all 75 80 86 89 90 100 120)
if(RINGTRUE_SANITIZE)
  set(all 90)  # for the host's side of it
endif()
set(RINGTRUE_CUDA_ARCHITECTURES "${all}" CACHE STRING
    "Compute capabilities to make machine code for; the last one as PTX, too")
if(RINGTRUE_CUDA)
  find_program(RINGTRUE_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
endif()
if(NOT RINGTRUE_CUDA OR NOT RINGTRUE_NVCC)
  message(STATUS "CUDA module: not built (no nvcc)")
  return()
endif()

get_filename_component(cuda_root ${RINGTRUE_NVCC} REALPATH)
get_filename_component(cuda_root ${cuda_root} DIRECTORY)
get_filename_component(cuda_root ${cuda_root} DIRECTORY)
find_path(RINGTRUE_CUDA_INCLUDE cuda_runtime.h HINTS ${cuda_root}/include ${cuda_root}/targets/x86_64-linux/include)
find_library(RINGTRUE_CUDART cudart_static HINTS ${cuda_root}/lib64 ${cuda_root}/targets/x86_64-linux/lib)
if(NOT RINGTRUE_CUDA_INCLUDE OR NOT RINGTRUE_CUDART)
  message(STATUS "CUDA module: not built (${RINGTRUE_NVCC} is there, its headers or cudart_static are not)")
  return()
endif()
message(STATUS "CUDA module: ${RINGTRUE_NVCC}, compute capabilities ${RINGTRUE_CUDA_ARCHITECTURES}")

set(module ${CMAKE_SOURCE_DIR}/lib/transport/cuda/module)
set(kernels ${CMAKE_BINARY_DIR}/cuda/kernels.o)
set(code)
foreach(architecture ${RINGTRUE_CUDA_ARCHITECTURES})
  list(APPEND code -gencode arch=compute_${architecture},code=sm_${architecture})
endforeach()
list(GET RINGTRUE_CUDA_ARCHITECTURES -1 newest)
list(APPEND code -gencode arch=compute_${newest},code=compute_${newest})
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/cuda)
# Minutes for all of them. By names below lib, so that what the compiler's cache has of one tree fits all others; a file
# of dependencies would be of names below lib, too, which ninja takes for those of its own folder.
file(GLOB headers CONFIGURE_DEPENDS ${module}/*.h ${module}/*.cuh ${CMAKE_SOURCE_DIR}/lib/transport/cuda/*.h)
add_custom_command(
  OUTPUT ${kernels}
  COMMAND ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1 ${CMAKE_CXX_COMPILER_LAUNCHER}
          ${RINGTRUE_NVCC} -std=c++20 -O3 --threads 2 -c transport/cuda/module/kernels.cu -o ${kernels} -I . ${code}
          -Werror all-warnings -Xcompiler=-Wall,-Wextra,-fPIC,-fvisibility=hidden
  COMMAND ${CMAKE_STRIP} --strip-debug ${kernels} # names of nvcc's temporary files
  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/lib
  DEPENDS ${module}/kernels.cu ${headers}
  COMMENT "Compiling the CUDA kernels" VERBATIM)

file(GLOB sources CONFIGURE_DEPENDS ${module}/*.cc)
add_library(ringtrue-cuda MODULE ${sources} ${kernels}
            $<$<BOOL:${RINGTRUE_STATIC}>:${CMAKE_SOURCE_DIR}/packaging/static/libc.cc>)
set_source_files_properties(${kernels} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
# Sanitizers stay outside: the runtime in it was built without.
set_target_properties(ringtrue-cuda PROPERTIES
  COMPILE_OPTIONS "-Wall;-Wextra;-Werror" LINK_OPTIONS "-Wl,--exclude-libs,ALL;-Wl,--no-undefined;$<$<BOOL:${RINGTRUE_STATIC}>:-static-libstdc++>"
  CXX_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
target_include_directories(ringtrue-cuda PRIVATE ${CMAKE_SOURCE_DIR}/lib)
target_include_directories(ringtrue-cuda SYSTEM PRIVATE ${RINGTRUE_CUDA_INCLUDE})
target_link_libraries(ringtrue-cuda PRIVATE ${RINGTRUE_CUDART} tl::expected fmt::fmt Threads::Threads
                      ${CMAKE_DL_LIBS} rt)

include(GNUInstallDirs)
install(TARGETS ringtrue-cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/ringtrue COMPONENT cuda)
