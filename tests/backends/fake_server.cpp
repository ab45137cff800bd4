// The fake engine behind the protocol, for tests that compare a backend in another process with the same one in this.
#include <iostream>

#include "harness/serve.h"
#include "tests/backends/fake_engine.h"

int main() {
  const auto backend = cachet::testing::make_fake_backend();
  return cachet::serve(*backend, std::cin, std::cout);
}
