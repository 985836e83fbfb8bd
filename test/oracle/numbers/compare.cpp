// compare.cpp - our numbers against those that real JAX computed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   oracle_numbers [--verbose] [--listed] [--primitive NAME] [--plain] FILE...
//
// Each line of a file (README.md one level up) is a program and its cases. It
// is read, checked and run on each case's arguments, and each result must agree
// with JAX's by the rule of the case. differences.txt beside this lists where
// we mean to differ, nokernels.txt which primitives have no kernel. The last
// line printed counts, for docs/agreement.md; `--listed` prints a line for each
// entry of differences.txt that occurred. `--plain` asks the slow evaluator of
// test/plain instead, of what it covers; plain_differences.txt is its list.
#include "../Expectations.h"
#include "../MatrixFile.h"
#include "Agree.h"
#include "Plain.h"
#include "shardtype/Check/Check.h"
#include "shardtype/IR/Parser.h"
#include "shardtype/Interp/Interp.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <set>

using namespace shardtype;
using namespace shardtype::oracle;
namespace json = llvm::json;

namespace {

struct NumberCase {
  std::vector<uint64_t> arguments, results; // Numbers of arrays.
  std::vector<std::string> rules;
  std::string tag;
};

struct Totals {
  unsigned cases = 0, agree = 0, equal = 0, listed = 0, differ = 0, without = 0;
  std::set<std::string> primitives;
};

class Comparison {
public:
  bool verbose = false, plain = false;
  std::string only;
  Totals totals;
  Expectations expectations;

  bool file(StringRef path);

private:
  bool line(const json::Object &line);
  bool run(StringRef name, StringRef text, ArrayRef<NumberCase> cases);
  void outcome(StringRef name, StringRef text, const std::string &trouble);
  std::optional<Tensor> array(uint64_t number, const Type &type) const;

  PrimitiveSet rows_ = allPrimitives();
  std::string family_;
  std::vector<std::string> arrays_;
};

} // namespace

static bool bad(const llvm::Twine &message) {
  llvm::errs() << "oracle_numbers: " << message << '\n';
  return false;
}

/// Numbers of arrays.
static std::vector<uint64_t> numbers(const json::Value &value) {
  std::vector<uint64_t> out;
  if (const json::Array *list = value.getAsArray())
    for (const json::Value &number : *list)
      out.push_back(number.getAsUINT64().value_or(~0ull));
  return out;
}

static std::optional<NumberCase> readCase(const json::Value &value) {
  const json::Array *parts = value.getAsArray();
  if (!parts || parts->size() < 3)
    return std::nullopt;
  NumberCase c{numbers((*parts)[0]), numbers((*parts)[1]), {}, ""};
  if (const json::Array *list = (*parts)[2].getAsArray()) {
    for (const json::Value &rule : *list)
      c.rules.push_back(rule.getAsString().value_or("").str());
    if (c.rules.size() != c.results.size())
      return std::nullopt;
  } else {
    c.rules.assign(c.results.size(),
                   (*parts)[2].getAsString().value_or("").str());
  }
  if (parts->size() > 3)
    c.tag = (*parts)[3].getAsString().value_or("").str();
  return c;
}

/// An array of the file as a tensor of a type; nothing: it has other bytes.
std::optional<Tensor> Comparison::array(uint64_t number,
                                        const Type &type) const {
  if (number >= arrays_.size() || !type.isArray())
    return std::nullopt;
  Tensor tensor = Tensor::uninitialised(type.dtype, type.shape);
  const std::string &bytes = arrays_[number];
  if (bytes.size() != tensor.bytes())
    return std::nullopt;
  std::memcpy(tensor.mutableData(), bytes.data(), bytes.size());
  return tensor;
}

void Comparison::outcome(StringRef name, StringRef text,
                         const std::string &trouble) {
  ++totals.cases;
  totals.primitives.insert(name.str());
  if (trouble.empty()) {
    ++totals.agree;
    return;
  }
  std::string all = (text + " -> " + trouble).str();
  if (trouble == "no kernel" && expectations.whyNoRule(name)) {
    ++totals.without;
  } else if (expectations.isDeliberate(family_, name, all)) {
    ++totals.listed;
    if (verbose)
      llvm::outs() << "listed: " << all << '\n';
  } else {
    ++totals.differ;
    llvm::outs() << "differs: " << all << '\n';
  }
}

