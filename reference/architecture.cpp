// Looking up a family by name.
#include "reference/architecture.h"

namespace cachet::reference {

const Architecture* find_architecture(std::string_view name) {
  for (const Architecture& architecture : architectures()) {
    if (architecture.name == name) return &architecture;
  }
  return nullptr;
}

}  // namespace cachet::reference
