#include "diagnosis/check.h"

#include "diagnosis/examination.h"

namespace ringtrue::diagnosis {

Check::Check(Measurer& measurer, Options options) : measurer_(measurer), options_(std::move(options)) {}

Diagnosis Check::run() {
  return Examination(measurer_, options_).run();
}

}  // namespace ringtrue::diagnosis
