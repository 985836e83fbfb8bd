// CommandLine.cpp - verbs and options; the only user of CLI11.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.h"
#include "shardtype/Driver/Driver.h"
#include "llvm/ADT/STLExtras.h"
#include <CLI/CLI.hpp>

using namespace shardtype;

namespace {
/// One verb: its options and what runs it.
struct Verb {
  const char *name, *help;
  void (*addOptions)(CLI::App &, Options &);
  int (*run)(const Options &, Streams);
};
} // namespace

//===--- Values -----------------------------------------------------------===//

/// A value that is one of these words, and says so if it is none.
static CLI::Validator oneOf(std::vector<std::string> words) {
  return CLI::Validator(
      [words](std::string &value) -> std::string {
        for (const std::string &word : words)
          if (StringRef(value).equals_insensitive(word)) {
            value = word;
            return "";
          }
        return "takes " + listed(words) + ", not " +
               wordWithNearest(value, words);
      },
      "");
}

/// A whole number, from `least` to `most`.
static CLI::Validator number(uint64_t least, uint64_t most) {
  return CLI::Validator(
      [least, most](std::string &value) -> std::string {
        uint64_t read = 0;
        if (!StringRef(value).getAsInteger(10, read) && read >= least &&
            read <= most) {
          value = std::to_string(read); // A leading 0 does not mean octal.
          return "";
        }
        return "takes a whole number from " + std::to_string(least) + " to " +
               std::to_string(most) + ", not '" + value + "'";
      },
      "");
}

/// An option that is given has a value.
static CLI::Validator given(const char *example) {
  return CLI::Validator(
      [example](std::string &value) -> std::string {
        if (!StringRef(value).trim().empty())
          return "";
        return std::string("has no value; write ") + example;
      },
      "");
}

/// Names of formats, in the order of OutputFormat.
static const std::vector<std::string> &formatNames() {
  static const std::vector<std::string> Names = {"text", "json", "github",
                                                 "sarif"};
  return Names;
}

/// Deeper nesting than this does not fit the machine's stack.
static constexpr unsigned DeepestNesting = 1024;

//===--- Options ----------------------------------------------------------===//

static void addInputs(CLI::App &app, Options &o) {
  app.add_option("program", o.programs,
                 "Files in the exchange format (JSON) or printed jaxprs; - is "
                 "standard input")
      ->option_text("PROGRAM...");
  app.add_flag("--split-input-file", o.split,
               "Read each text as several programs parted by '# -----' lines");
  app.add_option("--max-depth", o.maxDepth,
                 "Deepest nesting of programs and values (256)")
      ->transform(number(1, DeepestNesting))
      ->option_text("N");
  app.add_option("--max-bytes", o.maxBytes, "Largest input in bytes (4 GiB)")
      ->transform(number(1, UINT64_MAX))
      ->option_text("N");
}

static void addMesh(CLI::App &app, Options &o, const char *help) {
  app.add_option("--mesh", o.mesh, help)
      ->check(given("--mesh X=4,Y=2"))
      ->option_text("X=4,Y=2:Auto");
}

static void addTyping(CLI::App &app, Options &o) {
  addMesh(app, o,
          "Type the program under this mesh; axes are Explicit unless :Auto");
  app.add_option("--in", o.in,
                 "Spec of an argument, by position: 'P(X,None)', or by name or "
                 "path pattern: 'params/**/w=P(None,X)'; later ones win")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->check(given("--in 'P(X,None)' or --in 'NAME=P(X,None)'"))
      ->option_text("[NAME=]SPEC");
  app.add_option("--out", o.out, "What a result must be; same forms as --in")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->check(given("--out 'P(X,None)' or --out 'NAME=P(X,None)'"))
      ->option_text("[NAME=]SPEC");
  app.add_option("--choose", o.choose,
                 "Take this result where several are legal: "
                 "'model.py:41=P(X,None)', or reshard an operand instead: "
                 "'model.py:41:in1=P()', or cast it: 'model.py:41:in1={V:i}'")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->check(given("--choose 'model.py:41=P(X,None)'"))
      ->option_text("PLACE=SPEC");
  app.add_option("--constraints", o.constraints,
                 "with_sharding_constraint on Explicit axes: assert, as JAX "
                 "has it, or reshard")
      ->transform(oneOf({"assert", "reshard"}))
      ->option_text("assert|reshard");
  app.add_flag("--ignore-unit-axes", o.ignoreUnitAxes,
               "A constraint that differs by axes of size 1 only is met");
  app.add_option("--jax", o.jax, "Rules of this JAX (0.12)")
      ->transform(oneOf({"0.11", "0.12"}))
      ->option_text("0.11|0.12");
  app.add_flag("--assume-vma", o.assumeVma,
               "Find out over which axes values vary where shard_map was "
               "traced with check_vma=False");
  app.add_flag("--assume-declared", o.assumeDeclared,
               "Take the recorded results of primitives without a rule");
  app.add_option("--rules", o.rules,
                 "JSON file with rules of primitives of your own "
                 "(docs/own-primitives.md)")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->check(given("--rules rules.json"))
      ->option_text("FILE");
  app.add_option("--config", o.config,
                 "JSON file with mesh, in, out, constraints, choose, allow, "
                 "warn, deny, excuse, logical")
      ->check(given("--config FILE.json"))
      ->option_text("FILE");
}

