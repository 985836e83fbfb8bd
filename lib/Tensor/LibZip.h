// LibZip.h - libzip, loaded when an archive needs it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_TENSOR_LIBZIP_H
#define SHARDTYPE_LIB_TENSOR_LIBZIP_H

#include <zip.h>

#define SHARDTYPE_LIBZIP(F)                                                    \
  F(zip_open)                                                                  \
  F(zip_discard)                                                               \
  F(zip_get_num_entries)                                                       \
  F(zip_get_name)                                                              \
  F(zip_stat_init)                                                             \
  F(zip_stat_index)                                                            \
  F(zip_fopen_index)                                                           \
  F(zip_fread)                                                                 \
  F(zip_fclose)                                                                \
  F(zip_error_init_with_code)                                                  \
  F(zip_error_strerror)                                                        \
  F(zip_error_fini)

namespace shardtype {

/// Its functions, under their names.
struct LibZip {
#define F(name) decltype(&::name) name;
  SHARDTYPE_LIBZIP(F)
#undef F
};

/// Null: it is not on this machine.
const LibZip *libZip();

} // namespace shardtype

#endif
