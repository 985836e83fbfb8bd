// compare.cpp - our rules against the recorded verdicts of JAX.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// oracle_compare FILE...: each case is one equation; its row is run and
// the result types, or the class and id of the refusal, must be JAX's. The
// format of the files and how to run this stand in README.md beside it.
#include "Expectations.h"
#include "Retyped.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

using namespace shardtype;
using namespace shardtype::oracle;
namespace json = llvm::json;

namespace {

struct Options {
  std::vector<std::string> files, primitives;
  bool listed = false; // Print how often each listed difference occurs.
  std::string differences = SHARDTYPE_SOURCE_DIR "/test/oracle/differences.txt";
  std::string noRules = SHARDTYPE_SOURCE_DIR "/test/oracle/norules.txt";
  unsigned atMost = 20; // Disagreements printed.
  JaxVersion jax = JaxVersion::V0_12;
};

struct Counts {
  unsigned cases = 0, accepted = 0, agree = 0, deliberate = 0, differ = 0;
  unsigned noRule = 0;
};

class Comparison {
public:
  Comparison(const Options &options, Expectations &expectations)
      : options_(options), expectations_(expectations), rows_(allPrimitives()),
        retyped_(SHARDTYPE_SOURCE_DIR "/test/oracle/bodies", rows_) {}

  /// False: the file cannot be used, which is reported.
  bool file(StringRef path);
  /// Prints the table; true if there is nothing to complain of.
  bool finish();

private:
  void group(StringRef family, const Group &group);
  void one(StringRef family, StringRef primitive, const Case &c,
           const Outcome &outcome, llvm::function_ref<std::string()> text);
  bool wanted(StringRef primitive) const {
    return options_.primitives.empty() ||
           llvm::is_contained(options_.primitives, primitive);
  }

