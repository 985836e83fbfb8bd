// Deadlock.cpp - who waits where when no device can go on, and who never came.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Run.h"

using namespace shardtype;
using namespace shardtype::interp;

namespace {
constexpr unsigned MostDevices = 8; // That one group names.
constexpr size_t MostLines = 40;

/// What is said of one group that is not complete.
class Group {
public:
  Group(const Plans &plans, const Waiting &waiting)
      : plans_(plans), waiting_(waiting) {
    for (const Meet *member : waiting.members)
      if (member && !first_)
        first_ = member;
  }
  void describe(std::vector<std::string> &lines) const;
  /// One that waits.
  Device &device() const { return static_cast<Device &>(first_->cx.host()); }

private:
  std::string present() const;
  std::string absent(unsigned place) const;
  SmallVector<int64_t, 4> coordinatesOf(unsigned place) const;
  Device *nearest(ArrayRef<int64_t> coordinates) const;
  std::string turnsOf(const Device &missing) const;
  std::string placeOf(const BodyFrame &frame) const;
  std::string callersOf(const Device &of) const;

  const Plans &plans_;
  const Waiting &waiting_;
  const Meet *first_ = nullptr;
};
} // namespace

/// `model.py:41`; without sources the path of the equation, which is that of
/// the first call where a body has several.
std::string Group::placeOf(const BodyFrame &frame) const {
  RunError at =
      plans_.errorAt(*frame.plan, frame.plan->steps[frame.pc].equation.eqn, "");
  const Program &program = *plans_.checked().program;
  ArrayRef<FrameId> frames =
      at.stack.valid() ? program.stack(at.stack) : ArrayRef<FrameId>();
  if (frames.empty())
    return at.path;
  const auto &source = program.frames[frames.front().index()];
  return (source.file.valid() ? program.context().str(source.file).str()
                              : std::string("?")) +
         ":" + std::to_string(source.line);
}

static StringRef primitiveAt(const BodyFrame &frame) {
  return frame.plan->steps[frame.pc].equation.primitive->info.name;
}

/// `, in 'cond' at model.py:12`, from the innermost one on.
std::string Group::callersOf(const Device &of) const {
  constexpr unsigned Most = 4;
  std::string text;
  unsigned shown = 0;
  for (const auto &frame : llvm::reverse(llvm::drop_end(of.frames()))) {
    if (++shown > Most)
      return text + ", ...";
    text += ", in '" + primitiveAt(*frame).str() + "' at " + placeOf(*frame);
  }
  return text;
}

/// Along the mesh of the devices that wait.
SmallVector<int64_t, 4> Group::coordinatesOf(unsigned place) const {
  const Device &like = device();
  SmallVector<int64_t, 4> coordinates = like.coordinates;
  int64_t rest = place;
  if (waiting_.group >= 0)
    rest = first_->groups[waiting_.group][place];
  for (size_t k = waiting_.axes.size(); k-- > 0;) {
    int64_t size = like.mesh->axes[waiting_.axes[k]].size;
    coordinates[waiting_.axes[k]] = rest % size;
    rest /= size;
  }
  return coordinates;
}

/// The device there, or the one around it that has not come into the region.
Device *Group::nearest(ArrayRef<int64_t> coordinates) const {
  Device *at = &device();
  while (at->parent)
    at = at->parent;
  auto isAround = [&](const std::unique_ptr<Device> &child) {
    return llvm::all_of(child->manual.list(), [&](uint8_t axis) {
      return child->coordinates[axis] == coordinates[axis];
    });
  };
  while (at->manual != device().manual) {
    auto next = llvm::find_if(at->children, isAround);
    if (next == at->children.end())
      break;
    at = next->get();
  }
  return at;
}

/// Which equations brought the waiting devices to a place that another device
/// has passed by.
std::string Group::turnsOf(const Device &missing) const {
  const Device *waiting = &device(); // Or the one around it, as `missing` is.
  while (waiting->manual != missing.manual && waiting->parent)
    waiting = waiting->parent;
  auto there = waiting->frames(), gone = missing.frames();
  size_t common = 0; // Bodies that both are in, at the same equation.
  while (common < there.size() && common < gone.size() &&
         there[common]->path == gone[common]->path &&
         there[common]->pc == gone[common]->pc)
    ++common;
  bool inBoth = common < there.size() && common < gone.size() &&
                there[common]->path == gone[common]->path;
  if (inBoth && gone[common]->pc < there[common]->pc)
    return ""; // It is on its way.
  // In other bodies of the same equation?
  size_t first = common > 0 && !inBoth && !gone.empty() ? common - 1 : common;
  std::string text;
  unsigned count = 0;
  for (size_t k = first; k + 1 < there.size(); ++k) {
    StringRef name = primitiveAt(*there[k]);
    if (name != "cond" && name != "while")
      continue;
    text +=
        (count++ ? ", or '" : "'") + name.str() + "' at " + placeOf(*there[k]);
  }
  if (count == 0)
    return "";
  return "; it went another way at " + text;
}

std::string Group::present() const {
  std::string text;
  unsigned shown = 0;
  for (const Meet *member : waiting_.members) {
    if (!member || ++shown > MostDevices)
      continue;
    auto &device = static_cast<Device &>(member->cx.host());
    text += (text.empty() ? "" : "; ") + device.name() + device.trips();
  }
  if (shown > MostDevices)
    text += "; and " + std::to_string(shown - MostDevices) + " more";
  return text + (shown == 1 ? " waits" : " wait");
}

std::string Group::absent(unsigned place) const {
  SmallVector<int64_t, 4> coordinates = coordinatesOf(place);
  const Device &missing = *nearest(coordinates);
  std::string text = "  " +
                     deviceName(plans_.checked().program->context(),
                                *device().mesh, device().manual, coordinates) +
                     " never came: it ";
  if (missing.done || !missing.current())
    return text + "has ended" + turnsOf(missing);
  const BodyFrame &top = missing.top();
  return text + "is at '" + primitiveAt(top).str() + "', " + placeOf(top) +
         callersOf(missing) + missing.trips() + turnsOf(missing);
}

void Group::describe(std::vector<std::string> &lines) const {
  lines.push_back(
      "'" + first_->cx.name().str() + "' at " + placeOf(device().top()) +
      callersOf(device()) + ": " + present() + " for " +
      std::to_string(waiting_.members.size() - waiting_.arrived) + " of " +
      std::to_string(waiting_.members.size()) + " devices");
  unsigned shown = 0;
  for (auto [place, member] : llvm::enumerate(waiting_.members)) {
    if (member)
      continue;
    if (++shown > MostDevices) {
      lines.push_back("  and more");
      return;
    }
    lines.push_back(absent(place));
  }
}

void Run::reportDeadlock() {
  RunError error;
  for (const auto &[key, waiting] : meetings_) {
    Group group(plans_, waiting);
    if (error.notes.empty())
      error = group.device().errorHere("");
    if (error.notes.size() > MostLines) {
      error.notes.push_back("and more groups");
      break;
    }
    group.describe(error.notes);
  }
  error.device.clear();
  error.message = "deadlock: devices wait for each other";
  result_.error = std::move(error);
}
