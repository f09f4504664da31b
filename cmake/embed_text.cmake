# Writes ${OUTPUT}: the text file ${INPUT} as `extern const char ${NAME}[]` of namespace muster, so that an installed
# binary has it, and its SHA-256 in hex digits as ${NAME}Sha256.
file(READ ${INPUT} content)
file(SHA256 ${INPUT} hash)
get_filename_component(file ${INPUT} NAME)
file(WRITE ${OUTPUT} "// Generated from ${file}.
namespace muster {
extern const char ${NAME}[];
const char ${NAME}[] = R\"embedded(${content})embedded\";
extern const char ${NAME}Sha256[];
const char ${NAME}Sha256[] = \"${hash}\";
}  // namespace muster
")
