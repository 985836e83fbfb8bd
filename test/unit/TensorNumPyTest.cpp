// TensorNumPyTest.cpp - reading, printing and writing as NumPy does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numpy.jsonl was written by record_numpy.py with real NumPy.
#include "shardtype/Tensor/Compare.h"
#include "shardtype/Tensor/Npz.h"
#include "shardtype/Tensor/NumPyText.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <catch2/catch.hpp>

using namespace shardtype;

namespace {
struct Recorded {
  DType dtype;
  std::string npy, str, repr;
};

/// A path that is gone at the end.
struct TempPath {
  llvm::SmallString<128> path;
  explicit TempPath(StringRef suffix) {
    int fd;
    REQUIRE_FALSE(
        llvm::sys::fs::createTemporaryFile("shardtype", suffix, fd, path));
    llvm::sys::fs::file_t file = llvm::sys::fs::convertFDToNativeFile(fd);
    llvm::sys::fs::closeFile(file);
  }
  ~TempPath() { llvm::sys::fs::remove(path); }
};
} // namespace

static std::vector<Recorded> recorded() {
  auto file = llvm::MemoryBuffer::getFile(SHARDTYPE_SOURCE_DIR
                                          "/test/unit/numpy.jsonl");
  REQUIRE(file);
  std::vector<Recorded> all;
  SmallVector<StringRef, 0> lines;
  (*file)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    auto value = llvm::json::parse(line);
    REQUIRE(static_cast<bool>(value));
    llvm::json::Object &object = *value->getAsObject();
    Recorded one;
    one.dtype = *parseDType(*object.getString("dtype"));
    std::vector<char> bytes;
    REQUIRE_FALSE(
        static_cast<bool>(llvm::decodeBase64(*object.getString("npy"), bytes)));
    one.npy.assign(bytes.begin(), bytes.end());
    one.str = object.getString("str")->str();
    one.repr = object.getString("repr")->str();
    all.push_back(std::move(one));
  }
  return all;
}

static std::string slurp(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  REQUIRE(file);
  return (*file)->getBuffer().str();
}

static std::string message(llvm::Error error) {
  return llvm::toString(std::move(error));
}

TEST_CASE("arrays print as NumPy prints them", "[numpy]") {
  std::vector<Recorded> all = recorded();
  REQUIRE(all.size() > 400);
  for (const Recorded &one : all) {
    llvm::Expected<Tensor> tensor = readNpyBytes(one.npy, one.dtype);
    REQUIRE(static_cast<bool>(tensor));
    REQUIRE(tensor->dtype() == one.dtype);
    CHECK(numPyStr(*tensor) == one.str);
    CHECK(numPyRepr(*tensor) == one.repr);
  }
}

TEST_CASE("arrays are written as NumPy writes them", "[numpy]") {
  TempPath temp("npy");
  unsigned same = 0;
  for (const Recorded &one : recorded()) {
    llvm::Expected<Tensor> tensor = readNpyBytes(one.npy, one.dtype);
    REQUIRE(static_cast<bool>(tensor));
    REQUIRE_FALSE(static_cast<bool>(writeNpy(temp.path, *tensor)));
    std::string written = slurp(temp.path);
    bool other = StringRef(one.npy).contains("'fortran_order': True") ||
                 StringRef(one.npy).contains("'>") ||
                 StringRef(one.npy).contains("'<f1'"); // Which it cannot read.
    if (!other)
      CHECK(written == one.npy);
    same += written == one.npy;
    llvm::Expected<Tensor> again = readNpyBytes(written, one.dtype);
    REQUIRE(static_cast<bool>(again));
    CHECK(compare(*again, *tensor, {.exactZeros = true}).agrees());
  }
  CHECK(same > 400);
}

