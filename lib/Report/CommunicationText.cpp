// CommunicationText.cpp - what a program communicates, for people.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Common.h"
#include "shardtype/Report/Communication.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace shardtype;

namespace {
/// Rows of texts, each column as wide as its widest.
class Table {
public:
  /// One letter a column: `l`eft or `r`ight.
  explicit Table(StringRef sides) : sides_(sides) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print(raw_ostream &os) const;

private:
  StringRef sides_;
  std::vector<std::vector<std::string>> rows_;
};

class CommunicationReport {
public:
  CommunicationReport(raw_ostream &os, const CheckedProgram &checked,
                      const CommunicationAccount &account,
                      const ReportOptions &options)
      : os_(os), checked_(checked), program_(*checked.program),
        account_(account), options_(options) {}
  void print();

private:
  void list();
  void totals();
  void notes(raw_ostream &os);
  void arounds(raw_ostream &os, Around::Kind kind, StringRef what);

  raw_ostream &os_;
  const CheckedProgram &checked_;
  const Program &program_;
  const CommunicationAccount &account_;
  const ReportOptions &options_;
};
} // namespace

void Table::print(raw_ostream &os) const {
  std::vector<size_t> widths(sides_.size());
  for (const auto &row : rows_)
    for (auto [i, cell] : llvm::enumerate(row))
      widths[i] = std::max(widths[i], cell.size());
  for (const auto &row : rows_) {
    std::string line;
    for (auto [i, cell] : llvm::enumerate(row)) {
      std::string blanks(widths[i] - cell.size(), ' ');
      line += "  " + (sides_[i] == 'r' ? blanks + cell : cell + blanks);
    }
    os << StringRef(line).rtrim() << '\n';
  }
}

/// `12`, `at most 3`, `2 per trip`, or several of them.
static std::string runsText(const Executions &runs) {
  std::string text;
  auto add = [&](uint64_t amount, StringRef before, StringRef after) {
    if (amount)
      text += (text.empty() ? "" : " + ") + before.str() +
              groupedDigits(amount) + after.str();
  };
  add(runs.times, "", "");
  add(runs.inBranches, "at most ", "");
  add(runs.perUnknownTrip, "", " per trip");
  return text.empty() ? "0" : text;
}

void CommunicationReport::list() {
  Table table("llrrrll");
  table.add({"collective", "axes", "group", "payload", "sent/device", "runs",
             "where"});
  for (const NamedCollective &found : account_.collectives)
    table.add({str(found.step.kind).str(), llvm::join(found.step.axes, ","),
               std::to_string(found.step.devices),
               groupedDigits(found.step.payloadBytes),
               groupedDigits(found.step.sentBytes), runsText(found.executions),
               place(program_, found.stack, found.path) + " " +
                   program_.name(program_.eqn(found.eqn)).str()});
  table.print(os_);
}

void CommunicationReport::totals() {
  Table table("lrrrr");
  const Executions &all = account_.all.sent;
  bool branches = all.inBranches, unknown = all.perUnknownTrip;
  auto add = [&](std::string name, std::string count, std::string sent,
                 std::string inBranches, std::string perTrip) {
    std::vector<std::string> row = {name, count, sent};
    if (branches)
      row.push_back(inBranches);
    if (unknown)
      row.push_back(perTrip);
    table.add(std::move(row));
  };
  auto total = [&](std::string name, const AxesTotal &t) {
    add(name, std::to_string(t.collectives), groupedDigits(t.sent.times),
        groupedDigits(t.sent.inBranches), groupedDigits(t.sent.perUnknownTrip));
  };
  add("all runs over", "listed", "sent/device", "at most", "per trip");
  for (const AxesTotal &axes : account_.totals)
    total(llvm::join(axes.axes, ","), axes);
  if (account_.totals.size() > 1)
    total("all", account_.all);
  os_ << '\n';
  table.print(os_);
}

/// Loops or branches that something listed is in, each once.
void CommunicationReport::arounds(raw_ostream &os, Around::Kind kind,
                                  StringRef what) {
  std::vector<std::string> places;
  for (const Around &around : account_.undecidedRuns) {
    const Eqn &eqn = program_.eqn(around.eqn);
    StackId stack =
        eqn.info.valid() ? program_.info(eqn.info).stack : StackId();
    if (around.kind == kind)
      places.push_back(program_.name(eqn).str() + " at " +
                       place(program_, stack, around.path));
  }
  if (!places.empty())
    os << "  " << what << ": " << llvm::join(places, ", ") << '\n';
}

void CommunicationReport::notes(raw_ostream &os) {
  const Executions &all = account_.all.sent;
  bool ragged = llvm::any_of(account_.collectives, [](const auto &found) {
    return found.step.kind == CommStep::RaggedAllToAll;
  });
  arounds(os, Around::UnknownLoop, "per trip, for values decide how many");
  arounds(os, Around::Branches, "at most, for one branch runs");
  if (ragged)
    os << "  values decide how much a ragged-all-to-all sends: at most this\n";
  if (!isCounted(all.times) || !isCounted(all.inBranches) ||
      !isCounted(all.perUnknownTrip))
    os << "  unknown: a size is symbolic\n";
  if (account_.undecided)
    os << "  not listed: " << plural(account_.undecided, "reshard")
       << " from Auto axes, whose sharding no type says\n";
  if (account_.untyped)
    os << "  not listed: " << plural(account_.untyped, "collective")
       << " of values that have no type\n";
  if (account_.derives)
    os << "  not listed: backward passes and tangents, which are not made "
          "yet\n";
  if (account_.implying)
    os << "  not counted yet: collectives that Auto axes or the shardings of "
          "operands imply; "
       << plural(account_.implying, "equation") << " could imply some\n";
}

void CommunicationReport::print() {
  os_ << options_.program << ": "
      << plural(account_.all.collectives, "collective") << " in "
      << plural(checked_.equations, "equation") << ", " << meshText(checked_)
      << '\n';
  if (!account_.collectives.empty()) {
    os_ << '\n';
    list();
    totals();
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  notes(os);
  if (!text.empty())
    os_ << '\n' << text;
}

void shardtype::printCommunication(raw_ostream &os,
                                   const CheckedProgram &checked,
                                   const CommunicationAccount &account,
                                   const ReportOptions &options) {
  CommunicationReport(os, checked, account, options).print();
}
