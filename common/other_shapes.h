// What other shapes tell of a kernel that fails at one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/errors.h"
#include "common/verify.h"

// Verifies the product of a shape; what is wrong with it.
using Trial = std::function<std::optional<Failure>(Shape)>;

// The cause of a kernel's failure at a shape, as others show it: that it takes only multiples of some
// tile, or only square matrices; and what is wrong at such multiples, or where it can be launched.
// "" if they tell nothing. others: shapes of which those multiples are tried.
std::string cause_by_shapes(Shape wrong, const Failure& failure, const std::vector<Shape>& others,
                            const Trial& trial);
