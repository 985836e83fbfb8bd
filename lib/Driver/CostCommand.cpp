// CostCommand.cpp - `shardtype cost`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Jobs.h"
#include "shardtype/Report/Communication.h"
#include "llvm/Support/JSON.h"
#include <map>

using namespace shardtype;

int shardtype::costCommand(const Options &options, Streams streams) {
  if (!checkInputNames(options, "cost", streams.err))
    return 2;
  Jobs jobs(options, streams);
  if (!jobs.prepare())
    return 2;
  std::map<const Job *, CommunicationAccount> accounts;
  for (Job &job : jobs.all) {
    if (!job.checked)
      continue;
    accounts[&job] = accountFor(*job.checked, jobs.primitives);
    denyCollectives(*job.checked, accounts[&job], jobs.levels.denied);
  }
  jobs.settle();
  if (options.format == OutputFormat::Json) {
    jobs.writeJson([&](llvm::json::OStream &json, const Job &job) {
      if (job.usable())
        writeCommunicationJson(json, *job.checked, accounts[&job],
                               jobs.report(job));
      else
        writeInputErrorsJson(json, job.inputErrors, jobs.report(job));
    });
    return jobs.exitCode();
  }
  for (const Job &job : jobs.all) {
    if (job.usable())
      printCommunication(streams.out, *job.checked, accounts[&job],
                         jobs.report(job));
    if (!job.usable() || !job.checked->diagnostics.empty())
      jobs.reportText(job, streams.err);
  }
  return jobs.exitCode();
}
