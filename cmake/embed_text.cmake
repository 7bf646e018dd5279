# Text files that travel inside the programs. embed_text(target path...) generates for each file a
# function `std::string_view embedded_STEM()`.

function(embed_text target)
  set(generated ${CMAKE_BINARY_DIR}/generated/${target}_embedded.cc)
  set(files)
  set(names)
  foreach(path IN LISTS ARGN)
    get_filename_component(name ${path} NAME_WE)
    list(APPEND names ${name})
    list(APPEND files ${CMAKE_SOURCE_DIR}/${path})
  endforeach()
  add_custom_command(OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} "-Dgenerated=${generated}" "-Dfiles=${files}" "-Dnames=${names}"
            -P ${CMAKE_SOURCE_DIR}/cmake/embed_text_now.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/embed_text_now.cmake VERBATIM)
  target_sources(${target} PRIVATE ${generated})
endfunction()
