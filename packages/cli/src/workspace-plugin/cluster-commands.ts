/**
 * The commands about physical clusters and moving workloads. Upstream has some of them below
 * `workload`; both spellings run the same command.
 */
import { Command } from "commander";
import { type MoveOptions, moveWorkloads } from "./move-workload.ts";
import { type MoveWorkspaceOptions, moveWorkspaces } from "./move-workspace.ts";
import { type PlanOptions, planDrain } from "./plan-placement.ts";
import { type DrainOptions, scheduleTargets } from "./schedule-target.ts";
import type { Session, SessionFlags } from "./session.ts";

export interface CommandBuilder {
  readonly withFlags: (command: Command) => Command;
  readonly inSession: (
    flags: SessionFlags,
    body: (session: Session) => Promise<void>,
  ) => Promise<void>;
}

interface DryRun {
  readonly dryRun?: boolean;
}

/** `cordon`, `uncordon` and `drain`. */
export function schedulingCommands({ withFlags, inSession }: CommandBuilder): readonly Command[] {
  const target = (name: string) =>
    withFlags(new Command(name).argument("<names...>", "of SyncTargets"));
  const cordon = target("cordon")
    .description("Keep new work away from a cluster. What is there stays.")
    .action((names: readonly string[], flags: SessionFlags) =>
      inSession(flags, (session) => scheduleTargets(session, names, "cordon")),
    );
  const uncordon = target("uncordon")
    .description("Let work come to a cluster again; a drain is taken back.")
    .action((names: readonly string[], flags: SessionFlags) =>
      inSession(flags, (session) => scheduleTargets(session, names, "uncordon")),
    );
  const drain = target("drain")
    .description(
      "Evict the workloads of a cluster as other clusters replace them, and mark it unschedulable.",
    )
    .option("--max-workloads <count>", "how many may be on the move at a time; all if left out")
    .option("--max-replicas <count>", "how many replicas may be on the move at a time")
    .option("--deadline <time>", "when to call it late, such as 30m; nothing is forced")
    .option("--delete-after-drain", "delete the SyncTarget when the cluster is empty")
    .option("--wait", "tell how far it is until the cluster is empty; so it is on a terminal")
    .option("--no-wait", "return at once")
    .option("--timeout <time>", "how long to wait, such as 10m; the drain goes on all the same")
    .option("--dry-run", "say what would move, and do nothing: as plan drain does")
    .option("-o, --output <format>", "of what would move: json")
    .action((names: readonly string[], flags: SessionFlags & DrainOptions & PlanOptions & DryRun) =>
      inSession(flags, async (session) => {
        if (flags.dryRun !== true) return scheduleTargets(session, names, "drain", flags);
        for (const name of names) await planDrain(session, name, flags);
      }),
    );
  return [cordon, uncordon, drain];
}

export function moveCommand(builder: CommandBuilder): Command {
  const { withFlags, inSession } = builder;
  return withFlags(new Command("move").argument("<workloads...>", "such as deployment/web"))
    .description("Move a workload to other clusters, without a gap.")
    .enablePositionalOptions()
    .option(
      "--to <cluster|location>",
      "a cluster, several with commas, a selector over their labels (region=us), or * for everywhere",
    )
    .option("--wait", "tell how far it is until it has moved; so it is on a terminal")
    .option("--no-wait", "return at once")
    .option("--timeout <time>", "how long to wait, such as 10m; the move goes on all the same")
    .action((workloads: readonly string[], flags: SessionFlags & MoveFlags) =>
      inSession(flags, async (session) => {
        const { to } = flags;
        if (to === undefined)
          throw new Error("required option '--to <cluster|location>' not specified");
        await moveWorkloads(session, workloads, { ...flags, to });
      }),
    )
    .addCommand(moveWorkspaceCommand(builder));
}

type MoveFlags = Omit<MoveOptions, "to"> & { readonly to?: string };

function moveWorkspaceCommand({ withFlags, inSession }: CommandBuilder): Command {
  return withFlags(new Command("workspace").argument("<paths...>", "such as root:org:team"))
    .alias("ws")
    .description("Move a workspace to another shard, while it is used.")
    .option("--to-shard <name>", "one of kubectl get shards")
    .option("--subtree", "the workspaces below it as well, one after the other")
    .option("--cancel", "end a move before its switch; afterwards, move it back")
    .option("--wait", "tell how far it is until it has moved; so it is on a terminal")
    .option("--no-wait", "return at once")
    .option("--timeout <time>", "how long to wait, such as 10m; the move goes on all the same")
    .option("-o, --output <format>", "json")
    .action((paths: readonly string[], flags: SessionFlags & MoveWorkspaceOptions) =>
      inSession(flags, (session) => moveWorkspaces(session, paths, flags)),
    );
}