TEST_CASE("damaged .npy files are errors of one line", "[npy]") {
  Recorded one = recorded()[4];
  REQUIRE(one.npy.size() > 128);
  for (size_t size = 0; size < one.npy.size(); ++size) {
    auto tensor =
        readNpyBytes(StringRef(one.npy).take_front(size), std::nullopt);
    REQUIRE_FALSE(static_cast<bool>(tensor));
    CHECK(message(tensor.takeError()).find('\n') == std::string::npos);
  }
  // Any byte of the head may be another one: an error or an array, no crash.
  for (size_t at = 0; at < 128; ++at)
    for (char c : {'\0', '9', '(', '\'', '\xff', ' ', '<', '-'}) {
      std::string bytes = one.npy;
      bytes[at] = c;
      auto tensor = readNpyBytes(bytes, std::nullopt);
      if (!tensor)
        llvm::consumeError(tensor.takeError());
    }
}

static std::string npyWith(const std::string &dict) {
  std::string text = dict + "\n", size(2, '\0');
  size[0] = static_cast<char>(text.size());
  return std::string("\x93NUMPY\1\0", 8) + size + text;
}

TEST_CASE("heads that ask for too much or for what we have not", "[npy]") {
  auto refusal = [](const std::string &descr, const std::string &shape) {
    auto tensor = readNpyBytes(
        npyWith("{'descr': " + descr +
                ", 'fortran_order': False, 'shape': " + shape + "}"),
        std::nullopt, {.maxBytes = 1000});
    REQUIRE_FALSE(static_cast<bool>(tensor));
    return message(tensor.takeError());
  };
  CHECK(refusal("'<f4'", "(4611686018427387904, 4)") ==
        "its shape is beyond any memory");
  CHECK(refusal("'<f4'", "(1000000000000,)") ==
        "its head asks for 4000000000000 bytes of data, but it has 0");
  CHECK(refusal("'|O'", "(2,)") == "it holds Python objects");
  CHECK(refusal("'<U5'", "(2,)") == "its elements are of the kind 'U5'");
  CHECK(refusal("[('a', '<f4'), ('b', '<i4')]", "(2,)") ==
        "it holds records with fields");
  CHECK(refusal("'<f16'", "(2,)") ==
        "it holds elements of the kind 'f' with 16 bytes each, which no dtype "
        "here has");
  CHECK(refusal("'<V2'", "(2,)") ==
        "it holds 2-byte elements without saying of which dtype");
  CHECK(refusal("'<f4'", "(-2,)") == "its head is not what NumPy writes");
  CHECK(refusal("'<f4'", "2") == "its head is not what NumPy writes");
  std::string large =
      npyWith("{'descr': '|i1', 'fortran_order': False, 'shape': (2000,)}");
  auto tensor = readNpyBytes(large + std::string(2000, 'x'), std::nullopt,
                             {.maxBytes = 1000});
  REQUIRE_FALSE(static_cast<bool>(tensor));
  CHECK(message(tensor.takeError()) ==
        "it holds 2000 bytes, more than the 1000 that are allowed");
}

TEST_CASE("archives keep names, dtypes and values", "[npz]") {
  std::vector<NamedTensor> tensors;
  for (auto [i, one] : llvm::enumerate(recorded()))
    if (i % 7 == 0)
      tensors.push_back({"x" + std::to_string(i),
                         llvm::cantFail(readNpyBytes(one.npy, one.dtype))});
  TempPath temp("npz");
  REQUIRE_FALSE(static_cast<bool>(writeNpz(temp.path, tensors)));
  std::string first = slurp(temp.path);
  REQUIRE_FALSE(static_cast<bool>(writeNpz(temp.path, tensors)));
  CHECK(slurp(temp.path) == first);
  NpzReader reader = llvm::cantFail(NpzReader::open(temp.path));
  REQUIRE(reader.names().size() == tensors.size());
  for (auto [i, named] : llvm::enumerate(tensors)) {
    CHECK(reader.names()[i] == named.name);
    auto tensor = reader.read(named.name, named.tensor.dtype());
    REQUIRE(static_cast<bool>(tensor));
    CHECK(compare(*tensor, named.tensor, {.exactZeros = true}).agrees());
  }
  auto none = reader.read("nobody", std::nullopt);
  REQUIRE_FALSE(static_cast<bool>(none));
  CHECK(message(none.takeError()) == "there is no array 'nobody'");
}

