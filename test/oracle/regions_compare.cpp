// regions_compare.cpp - whole shard_maps with made-up bodies, against JAX.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each line of verdicts/regions.jsonl.z is a program of one shard_map
// (README.md beside this). Its text is put together, checked, and must end as
// JAX said: with the same result types, or refused first at the same equation
// of the body, or at the region itself, by JAX's class and id.
#include "Expectations.h"
#include "MatrixFile.h"
#include "shardtype/Check/Check.h"
#include "shardtype/Driver/Load.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;
using namespace shardtype::oracle;
namespace json = llvm::json;

namespace {

/// One line of the file.
struct Region {
  std::string mesh;
  std::vector<std::string> axes, operands, inSpecs, body, outs, outSpecs;
  bool checkVma = true;
  std::vector<std::string> results;
  std::string error; // `VE smap.out`; empty: accepted.
  int at = -1;       // The equation of the body that is refused, or the region.

  std::string program() const;
  std::string verdict() const {
    return error.empty() ? llvm::join(results, ", ") : refusal(error, at);
  }
  static std::string refusal(StringRef id, int at) {
    return ("!" + id + " at " + (at < 0 ? "the region" : std::to_string(at)))
        .str();
  }
};

struct Counts {
  unsigned cases = 0, accepted = 0, agree = 0, deliberate = 0, differ = 0;
};

} // namespace

static bool bad(const llvm::Twine &message) {
  llvm::errs() << "oracle_regions: " << message << '\n';
  return false;
}

/// `(a, b)`, `(a,)`
static std::string tuple(ArrayRef<std::string> items) {
  return "(" + llvm::join(items, ", ") + (items.size() == 1 ? ",)" : ")");
}

std::string Region::program() const {
  std::vector<std::string> binders, names, inner, made, sizes, kinds, quoted;
  for (unsigned i = 0; i < operands.size(); ++i) {
    names.push_back(std::string(1, static_cast<char>('a' + i)));
    inner.push_back(names[i] + names[i]);
    binders.push_back(names[i] + ":" + operands[i]);
  }
  for (unsigned i = 0; i < outs.size(); ++i)
    made.push_back(std::string("r") + static_cast<char>('a' + i));
  SmallVector<StringRef, 4> axisTexts;
  StringRef(mesh).split(axisTexts, ',');
  for (StringRef axis : axisTexts) {
    auto [head, kind] = axis.split(':');
    auto [name, size] = head.split('=');
    sizes.push_back(("'" + name + "': " + size).str());
    kinds.push_back(kind.empty() ? "Explicit" : kind.str());
  }
  for (const std::string &axis : axes)
    quoted.push_back("'" + axis + "'");
  return "#! mesh " + mesh + "\n{ lambda ; " + llvm::join(binders, " ") +
         ". let\n" + llvm::join(made, " ") +
         " = shard_map[\ncheck_vma=" + (checkVma ? "True" : "False") +
         "\nin_specs=" + tuple(inSpecs) + "\njaxpr={ lambda ; " +
         llvm::join(inner, " ") + ". let\n" + llvm::join(body, "\n") + "\nin " +
         tuple(outs) + " }\nmesh=AbstractMesh(" + llvm::join(sizes, ", ") +
         ", axis_types=" + tuple(kinds) + ")\nnewly_manual_axes=frozenset({" +
         llvm::join(quoted, ", ") + "})\nout_specs=" + tuple(outSpecs) +
         "\n] " + llvm::join(names, " ") + "\nin " + tuple(made) + " }\n";
}

static bool readList(const json::Object &line, StringRef key,
                     std::vector<std::string> &out) {
  const json::Array *list = line.getArray(key);
  for (const json::Value &item : list ? *list : json::Array())
    out.push_back(item.getAsString().value_or("").str());
  return list != nullptr;
}

