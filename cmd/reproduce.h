// What was typed, as a next command needs it again.
#pragma once

#include "cmd/command.h"
#include "cmd/verbs_flags.h"
#include "operator/reproduce.h"

namespace ringtrue::cmd {

ops::ReproduceWords reproduce_words(const Common& common, const VerbsFlags& verbs);

}  // namespace ringtrue::cmd