bool Comparison::run(StringRef name, StringRef text,
                     ArrayRef<NumberCase> cases) {
  Context context;
  DiagnosticList errors;
  auto lookup = [&](StringRef primitive) { return rows_.info(primitive); };
  std::optional<ParsedText> parsed =
      parseText(context, text, family_, lookup, errors);
  if (!parsed)
    return bad("cannot read " + text + ": " +
               (errors.empty() ? "" : errors.all().front().message));
  CheckedProgram checked = check(parsed->program, rows_, {});
  if (!checked.ok())
    return bad("refused: " + text + ": " +
               checked.diagnostics.all().front().message);
  SmallVector<StringRef, 8> words;
  text.split(words, ' ', -1, false);
  for (StringRef &word : words)
    word = word.trim();
  std::string short_ = llvm::join(words, " ");
  std::replace(short_.begin(), short_.end(), '\n', ' ');
  RunOptions options;
  options.workers = 1;
  Interpreter exact(checked, rows_, options);
  options.eval.flushDenormals = true;
  Interpreter flushing(checked, rows_, options);
  options.eval.flushDenormals = false;
  options.eval.jaxNumbers = true;
  Interpreter departing(checked, rows_, options);
  for (auto [index, c] : llvm::enumerate(cases)) {
    std::vector<Tensor> arguments, results;
    if (c.arguments.size() != checked.argumentTypes.size() ||
        c.results.size() != checked.resultTypes.size())
      return bad("another number of arrays: " + text);
    for (auto [number, type] :
         llvm::zip_equal(c.arguments, checked.argumentTypes)) {
      std::optional<Tensor> tensor = array(number, context.type(type));
      if (!tensor)
        return bad("no array of that type: " + text);
      arguments.push_back(std::move(*tensor));
    }
    bool equal = true; // By each of its rules, bit for bit.
    Interpreter &interpreter = c.tag == "flush" ? flushing
                               : c.tag == "jax" ? departing
                                                : exact;
    std::string trouble;
    if (plain) {
      if (!c.tag.empty())
        continue; // It has no departures.
      plain::Outcome run = plain::evaluate(checked, std::move(arguments));
      results = std::move(run.results);
      if (run.unsupported) {
        ++totals.cases;
        ++totals.without;
        continue;
      }
      if (!run.error.empty())
        trouble = "fails: " + run.error;
    } else if (!interpreter.errors().empty()) {
      trouble = "no kernel";
    } else {
      RunResult run = interpreter.run(std::move(arguments));
      results = std::move(run.results);
      if (run.error)
        trouble = "fails: " + run.error->message;
    }
    for (unsigned i = 0; trouble.empty() && i < results.size(); ++i) {
      std::optional<NumberRule> rule = parseNumberRule(c.rules[i]);
      std::optional<Tensor> jax =
          array(c.results[i], context.type(checked.resultTypes[i]));
      if (!rule || !jax)
        return bad("no rule, or another result type: " + text);
      std::string problem = disagreement(results[i], *jax, *rule);
      equal &= rule->exact;
      if (!problem.empty())
        trouble =
            "result " + std::to_string(i) + " (" + c.rules[i] + "): " + problem;
    }
    totals.equal += trouble.empty() && equal;
    outcome(name,
            short_ + " case " + std::to_string(index) +
                (c.tag.empty() ? "" : " " + c.tag),
            trouble);
  }
  return true;
}

bool Comparison::line(const json::Object &line) {
  const json::Array *fresh = line.getArray("new"),
                    *list = line.getArray("cases");
  std::optional<StringRef> name = line.getString("p"),
                           text = line.getString("text");
  if (!fresh || !list || !name || !text)
    return bad("a line is no program with cases");
  for (const json::Value &hex : *fresh) {
    std::string bytes;
    if (!llvm::tryGetFromHex(hex.getAsString().value_or("?"), bytes) &&
        hex.getAsString() != "")
      return bad("an array is no hex");
    arrays_.push_back(std::move(bytes));
  }
  if (!only.empty() && *name != only)
    return true;
  std::vector<NumberCase> cases;
  for (const json::Value &value : *list) {
    std::optional<NumberCase> c = readCase(value);
    if (!c)
      return bad("a case is none: " + *text);
    cases.push_back(std::move(*c));
  }
  return run(*name, *text, cases);
}

bool Comparison::file(StringRef path) {
  std::string error;
  std::optional<std::string> text = readText(path, error);
  if (!text)
    return bad(path + ": " + error);
  family_ = llvm::sys::path::filename(path).split('.').first.str();
  expectations.enter(family_);
  arrays_.clear();
  SmallVector<StringRef, 0> lines;
  StringRef(*text).split(lines, '\n', -1, false);
  for (StringRef one : lines) {
    llvm::Expected<json::Value> value = json::parse(one);
    if (!value)
      return bad(path + ": " + llvm::toString(value.takeError()));
    const json::Object *object = value->getAsObject();
    if (!object || !line(*object))
      return false;
  }
  return true;
}

int main(int argc, char **argv) {
  Comparison comparison;
  std::string error, folder = SHARDTYPE_SOURCE_DIR "/test/oracle/numbers/";
  bool listed = false;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    StringRef argument = argv[i];
    if (argument == "--verbose")
      comparison.verbose = true;
    else if (argument == "--listed")
      listed = true;
    else if (argument == "--plain")
      comparison.plain = true;
    else if (argument == "--primitive" && i + 1 < argc)
      comparison.only = argv[++i];
    else
      files.push_back(argument.str());
  }
  if (!comparison.expectations.read(folder + (comparison.plain
                                                  ? "plain_differences.txt"
                                                  : "differences.txt"),
                                    folder + "nokernels.txt", error))
    return bad(error), 2;
  for (const std::string &file : files)
    if (!comparison.file(file))
      return 2;
  const Totals &t = comparison.totals;
  if (listed)
    for (const std::string &text : comparison.expectations.listed())
      llvm::outs() << text << '\n';
  llvm::outs() << t.cases << " cases of " << t.primitives.size()
               << " primitives: " << t.agree << " agree, " << t.equal
               << " of them bit for bit, as they must, " << t.listed
               << " differ as listed, " << t.without << " without a kernel, "
               << t.differ << " differ\n";
  bool unused = false;
  if (comparison.only.empty())
    for (const std::string &text : comparison.expectations.unused()) {
      llvm::outs() << "unused: " << text << '\n';
      unused = true;
    }
  return t.differ || unused;
}
