# SPDX-License-Identifier: Apache-2.0
# Run as a script: makes OUTPUT, a .cc that holds the bytes of FILES (relative to ROOT, separated by |).
string(REPLACE "|" ";" files "${FILES}")
set(text "#include <kfactory/embedded.h>\n#include <kfactory/error.h>\n#include <string>\nnamespace {\n")
set(table "")
set(index 0)
foreach(file IN LISTS files)
  file(READ "${ROOT}/${file}" hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND text "const unsigned char file_${index}[] = {${bytes}0x00};\n")
  string(APPEND table "  {\"${file}\", {reinterpret_cast<const char*>(file_${index}), sizeof(file_${index}) - 1}},\n")
  math(EXPR index "${index} + 1")
endforeach()
string(APPEND text "struct Entry { std::string_view path, content; };\nconst Entry kEntries[] = {\n${table}  {{}, {}}};\n}  // namespace\n"
  "namespace kf {\nstd::string_view embedded_file(std::string_view path) {\n"
  "  for (const Entry& entry : kEntries) {\n    if (!path.empty() && entry.path == path) { return entry.content; }\n  }\n"
  "  throw Fatal(\"not embedded in this binary: \" + std::string(path));\n}\n"
  "std::vector<std::string_view> embedded_files() {\n  std::vector<std::string_view> names;\n"
  "  for (const Entry& entry : kEntries) {\n    if (!entry.path.empty()) { names.push_back(entry.path); }\n  }\n  return names;\n}\n}  // namespace kf\n")
file(WRITE "${OUTPUT}" "${text}")
