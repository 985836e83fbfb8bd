// Communication.h - what a program communicates: an account and its reports.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_REPORT_COMMUNICATION_H
#define SHARDTYPE_REPORT_COMMUNICATION_H

#include "shardtype/Report/Levels.h"
#include "shardtype/Report/Report.h"

namespace shardtype {

/// How often each device runs an equation, or what it sends in those runs:
/// amounts, as in Bytes.h. Parts of one total that are not known alike.
struct Executions {
  uint64_t times = 0;          // For certain.
  uint64_t inBranches = 0;     // At most so often: in branches of a `cond`.
  uint64_t perUnknownTrip = 0; // For each trip of a loop whose trips values
                               // decide; for nested ones, one of each.
  Executions scaled(uint64_t by) const;
  Executions &operator+=(const Executions &other);
  friend bool operator==(const Executions &, const Executions &) = default;
};

/// A loop or `cond` around an equation.
struct Around {
  EqnId eqn;
  std::string path;
  enum Kind : uint8_t { Loop, UnknownLoop, Branches } kind = Loop;
  uint64_t trips = 1; // Loop.
};

/// One step of communication that an equation names.
struct NamedCollective {
  CommStep step; // `sentBytes` is for one run.
  Executions executions;
  EqnId eqn;
  StackId stack;
  std::string path;           // Where it is met first,
  std::vector<Around> around; // and what is around it there, outermost first.
};

/// What is sent over the same axes. A collective over two axes stands under
/// both together, since its bytes take the links of both.
struct AxesTotal {
  SmallVector<std::string, 2> axes; // In the order of the mesh.
  uint64_t collectives = 0;         // Equations' steps, however often run.
  Executions sent;                  // Bytes per device.
};

/// The collectives that a program names itself: those of manual regions, and
/// reshards. What shardings of other operations imply is not in it.
struct CommunicationAccount {
  std::vector<NamedCollective> collectives; // In the order of the program.
  std::vector<AxesTotal> totals;            // In the order of first use.
  AxesTotal all;
  /// All loops of unknown trips and conds that something listed is in, however
  /// it is reached.
  std::vector<Around> undecidedRuns;
  uint64_t undecided = 0; // Reshards of values sharded over Auto axes.
  uint64_t untyped = 0;   // Collectives whose types are not known.
  /// Equations that could imply a collective: their operands are sharded, or
  /// Auto axes are around them that no type tells of.
  uint64_t implying = 0;
  bool derives = false; // Derivatives stand for equations not there yet.
};

/// Linear in the equations of all instances; a body that is called from several
/// places is listed once, with the sum of its runs.
CommunicationAccount accountFor(const CheckedProgram &checked,
                                const PrimitiveSet &primitives);

/// Adds a finding to `checked` for each collective of a denied kind that sends
/// something (`--deny all-gather`).
void denyCollectives(CheckedProgram &checked,
                     const CommunicationAccount &account,
                     ArrayRef<LevelOptions::Denied> denied);

/// The list and the totals, for people.
void printCommunication(raw_ostream &os, const CheckedProgram &checked,
                        const CommunicationAccount &account,
                        const ReportOptions &options);
/// One object, schema `shardtype-cost/1`.
void writeCommunicationJson(llvm::json::OStream &json,
                            const CheckedProgram &checked,
                            const CommunicationAccount &account,
                            const ReportOptions &options);

} // namespace shardtype

#endif
