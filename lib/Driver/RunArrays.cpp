// RunArrays.cpp - arguments and constants of `shardtype run`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RunArrays.h"
#include "shardtype/IR/Paths.h"
#include "shardtype/Kernels/Blocks.h"
#include "shardtype/Report/Picture.h"
#include "shardtype/Tensor/Element.h"
#include "shardtype/Tensor/Npz.h"
#include "shardtype/Tensor/NumPyText.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace shardtype;

//===--- Made-up arrays ---------------------------------------------------===//

namespace {
/// splitmix64: a counter, hashed.
class Numbers {
public:
  Numbers(uint64_t seed, uint64_t number)
      : state_(mix(seed + 0x9e3779b97f4a7c15ull) ^ mix(number)) {}
  uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15ull); }
  /// In (0, 1).
  double uniform() {
    return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53;
  }
  double normal() {
    double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }

private:
  static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
  }
  uint64_t state_;
};
} // namespace

Tensor shardtype::randomArray(DType dtype, ArrayRef<int64_t> shape,
                              uint64_t seed, uint64_t number) {
  Numbers numbers(seed, number);
  Tensor result = Tensor::uninitialised(dtype, shape);
  switch (info(dtype).kind) {
  case DTypeKind::Bool:
    for (bool &x : result.fill<bool>())
      x = numbers.next() & 1;
    break;
  case DTypeKind::Signed:
  case DTypeKind::Unsigned:
    dispatchInt(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (T &x : result.fill<T>())
        x = static_cast<T>(static_cast<int64_t>(numbers.next() % 10));
    });
    break;
  case DTypeKind::Float:
    dispatchFloat(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (T &x : result.fill<T>())
        x = static_cast<T>(numbers.normal());
    });
    break;
  case DTypeKind::Complex:
    dispatchComplex(dtype, [&](auto tag) {
      using Part = typename decltype(tag)::type::value_type;
      for (Part &x : result.fill<Part>())
        x = static_cast<Part>(numbers.normal());
    });
    break;
  case DTypeKind::Key:
    for (uint32_t &x : result.fill<uint32_t>())
      x = static_cast<uint32_t>(numbers.next());
    break;
  case DTypeKind::Float0:
    return Tensor::zeros(dtype, shape);
  }
  return result;
}

/// Nothing: the text is no number of this dtype.
static std::optional<Tensor> filled(DType dtype, ArrayRef<int64_t> shape,
                                    StringRef text) {
  double value;
  if (text == "nan")
    value = std::nan("");
  else if (text == "inf" || text == "-inf")
    value = text[0] == '-' ? -INFINITY : INFINITY;
  else if (text == "True" || text == "true" || text == "False" ||
           text == "false")
    value = text.equals_insensitive("true");
  else if (text.getAsDouble(value))
    return std::nullopt;
  Tensor result = Tensor::uninitialised(dtype, shape);
  if (isKey(dtype) || dtype == DType::Float0) {
    for (std::byte &x : result.fill<std::byte>())
      x = std::byte(0);
    return result;
  }
  bool fits = true;
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T element;
    if constexpr (std::is_same_v<T, bool>) {
      element = value != 0;
    } else if constexpr (isIntElement<T>) {
      fits = std::floor(value) == value && std::fabs(value) < 0x1p63;
      element = static_cast<T>(fits ? static_cast<int64_t>(value) : 0);
    } else if constexpr (isComplexElement<T>) {
      element = T(static_cast<typename T::value_type>(value), 0);
    } else {
      element = static_cast<T>(value);
    }
    for (T &x : result.fill<T>())
      x = element;
  });
  return fits ? std::optional(result) : std::nullopt;
}

//===--- Arrays by name ---------------------------------------------------===//

SmallVector<std::string, 3> shardtype::arrayNames(std::string path,
                                                  size_t position) {
  std::string number = std::to_string(position);
  return {std::move(path), "arr_" + number, number};
}

namespace {
class Finder {
public:
  Finder(const CheckedProgram &checked, const Options &options, StringRef verb,
         raw_ostream &err)
      : cx_(checked.program->context()), options_(options), verb_(verb),
        err_(err) {}
  LogicalResult open();
  /// The array of an argument or constant that goes by these names.
  LogicalResult find(ArrayRef<std::string> names, TypeId type, Tensor &into,
                     bool required = true);
  LogicalResult checkAllUsed();

private:
  LogicalResult fail(const llvm::Twine &message) {
    err_ << "shardtype " << verb_ << ": " << message << '\n';
    return failure();
  }
  const Context &cx_;
  const Options &options_;
  StringRef verb_;
  raw_ostream &err_;
  std::optional<NpzReader> file_;
  std::vector<std::string> used_, known_;
  uint64_t made_ = 0;
};
} // namespace

LogicalResult Finder::open() {
  if (options_.inputs.empty())
    return success();
  llvm::Expected<NpzReader> file = NpzReader::open(options_.inputs);
  if (!file)
    return fail(options_.inputs + ": " + llvm::toString(file.takeError()));
  file_ = std::move(*file);
  return success();
}

