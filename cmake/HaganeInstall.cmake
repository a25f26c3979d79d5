# cmake --install BUILD --prefix FOLDER makes a folder that runs on a bare system: bin/hagane, every
# shared library it needs but those of glibc in lib/, and the licence texts in share/doc/hagane/.
# glibc stays the system's own, so the folder runs where glibc is at least the build machine's.
set_target_properties(hagane PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
# DT_RPATH instead of DT_RUNPATH: it also holds for what the carried libraries need in turn.
target_link_options(hagane PRIVATE -Wl,--disable-new-dtags)

install(TARGETS hagane RUNTIME_DEPENDENCY_SET hagane_libraries RUNTIME DESTINATION bin)
install(RUNTIME_DEPENDENCY_SET hagane_libraries
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|mvec|dl|pthread|rt|resolv|util)\\.so"
  LIBRARY DESTINATION lib)

install(FILES LICENSE README.md DESTINATION share/doc/hagane)
install(DIRECTORY ${ONEDNN_ROOT}/share/doc/onednn
  DESTINATION share/doc/hagane/licenses OPTIONAL)
# The packages whose code the folder holds: linked shared, or compiled in from headers.
foreach(package
    libfmt9 libgcc-s1 libgomp1 libhwloc15 libpcre2-8-0 libstdc++6 libudev1 libcap2 libutf8proc2
    libxxhash0 nlohmann-json3-dev librandom123-dev)
  install(FILES /usr/share/doc/${package}/copyright
    DESTINATION share/doc/hagane/licenses RENAME ${package} OPTIONAL)
endforeach()
