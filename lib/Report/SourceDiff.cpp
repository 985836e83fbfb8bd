// SourceDiff.cpp - source files with changes made, and what differs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Report/Edits.h"

using namespace shardtype;

/// In the order in which they are written: at one place what closes an inner
/// expression comes before what closes an outer one, that before what opens
/// one, an outer one first.
static bool before(const SourceChange &a, const SourceChange &b) {
  if (std::pair(a.line, a.column) != std::pair(b.line, b.column))
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  auto rank = [](const SourceChange &c) {
    return c.endColumn > c.column ? 2 : c.closes ? 0 : 1;
  };
  if (rank(a) != rank(b))
    return rank(a) < rank(b);
  auto begin = [](const SourceChange &c) {
    return std::pair(c.owner.line, c.owner.column);
  };
  auto end = [](const SourceChange &c) {
    return std::pair(c.owner.endLine, c.owner.endColumn);
  };
  bool outerFirst =
      begin(a) != begin(b) ? begin(a) < begin(b) : end(b) < end(a);
  bool innerFirst =
      begin(a) != begin(b) ? begin(b) < begin(a) : end(a) < end(b);
  return a.closes ? innerFirst : outerFirst;
}

ChangedFile shardtype::changed(StringRef text,
                               std::vector<SourceChange> changes,
                               std::vector<std::string> added,
                               unsigned behind) {
  ChangedFile file;
  file.added = std::move(added);
  file.endsInLineFeed = text.consume_back("\n");
  SmallVector<StringRef, 0> lines;
  text.split(lines, '\n');
  for (StringRef line : lines)
    file.before.push_back(line.str());
  file.behind = std::min<size_t>(behind, lines.size());
  llvm::stable_sort(changes, before);
  auto change = changes.begin();
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string line;
    size_t at = 0;
    for (; change != changes.end() && change->line <= i + 1; ++change) {
      size_t from = std::min<size_t>(change->column, lines[i].size());
      if (change->line < i + 1 || from < at)
        continue;
      line += lines[i].slice(at, from);
      line += change->text;
      at = std::min<size_t>(change->endColumn, lines[i].size());
    }
    line += lines[i].drop_front(at);
    file.after.push_back(std::move(line));
  }
  return file;
}

std::string ChangedFile::text() const {
  std::string out;
  for (size_t i = 0; i <= after.size(); ++i) {
    if (i == behind)
      for (const std::string &line : added)
        out += line + "\n";
    if (i < after.size())
      out += after[i] + (i + 1 < after.size() || endsInLineFeed ? "\n" : "");
  }
  return out;
}

void shardtype::printDiff(raw_ostream &os, StringRef file,
                          const ChangedFile &changed) {
  constexpr size_t Context = 3;
  size_t count = changed.before.size();
  auto differs = [&](size_t i) { // Something happens at or before line i.
    return (i < count && changed.before[i] != changed.after[i]) ||
           (i == changed.behind && !changed.added.empty());
  };
  auto line = [&](char sign, const std::vector<std::string> &lines, size_t i) {
    os << sign << lines[i] << '\n';
    if (i + 1 == count && !changed.endsInLineFeed)
      os << "\\ No newline at end of file\n";
  };
  bool any = false;
  long shift = 0;
  for (size_t i = 0; i <= count; ++i) {
    if (!differs(i))
      continue;
    if (!any)
      os << "--- a/" << file << "\n+++ b/" << file << '\n';
    any = true;
    size_t begin = i > Context ? i - Context : 0, last = i;
    for (size_t k = i; k <= std::min(count, last + 2 * Context + 1); ++k)
      if (differs(k))
        last = k;
    size_t end = std::min(count, last + Context + 1);
    bool adds = changed.behind >= i && changed.behind <= last;
    long more = adds ? static_cast<long>(changed.added.size()) : 0;
    size_t length = end - begin;
    os << "@@ -" << begin + (length ? 1 : 0) << ',' << length << " +"
       << static_cast<long>(begin) + shift + 1 << ','
       << static_cast<long>(length) + more << " @@\n";
    shift += more;
    for (size_t k = begin; k <= end; ++k) {
      if (adds && k == changed.behind)
        for (const std::string &added : changed.added)
          os << '+' << added << '\n';
      if (k == end)
        break;
      if (changed.before[k] == changed.after[k]) {
        line(' ', changed.before, k);
        continue;
      }
      // A run of changed lines: all old ones, then all new ones.
      size_t run = k;
      while (run < end && changed.before[run] != changed.after[run] &&
             (run == k || !adds || run != changed.behind))
        ++run;
      for (size_t r = k; r < run; ++r)
        line('-', changed.before, r);
      for (size_t r = k; r < run; ++r)
        line('+', changed.after, r);
      k = run - 1;
    }
    i = last;
  }
}
