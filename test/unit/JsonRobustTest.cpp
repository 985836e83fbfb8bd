// JsonRobustTest.cpp - broken, hostile and very large input.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "JsonFixture.h"
#include <catch2/catch.hpp>
#include <random>

using namespace jsontest;

/// Reads anything; a program that comes out of it must survive a round trip.
static bool survives(StringRef text) {
  Context cx;
  Reading reading = read(cx, text);
  if (!reading.program)
    return true;
  std::string written = write(*reading.program);
  Reading again = read(cx, written);
  if (!again.program) {
    UNSCOPED_INFO("written, but not readable: " << again.error());
    return false;
  }
  return write(*again.program) == written;
}

TEST_CASE("every truncation of a file is an error, never a crash") {
  for (const Sample &sample : samples()) {
    std::string text = slurp(sample.json);
    if (text.size() > 1250)
      continue; // Some ten are small enough.
    INFO(sample.json);
    size_t end = StringRef(text).rtrim().size();
    for (size_t size = 0; size < end; ++size) {
      Context cx;
      // A copy of its own, so that reading past the end would be seen.
      std::string part = text.substr(0, size);
      if (read(cx, part).program)
        FAIL("a file cut at " << size << " was read");
    }
  }
}

/// One small change of any kind.
static void mutate(std::string &text, std::mt19937 &random) {
  auto below = [&](size_t n) { return random() % n; };
  size_t at = below(text.size());
  size_t length = 1 + below(std::min<size_t>(16, text.size() - at));
  switch (below(6)) {
  case 0:
    text[at] = static_cast<char>(below(256));
    return;
  case 1: // A character that means something.
    text[at] = "{}[],:\"0123456789-.etfn\\"[below(23)];
    return;
  case 2:
    text.erase(at, length);
    return;
  case 3:
    text.insert(below(text.size()), text.substr(at, length));
    return;
  case 4: { // Another number.
    size_t digit = text.find_first_of("0123456789", at);
    if (digit != std::string::npos)
      text.replace(digit, 1, std::to_string(random() >> below(32)));
    return;
  }
  default: { // One token for another.
    size_t from = text.find_first_of("{[\"", at);
    size_t to = text.find_first_of("{[\"", below(text.size()));
    if (from == std::string::npos || to == std::string::npos)
      return;
    size_t end = text.find_first_of(",}]", from);
    size_t other = text.find_first_of(",}]", to);
    if (end != std::string::npos && other != std::string::npos)
      text.replace(from, end - from, text.substr(to, other - to));
    return;
  }
  }
}

TEST_CASE("random changes of files never crash the reader") {
  std::mt19937 random(20260812);
  std::vector<std::string> texts;
  for (const Sample &sample : samples())
    if (std::string text = slurp(sample.json); text.size() < 20000)
      texts.push_back(std::move(text));
  for (unsigned round = 0; round < 3000; ++round) {
    std::string text = texts[random() % texts.size()];
    for (unsigned n = 1 + random() % 4; n > 0 && !text.empty(); --n)
      mutate(text, random);
    if (!survives(text)) {
      INFO(text);
      FAIL("round " << round);
    }
  }
}

static std::string errorOf(StringRef text, const JsonLimits &limits = {}) {
  Context cx;
  return read(cx, text, limits).error();
}

TEST_CASE("deep nesting stops at the limit") {
  std::string brackets(100 << 20, '[');
  CHECK(errorOf(brackets) == "json-structure : expected an object");
  std::string inField = "{\"more\":" + brackets;
  StringRef limit = "the nesting of the file is above the limit of 512";
  CHECK(StringRef(errorOf(inField)).ends_with(limit));
  std::string objects = "{\"more\":";
  for (unsigned i = 0; i < 100000; ++i)
    objects += "{\"a\":";
  CHECK(StringRef(errorOf(objects)).ends_with(limit));
  DiagnosticList diags;
  CHECK_FALSE(readJsonValue(brackets, diags));
  CHECK(StringRef(diags.all()[0].message).ends_with(limit));

  JsonLimits shallow;
  shallow.depth = 6;
  CHECK(errorOf(small(), shallow) ==
        "input-limit /jaxprs/0/eqns/0/out/0: the nesting of the file is above "
        "the limit of 6");
  shallow.depth = 7;
  CHECK(errorOf(small(), shallow) == "");
}

TEST_CASE("deep values and types within the limit are read") {
  std::string deep(400, '['), type;
  deep += std::string(400, ']');
  std::string text = small({{"params", "{\"k\":" + deep + "}"}});
  Context cx;
  Reading reading = read(cx, text);
  INFO(reading.error());
  REQUIRE(reading.program);
  CHECK(StringRef(write(*reading.program)).contains(deep));
}