TEST_CASE("damaged archives are errors", "[npz]") {
  TempPath temp("npz");
  Tensor tensor = Tensor::of<float>(DType::F32, {3}, {1, 2, 3});
  REQUIRE_FALSE(static_cast<bool>(writeNpz(temp.path, {{"a", tensor}})));
  std::string bytes = slurp(temp.path);
  auto put = [&](StringRef text) {
    std::error_code code;
    llvm::raw_fd_ostream os(temp.path, code);
    os << text;
  };
  for (size_t size = 0; size < bytes.size(); size += 5) {
    put(StringRef(bytes).take_front(size));
    auto reader = NpzReader::open(temp.path);
    if (!reader) {
      llvm::consumeError(reader.takeError());
      continue;
    }
    CHECK(reader->names().empty());
  }
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string other = bytes;
    other[at] = static_cast<char>(other[at] ^ 0x15);
    put(other);
    auto reader = NpzReader::open(temp.path);
    if (!reader) {
      llvm::consumeError(reader.takeError());
      continue;
    }
    if (!reader->contains("a"))
      continue;
    auto got = reader->read("a", std::nullopt);
    if (got) // Dates and flags are no part of the array.
      CHECK(compare(*got, tensor, {}).agrees());
    else
      llvm::consumeError(got.takeError());
  }
}

TEST_CASE("a .npy is an archive of one array", "[npz]") {
  TempPath temp("npy");
  Tensor tensor = Tensor::of<float>(DType::F32, {2}, {1, 2});
  REQUIRE_FALSE(static_cast<bool>(writeNpy(temp.path, tensor)));
  llvm::Expected<NpzReader> reader = NpzReader::open(temp.path);
  REQUIRE(static_cast<bool>(reader));
  CHECK(reader->names() == ArrayRef<std::string>{"arr_0"});
  CHECK(compare(llvm::cantFail(reader->read("arr_0", std::nullopt)), tensor, {})
            .agrees());
  auto other = reader->read("a", std::nullopt);
  CHECK(llvm::toString(other.takeError()) == "there is no array 'a'");
}

TEST_CASE("a comparison names the worst element", "[compare]") {
  Tensor expected = Tensor::of<float>(DType::F32, {2, 2}, {1, 2, 0.0f, -0.0f});
  Tensor actual =
      Tensor::of<float>(DType::F32, {2, 2}, {1, 2.0000005f, 1e-3f, 0.0f});
  Comparison result = compare(actual, expected, {.ulps = 2});
  CHECK(result.bad == 1);
  CHECK(describe(result, actual, expected) ==
        "1 of 4 elements differ, most at [1, 0]: 0.001 (0x3a83126f), expected "
        "0.0 (0x00000000), off by 0.001 (7.14e+41 ulp)");
  CHECK(compare(actual, expected, {.absolute = 1.1e-3}).agrees());
  result = compare(actual, expected, {.absolute = 1e-2, .exactZeros = true});
  CHECK(describe(result, actual, expected) ==
        "1 of 4 elements differ, most at [1, 1]: 0.0 (0x00000000), expected "
        "-0.0 (0x80000000), zeros of different signs");
  result = compare(actual, Tensor::zeros(DType::F32, {4}), {});
  CHECK(describe(result, actual, Tensor::zeros(DType::F32, {4})) ==
        "is f32[2,2], expected f32[4]");
  float nan = NAN, infinity = INFINITY;
  Tensor odd = Tensor::of<float>(DType::F32, {3}, {nan, infinity, -infinity});
  CHECK(compare(odd, odd, {}).agrees());
  CHECK(compare(Tensor::of<float>(DType::F32, {3}, {nan, infinity, infinity}),
                odd, {.relative = 1e30, .absolute = 1e30})
            .bad == 1);
  Tensor whole = Tensor::of<int32_t>(DType::I32, {2}, {7, 8});
  CHECK(describe(compare(Tensor::of<int32_t>(DType::I32, {2}, {7, 10}), whole,
                         {.relative = 1}),
                 Tensor::of<int32_t>(DType::I32, {2}, {7, 10}), whole) ==
        "1 of 2 elements differ, most at [1]: 10 (0x0000000a), expected 8 "
        "(0x00000008), off by 2");
}
