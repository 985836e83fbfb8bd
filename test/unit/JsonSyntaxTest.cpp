// JsonSyntaxTest.cpp - text that is not JSON: the message and the place.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "JsonFixture.h"
#include <catch2/catch.hpp>

using namespace jsontest;

namespace {
struct SyntaxMistake {
  std::string text;
  unsigned line, column; // Of the character at fault, from 1.
  StringRef message;
};
} // namespace

static void check(const std::vector<SyntaxMistake> &mistakes) {
  for (const SyntaxMistake &mistake : mistakes) {
    INFO(mistake.text);
    // A buffer of its own, so that reading past the end would be seen.
    std::vector<char> bytes(mistake.text.begin(), mistake.text.end());
    Context cx;
    Reading reading = read(cx, StringRef(bytes.data(), bytes.size()));
    REQUIRE(reading.diags.size() == 1);
    const Diagnostic &d = reading.diags.all()[0];
    CHECK(info(d.code).code == "json-syntax");
    CHECK(d.message == mistake.message);
    CHECK(d.line == mistake.line);
    CHECK(d.column == mistake.column);
    CHECK(d.path.empty());
  }
}

TEST_CASE("syntax errors say what is missing and what stands there") {
  check({
      {"{\"format\":}", 1, 11, "expected a value after ':', found '}'"},
      {"{\n  \"a\": 1\n  \"b\": 2\n}", 3, 3,
       "expected ',' or '}' in an object, found a string"},
      {"{\"a\" 1}", 1, 6, "expected ':' after a key, found '1'"},
      {"{\"a\"=1}", 1, 5, "expected ':' after a key, found '='"},
      {"{a:1}", 1, 2, "expected a key in quotes or '}', found 'a'"},
      {"{'a':1}", 1, 2,
       "expected a key in quotes or '}', found a single quote"},
      {"{\"a\":1,}", 1, 8, "expected a key in quotes after ',', found '}'"},
      {"{\"a\":[1,]}", 1, 9, "expected a value after ',', found ']'"},
      {"{\"a\":[,1]}", 1, 7, "expected a value or ']', found ','"},
      {"{\"a\":[1 2]}", 1, 9, "expected ',' or ']' in a list, found '2'"},
      {"{\"a\":[1}", 1, 8, "expected ',' or ']' in a list, found '}'"},
      {"{\"a\":1]", 1, 7, "expected ',' or '}' in an object, found ']'"},
      {"{} {}", 1, 4, "expected the end of the file, found '{'"},
      {"{}x", 1, 3, "expected the end of the file, found 'x'"},
      {"{\"a\":/* 1 */ 1}", 1, 6, "expected a value after ':', found '/'"},
      {"{\"a\":\xc3\xa9}", 1, 6,
       "expected a value after ':', found '\xc3\xa9'"},
      {"{\"a\":\xff}", 1, 6, "expected a value after ':', found the byte 0xff"},
      {std::string("{\"a\":\0}", 7), 1, 6,
       "expected a value after ':', found a zero byte"},
      {std::string("{}\0", 3), 1, 3,
       "expected the end of the file, found a zero byte"},
  });
}

TEST_CASE("words and numbers that are none") {
  check({
      {"{\"a\":NaN}", 1, 6, "'NaN' is not a JSON value"},
      {"{\"a\":-Infinity}", 1, 7,
       "expected a digit after '-', found 'Infinity'"},
      {"{\"a\":True}", 1, 6, "'True' is not a JSON value"},
      {"{\"a\":nul}", 1, 6, "'nul' is not a JSON value"},
      {"{\"a\":falsy}", 1, 6, "'falsy' is not a JSON value"},
      {"{\"a\":nullx}", 1, 10, "expected ',' or '}' in an object, found 'x'"},
      {"{\"a\":01}", 1, 7,
       "a number with more than one digit must not begin with 0"},
      {"{\"a\":[-00]}", 1, 9,
       "a number with more than one digit must not begin with 0"},
      {"{\"a\":+1}", 1, 6, "expected a value after ':', found '+'"},
      {"{\"a\":-}", 1, 7, "expected a digit after '-', found '}'"},
      {"{\"a\":1.}", 1, 8, "expected a digit after '.', found '}'"},
      {"{\"a\":.5}", 1, 6, "expected a value after ':', found '.'"},
      {"{\"a\":1e}", 1, 8, "expected a digit in the exponent, found '}'"},
      {"{\"a\":1e+x}", 1, 9, "expected a digit in the exponent, found 'x'"},
      {"{\"a\":0x10}", 1, 7, "expected ',' or '}' in an object, found 'x10'"},
      {"{\"a\":1e999}", 1, 6, "the number is too large"},
      {"{\"a\":" + std::string(400, '9') + "}", 1, 6,
       "the number is too large"},
  });
}