static void addFormat(CLI::App &app, Options &o,
                      std::vector<std::string> words) {
  std::string list;
  for (const std::string &word : words)
    list += (list.empty() ? "" : "|") + word;
  // The enum is read from the number of its value.
  CLI::Validator toNumber(
      [](std::string &value) -> std::string {
        const std::vector<std::string> &names = formatNames();
        value = std::to_string(llvm::find(names, value) - names.begin());
        return "";
      },
      "");
  // The last one added runs first.
  app.add_option("--format", o.format, "How to report (text)")
      ->transform(toNumber)
      ->transform(oneOf(std::move(words)))
      ->option_text(list);
}

static void addReporting(CLI::App &app, Options &o, const char *denied = "") {
  auto level = [&app, &o](const char *flag, Level to, const std::string &help) {
    app.add_option_function<std::vector<std::string>>(
           flag,
           [&o, to, flag](const std::vector<std::string> &codes) {
             for (const std::string &code : codes)
               o.levels.changes.push_back({code, to, flag});
           },
           help)
        ->expected(1)
        ->take_all()
        ->allow_extra_args(false)
        ->trigger_on_parse()
        ->check(given("a code as in error[CODE]"))
        ->option_text("CODE");
  };
  level("--allow", Level::Ignored, "Do not report findings of this kind");
  level("--warn", Level::Warning, "Report findings of this kind as warnings");
  level("--deny", Level::Error,
        "Report findings of this kind as errors; 'warnings' means all of them" +
            std::string(denied));
  app.add_option("--max-errors", o.maxErrors,
                 "Show at most so many findings (50); more are counted")
      ->transform(number(0, UINT32_MAX))
      ->option_text("N");
  app.add_option("--source-root", o.sourceRoot,
                 "Folder that the program's source files are below (.)")
      ->check(given("--source-root FOLDER"))
      ->option_text("FOLDER");
}

static void addColor(CLI::App &app, Options &o) {
  app.add_option("--color", o.color,
                 "Colours: auto is on a terminal only (auto)")
      ->transform(oneOf({"auto", "always", "never"}))
      ->option_text("auto|always|never");
}

/// A number at least 0.
static CLI::Validator tolerance() {
  return CLI::Validator(
      [](std::string &value) -> std::string {
        double read = 0;
        if (!StringRef(value).getAsDouble(read) && read >= 0)
          return "";
        return "takes a number from 0 on, not '" + value + "'";
      },
      "");
}

static void addArrays(CLI::App &run, Options &o) {
  run.add_option("--inputs", o.inputs,
                 "Arrays of arguments, by path or as arr_0, arr_1, ...")
      ->check(given("--inputs FILE.npz"))
      ->option_text("FILE.npz");
  CLI::Option *random =
      run.add_option("--random", o.random,
                     "Make the arrays that are not given: normal floats, small "
                     "integers")
          ->transform(number(0, UINT64_MAX))
          ->option_text("SEED");
  run.add_option("--fill", o.fill, "Fill the arrays that are not given")
      ->check(given("--fill 1"))
      ->option_text("VALUE")
      ->excludes(random);
  run.add_flag("--flush-denormals", o.flushDenormals,
               "Count denormal floats as zero, as JAX does on CPU");
  run.add_flag("--jax-numbers", o.jaxNumbers,
               "Depart from the definitions where JAX on CPU does");
}

