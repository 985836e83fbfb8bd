// RunProgram.cpp - makes a program ready to run, and runs it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RunProgram.h"
#include "shardtype/Report/Picture.h"
#include <sys/resource.h>
#include <unistd.h>

using namespace shardtype;

/// `model.py:41` of the innermost frame, or the equation's path.
static std::string placeOf(const Program &program, const RunError &error) {
  if (error.stack.valid())
    for (FrameId id : program.stack(error.stack)) {
      const Frame &frame = program.frames[id.index()];
      if (frame.file.valid())
        return program.context().str(frame.file).str() + ":" +
               std::to_string(frame.line);
    }
  return error.path;
}

void shardtype::printRunError(raw_ostream &os, const Program &program,
                              StringRef name, StringRef level,
                              const RunError &error) {
  std::string place = placeOf(program, error);
  os << (place.empty() ? name : StringRef(place)) << ": " << level << ": "
     << error.message;
  if (!error.device.empty())
    os << " (on device " << error.device << ")";
  os << '\n';
  if (!error.path.empty() && place != error.path)
    os << "  at " << error.path << '\n';
  for (const std::string &note : error.notes)
    os << "  " << note << '\n';
}

/// `4G`, `512M`, or bytes.
static std::optional<uint64_t> readBytes(StringRef text) {
  uint64_t factor = 1;
  for (auto [suffix, shift] :
       {std::pair("K", 10), std::pair("M", 20), std::pair("G", 30)})
    if (text.consume_back_insensitive(suffix)) {
      factor = uint64_t(1) << shift;
      break;
    }
  uint64_t number;
  if (text.getAsInteger(10, number) || number > UINT64_MAX / factor)
    return std::nullopt;
  return number * factor;
}

/// Why a program may not run: empty if it may.
static std::string memoryRefusal(const Interpreter &interpreter,
                                 StringRef allowed) {
  uint64_t machine = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                     static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  rlimit addresses;
  if (getrlimit(RLIMIT_AS, &addresses) == 0) // `ulimit -v`
    machine = std::min<uint64_t>(machine, addresses.rlim_cur);
  uint64_t most = machine / 5 * 4;
  if (!allowed.empty()) {
    std::optional<uint64_t> given = readBytes(allowed);
    if (!given)
      return "--max-memory takes bytes, or a number with K, M or G, not '" +
             allowed.str() + "'";
    most = *given;
  }
  uint64_t predicted = interpreter.predictedBytes();
  if (predicted <= most)
    return "";
  return "values would take up to " +
         (isCounted(predicted) ? groupedDigits(predicted)
                               : std::string("more than 2^63")) +
         " bytes at once, and " + groupedDigits(most) + " are allowed" +
         (allowed.empty() ? "" : "; --max-memory allows more");
}

int PreparedRun::prepare(RunOptions &options, raw_ostream &err) {
  auto complain = [&](const RunError &error) {
    printRunError(err, *checked_.program, name_, "error", error);
  };
  // What cannot run at all is said before arrays are read.
  interpreter_ = std::make_unique<Interpreter>(checked_, primitives_, options);
  bool isUnable = false, lacksValues = false;
  for (const RunError &error : interpreter_->errors()) {
    (error.aboutValue ? lacksValues : isUnable) = true;
    if (!error.aboutValue)
      complain(error);
  }
  if (isUnable)
    return 1;
  std::string refusal = memoryRefusal(*interpreter_, options_.maxMemory);
  if (!refusal.empty()) {
    err << "shardtype " << verb_ << ": " << refusal << '\n';
    return 2;
  }
  if (failed(findArrays(checked_, options_, verb_, arrays_, err)))
    return 2;
  if (!lacksValues)
    return 0;
  options.constants = std::move(arrays_.constants);
  options.constvars = std::move(arrays_.constvars);
  interpreter_ = std::make_unique<Interpreter>(checked_, primitives_, options);
  for (const RunError &error : interpreter_->errors())
    complain(error);
  return interpreter_->errors().empty() ? 0 : 2;
}

RunResult PreparedRun::run() {
  return interpreter_->run(std::move(arrays_.arguments));
}