TEST_CASE("no limit makes nesting use up the stack") {
  JsonLimits limits;
  limits.depth = 1u << 31;
  auto nested = [](unsigned levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  constexpr unsigned Most = JsonLimits::MostDepth;
  CHECK(errorOf(small({{"root", ",\"more\":" + nested(Most - 1)}}), limits) ==
        "");
  StringRef limit = "the nesting of the file is above the limit of 4096";
  CHECK(
      StringRef(errorOf(small({{"root", ",\"more\":" + nested(Most)}}), limits))
          .ends_with(limit));
  // As a value of a parameter, the readers follow it down.
  CHECK(errorOf(small({{"params", "{\"k\":" + nested(Most - 8) + "}"}}),
                limits) == "");
  DiagnosticList diags;
  CHECK(readJsonValue(nested(Most), diags, limits));
  CHECK_FALSE(readJsonValue(std::string(1 << 20, '['), diags, limits));
  CHECK(StringRef(diags.all()[0].message).ends_with(limit));
}

TEST_CASE("large input is bounded") {
  JsonLimits limits;
  limits.bytes = 100;
  CHECK(errorOf(small(), limits) ==
        "input-limit : the size of the file is above the limit of 100 bytes");

  limits = {};
  limits.parts = 1000;
  std::string list = "0";
  for (unsigned i = 0; i < 1000; ++i)
    list += ",0";
  CHECK(errorOf(small({{"in", "[" + list + "]"}}), limits) ==
        "input-limit /jaxprs/0/eqns/0: the number of parts of this value is "
        "above the limit of 1000");
  CHECK(errorOf(small({{"root", ",\"more\":[" + list + "]"}}), limits) ==
        "input-limit /more: the number of parts of this value is above the "
        "limit of 1000");
  CHECK(errorOf(small({{"in", "[" + list + "]"}})) == "");

  std::string longText = "{\"a\":\"" + std::string(20 << 20, 'x');
  Context cx;
  Reading reading = read(cx, longText);
  CHECK(reading.diags.all()[0].code == diag::JsonSyntax);
  CHECK(reading.diags.all()[0].message.size() < 300);
}

TEST_CASE("at most 65,536 different primitives") {
  auto withPrimitives = [](unsigned count) {
    std::string eqns;
    for (unsigned i = 1; i < count; ++i)
      eqns += R"(},{"p":"p)" + std::to_string(i) + R"(","in":[],"out":[])";
    return small({{"eqn", eqns}});
  };
  CHECK(errorOf(withPrimitives(65536)) == "");
  CHECK(errorOf(withPrimitives(65537)) ==
        "input-limit /jaxprs/0/eqns/65536/p: the number of different "
        "primitives is above the limit of 65536");
}

TEST_CASE("at most 64 axes of a mesh") {
  std::string axes;
  for (unsigned i = 0; i < 65; ++i)
    axes += (i ? ",{\"name\":\"a" : "{\"name\":\"X") + std::to_string(i) +
            R"(","size":1,"type":"Auto"})";
  CHECK(errorOf(small({{"axis", axes}})) ==
        "input-limit /meshes/0/axes: the number of axes of a mesh is above the "
        "limit of 64");
}

TEST_CASE("numbers of variables may be large and far apart") {
  std::string text = small({{"invars", R"("invars":[[4294967295,0],[7,0]],)"},
                            {"in", "[4294967295,7]"},
                            {"out", "[[9007199254740993,0]]"},
                            {"outs", R"("outs":[9007199254740993],)"}});
  Context cx;
  Reading reading = read(cx, text);
  INFO(reading.error());
  REQUIRE(reading.program);
  CHECK(reading.program->operandsOf(EqnId(0))[0].var() == VarId(0));
  CHECK(reading.program->jaxprs[0].outs[0].var() == VarId(2));
}

TEST_CASE("every number up to the largest may be that of a variable") {
  for (StringRef id : {"9223372036854775807", "9223372036854775806",
                       "9223372036854775805", "4294967294", "4294967293"}) {
    INFO(id.str());
    std::string text =
        small({{"invars", "\"invars\":[[" + id.str() + ",0],[7,0]],"},
               {"in", "[" + id.str() + ",7]"}});
    Context cx;
    Reading reading = read(cx, text);
    INFO(reading.error());
    REQUIRE(reading.program);
    CHECK(reading.program->operandsOf(EqnId(0))[0].var() == VarId(0));
    CHECK(survives(text));
    // Nowhere bound.
    CHECK(errorOf(small({{"in", "[" + id.str() + ",7]"}})) ==
          "jaxpr-scope /jaxprs/0/eqns/0/in/0: variable '" + id.str() +
              "' is not defined here");
  }
}

TEST_CASE("objects with many keys") {
  std::string fields = "\"k0\":0";
  for (unsigned i = 1; i < 20000; ++i)
    fields += ",\"k" + std::to_string(i) + "\":0";
  CHECK(errorOf(small({{"params", "{" + fields + "}"}})) == "");
  CHECK(errorOf(small({{"params", "{" + fields + ",\"k77\":1}"}})) ==
        "json-duplicate-key /jaxprs/0/eqns/0/params/k77: key 'k77' is given "
        "twice");
}