static void addRun(CLI::App &run, Options &o) {
  addInputs(run, o);
  addTyping(run, o);
  addReporting(run, o);
  addColor(run, o);
  addArrays(run, o);
  run.add_option("-o,--output", o.output, "Write the results, by path")
      ->check(given("-o FILE.npz"))
      ->option_text("FILE.npz");
  run.add_flag("--print", o.print,
               "Print the results; the default if nothing else is asked for");
  run.add_flag("--devices", o.devices, "Print each device's block of them");
  CLI::Option *expect =
      run.add_option("--expect", o.expect, "Compare the results with these")
          ->check(given("--expect FILE.npz"))
          ->option_text("FILE.npz");
  run.add_option("--rtol", o.rtol, "Relative tolerance (by dtype)")
      ->check(tolerance())
      ->option_text("R")
      ->needs(expect);
  run.add_option("--atol", o.atol, "Absolute tolerance (by dtype)")
      ->check(tolerance())
      ->option_text("A")
      ->needs(expect);
  run.add_flag("--check", o.checkRun,
               "Compare all copies that must be equal; a difference is an "
               "error");
  run.add_option("--trace", o.trace,
                 "Print a value where it is computed, for each device")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->check(given("--trace NAME"))
      ->option_text("NAME");
  run.add_flag("--stats", o.stats,
               "Print time per primitive, bytes per collective, peak memory");
  run.add_option("--max-memory", o.maxMemory,
                 "Refuse programs that would take more (most of the machine)")
      ->check(given("--max-memory 4G"))
      ->option_text("BYTES");
  run.add_option("--workers", o.workers,
                 "Threads that step devices (as many as cores)")
      ->transform(number(1, 1024))
      ->option_text("N");
  run.add_flag("--force", o.force,
               "Run a program whose errors are about shardings");
}

static void addCheck(CLI::App &check, Options &o) {
  addInputs(check, o);
  addTyping(check, o);
  addReporting(check, o);
  addFormat(check, o, formatNames());
  addColor(check, o);
  check.add_flag("--all", o.all, "Show every argument");
  check.add_flag("--verify", o.verify,
                 "Compare findings with expect-error comments in the text");
  check.add_flag("--fix-all", o.fixAll,
                 "Write a program in which every assumed fix is made (-o)");
  check.add_option("-o,--output", o.output, "File that --fix-all writes")
      ->check(given("-o FILE"))
      ->option_text("FILE");
}

static void addFix(CLI::App &fix, Options &o) {
  addInputs(fix, o);
  addTyping(fix, o);
  addReporting(fix, o);
  fix.add_flag("--write", o.write,
               "Make the edits in the source files; without it, show them");
}

static void addTypes(CLI::App &types, Options &o) {
  addInputs(types, o);
  addTyping(types, o);
  addReporting(types, o);
  addFormat(types, o, {"text", "json"});
  addColor(types, o);
  types.add_flag("--source", o.source, "Add the lines of source");
}

static void addCost(CLI::App &cost, Options &o) {
  addInputs(cost, o);
  addTyping(cost, o);
  addReporting(cost, o,
               ". A kind of collective, such as all-gather: an error for each "
               "that is listed");
  addFormat(cost, o, {"text", "json"});
  addColor(cost, o);
}

static void addShow(CLI::App &show, Options &o) {
  show.add_option("what", o.value,
                  "A type such as 'f32[8@X,4@Y]', or PROGRAM:VALUE")
      ->option_text("TYPE|PROGRAM:VALUE");
  addTyping(show, o);
  addFormat(show, o, {"text", "json"});
  show.add_flag("--ascii", o.ascii, "Draw without box characters");
  addArrays(show, o);
}

static void addConvert(CLI::App &convert, Options &o) {
  addInputs(convert, o);
  convert.add_option("--to", o.to, "json or text")
      ->transform(oneOf({"json", "text"}))
      ->option_text("json|text");
  convert
      .add_option("-o,--output", o.output, "File to write (standard output)")
      ->check(given("-o FILE"))
      ->option_text("FILE");
  convert.add_flag("--source", o.source, "Add the lines of source to text");
}

static void addExplain(CLI::App &explain, Options &o) {
  explain.add_option("code", o.code, "A code, as in error[CODE]; none: list")
      ->check(given("a code as in error[CODE]"))
      ->option_text("[CODE]");
}

static void addPrimitives(CLI::App &primitives, Options &o) {
  primitives.add_flag("--markdown", o.markdown, "As docs/primitives.md");
}

static constexpr Verb Verbs[] = {
    {"check", "Is a program well typed?", addCheck, checkCommand},
    {"fix", "What would I have to write?", addFix, fixCommand},
    {"types", "What is the type of every value?", addTypes, typesCommand},
    {"cost", "What does a program communicate?", addCost, costCommand},
    {"run", "What does a program compute?", addRun, runCommand},
    {"show", "Where does an array live?", addShow, showCommand},
    {"convert", "Write a program in the other format", addConvert,
     convertCommand},
    {"explain", "What does an error mean?", addExplain, explainCommand},
    {"primitives", "Which primitives are known?", addPrimitives,
     primitivesCommand}};

