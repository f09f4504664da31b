# Writes ${OUTPUT}: the text file ${INPUT} as `extern const char ${NAME}[]` of namespace muster, so that an installed
# binary has it.
file(READ ${INPUT} content)
get_filename_component(file ${INPUT} NAME)
file(WRITE ${OUTPUT} "// Generated from ${file}.
namespace muster {
extern const char ${NAME}[];
const char ${NAME}[] = R\"embedded(${content})embedded\";
}  // namespace muster
")
