# cachet_entries(TARGET NAMESPACE TYPE HEADER FUNCTION FOLDER ENTRIES...): compiles FOLDER/<entry>.cpp for each entry into
# TARGET and generates the table `std::vector<TYPE> FUNCTION()` in the order of the list. To add one: write the file, which
# exports `TYPE NAMESPACE::<entry>()`, and add its name to the list. No registration macros, no static-initialisation order.
function(cachet_entries target namespace type header function folder)
  set(declarations "")
  set(calls "")
  foreach(entry IN LISTS ARGN)
    target_sources(${target} PRIVATE ${folder}/${entry}.cpp)
    string(APPEND declarations "${type} ${entry}();\n")
    string(APPEND calls "      ${entry}(),\n")
  endforeach()
  set(table "${CMAKE_CURRENT_BINARY_DIR}/${function}_table.cpp")
  file(CONFIGURE OUTPUT "${table}" @ONLY CONTENT
"// Generated from the ENTRIES list in CMake.
#include \"${header}\"

namespace ${namespace} {

${declarations}
const std::vector<${type}>& ${function}() {
  static const std::vector<${type}> table = {
${calls}  };
  return table;
}

}  // namespace ${namespace}
")
  target_sources(${target} PRIVATE "${table}")
endfunction()
