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

# embed_folder(target function folder pattern): all files of a folder that match, as
# `std::span<const std::pair<std::string_view, std::string_view>> FUNCTION()`: paths within the folder, and texts.
function(embed_folder target function folder pattern)
  set(generated ${CMAKE_BINARY_DIR}/generated/${target}_${function}.cc)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/${folder} ${CMAKE_SOURCE_DIR}/${folder}/${pattern})
  list(TRANSFORM files PREPEND ${CMAKE_SOURCE_DIR}/${folder}/ OUTPUT_VARIABLE depends)
  add_custom_command(OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} "-Dgenerated=${generated}" "-Dfolder=${CMAKE_SOURCE_DIR}/${folder}" "-Dfiles=${files}"
            "-Dfunction=${function}" -P ${CMAKE_SOURCE_DIR}/cmake/embed_folder_now.cmake
    DEPENDS ${depends} ${CMAKE_SOURCE_DIR}/cmake/embed_folder_now.cmake VERBATIM)
  target_sources(${target} PRIVATE ${generated})
endfunction()
