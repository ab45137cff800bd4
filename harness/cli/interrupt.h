// Ctrl-C as a flag: the campaign finishes what is under way and everything found is written before the program ends.
#pragma once

#include <atomic>

namespace cachet::cli {

/// From now on SIGINT and SIGTERM set the flag; a second one ends the program at once.
const std::atomic<bool>& watch_interrupts();

}  // namespace cachet::cli
