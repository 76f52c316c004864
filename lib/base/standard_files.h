#pragma once

namespace ringtrue {

// Opens /dev/null for those of descriptors 0, 1 and 2 that are closed. First thing in main(): or the first
// file that the program opens becomes its standard output, and its messages end up there. A standard output
// that was closed cannot be written then, either.
void fill_standard_files();

}  // namespace ringtrue
