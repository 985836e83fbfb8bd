// IRTextErrorTest.cpp - texts that are no programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "IRFixture.h"
#include <random>

using namespace shardtype;

static std::string errorOf(StringRef text, const ParseLimits &limits = {}) {
  Read read(text, limits);
  return read ? "(read)" : read.error();
}

TEST_CASE("mistakes are reported at their place") {
  struct {
    const char *text, *error;
  } const cases[] = {
      {"", "0:0: the input is empty"},
      {" \n\t", "0:0: the input is empty"},
      {"hello", "1:1: expected '{ lambda', not 'hello'"},
      {"{ }", "1:3: expected 'lambda', not '}'"},
      {"{ lambda a", "1:11: expected a constant or ';', not the end"},
      {"{ lambda ; a:. let  in (a,) }",
       "1:14: expected a type behind 'a:', not '.'"},
      {"{ lambda ; a:f32[2] a:f32[2]. let  in (a,) }",
       "1:21: variable 'a' is already bound"},
      {"{ lambda ; a:f32[2]. let\n  a:f32[2] = sin a\n in (a,) }",
       "2:3: variable 'a' is already bound"},
      {"{ lambda ; a:f32[2]. in (a,) }",
       "1:22: expected 'let' behind the binders, not 'in'"},
      {"{ lambda ; a:f32[2]. let b:f32[2] = sin b in (b,) }",
       "1:41: variable 'b' is not defined here"},
      {"{ lambda ; a:f32[2]. let b:f32[2] = sin a c in (b,) }",
       "1:43: variable 'c' is not defined here"},
      {"{ lambda ; a:f32[2]. let  in (c,) }",
       "1:31: variable 'c' is not defined here"},
      {"{ lambda ; a:f32[2]. let  in (a, }",
       "1:34: expected a variable or a literal, not '}'"},
      {"{ lambda ; a:f32[2]. let  in (a a) }",
       "1:33: expected ',' or ')', not 'a'"},
      {"{ lambda ; a:f32[2]. let  in (a,)", "1:34: expected '}', not the end"},
      {"{ lambda ; a:f32[2]. let  in (a,) } x",
       "1:37: expected the end of the program, not 'x'"},
      {"{ lambda ; a:f32[2]. let b:f32[2] = sin[x=1 x=2] a in (b,) }",
       "1:47: parameter 'x' is given twice"},
      {"{ lambda ; a:f32[2]. let b:f32[2] = sin[x=1 a in (b,) }",
       "1:43: the value of 'x' does not end"},
      {"{ lambda ; a:f32[2]. let b:f32[2] = sin[x=(1 a in (b,) }",
       "1:43: the value of 'x' does not end"},
      {"{ lambda ; a:f32[2]. let b:f32[2] = sin[", "1:40: '[' is not closed"},
      {"{ lambda ; a:f32[2]. let b:f32[2] = 3 a in (b,) }",
       "1:37: expected the name of a primitive, not '3'"},
      {"{ lambda ; a:f32[2,]. let  in (a,) }",
       "1:20: expected the size of a dim"},
      {"{ lambda ; a:f32[2]{X:i}. let  in (a,) }",
       "1:21: expected V, U, U_max, U_min or R"},
      {"{ lambda ; . let  in (2.0,) }",
       "1:23: expected a literal with its type, such as 2.0:f32[]"},
      {"{ lambda ; . let  in (2.0:f32[3,) }",
       "1:33: expected ']', not the end"},
      {"{ lambda ; a:f32[2]. let b:f32[2] = jit[name=f jaxpr=g] a in (b,) }",
       "1:54: no jaxpr is called 'g'; its definition 'let ... = { lambda ... } "
       "in' is missing"},
      {"let f = { lambda ; . let  in () } in\n"
       "let f = { lambda ; . let  in () } in { lambda ; . let  in () }",
       "2:5: 'f' is defined twice"},
      {"let f = { lambda ; . let  in () }\n{ lambda ; . let  in () }",
       "2:1: expected 'in' behind the definition of 'f', not '{'"},
      {"let f = { lambda ; . let jit[name=f jaxpr=f]  in () } in\n"
       "{ lambda ; . let jit[name=f jaxpr=f]  in () }",
       "1:9: a jaxpr holds itself"},
      {"#! mesh X=\n{ lambda ; . let  in () }",
       "1:1: expected the size of an axis, not the end"},
      {"{ lambda ; a:f32[2]. let b:f32[2] = foo[mesh=Mesh('X': 0, "
       "axis_types=(Auto,))] a in (b,) }",
       "1:56: axis 'X' needs a size of at least 1"},
      {"{ lambda ; a:f32[2]. let b:f32[2] = foo[sharding=P('X', 'Y'=1)] a in "
       "(b,) }",
       "1:60: expected ',' or ')', not '='"},
      {"{ lambda ; a:f32[2]. let b:f32[2] <- a in (b,) }",
       "1:39: expected '[...]' behind the Ref, not ' '"},
      {"{ lambda ; a:f32[2]. let b:f32[2], a[0] <- a[1], b in (b,) }",
       "1:45: expected the same indices as before '<-'"},
  };
  for (const auto &c : cases) {
    INFO(c.text);
    CHECK(errorOf(c.text) == c.error);
  }
}