TEST_CASE("strings that are none") {
  check({
      {"{\"a\":\"\\x\"}", 1, 7, "'\\x' is no escape"},
      {"{\"a\":\"\\\xc3\xa9\"}", 1, 7, "'\\\xc3\xa9' is no escape"},
      {"{\"a\":\"\\\n\"}", 1, 7,
       "'\\' stands before the byte 0x0a: that is no escape"},
      {"{\"a\":\"\\u12g4\"}", 1, 7,
       "'\\u' needs four hexadecimal digits, not '12g4'"},
      {"{\"a\":\"\\ud83d\\u12\"}", 1, 7,
       "'\\u' needs four hexadecimal digits, not '12'"},
      {"{\"a\":\"b\\ud83d\"}", 1, 8,
       "'\\ud83d' is half of a surrogate pair; the other half is missing"},
      {"{\"a\":\"b\\ud83d\\ud83d\"}", 1, 8,
       "'\\ud83d' is half of a surrogate pair; the other half is missing"},
      {"{\"a\":\"\\ud83d\\ude00\\uDE00\"}", 1, 19,
       "'\\uDE00' is half of a surrogate pair; the other half is missing"},
      {"{\"\\\\\\\"\\udc00\":1}", 1, 7,
       "'\\udc00' is half of a surrogate pair; the other half is missing"},
      {"{\"a\":\"b\xff\"}", 1, 8, "the text is not UTF-8: byte 0xff"},
      {"{\"a\":\"\\\"b\xed\xa0\x80\"}", 1, 10, // A surrogate as it is.
       "the text is not UTF-8: byte 0xed"},
      {"{\"a\":\"\xc0\xaf\"}", 1, 7, // Longer than needed.
       "the text is not UTF-8: byte 0xc0"},
      {"{\"\xf4\x90\x80\x80\":1}", 1, 3, // Above the last code point.
       "the text is not UTF-8: byte 0xf4"},
      {"{\"a\":\"b\xc3\"}", 1, 8, "the text is not UTF-8: byte 0xc3"},
      {"{\"a\":\"b\nc\"}", 1, 8,
       "a line break stands inside a string without an escape"},
      {"{\"a\":\"\tc\"}", 1, 7,
       "a tab stands inside a string without an escape"},
      {"{\"a\":\"\x01\"}", 1, 7,
       "the control character 0x01 stands inside a string without an escape"},
      {std::string("{\"a\":\"b\0\"}", 10), 1, 8,
       "a zero byte stands inside a string without an escape"},
  });
}

TEST_CASE("files that end too early say where") {
  check({
      {"{", 1, 2, "the file ends where a key in quotes or '}' is expected"},
      {"{\"a", 1, 4, "the file ends inside a string"},
      {"{\"a\\", 1, 5, "the file ends inside a string"},
      {"{\"a\\u00", 1, 8, "the file ends inside a string"},
      {"{\"a\\ud83d", 1, 10, "the file ends inside a string"},
      {"{\"a\\ud83d\\", 1, 11, "the file ends inside a string"},
      {"{\"a\\ud83d\\ude", 1, 14, "the file ends inside a string"},
      {"{\"a\"", 1, 5, "the file ends where ':' after a key is expected"},
      {"{\"a\":\n", 2, 1, "the file ends where a value after ':' is expected"},
      {"{\"a\":tru", 1, 9, "the file ends inside a word: 'tru'"},
      {"{\"a\":-", 1, 7, "the file ends inside a number"},
      {"{\"a\":1.", 1, 8, "the file ends inside a number"},
      {"{\"a\":1e", 1, 8, "the file ends inside a number"},
      {"{\"a\":1", 1, 7,
       "the file ends where ',' or '}' in an object is expected"},
      {"{\"a\":1,", 1, 8,
       "the file ends where a key in quotes after ',' is expected"},
      {"{\"a\":[", 1, 7, "the file ends where a value or ']' is expected"},
      {"{\"a\":[1", 1, 8,
       "the file ends where ',' or ']' in a list is expected"},
      {"{\"a\":[1,", 1, 9, "the file ends where a value after ',' is expected"},
  });
}

