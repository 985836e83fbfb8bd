// CommandLine.cpp - verbs and options; the only user of CLI11.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.h"
#include "shardtype/Driver/Driver.h"
#include <CLI/CLI.hpp>

using namespace shardtype;

namespace {
/// One verb: its options and what runs it.
struct Verb {
  CLI::App *app;
  int (*run)(const Options &, Streams);
};
} // namespace

static void addInputs(CLI::App &app, Options &o) {
  app.add_option("program", o.programs,
                 "Programs: exchange format (JSON) or printed jaxprs; - is "
                 "standard input")
      ->required()
      ->type_name("PROGRAM...");
  app.add_flag("--split-input-file", o.split,
               "Read each text as several programs parted by '# -----' lines");
  app.add_option("--max-depth", o.maxDepth,
                 "Deepest nesting of programs and values (256)");
  app.add_option("--max-bytes", o.maxBytes, "Largest input in bytes");
}

static void addTyping(CLI::App &app, Options &o) {
  app.add_option("--mesh", o.mesh,
                 "Type the program under this mesh: X=4,Y=2:Auto (kinds: "
                 "Explicit unless said, Auto)");
  app.add_option("--in", o.in,
                 "Spec of an argument, by position: 'P(X,None)', or by name or "
                 "path pattern: 'params/**/w=P(None,X)'; later ones win")
      ->expected(1)
      ->take_all()
      ->type_name("[NAME=]SPEC");
  app.add_option("--out", o.out, "What a result must be; same forms as --in")
      ->expected(1)
      ->take_all()
      ->type_name("[NAME=]SPEC");
  app.add_option("--choose", o.choose,
                 "Take this result where several are legal: "
                 "'model.py:41=P(X,None)', or reshard an operand instead: "
                 "'model.py:41:in1=P()'")
      ->expected(1)
      ->take_all()
      ->type_name("PLACE=SPEC");
  app.add_option("--constraints", o.constraints,
                 "with_sharding_constraint on Explicit axes: an assertion as "
                 "JAX has it, or a reshard")
      ->check(CLI::IsMember({"assert", "reshard"}));
  app.add_option("--jax", o.jax, "Rules of this JAX (0.12)")
      ->check(CLI::IsMember({"0.11", "0.12"}));
  app.add_flag("--assume-declared", o.assumeDeclared,
               "Take the recorded results of primitives without a rule");
  app.add_option("--config", o.config,
                 "JSON file with mesh, in, out, constraints, choose, allow, "
                 "warn, deny, excuse");
}

static void addReporting(CLI::App &app, Options &o) {
  static const std::map<std::string, OutputFormat> Formats = {
      {"text", OutputFormat::Text},
      {"json", OutputFormat::Json},
      {"github", OutputFormat::Github},
      {"sarif", OutputFormat::Sarif}};
  app.add_option("--format", o.format, "text, json, github or sarif")
      ->transform(CLI::CheckedTransformer(Formats, CLI::ignore_case))
      ->type_name("FORMAT");
  auto level = [&app, &o](const char *flag, Level to, const char *help) {
    app.add_option_function<std::vector<std::string>>(
           flag,
           [&o, to](const std::vector<std::string> &codes) {
             for (const std::string &code : codes)
               o.levels.changes.push_back({code, to});
           },
           help)
        ->expected(1)
        ->take_all()
        ->trigger_on_parse()
        ->type_name("CODE");
  };
  level("--allow", Level::Ignored, "Do not report findings of this kind");
  level("--warn", Level::Warning, "Report findings of this kind as warnings");
  level("--deny", Level::Error,
        "Report findings of this kind as errors; 'warnings' means all of them");
  app.add_option("--max-errors", o.maxErrors,
                 "Show at most so many findings (50); more are counted");
  app.add_option("--source-root", o.sourceRoot,
                 "Folder that the program's source files are below (.)");
  app.add_option("--color", o.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

static std::vector<Verb> addVerbs(CLI::App &app, Options &o) {
  std::vector<Verb> verbs;
  auto verb = [&](const char *name, const char *help,
                  int (*run)(const Options &, Streams)) -> CLI::App & {
    CLI::App *sub = app.add_subcommand(name, help);
    verbs.push_back({sub, run});
    return *sub;
  };
  CLI::App &check = verb("check", "Is a program well typed?", checkCommand);
  addInputs(check, o);
  addTyping(check, o);
  addReporting(check, o);
  check.add_flag("--all", o.all, "Show every argument");
  check.add_flag("--verify", o.verify,
                 "Compare findings with expect-error comments in the text");
  check.add_flag("--fix-all", o.fixAll,
                 "Write a program in which every assumed fix is made (-o)");
  check.add_option("-o,--output", o.output, "File that --fix-all writes");

  CLI::App &types =
      verb("types", "What is the type of every value?", typesCommand);
  addInputs(types, o);
  addTyping(types, o);
  addReporting(types, o);
  types.add_flag("--source", o.source, "Add the lines of source");

  CLI::App &show = verb("show", "Where does an array live?", showCommand);
  show.add_option("what", o.value,
                  "A type such as 'f32[8@X,4@Y]', or PROGRAM:VALUE")
      ->required()
      ->type_name("TYPE|PROGRAM:VALUE");
  addTyping(show, o);
  addReporting(show, o);
  show.add_flag("--ascii", o.ascii, "Draw without box characters");

  CLI::App &convert =
      verb("convert", "Write a program in the other format", convertCommand);
  addInputs(convert, o);
  convert.add_option("--to", o.to, "json or text")
      ->required()
      ->check(CLI::IsMember({"json", "text"}));
  convert.add_option("-o,--output", o.output,
                     "File to write (standard output)");
  convert.add_flag("--source", o.source, "Add the lines of source to text");

  CLI::App &explain =
      verb("explain", "What does an error mean?", explainCommand);
  explain.add_option("code", o.code, "A code, as in error[CODE]; none: list")
      ->type_name("CODE");

  CLI::App &primitives =
      verb("primitives", "Which primitives are known?", primitivesCommand);
  primitives.add_flag("--markdown", o.markdown, "As docs/primitives.md");
  return verbs;
}

static int run(ArrayRef<std::string> args, Streams streams) {
  Options options;
  CLI::App app{"Types, errors and communication costs of sharded JAX programs",
               "shardtype"};
  app.set_version_flag("--version", "shardtype 0.1.0");
  app.require_subcommand(1);
  std::vector<Verb> verbs = addVerbs(app, options);
  // CLI11 takes arguments last first.
  std::vector<std::string> reversed(args.rbegin(), args.rend());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError &error) {
    std::ostringstream out, err;
    int code = app.exit(error, out, err);
    streams.out << out.str();
    streams.err << err.str();
    return code == 0 ? 0 : 2;
  }
  for (const Verb &verb : verbs)
    if (verb.app->parsed())
      return verb.run(options, streams);
  return 2;
}

int shardtype::runCommandLine(ArrayRef<std::string> args, raw_ostream &out,
                              raw_ostream &err) {
  int code = 2;
  try {
    code = run(args, {out, err});
  } catch (const std::exception &error) {
    err << "shardtype: internal error: " << error.what() << '\n';
  }
  out.flush();
  err.flush();
  return code;
}
