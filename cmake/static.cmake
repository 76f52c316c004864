# RINGTRUE_STATIC: programs that run on other distributions of their time (RHEL 9), for the .rpm and the tarball. gRPC,
# protobuf, abseil, the C++ runtime and what Debian has no archives of are linked into them; what stays shared has had
# the same soname everywhere for years: libc, libssl, libz, libhwloc, libibverbs, libnl.
#
# Sources are compiled with the very flags of the other build, so that one compiler cache serves both.

function(ringtrue_static_part name)
  cmake_parse_arguments(arg "" "ALIAS" "DEFINITIONS" ${ARGN})
  add_library(ringtrue_static_${name} STATIC ${CMAKE_SOURCE_DIR}/packaging/static/${name}.cc)
  set_target_properties(ringtrue_static_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)  # the CUDA module is a shared object
  target_compile_definitions(ringtrue_static_${name} PUBLIC ${arg_DEFINITIONS})
  add_library(${arg_ALIAS} ALIAS ringtrue_static_${name})
endfunction()

# RHEL 9's has no strict tables.
function(ringtrue_static_sqlite)
  add_library(ringtrue_static_sqlite INTERFACE)
  target_link_libraries(ringtrue_static_sqlite INTERFACE -l:libsqlite3.a m ${CMAKE_DL_LIBS})
  add_library(PkgConfig::SQLITE ALIAS ringtrue_static_sqlite)
endfunction()

# RHEL 9 has it in a repository that few have enabled; libgnutls it has.
function(ringtrue_static_microhttpd)
  add_library(ringtrue_static_microhttpd INTERFACE)
  target_link_libraries(ringtrue_static_microhttpd INTERFACE -l:libmicrohttpd.a)
  add_library(PkgConfig::MICROHTTPD ALIAS ringtrue_static_microhttpd)
endfunction()

# After find_package: of what was imported as a shared library, the archive beside it.
function(ringtrue_use_archives)
  get_directory_property(targets IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    if(NOT target MATCHES "^(gRPC|absl|protobuf|pugixml|c-ares|re2)::")
      continue()
    endif()
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "INTERFACE_LIBRARY")
      get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
      list(TRANSFORM libraries REPLACE "^(-l|.*/lib)(re2|cares)(\\.so)?$" "-l:lib\\2.a")
      set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${libraries}")
      continue()
    elseif(NOT type MATCHES "SHARED|UNKNOWN")
      continue()
    endif()
    get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
    foreach(configuration "" ${configurations})
      string(REGEX REPLACE "(.+)" "_\\1" suffix "${configuration}")
      get_target_property(shared ${target} IMPORTED_LOCATION${suffix})
      if(shared)
        string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive ${shared})
        if(NOT EXISTS ${archive})
          message(FATAL_ERROR "RINGTRUE_STATIC: ${archive} is missing")
        endif()
        set_target_properties(${target} PROPERTIES IMPORTED_LOCATION${suffix} ${archive})
      endif()
    endforeach()
  endforeach()
  # libgcc_s has been the same for longer than what Debian's archive of it asks of libc.
  add_link_options(-static-libstdc++)
endfunction()
