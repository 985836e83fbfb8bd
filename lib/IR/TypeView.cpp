// TypeView.cpp - anchor of the printer's view of types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/IR/Printer.h"

shardtype::TypeView::~TypeView() = default;
