#include "report/json/json.h"
#include "report/json/value.h"

namespace ringtrue::report {

void add_simulated(Json& out, const ops::Simulated& model) {
  out["method"] = model.method.empty() ? Json(nullptr) : Json(model.method);
  out["sharing"] = model.sharing.empty() ? Json(nullptr) : Json(model.sharing);
  out["faults"] = model.faults;
  if (const auto& c = model.comparison) {
    out["comparison"] = {{"algorithm", c->algorithm},
                         {"time_s", c->time_s},
                         {"ratio", c->ratio},
                         {"published_ratio", maybe(c->published)}};
  }
  if (const auto& c = model.calibration) {
    Json samples = Json::array();
    for (const ops::Calibrated::Sample& s : c->samples) {
      samples.push_back({{"algorithm", s.algorithm},
                         {"bytes", s.bytes},
                         {"measured_s", s.measured_s},
                         {"simulated_s", s.simulated_s},
                         {"deviation", s.simulated_s / s.measured_s - 1}});
    }
    out["calibration"] = {
        {"file", c->file},         {"of_model", c->of_model},     {"latency_s", c->latency_s},
        {"rate_Bps", c->rate_Bps}, {"overhead_s", c->overhead_s}, {"bucket_bytes", c->bucket_bytes},
        {"worst", c->worst},       {"samples", samples}};
  }
  if (const auto& f = model.fix) {
    out["fix"] = {{"place", f->place},
                  {"faults", f->faults},
                  {"time_s", maybe(f->time_s)},
                  {"fixed_time_s", maybe(f->fixed_time_s)},
                  {"gain", maybe(f->gain)}};
  }
}

}  // namespace ringtrue::report
