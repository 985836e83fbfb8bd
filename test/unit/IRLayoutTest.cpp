// IRLayoutTest.cpp - the layout engine against JAX's pretty printer.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each expected text was printed by jax._src.pretty_printer (JAX 0.12.0.1) for
// the document that the test builds.
#include "../../lib/IR/Layout.h"
#include <catch2/catch.hpp>

using namespace shardtype;

template <typename Build>
static std::string layout(unsigned width, bool annotated, Build build) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Layout doc(os, width, annotated);
  build(doc);
  doc.finish();
  return text;
}

/// A group of two texts.
static std::string pair(unsigned width, StringRef a, StringRef b) {
  return layout(width, false, [&](Layout &doc) {
    doc.openGroup();
    doc.text(a);
    doc.brk();
    doc.text(b);
    doc.closeGroup();
  });
}

TEST_CASE("a group is flat if it fits, in bytes") {
  CHECK(pair(7, "abc", "def") == "abc def");
  CHECK(pair(6, "abc", "def") == "abc\ndef");
  // 40 letters of two bytes each, then a blank.
  std::string accents;
  for (int i = 0; i < 40; ++i)
    accents += "\xc3\xa9";
  CHECK(pair(80, accents, "x") == accents + "\nx");
}

TEST_CASE("a line break inside a text is a byte like others") {
  CHECK(pair(8, "a\nb", "xxxxx") == "a\nb\nxxxxx");
  CHECK(pair(9, "a\nb", "xxxxx") == "a\nb xxxxx");
  auto doc = [](Layout &d) {
    d.text("abc\nde");
    d.openGroup();
    d.brk();
    d.text("xxxxx");
    d.closeGroup();
  };
  CHECK(layout(11, false, doc) == "abc\nde\nxxxxx");
  CHECK(layout(12, false, doc) == "abc\nde xxxxx");
}

TEST_CASE("what follows a group does not count") {
  auto doc = [](Layout &d) {
    d.openGroup();
    d.text("ab");
    d.brk();
    d.text("cd");
    d.closeGroup();
    d.text("and a long tail");
  };
  CHECK(layout(5, false, doc) == "ab cdand a long tail");
}

TEST_CASE("indentation stands on empty lines too") {
  CHECK(layout(80, true, [](Layout &d) {
          d.openNest(4);
          d.text("a");
          d.brk();
          d.brk();
          d.text("c");
          d.annotate("Q");
          d.closeNest();
        }) == "a\n    \n    c # Q");
}

TEST_CASE("annotations stand in one column behind the longest line") {
  CHECK(layout(80, true,
               [](Layout &d) {
                 d.text("aa");
                 d.annotate("A1");
                 d.brk();
                 d.text("long line not annotated");
                 d.brk();
                 d.text("bbb");
                 d.annotate("B1");
                 d.text("c");
                 d.annotate("B2");
                 d.brk();
                 d.text("d");
               }) == "aa                      # A1\n"
                     "long line not annotated\n"
                     "bbbc                    # B1\n"
                     "                        # B2\n"
                     "d");
  CHECK(layout(80, true, [](Layout &d) {
          d.openGroup();
          d.openNest();
          d.text("aa");
          d.annotate("A1");
          d.brk("; ");
          d.text("bb");
          d.annotate("B1");
          d.closeNest();
          d.closeGroup();
        }) == "aa; bb # A1\n       # B1");
  CHECK(layout(80, true, [](Layout &d) {
          d.brk();
          d.text("abcd");
          d.annotate("");
        }) == "\nabcd # ");
}

TEST_CASE("a list breaks only where its line is full") {
  auto list = [](Layout &d) {
    d.openNest();
    d.openGroup();
    for (int i = 0; i < 8; ++i) {
      if (i)
        d.fill();
      d.text("aaa");
    }
    d.closeGroup();
    d.closeNest();
  };
  CHECK(layout(31, false, list) == "aaa aaa aaa aaa aaa aaa aaa aaa");
  // A word is begun wherever there is room for the blank before it.
  CHECK(layout(12, false, list) == "aaa aaa aaa aaa\n  aaa aaa aaa\n  aaa");
}

TEST_CASE("a wide document is laid out without holding it") {
  // Nested groups, of which only the innermost fit.
  std::string text = layout(20, false, [](Layout &d) {
    for (int i = 0; i < 1000; ++i)
      d.openGroup();
    for (int i = 0; i < 1000; ++i) {
      d.text("0123456789");
      d.brk();
    }
    for (int i = 0; i < 1000; ++i)
      d.closeGroup();
  });
  CHECK(text.size() == 11000);
  CHECK(StringRef(text).count('\n') == 1000);
}
