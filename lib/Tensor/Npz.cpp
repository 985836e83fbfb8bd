// Npz.cpp - arrays in a .npz archive.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Tensor/Npz.h"
#include "NpyData.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include <zip.h>

using namespace shardtype;

struct NpzReader::State {
  zip_t *zip = nullptr;
  NpyLimits limits;
  std::string alone; // A .npy in place of an archive.
  std::vector<std::string> names;
  std::vector<zip_uint64_t> entries; // Of each name.
  ~State() {
    if (zip)
      zip_discard(zip);
  }
};

NpzReader::NpzReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
NpzReader::NpzReader(NpzReader &&) = default;
NpzReader &NpzReader::operator=(NpzReader &&) = default;
NpzReader::~NpzReader() = default;

//===--- Reading ----------------------------------------------------------===//

static std::string zipMessage(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

static bool isNpy(const std::string &path) {
  auto head = llvm::MemoryBuffer::getFileSlice(path, 6, 0);
  return head && (*head)->getBuffer() == "\x93NUMPY";
}

llvm::Expected<NpzReader> NpzReader::open(StringRef path,
                                          const NpyLimits &limits) {
  auto state = std::make_unique<State>();
  state->limits = limits;
  if (isNpy(path.str())) {
    state->alone = path.str();
    state->names.push_back("arr_0");
    return NpzReader(std::move(state));
  }
  int code = 0;
  state->zip = zip_open(path.str().c_str(), ZIP_RDONLY, &code);
  if (!state->zip)
    return npyError(code == ZIP_ER_NOZIP ? "it is no .npz or .npy file"
                                         : zipMessage(code));
  llvm::StringSet<> seen;
  for (zip_int64_t i = 0; i < zip_get_num_entries(state->zip, 0); ++i) {
    const char *name = zip_get_name(state->zip, i, 0);
    StringRef text(name ? name : "");
    if (!text.consume_back(".npy"))
      continue; // NumPy gives those as bytes; they are no arrays.
    if (!seen.insert(text).second)
      return npyError("it has two arrays '" + text + "'");
    state->names.push_back(text.str());
    state->entries.push_back(i);
  }
  return NpzReader(std::move(state));
}

ArrayRef<std::string> NpzReader::names() const { return state_->names; }

bool NpzReader::contains(StringRef name) const {
  return llvm::is_contained(state_->names, name);
}

namespace {
/// One open entry.
class Entry {
public:
  Entry(zip_t *zip, zip_uint64_t index) {
    zip_stat_t stat;
    zip_stat_init(&stat);
    bool known = zip_stat_index(zip, index, 0, &stat) == 0 &&
                 (stat.valid & ZIP_STAT_SIZE) &&
                 (stat.valid & ZIP_STAT_COMP_SIZE);
    // Nothing that is compressed gets smaller than a thousandth.
    if (!known || stat.size / 2000 > stat.comp_size)
      return;
    size_ = stat.size;
    file_ = zip_fopen_index(zip, index, 0);
  }
  ~Entry() {
    if (file_)
      zip_fclose(file_);
  }
  explicit operator bool() const { return file_; }
  uint64_t size() const { return size_; }
  /// As many bytes as there are, up to `count`.
  uint64_t read(char *to, uint64_t count) {
    uint64_t done = 0;
    while (done < count) {
      zip_int64_t got = zip_fread(file_, to + done, count - done);
      if (got <= 0)
        break;
      done += got;
    }
    return done;
  }
  /// Was that all, and is its checksum right?
  bool atEnd() {
    char more;
    return zip_fread(file_, &more, 1) == 0;
  }

private:
  zip_file_t *file_ = nullptr;
  uint64_t size_ = 0;
};
} // namespace

/// The head, and how many bytes of data `front` already has behind it.
static llvm::Expected<NpyHeader> readHead(Entry &entry, std::string &front) {
  front.resize(12);
  front.resize(entry.read(front.data(), 12));
  size_t length = 0;
  if (front.size() == 12) {
    auto byte = [&](unsigned i) {
      return static_cast<size_t>(static_cast<unsigned char>(front[i]));
    };
    length = byte(8) | byte(9) << 8;
    length = byte(6) == 1 ? length + 10
                          : (length | byte(10) << 16 | byte(11) << 24) + 12;
  }
  if (length > front.size() && length <= MaxNpyHeader + 12) {
    size_t have = front.size();
    front.resize(length);
    front.resize(have + entry.read(front.data() + have, length - have));
  }
  return parseNpyHeader(front);
}

static llvm::Expected<Tensor> readEntry(Entry &entry,
                                        std::optional<DType> expected,
                                        const NpyLimits &limits) {
  if (!entry)
    return npyError("it is damaged");
  std::string front;
  llvm::Expected<NpyHeader> head = readHead(entry, front);
  if (!head)
    return head.takeError();
  llvm::Expected<DType> dtype = npyDType(*head, expected);
  if (!dtype)
    return dtype.takeError();
  if (llvm::Error error = checkNpySize(*head, entry.size() - head->dataOffset))
    return error;
  llvm::Expected<Tensor> tensor = allocateNpy(*head, *dtype, limits);
  if (!tensor)
    return tensor.takeError();
  uint64_t bytes = head->byteCount();
  uint64_t have = front.size() - head->dataOffset; // Of a head below 12 bytes.
  char *to = reinterpret_cast<char *>(tensor->mutableData());
  std::memcpy(to, front.data() + head->dataOffset, have);
  if (entry.read(to + have, bytes - have) != bytes - have || !entry.atEnd())
    return npyError("it is damaged");
  finishNpy(*head, *tensor);
  return tensor;
}

llvm::Expected<Tensor> NpzReader::read(StringRef name,
                                       std::optional<DType> expected) const {
  auto at = llvm::find(state_->names, name);
  if (at == state_->names.end())
    return npyError("there is no array '" + name + "'");
  if (!state_->alone.empty())
    return readNpy(state_->alone, expected, state_->limits);
  Entry entry(state_->zip, state_->entries[at - state_->names.begin()]);
  llvm::Expected<Tensor> tensor = readEntry(entry, expected, state_->limits);
  if (tensor)
    return tensor;
  return npyError("array '" + name +
                  "': " + llvm::toString(tensor.takeError()));
}

//===--- Writing ----------------------------------------------------------===//

static llvm::Error addEntry(zip_t *zip, const std::string &name,
                            const std::string &head, StringRef data) {
  // The archive reads them when it is closed.
  zip_buffer_fragment_t parts[2] = {
      {reinterpret_cast<zip_uint8_t *>(const_cast<char *>(head.data())),
       head.size()},
      {reinterpret_cast<zip_uint8_t *>(const_cast<char *>(data.data())),
       data.size()}};
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t *source = zip_source_buffer_fragment_create(
      parts, data.empty() ? 1 : 2, /*freep=*/0, &error);
  zip_error_fini(&error);
  zip_int64_t index =
      source ? zip_file_add(zip, name.c_str(), source, ZIP_FL_ENC_UTF_8) : -1;
  if (index < 0) {
    if (source)
      zip_source_free(source);
    return npyError("array '" + name + "': " + zip_strerror(zip));
  }
  zip_set_file_compression(zip, index, ZIP_CM_STORE, 0);
  zip_file_set_dostime(zip, index, 0, /*1980-01-01*/ (1 << 5) | 1, 0);
  return llvm::Error::success();
}

llvm::Error shardtype::writeNpz(StringRef path, ArrayRef<NamedTensor> tensors) {
  if (tensors.empty()) // libzip leaves no file where nothing is in it.
    return llvm::writeToOutput(path, [](raw_ostream &os) {
      os << "PK\5\6" << std::string(18, '\0');
      return llvm::Error::success();
    });
  int code = 0;
  zip_t *zip = zip_open(path.str().c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (!zip)
    return npyError(zipMessage(code));
  auto discard = llvm::make_scope_exit([&] { zip_discard(zip); });
  std::vector<std::string> heads; // The archive points into both.
  std::vector<Tensor> stored;
  heads.reserve(tensors.size());
  stored.reserve(tensors.size());
  for (const NamedTensor &named : tensors) {
    heads.push_back(
        npyHeaderText(named.tensor.dtype(), npyShape(named.tensor)));
    stored.push_back(asStored(named.tensor));
    if (llvm::Error error = addEntry(zip, named.name + ".npy", heads.back(),
                                     npyData(stored.back())))
      return error;
  }
  // Writes beside the file and renames.
  if (zip_close(zip) != 0)
    return npyError(zip_strerror(zip));
  discard.release();
  return llvm::Error::success();
}
