// What of toml++ is not in its headers when they are told that a library has it.
#define TOML_IMPLEMENTATION 1
#include <toml++/toml.h>
