// Npz.cpp - arrays in a .npz archive.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Tensor/Npz.h"
#include "LibZip.h"
#include "NpyData.h"
#include "StoredZip.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace shardtype;

struct NpzReader::State {
  const LibZip *lib = nullptr;
  zip_t *zip = nullptr; // Of an archive that is not only stored.
  std::unique_ptr<llvm::MemoryBuffer> file;
  std::vector<StoredEntry> stored; // Of `file`.
  NpyLimits limits;
  std::string alone; // A .npy in place of an archive.
  std::vector<std::string> names;
  std::vector<zip_uint64_t> entries; // Of each name.
  ~State() {
    if (zip)
      lib->zip_discard(zip);
  }
  llvm::Error openStored();
  llvm::Error openOther(StringRef path);
  llvm::Error add(StringRef name, zip_uint64_t entry);
};

NpzReader::NpzReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
NpzReader::NpzReader(NpzReader &&) = default;
NpzReader &NpzReader::operator=(NpzReader &&) = default;
NpzReader::~NpzReader() = default;

//===--- Reading ----------------------------------------------------------===//

static std::string zipMessage(const LibZip &lib, int code) {
  zip_error_t error;
  lib.zip_error_init_with_code(&error, code);
  std::string text = lib.zip_error_strerror(&error);
  lib.zip_error_fini(&error);
  return text;
}

llvm::Error NpzReader::State::add(StringRef name, zip_uint64_t entry) {
  if (!name.consume_back(".npy"))
    return llvm::Error::success(); // To NumPy those are bytes, no arrays.
  if (llvm::is_contained(names, name))
    return npyError("it has two arrays '" + name + "'");
  names.push_back(name.str());
  entries.push_back(entry);
  return llvm::Error::success();
}

llvm::Error NpzReader::State::openStored() {
  for (auto [i, entry] : llvm::enumerate(stored))
    if (llvm::Error error = add(entry.name, i))
      return error;
  return llvm::Error::success();
}

llvm::Error NpzReader::State::openOther(StringRef path) {
  lib = libZip();
  if (!lib)
    return npyError("it is compressed, or no .npz or .npy file (libzip, which "
                    "would read it, is not on this machine)");
  int code = 0;
  zip = lib->zip_open(path.str().c_str(), ZIP_RDONLY, &code);
  if (!zip)
    return npyError(code == ZIP_ER_NOZIP ? "it is no .npz or .npy file"
                                         : zipMessage(*lib, code));
  for (zip_int64_t i = 0; i < lib->zip_get_num_entries(zip, 0); ++i) {
    const char *name = lib->zip_get_name(zip, i, 0);
    if (llvm::Error error = add(name ? name : "", i))
      return error;
  }
  return llvm::Error::success();
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
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  std::optional<std::vector<StoredEntry>> stored;
  if (file)
    stored = storedEntries((*file)->getBuffer());
  if (stored) {
    state->file = std::move(*file);
    state->stored = std::move(*stored);
  }
  if (llvm::Error error = stored ? state->openStored() : state->openOther(path))
    return error;
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
  Entry(const LibZip &lib, zip_t *zip, zip_uint64_t index) : lib_(lib) {
    zip_stat_t stat;
    lib.zip_stat_init(&stat);
    bool known = lib.zip_stat_index(zip, index, 0, &stat) == 0 &&
                 (stat.valid & ZIP_STAT_SIZE) &&
                 (stat.valid & ZIP_STAT_COMP_SIZE);
    // Nothing that is compressed gets smaller than a thousandth.
    if (!known || stat.size / 2000 > stat.comp_size)
      return;
    size_ = stat.size;
    file_ = lib.zip_fopen_index(zip, index, 0);
  }
  ~Entry() {
    if (file_)
      lib_.zip_fclose(file_);
  }
  explicit operator bool() const { return file_; }
  uint64_t size() const { return size_; }
  /// As many bytes as there are, up to `count`.
  uint64_t read(char *to, uint64_t count) {
    uint64_t done = 0;
    while (done < count) {
      zip_int64_t got = lib_.zip_fread(file_, to + done, count - done);
      if (got <= 0)
        break;
      done += got;
    }
    return done;
  }
  /// Was that all, and is its checksum right?
  bool atEnd() {
    char more;
    return lib_.zip_fread(file_, &more, 1) == 0;
  }

private:
  const LibZip &lib_;
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

static llvm::Expected<Tensor> readStored(const StoredEntry &entry,
                                         std::optional<DType> expected,
                                         const NpyLimits &limits) {
  if (entry.isDamaged())
    return npyError("it is damaged");
  return readNpyBytes(entry.data, expected, limits);
}

llvm::Expected<Tensor> NpzReader::read(StringRef name,
                                       std::optional<DType> expected) const {
  auto at = llvm::find(state_->names, name);
  if (at == state_->names.end())
    return npyError("there is no array '" + name + "'");
  if (!state_->alone.empty())
    return readNpy(state_->alone, expected, state_->limits);
  zip_uint64_t number = state_->entries[at - state_->names.begin()];
  auto readOther = [&] {
    Entry entry(*state_->lib, state_->zip, number);
    return readEntry(entry, expected, state_->limits);
  };
  llvm::Expected<Tensor> tensor =
      state_->zip
          ? readOther()
          : readStored(state_->stored[number], expected, state_->limits);
  if (tensor)
    return tensor;
  return npyError("array '" + name +
                  "': " + llvm::toString(tensor.takeError()));
}

//===--- Writing ----------------------------------------------------------===//

llvm::Error shardtype::writeNpz(StringRef path, ArrayRef<NamedTensor> tensors) {
  return llvm::writeToOutput(path, [&](raw_ostream &os) {
    StoredZipWriter zip(os);
    for (const auto &[name, tensor] : tensors) {
      Tensor stored = asStored(tensor);
      zip.add(name + ".npy", npyHeaderText(tensor.dtype(), npyShape(tensor)),
              npyData(stored));
    }
    zip.finish();
    return llvm::Error::success();
  });
}