TEST_CASE("bytes of another kind are no text") {
  std::string binary("\x7f"
                     "ELF\0\0\0",
                     7);
  CHECK(errorOf(binary) ==
        "0:0: the input is neither JSON nor a printed jaxpr: it holds zero "
        "bytes");
}

TEST_CASE("limits end a text that goes too far") {
  ParseLimits limits;
  limits.bytes = 10;
  CHECK(errorOf("{ lambda ; . let  in () }", limits) ==
        "0:0: the size of the input is above the limit of 10 bytes");
  limits = ParseLimits();
  limits.items = 3;
  CHECK(errorOf("{ lambda ; a:f32[] b:f32[] c:f32[] d:f32[]. let  in () }",
                limits) ==
        "1:36: the number of variables, operands and values is above the limit "
        "of 3");
  std::string nested;
  for (int i = 0; i < 100000; ++i)
    nested += "{ lambda ; . let f[jaxpr=";
  CHECK(errorOf(nested) == "1:6401: programs nest more than 256 deep");
  // Definitions nest as programs do.
  std::string chain;
  for (int i = 0; i < 300; ++i)
    chain += "let f" + std::to_string(i) + " = { lambda ; . let g[jaxpr=f" +
             std::to_string(i + 1) + "]  in () } in\n";
  chain += "let f300 = { lambda ; . let  in () } in\n"
           "{ lambda ; . let g[jaxpr=f0]  in () }";
  CHECK(StringRef(errorOf(chain)).ends_with("nest more than 256 deep"));
}

TEST_CASE("deeply nested anything is an error, not a crash") {
  for (const char *piece :
       {"(", "[", "{", "<", "P(", "f(a=", "'", "{ lambda ;",
        "let f = ", "np.int64(", "{1:", "Mesh(", "frozenset({",
        "NamedSharding(mesh=", "# ", "#! "}) {
    std::string deep;
    for (int i = 0; i < 20000; ++i)
      deep += piece;
    INFO(piece);
    CHECK_FALSE(errorOf(deep) == "(read)");
    CHECK_FALSE(errorOf("{ lambda ; . let f[a=" + deep) == "(read)");
    CHECK_FALSE(errorOf("{ lambda ; . let f[jaxprs=" + deep) == "(read)");
    CHECK_FALSE(errorOf("{ lambda ; a:" + deep) == "(read)");
    CHECK_FALSE(errorOf("{ lambda ; . let b = c " + deep) == "(read)");
    CHECK_FALSE(errorOf("{ lambda ; . let  in (" + deep) == "(read)");
  }
}

/// Texts that between them show every form.
static std::vector<std::string> seeds() {
  std::vector<std::string> texts;
  for (const std::string &path : filesIn("test/text/printed", ".txt"))
    if (std::string text = readFile(path); text.size() < 6000)
      texts.push_back(text);
  return texts;
}

