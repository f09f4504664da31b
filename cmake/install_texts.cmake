# At installation: `program` writes its own manual page and completion scripts. One that was built for another machine
# cannot run here; then they are left out.
function(install_text target)
  execute_process(COMMAND ${program} ${ARGN} OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(STATUS "Left out: ${target}, because ${program} does not run here")
    return()
  endif()
  set(path "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${target}")
  message(STATUS "Installing: ${path}")
  file(WRITE "${path}" "${text}")
endfunction()

install_text(share/man/man1/muster.1 man)
install_text(share/bash-completion/completions/muster completion bash)
install_text(share/zsh/site-functions/_muster completion zsh)