LogicalResult Finder::find(ArrayRef<std::string> names, TypeId typeId,
                           Tensor &into, bool required) {
  const std::string &shown = names.front();
  if (!typeId.valid() || !cx_.type(typeId).isArray())
    return fail("'" + shown + "' is no array, so it cannot be given");
  const Type &type = cx_.type(typeId);
  std::string text = str(cx_, typeId);
  if (llvm::any_of(type.shape, Dim::isSymbolic) || !countElements(type.shape))
    return fail("'" + shown + "', " + text + ", has no size that can be made");
  known_.insert(known_.end(), names.begin(), names.end());
  for (const std::string &name : names) {
    if (!file_ || !file_->contains(name))
      continue;
    llvm::Expected<Tensor> array = file_->read(name, type.dtype);
    if (!array)
      return fail(options_.inputs + ": " + llvm::toString(array.takeError()));
    if (array->dtype() != type.dtype ||
        array->shape() != ArrayRef<int64_t>(type.shape)) {
      std::string is = info(array->dtype()).shortName.str() + "[";
      for (auto [i, size] : llvm::enumerate(array->shape()))
        is += (i ? "," : "") + std::to_string(size);
      return fail(options_.inputs + ": '" + name + "' is " + is + "], but '" +
                  shown + "' is " + text);
    }
    used_.push_back(name);
    into = std::move(*array);
    return success();
  }
  uint64_t number = made_++;
  if (!options_.random.empty()) {
    uint64_t seed = 0;
    StringRef(options_.random).getAsInteger(10, seed);
    into = randomArray(type.dtype, type.shape, seed, number);
    return success();
  }
  if (!options_.fill.empty()) {
    std::optional<Tensor> array = filled(type.dtype, type.shape, options_.fill);
    if (!array)
      return fail("--fill " + options_.fill + ": '" + shown + "' is " + text +
                  ", which cannot hold it");
    into = std::move(*array);
    return success();
  }
  if (!required)
    return success();
  return fail("no value for '" + shown + "', " + text +
              "\n  give it with --inputs FILE.npz, or make values with "
              "--random SEED or --fill V");
}

LogicalResult Finder::checkAllUsed() {
  if (!file_)
    return success();
  for (const std::string &name : file_->names())
    if (!llvm::is_contained(used_, name))
      return fail(options_.inputs + ": no argument is called " +
                  wordWithNearest(name, known_) +
                  "\n  arrays are named by an argument's path, or by its "
                  "position as arr_0, arr_1, ...");
  return success();
}

LogicalResult shardtype::findArrays(const CheckedProgram &checked,
                                    const Options &options, StringRef verb,
                                    RunArrays &arrays, raw_ostream &err) {
  const Program &program = *checked.program;
  Finder finder(checked, options, verb, err);
  if (failed(finder.open()))
    return failure();
  VarNames names(program);
  auto paths =
      argumentPaths(program, [&](VarId var) { return names.name(var); });
  for (auto [i, path] : llvm::enumerate(paths)) {
    if (failed(finder.find(arrayNames(path, i), checked.argumentTypes[i],
                           arrays.arguments.emplace_back())))
      return failure();
  }
  const Instance &entry = checked.instances[checked.entryInstance.index()];
  const Jaxpr &jaxpr = program.jaxpr(entry.jaxpr);
  for (uint32_t i = 0; i < jaxpr.numConsts; ++i) {
    int32_t index = i < jaxpr.constArrays.size() ? jaxpr.constArrays[i] : -1;
    if (index >= 0 && (program.arrays[index].base64.valid() ||
                       program.arrays[index].splat.valid()))
      continue;
    Tensor value;
    if (failed(finder.find({"consts/" + std::to_string(i)}, entry.types[i],
                           value)))
      return failure();
    if (index >= 0)
      arrays.constants[index] = value;
    else
      arrays.constvars[jaxpr.constvar(i).raw()] = value;
  }
  return finder.checkAllUsed();
}

//===--- Blocks -----------------------------------------------------------===//

void shardtype::printBlocks(raw_ostream &os, const Context &cx, TypeId type,
                            const Tensor &value, const PartialSumsRef &sums,
                            MeshId placed) {
  if (isUnreduced(cx, type) && (!sums || !sums->known())) {
    os << "partial sums" << (sums ? " of '" + sums->lost + "'" : std::string())
       << " are not kept apart; the sum is\n"
       << numPyStr(value) << '\n';
    return;
  }
  ShardTable table = shardTable(cx, type, placed, {4096, 4096, 4096});
  if (table.shards.empty()) {
    os << numPyStr(value) << '\n';
    return;
  }
  const Mesh &mesh = cx.mesh(table.mesh);
  for (auto [position, shard] : llvm::enumerate(table.shards)) {
    SmallVector<int64_t, 6> starts, sizes;
    for (auto [d, part] : llvm::enumerate(shard.parts)) {
      IndexRange range = table.range(d, part);
      starts.push_back(range.begin);
      sizes.push_back(range.end - range.begin);
    }
    auto at =
        coordinatesOf(mesh, mesh.allAxes(), static_cast<int64_t>(position));
    const Tensor &part = sums ? partAt(*sums, mesh, at) : value;
    os << "device " << shard.devices.front() << '\n'
       << numPyStr(kernels::blockOf(part, starts, sizes)) << '\n';
  }
}