  const Options &options_;
  Expectations &expectations_;
  PrimitiveSet rows_;
  Retyped retyped_;
  std::map<std::string, Counts> counts_;
  unsigned printed_ = 0;
};

bool bad(const llvm::Twine &message) {
  llvm::errs() << "oracle_compare: " << message << '\n';
  return false;
}

/// `dtypes` of `verdicts/dtypes.jsonl.z`, `matrix.random` of
/// `matrix/random.jsonl.z`.
std::string familyOf(StringRef path) {
  namespace sys = llvm::sys::path;
  StringRef name = sys::filename(path).split('.').first;
  StringRef folder = sys::filename(sys::parent_path(path));
  bool inFolder = folder == "matrix" || folder == "jax-0.11";
  return (inFolder ? folder.str() + "." : "") + name.str();
}

bool Comparison::file(StringRef path) {
  std::string why, family = familyOf(path);
  std::optional<std::string> text = readText(path, why);
  if (!text)
    return bad("'" + path + "': " + why);
  expectations_.enter(family);
  SmallVector<StringRef, 0> lines;
  StringRef(*text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  GroupReader reader;
  for (unsigned i = 0; i < lines.size(); ++i) {
    llvm::Expected<json::Value> line = json::parse(lines[i]);
    std::string at = (path + ":" + llvm::Twine(i + 1)).str();
    if (!line)
      return bad(at + ": " + llvm::toString(line.takeError()));
    std::optional<std::optional<Group>> read = reader.line(*line);
    if (!read)
      return bad(at + ": not a group of cases");
    if (*read && wanted((*read)->primitive))
      group(family, **read);
  }
  return true;
}

void Comparison::group(StringRef family, const Group &group) {
  Counts &counts = counts_[group.primitive];
  const Primitive *row = rows_.find(group.primitive);
  if (!row) {
    counts.cases += group.cases.size();
    counts.noRule += group.cases.size();
    return;
  }
  if (Retyped::isOne(group)) {
    for (const Case &c : group.cases)
      one(family, group.primitive, c, retyped_.judge(group, c),
          [&] { return Retyped::text(group, c); });
    return;
  }
  Situation situation(*row, group.mesh, group.params, group.cases);
  situation.setJax(options_.jax);
  for (const Case &c : group.cases)
    one(family, group.primitive, c, situation.judge(c),
        [&] { return situation.text(c); });
}

void Comparison::one(StringRef family, StringRef primitive, const Case &c,
                     const Outcome &outcome,
                     llvm::function_ref<std::string()> text) {
  Counts &counts = counts_[primitive.str()];
  ++counts.cases;
  counts.accepted += c.error.empty();
  if (outcome.agrees) {
    ++counts.agree;
    return;
  }
  std::string key = text() + " -> " + c.expected() + " ours " + outcome.ours;
  if (expectations_.isDeliberate(family, primitive, key)) {
    ++counts.deliberate;
    return;
  }
  ++counts.differ;
  if (printed_++ >= options_.atMost)
    return;
  llvm::outs() << text() << "\n  JAX   " << c.expected() << "\n  ours  "
               << outcome.ours << '\n';
}

std::string row(const std::string &name, const Counts &c) {
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format("%-24s ", name.c_str())
      << llvm::format("%7u %8u %8u %10u %7u", c.cases, c.accepted, c.agree,
                      c.deliberate, c.differ);
  return text;
}

bool Comparison::finish() {
  raw_ostream &os = llvm::outs();
  if (printed_ > options_.atMost)
    os << "(" << printed_ - options_.atMost << " more; --verbose)\n";
  os << "primitive                  cases accepted    agree deliberate  "
        "differ\n";
  Counts all;
  bool ok = true;
  for (const auto &[name, c] : counts_) {
    os << row(name, c);
    all.cases += c.cases;
    all.accepted += c.accepted;
    all.agree += c.agree;
    all.deliberate += c.deliberate;
    all.differ += c.differ;
    if (c.noRule) {
      all.noRule += c.noRule;
      std::optional<std::string> why = expectations_.whyNoRule(name);
      ok &= why.has_value();
      os << "  no rule" << (why ? ": " + *why : ", and none is expected");
    } else if (expectations_.whyNoRule(name)) {
      ok = false;
      os << "  has a rule, but is in norules.txt";
    }
    os << '\n';
  }
  os << row("all", all) << "  without rule " << all.noRule << '\n';
  ok &= all.differ == 0 && all.cases > 0;
  for (const std::string &line : expectations_.listed())
    if (options_.listed)
      os << line << '\n';
  // Entries can only be judged when whole files were compared.
  if (options_.primitives.empty())
    for (const std::string &unused : expectations_.unused()) {
      os << "differences.txt: matches nothing: " << unused << '\n';
      ok = false;
    }
  return ok;
}

int usage() {
  llvm::errs()
      << "usage: oracle_compare [--primitive NAME]... [--verbose] [--listed] "
         "[--at-most N] [--jax 0.11] FILE...\n";
  return 2;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    StringRef arg = argv[i];
    bool more = i + 1 < argc;
    if (arg == "--listed")
      options.listed = true;
    else if (arg == "--verbose")
      options.atMost = ~0u;
    else if (arg == "--jax" && more && StringRef(argv[i + 1]) == "0.11") {
      options.jax = JaxVersion::V0_11;
      ++i;
    } else if (arg == "--primitive" && more)
      options.primitives.push_back(argv[++i]);
    else if (arg == "--at-most" && more) {
      if (StringRef(argv[++i]).getAsInteger(10, options.atMost))
        return usage();
    } else if (arg.starts_with("--"))
      return usage();
    else
      options.files.push_back(arg.str());
  }
  if (options.files.empty())
    return usage();
  Expectations expectations;
  std::string error;
  if (!expectations.read(options.differences, options.noRules, error)) {
    bad(error);
    return 2;
  }
  Comparison comparison(options, expectations);
  for (const std::string &path : options.files)
    if (!comparison.file(path))
      return 2;
  return comparison.finish() ? 0 : 1;
}
