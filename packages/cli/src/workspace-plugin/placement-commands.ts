/** The read-only commands about placement. */
import { Command } from "commander";
import type { CommandBuilder } from "./cluster-commands.ts";
import { type ExplainOptions, printExplanation } from "./explain-placement.ts";
import {
  type JoinOptions,
  type PlanOptions,
  planCordon,
  planDrain,
  planFiles,
  planJoin,
  planLoss,
} from "./plan-placement.ts";
import type { SessionFlags } from "./session.ts";

const several = (text: string, before: readonly string[] = []) => [...before, ...text.split(",")];

export function explainCommand({ withFlags, inSession }: CommandBuilder): Command {
  return withFlags(
    new Command("explain-placement").alias("why").argument("<workload>", "such as deployment/web"),
  )
    .description("Say for every cluster why a workload is there, or why not.")
    .option("-o, --output <format>", "text or json", "text")
    .action((what: string, flags: SessionFlags & ExplainOptions) =>
      inSession(flags, (session) => printExplanation(session, what, flags)),
    );
}

export function planCommand({ withFlags, inSession }: CommandBuilder): Command {
  const command = (name: string) =>
    withFlags(new Command(name)).option("-o, --output <format>", "text or json", "text");
  const plan = command("plan")
    .description("Say what would move, without moving it.")
    .enablePositionalOptions()
    .option("-f, --filename <file>", "objects that would be applied, - for standard input", several)
    .action((flags: SessionFlags & PlanOptions) =>
      inSession(flags, (session) => planFiles(session, flags)),
    );
  for (const [verb, description, run] of [
    ["drain", "... if a cluster were drained.", planDrain],
    ["loss", "... if a cluster were unreachable for longer than its toleration.", planLoss],
  ] as const)
    plan.addCommand(
      command(verb)
        .description(description)
        .argument("<name>", "of the SyncTarget")
        .action((name: string, flags: SessionFlags & PlanOptions) =>
          inSession(flags, (session) => run(session, name, flags)),
        ),
    );
  for (const [verb, isCordoned] of [
    ["cordon", true],
    ["uncordon", false],
  ] as const)
    plan.addCommand(
      command(verb)
        .description(`... if a cluster were ${verb}ed.`)
        .argument("<name>", "of the SyncTarget")
        .action((name: string, flags: SessionFlags & PlanOptions) =>
          inSession(flags, (session) => planCordon(session, name, isCordoned, flags)),
        ),
    );
  plan.addCommand(
    command("join")
      .description("... if a cluster joined.")
      .argument("<name>", "that its SyncTarget would have")
      .option("--labels <key=value>", "of the SyncTarget, such as region=eu", several)
      .option("--allocatable <resource=amount>", "what it would have, such as cpu=64", several)
      .action((name: string, flags: SessionFlags & JoinOptions) =>
        inSession(flags, (session) => planJoin(session, name, flags)),
      ),
  );
  return plan;
}
