# What packages hold, by component: command, tui, monitoring, daemon, cuda. packaging/debian and packaging/rpm deal the files out.
if(NOT TARGET ringtrue OR NOT TARGET ringtrued)
  return()
endif()
include(GNUInstallDirs)
set(RINGTRUE_UNIT_DIR "lib/systemd/system" CACHE PATH "Where units of systemd are installed")
set(RINGTRUE_DEFAULT_DIR "${CMAKE_INSTALL_SYSCONFDIR}/default" CACHE PATH "Where files of variables for units are installed")
set(RINGTRUE_ZSH_DIR "vendor-completions" CACHE STRING "The folder of share/zsh that zsh looks for completions in")
set(shared ${CMAKE_SOURCE_DIR}/packaging/shared)

install(TARGETS ringtrue RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
install(TARGETS ringtrue-tui RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tui)
install(TARGETS ringtrued RUNTIME DESTINATION ${CMAKE_INSTALL_SBINDIR} COMPONENT daemon)
install(TARGETS ringtrue-worker ringtrue-probe RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/ringtrue
        COMPONENT daemon)
install(DIRECTORY packaging/schema DESTINATION ${CMAKE_INSTALL_DATADIR}/ringtrue COMPONENT command
        FILES_MATCHING PATTERN "*.json")
if(RINGTRUE_STATIC)
  install(CODE "execute_process(COMMAND ${CMAKE_SOURCE_DIR}/packaging/notices OUTPUT_FILE ${CMAKE_BINARY_DIR}/NOTICES
                COMMAND_ERROR_IS_FATAL ANY)" COMPONENT notices)
  install(FILES LICENSE ${CMAKE_BINARY_DIR}/NOTICES DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/ringtrue
          COMPONENT notices)
endif()
install(FILES ${shared}/config.toml DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/ringtrue COMPONENT command)
install(FILES ${shared}/ringtrue-watch.service ${shared}/ringtrue-watch-once.service ${shared}/ringtrue-watch.timer
        DESTINATION ${RINGTRUE_UNIT_DIR} COMPONENT command)
install(FILES ${shared}/ringtrue-watch.sysusers DESTINATION lib/sysusers.d RENAME ringtrue-watch.conf COMPONENT command)

install(FILES packaging/monitoring/ringtrue.rules.yml packaging/monitoring/ringtrue.rules.test.yml
        packaging/monitoring/alertmanager.example.yml packaging/monitoring/ringtrue.board.json
        DESTINATION ${CMAKE_INSTALL_DATADIR}/ringtrue/monitoring COMPONENT monitoring)

install(FILES ${shared}/ringtrued.toml DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/ringtrue COMPONENT daemon)
install(FILES ${shared}/ringtrued.default DESTINATION ${RINGTRUE_DEFAULT_DIR} RENAME ringtrued COMPONENT daemon)
install(FILES ${shared}/ringtrued.service DESTINATION ${RINGTRUE_UNIT_DIR} COMPONENT daemon)
install(FILES ${shared}/ringtrue.sysusers DESTINATION lib/sysusers.d RENAME ringtrue.conf COMPONENT daemon)
install(FILES ${shared}/ringtrue.firewalld.xml DESTINATION lib/firewalld/services RENAME ringtrue.xml COMPONENT daemon)

# Manual pages and completions are made by the program itself: cmake --build --target manual
find_program(RINGTRUE_SCDOC scdoc)
if(RINGTRUE_SCDOC)
  set(man ${CMAKE_BINARY_DIR}/man)
  set(completions ${CMAKE_BINARY_DIR}/completions)
  add_custom_target(manual
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${man} ${completions}
    COMMAND ${CMAKE_SOURCE_DIR}/packaging/man/make $<TARGET_FILE:ringtrue> ${man}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${completions}
    COMMAND $<TARGET_FILE:ringtrue> completion bash > ${completions}/ringtrue
    COMMAND $<TARGET_FILE:ringtrue> completion zsh > ${completions}/_ringtrue
    COMMAND $<TARGET_FILE:ringtrue> completion fish > ${completions}/ringtrue.fish
    DEPENDS ringtrue VERBATIM COMMENT "Writing manual pages and completions")
  foreach(section 1 5 7 8)
    set(component command)
    if(section EQUAL 8)
      set(component daemon)
    endif()
    install(DIRECTORY ${man}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT ${component} OPTIONAL
            FILES_MATCHING PATTERN "*.${section}" PATTERN "ringtrue-tui.1" EXCLUDE)
  endforeach()
  install(FILES ${man}/ringtrue-tui.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tui OPTIONAL)
  install(FILES ${completions}/ringtrue DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          COMPONENT command OPTIONAL)
  install(FILES ${completions}/_ringtrue DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${RINGTRUE_ZSH_DIR}
          COMPONENT command OPTIONAL)
  install(FILES ${completions}/ringtrue.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
          COMPONENT command OPTIONAL)
endif()

# cpack: everything as one tarball, below a folder with its name. The packages are made by packaging/package.
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_FILE_NAME ringtrue-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
