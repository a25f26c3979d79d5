include(GoogleTest)

get_filename_component(HAGANE_SOURCE_DIR ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)

# hagane_room(NAME SOURCES ... [ROOMS ...] [LIBS ...])
#   One static library per room. ROOMS are the rooms its headers and sources may include
#   (scripts/check_rooms holds the same list against the #include lines); LIBS are external.
function(hagane_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;ROOMS;LIBS" ${ARGN})
  add_library(hagane_${name} STATIC ${ARG_SOURCES})
  target_include_directories(hagane_${name} PUBLIC ${HAGANE_SOURCE_DIR}/src)
  foreach(room ${ARG_ROOMS})
    target_link_libraries(hagane_${name} PUBLIC hagane_${room})
  endforeach()
  target_link_libraries(hagane_${name} PUBLIC ${ARG_LIBS})
  hagane_warnings(hagane_${name})
endfunction()

function(hagane_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC 12 sees overlapping copies in std::string::insert (GCC bug 105651).
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(HAGANE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# hagane_isa_source(FLAGS FILES...): compile FILES with the instruction-set FLAGS of one level only.
# Their names end in _LEVEL.cc, by which scripts/check_symbols finds the objects.
function(hagane_isa_source flags)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${flags}")
endfunction()

# hagane_test(NAME SOURCES ... ROOMS ... [LIBS ...] [LABELS ...] [TIMEOUT seconds])
#   A GoogleTest binary. Each of its test cases is one CTest test "NAME.suite.case", so that CTest
#   shows a case that skips itself as skipped; cases are found when ctest starts. Label: unit, unless
#   given.
function(hagane_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;ROOMS;LIBS;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  foreach(room ${ARG_ROOMS})
    target_link_libraries(${name} PRIVATE hagane_${room})
  endforeach()
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gtest GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${HAGANE_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE
    HAGANE_SHARED_DIR="${HAGANE_SHARED_DIR}" HAGANE_SOURCE_DIR="${HAGANE_SOURCE_DIR}")
  hagane_warnings(${name})
  # Discovery keeps the first label of a list only; ctest -L and -LE search, so they find each part.
  list(JOIN ARG_LABELS "+" labels)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${name}." NO_PRETTY_VALUES
    PROPERTIES LABELS "${labels}" TIMEOUT ${ARG_TIMEOUT})
endfunction()
