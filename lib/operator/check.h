// The health check: what is in the nodes, what is measured between them, and what follows of it.
#pragma once

#include <optional>
#include <string>

#include "diagnosis/check.h"
#include "operator/documents/check.h"
#include "operator/facts.h"
#include "operator/reproduce.h"
#include "operator/setup.h"

namespace ringtrue::ops {

struct CheckRequest {
  Setup setup;
  collective::AlgorithmId algorithm =
      collective::AlgorithmId::ring;            // or omnireduce, for aggregators' ports as well
  std::optional<std::string> aggregator_hosts;  // beside the workers if not given
  std::optional<Seconds> budget;                // for all measurements together
  std::optional<long> seed;
  std::optional<diagnosis::PathCoverage> paths;
  std::optional<std::string> leaves;  // a file, see formats/leaves.h
  std::vector<std::string> routes;    // files, see operator/routes.h
  bool trace = false;                 // instead: the ways of the connections that are measured
  bool probe_routes = false;          // instead: forwarding tables, read live by one of the nodes
  std::string fault;                  // between local ranks
  FactRequest facts;
  bool inspect = false;     // facts alone, nothing measured; so it is where facts.from says something
  bool no_inspect = false;  // measure without looking into the nodes
  ReproduceWords again;     // for the commands that findings come with
};

// "16s". Errors (bad_input): less than a second, in which nothing can be told.
Result<Seconds> parse_budget(std::string_view text);

// An error that leaves nothing to show has no document. All others are in it, with what was proven until
// then; its verdict holds in any case.
Outcome<CheckDocument> check(const CheckRequest& request, const Control& control);

}  // namespace ringtrue::ops