TEST_CASE("mistakes in values that no reader wants are found too") {
  // Unknown fields are kept as they are; a second pass over a file skips what
  // it does not read.
  for (StringRef value : {"[1,2", "{\"x\":01}", "[\"\\ud800\"]", "\"\xff\"",
                          "[tru]", "{\"x\" 1}"}) {
    Context cx;
    INFO(value.str());
    std::string text = small({{"root", (",\"more\":" + value).str()}});
    Reading reading = read(cx, text);
    REQUIRE(reading.diags.size() == 1);
    CHECK(reading.diags.all()[0].code == diag::JsonSyntax);
  }
}

TEST_CASE("blanks are those of JSON") {
  Context cx;
  std::string text = small();
  std::string wide;
  for (char c : text)
    wide += std::string(c == ',' || c == ':' ? " \t\r\n" : "") + c;
  CHECK(read(cx, "\r\n\t " + wide + " \n").error() == "");
  CHECK(read(cx, "\xef\xbb\xbf" + text).error() == ""); // A byte order mark.
  check(
      {{"{\"a\":\v1}", 1, 6, "expected a value after ':', found the byte 0x0b"},
       {"{\"a\":1\xc2\xa0}", 1, 7,
        "expected ',' or '}' in an object, found '\xc2\xa0'"}});
}

TEST_CASE("numbers and strings are kept as they are written") {
  for (StringRef value :
       {"0", "-0.0", "123456789012345678", "1234567890123456789",
        "-9223372036854775808", "9223372036854775807", "9223372036854775808",
        "18446744073709551616", "123456789012345678901234567890", "1.50",
        "1E+5", "1e-999", "0.1000000000000000055511151231257827",
        "[1,-2,3.0e5,null,true,false,\"\"]", "\"\xc3\xa9\xf0\x9f\x98\x80\""}) {
    Context cx;
    INFO(value.str());
    Reading reading = read(cx, small({{"root", (",\"more\":" + value).str()}}));
    CHECK(reading.error() == "");
    REQUIRE(reading.program);
    CHECK(StringRef(write(*reading.program))
              .contains(("\"more\":" + value).str()));
  }
  auto decoded = [](StringRef text) {
    DiagnosticList diags;
    std::optional<JsonValue> value = readJsonValue(text, diags);
    REQUIRE(value);
    return value->string;
  };
  CHECK(decoded("\"\\n\"") == "\n");
  CHECK(decoded("\"a\\/b\\\\\\\"\\b\\f\\r\\t\"") == "a/b\\\"\b\f\r\t");
  CHECK(decoded("\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00z\"") ==
        "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z");
  CHECK(decoded("\"\\u0000x\"") == std::string("\0x", 2));
  CHECK(decoded("\"\xc3\xa9\\n\"") == "\xc3\xa9\n");
}

TEST_CASE("keys that differ only in their escapes are equal") {
  Context cx;
  CHECK(
      read(cx, small({{"root", R"(,"more":{"ab":1,"\u0061b":2})"}})).error() ==
      "json-duplicate-key /more/ab: key 'ab' is given twice");
  CHECK(read(cx, small({{"root", R"(,"more":{"":1,"\n":2,"":3})"}})).error() ==
        "json-duplicate-key /more/: key '' is given twice");
  CHECK(read(cx, small({{"root", R"(,"m":1,"\u006d":2)"}})).error() ==
        "json-duplicate-key /m: key 'm' is given twice");
}
