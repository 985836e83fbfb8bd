# families - what is recorded, one module a family.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