TEST_CASE("every beginning of a program is an error or a program",
          "[exhaustive]") {
  size_t read = 0, refused = 0;
  for (const std::string &text : seeds()) {
    // A beginning that cuts a comment at the end is a whole program.
    if (text.size() > 2500 || text.find(" # ") != std::string::npos)
      continue;
    for (size_t length = 0; length < text.size(); ++length) {
      Read prefix(StringRef(text).take_front(length));
      // Only a missing line break at the end leaves it whole.
      ++(prefix ? read : refused);
    }
  }
  CHECK(read <= seeds().size());
  CHECK(refused > 20000);
}

TEST_CASE("programs with random bytes changed do not crash", "[exhaustive]") {
  std::mt19937 random(20240607);
  auto below = [&](size_t n) { return random() % n; };
  const std::string alphabet = "{}[]()<>,;:.=#'\"@_ \n\tabinlet019-+PV\\";
  size_t read = 0, refused = 0;
  for (const std::string &seed : seeds()) {
    for (int round = 0; round < 60; ++round) {
      std::string text = seed;
      for (size_t edits = 1 + below(4); edits--;) {
        size_t at = below(text.size());
        switch (below(4)) {
        case 0:
          text[at] = alphabet[below(alphabet.size())];
          break;
        case 1:
          text.insert(at, 1, alphabet[below(alphabet.size())]);
          break;
        case 2:
          text.erase(at, 1 + below(8));
          break;
        default: // A piece of the text once more, elsewhere.
          text.insert(at, seed, below(seed.size()), 1 + below(40));
        }
        if (text.empty())
          break;
      }
      Read mutant(text);
      ++(mutant ? read : refused);
      if (!mutant)
        continue;
      // What was read prints and reads again.
      std::string printed = mutant.print();
      VarNames names(mutant.program());
      for (uint32_t i = 0; i < mutant.entry().numEqns; ++i)
        printEqn(mutant.program(), names, mutant.entry().eqn(i), {});
    }
  }
  CHECK(read > 100);
  CHECK(refused > 1000);
}

TEST_CASE("comparing definitions does not take forever", "[exhaustive]") {
  // 2^40 paths through equal definitions, once outside and once in a value.
  std::string definitions;
  for (int i = 0; i < 40; ++i)
    definitions += "let f" + std::to_string(i) +
                   " = { lambda ; . let g[jaxpr=f" + std::to_string(i + 1) +
                   "]; g[jaxpr=f" + std::to_string(i + 1) + "]  in () } in\n";
  definitions += "let f40 = { lambda ; . let  in () } in\n";
  std::string text = definitions + "{ lambda ; . let h[x=S(a=" + definitions +
                     "{ lambda ; . let g[jaxpr=f0]  in () })]  in () }";
  Read read(text);
  INFO(read.error());
  CHECK(read);
}

TEST_CASE("time is linear in the size of a text", "[exhaustive]") {
  // Each of these would take minutes if something were scanned again and again.
  std::string lines = "{ lambda ; a:f32[4]. let\n";
  for (int i = 0; i < 20000; ++i)
    lines += "  f[x=< y=' z=b] a\n";
  Read(lines + " in () }");
  std::string operands = "{ lambda ; a:f32[4]. let b:f32[4] = f";
  for (int i = 0; i < 200000; ++i)
    operands += " a";
  CHECK(errorOf(operands + " in (b,) }") == "(read)");
  std::string names = "{ lambda ; a:f32[4]. let b:f32[4] = cond[branches=(";
  for (int i = 0; i < 20000; ++i)
    names += " g";
  CHECK_FALSE(errorOf(names + ")] a in (b,) }") == "(read)");
  std::string digits(1000000, '9');
  CHECK_FALSE(errorOf("{ lambda ; . let  in (" + digits + ":f32[],) }") ==
              "(read)");
  CHECK(errorOf("{ lambda ; a:f32[4]. let b:f32[4] = f[x=" + digits +
                "] a in (b,) }") == "(read)");
  CHECK(errorOf("{ lambda ; a:f32[4]. let b:f32[4] = f[x=" + digits +
                ".5] a in (b,) }") == "(read)");
}
