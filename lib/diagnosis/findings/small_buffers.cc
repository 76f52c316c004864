#include "diagnosis/findings/small_buffers.h"

namespace ringtrue::diagnosis {

void name_small_buffers(const std::map<std::string, std::uint64_t>& largest, Diagnosis& diagnosis) {
  for (Finding& f : diagnosis.findings) {
    const std::string& node = f.scope.subject.node;
    const bool program = f.kind == FindingKind::slow_compute;
    if (!program && f.kind != FindingKind::slow_receiver) continue;
    const auto known = largest.find(node);
    if (known == largest.end() || known->second == 0 || known->second >= small_buffer) continue;
    // A kernel also drops what does not fit into its buffer: such packets were not lost on the way.
    std::erase_if(f.evidence, [](const Statement& s) {
      return s.kind == StatementKind::program_holds_back || s.kind == StatementKind::resent;
    });
    f.evidence.push_back({StatementKind::window_too_small, {node}, {{"buffer_bytes", known->second}}});
    f.next = {StatementKind::look_at_buffers, {node}};
    if (!program) continue;
    f.kind = FindingKind::small_receive_buffer;
    f.scope.type = ScopeType::receiver;
  }
}

}  // namespace ringtrue::diagnosis