static bool read(StringRef text, Region &region) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return bad(llvm::toString(value.takeError()));
  const json::Object *line = value->getAsObject();
  if (!line || !readList(*line, "axes", region.axes) ||
      !readList(*line, "in", region.operands) ||
      !readList(*line, "specs", region.inSpecs) ||
      !readList(*line, "body", region.body) ||
      !readList(*line, "outs", region.outs) ||
      !readList(*line, "to", region.outSpecs))
    return bad("not a region: " + text);
  region.mesh = line->getString("mesh").value_or("").str();
  region.checkVma = line->getInteger("vma").value_or(0) != 0;
  region.at = static_cast<int>(line->getInteger("at").value_or(-1));
  if (auto error = line->getString("verdict"))
    region.error = error->drop_front().str();
  else if (!readList(*line, "verdict", region.results))
    return bad("no verdict: " + text);
  return true;
}

/// The equation of the region's body that a path leads to or into.
static int equationOf(StringRef path) {
  int at = -1;
  if (path.consume_front("eqns/0/params/jaxpr/eqns/"))
    path.split('/').first.getAsInteger(10, at);
  return at;
}

/// Ours, as the file writes it, with what our finding says.
static std::string judge(const Region &region, const PrimitiveSet &rows,
                         std::string &message) {
  Context cx;
  DiagnosticList errors;
  std::optional<Program> program =
      loadProgram(cx, region.program(), "region", rows, errors);
  if (!program) {
    message = errors.empty() ? "" : errors.all().front().message;
    return "cannot be read";
  }
  CheckedProgram checked = check(*program, rows, {});
  const Diagnostic *first = nullptr;
  for (const Diagnostic &d : checked.diagnostics.all()) {
    if (d.level != Level::Error)
      continue;
    // JAX looks at all names before it traces the body.
    bool isName = d.code == diag::RegionAxis && equationOf(d.path) < 0;
    if (!first || isName)
      first = &d;
    if (isName)
      break;
  }
  if (first) {
    const DiagInfo &kind = info(first->code);
    message = kind.code.str() + ": " + first->message;
    return Region::refusal((kind.jaxClass + " " + kind.jaxId).str(),
                           equationOf(first->path));
  }
  std::vector<std::string> types;
  for (TypeId type : checked.resultTypes)
    types.push_back(type.valid() ? str(cx, type) : "?");
  return llvm::join(types, ", ");
}

int main(int argc, char **argv) {
  std::string folder = SHARDTYPE_SOURCE_DIR "/test/oracle", error;
  unsigned atMost = 20;
  if (argc > 2 && StringRef(argv[1]) == "--at-most")
    StringRef(argv[2]).getAsInteger(10, atMost);
  Expectations expectations;
  if (!expectations.read(folder + "/differences.txt", folder + "/norules.txt",
                         error))
    return bad(error), 2;
  expectations.enter("regions");
  std::optional<std::string> text =
      readText(folder + "/verdicts/regions.jsonl.z", error);
  if (!text)
    return bad(error), 2;
  PrimitiveSet rows = allPrimitives();
  SmallVector<StringRef, 0> lines;
  StringRef(*text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  Counts counts;
  for (StringRef line : lines) {
    Region region;
    if (!read(line, region))
      return 2;
    ++counts.cases;
    counts.accepted += region.error.empty();
    std::string message, ours = judge(region, rows, message);
    if (ours == region.verdict()) {
      ++counts.agree;
      continue;
    }
    if (expectations.isDeliberate("regions", "shard_map",
                                  (line + " ours " + ours).str())) {
      ++counts.deliberate;
      continue;
    }
    if (counts.differ++ < atMost)
      llvm::outs() << region.program() << "  JAX   " << region.verdict()
                   << "\n  ours  " << ours << "  " << message << "\n\n";
  }
  llvm::outs() << counts.cases << " regions, " << counts.accepted
               << " accepted: " << counts.agree << " agree, "
               << counts.deliberate << " differ as listed, " << counts.differ
               << " differ\n";
  for (const std::string &line : expectations.listed())
    llvm::outs() << line << '\n';
  bool ok = counts.differ == 0 && counts.cases > 0;
  for (const std::string &unused : expectations.unused())
    ok &= bad("differences.txt: matches nothing: " + unused);
  return ok ? 0 : 1;
}
