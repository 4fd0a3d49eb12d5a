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

// A kernel's failure at a shape, with the cause if other shapes show it: that it takes only multiples
// of some tile, or only square matrices; and what is wrong at such multiples, or where it can be
// launched. The cause stands below the failure, but in front of it if a shape that is no multiple of
// the tile makes a launch fail, as 0 blocks do. others: shapes of which those multiples are tried.
Failure with_other_shapes(Shape wrong, const Failure& failure, const std::vector<Shape>& others,
                          const Trial& trial);
