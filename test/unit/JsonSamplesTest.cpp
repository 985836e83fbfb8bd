// JsonSamplesTest.cpp - files of real programs: read, printed, written back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "JsonFixture.h"
#include "llvm/ADT/StringExtras.h"
#include <catch2/catch.hpp>

using namespace jsontest;
namespace lj = llvm::json;

/// The first lines that differ; empty if all are equal.
static std::string firstDifference(StringRef got, StringRef wanted) {
  SmallVector<StringRef, 0> a, b;
  got.split(a, '\n');
  wanted.split(b, '\n');
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    StringRef left = i < a.size() ? a[i] : "(end)";
    StringRef right = i < b.size() ? b[i] : "(end)";
    if (left != right)
      return ("line " + llvm::Twine(i + 1) + ": '" + left + "' instead of '" +
              right + "'")
          .str();
  }
  return "";
}

/// Without what depends on line breaks.
static std::string withoutLayout(StringRef text) {
  std::string plain;
  for (char c : text)
    if (!llvm::isSpace(c) && c != ';')
      plain += c;
  return plain;
}

TEST_CASE("a file prints as JAX printed the program") {
  for (const Sample &sample : samples()) {
    INFO(sample.json);
    Context cx;
    Reading reading = read(cx, slurp(sample.json));
    INFO(reading.error());
    REQUIRE(reading.program);
    std::string recorded = slurp(sample.text);
    StringRef program(recorded);
    while (program.starts_with("#!")) // The mesh, which the file says itself.
      program = program.split('\n').second;
    std::string wanted = normalText(program.rtrim());
    std::string got = normalText(print(*reading.program));
    // The longer text of a NumPy number moved JAX's line breaks.
    if (StringRef(recorded).contains("np."))
      CHECK(withoutLayout(got) == withoutLayout(wanted));
    else
      CHECK(firstDifference(got, wanted) == "");
  }
}

/// Writes what was read, and checks that it says the same and no more.
static void checkIdentity(StringRef text) {
  Context cx;
  Reading first = read(cx, text);
  INFO(first.error());
  REQUIRE(first.program);
  std::string written = write(*first.program);
  CHECK(difference(normal(text), normal(written)) == "");
  Context other;
  Reading second = read(other, written);
  INFO(second.error());
  REQUIRE(second.program);
  CHECK(write(*second.program) == written);
  CHECK(print(*second.program) == print(*first.program));
}

TEST_CASE("a file is written back as it was") {
  for (const Sample &sample : samples()) {
    INFO(sample.json);
    if (std::string text = slurp(sample.json); text.size() < 1000000)
      checkIdentity(text); // The largest would say it 60 times over.
  }
}

TEST_CASE("keys may come in any order, with blanks between tokens") {
  for (const Sample &sample : samples()) {
    INFO(sample.json);
    std::string text = slurp(sample.json);
    if (text.size() > 60000)
      continue;
    // LLVM prints objects with their keys sorted: eqns before invars, jaxprs
    // before types, and so on.
    lj::Value tree = llvm::cantFail(lj::parse(text));
    checkIdentity(llvm::formatv("{0:2}", tree).str());
  }
}

TEST_CASE("programs of one context share types") {
  Context cx;
  std::string text = slurp(samples().front().json);
  Reading first = read(cx, text), second = read(cx, text);
  REQUIRE(first.program);
  REQUIRE(second.program);
  REQUIRE(first.program->vars.size() == second.program->vars.size());
  for (size_t i = 0; i < first.program->vars.size(); ++i)
    CHECK(first.program->vars[i].type == second.program->vars[i].type);
}