//===--- Complaints -------------------------------------------------------===//

static int complain(Streams streams, const CLI::App *verb,
                    const std::string &message) {
  std::string name = verb ? "shardtype " + verb->get_name() : "shardtype";
  streams.err << name << ": " << message << "\n  " << name
              << " --help says more\n";
  return 2;
}

/// The first word is a verb, or asks for help.
static bool isUsableStart(ArrayRef<std::string> args, std::string &complaint) {
  std::vector<std::string> names;
  for (const Verb &verb : Verbs)
    names.push_back(verb.name);
  std::string list = "; verbs are " + listed(names, "and");
  if (args.empty()) {
    complaint = "a verb is missing" + list;
    return false;
  }
  StringRef first = args.front();
  if (llvm::is_contained(names, first.str()) || first == "-h" ||
      first == "--help" || first == "--version")
    return true;
  if (first.starts_with("-"))
    complaint = "'" + first.str() + "' stands before the verb" + list;
  else
    complaint = "unknown verb " + wordWithNearest(first, names) + list;
  return false;
}

/// What CLI11 left over: an option that the verb has not, or a word too many.
static std::string leftOver(const CLI::App &verb, StringRef word) {
  if (!word.starts_with("-"))
    return "'" + word.str() + "' is one word too many";
  std::vector<std::string> known;
  for (const CLI::Option *option : verb.get_options()) {
    for (const std::string &name : option->get_lnames())
      known.push_back("--" + name);
    for (const std::string &name : option->get_snames())
      known.push_back("-" + name);
  }
  return "unknown option " + wordWithNearest(word.split('=').first, known);
}

/// CLI11's findings in our words. What it says begins with the option's name.
static std::string complaintOf(const CLI::ParseError &error) {
  StringRef text = error.what();
  auto [option, rest] = text.split(": ");
  if (error.get_name() == "ValidationError")
    return option.str() + " " + rest.str();
  if (error.get_name() == "ArgumentMismatch")
    return rest.starts_with("At Most")
               ? option.str() + " is given more than once"
               : option.str() + " needs a value";
  return text.str();
}

static int run(ArrayRef<std::string> args, Streams streams) {
  Options options;
  CLI::App app{"Types, errors and communication costs of sharded JAX programs",
               "shardtype"};
  app.set_version_flag("--version", "shardtype 0.1.0");
  app.require_subcommand(1);
  // Options take longer to make than small programs to check: only those of
  // verbs that are named.
  for (const Verb &verb : Verbs) {
    CLI::App *sub = app.add_subcommand(verb.name, verb.help);
    if (llvm::is_contained(args, verb.name))
      verb.addOptions(*sub, options);
    sub->allow_extras();
  }
  app.footer("'shardtype VERB --help' lists the options of a verb.\n"
             "Exit codes: 0 nothing found, 1 errors in a program, 2 unusable "
             "options or input.");
  std::string complaint;
  if (!isUsableStart(args, complaint))
    return complain(streams, nullptr, complaint);
  const Verb *named = llvm::find_if(
      Verbs, [&](const Verb &verb) { return verb.name == args.front(); });
  const CLI::App *verb =
      named == std::end(Verbs) ? nullptr : app.get_subcommand(named->name);
  // CLI11 takes arguments last first.
  std::vector<std::string> reversed(args.rbegin(), args.rend());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() != 0)
      return complain(streams, verb, complaintOf(error));
    std::ostringstream out, err;
    app.exit(error, out, err);
    streams.out << out.str();
    return 0;
  }
  if (!verb)
    return complain(streams, nullptr, "a verb is missing");
  std::vector<std::string> extras = verb->remaining();
  if (!extras.empty())
    return complain(streams, verb, leftOver(*verb, extras.front()));
  return named->run(options, streams);
}

int shardtype::runCommandLine(ArrayRef<std::string> args, raw_ostream &out,
                              raw_ostream &err) {
  int code = 2;
  try {
    code = run(args, {out, err});
  } catch (const std::bad_alloc &) {
    err << "shardtype: out of memory\n";
  } catch (const std::exception &error) {
    err << "shardtype: internal error: " << error.what() << '\n';
  }
  out.flush();
  err.flush();
  return code;
}
