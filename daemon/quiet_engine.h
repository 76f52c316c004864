// gRPC's own event engine wakes up several times a second to look at its timers and keeps a pool of threads
// for what a daemon hardly ever does. Ours has one thread, which looks once a second.
#pragma once

namespace ringtrue::daemon {

// Before anything else of gRPC is used. With a version of gRPC whose interface is another one, its own engine
// stays.
void use_quiet_engine();

}  // namespace ringtrue::daemon
