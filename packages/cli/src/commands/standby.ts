/**
 * `kcp standby --of <kubeconfig>`: copies the embedded store of a server, follows its changes, and
 * becomes that server when it is lost.
 */
import { resolve } from "node:path";
import { followPrimary, OptionsError, startControlPlane } from "@kcp-ts/controlplane";
import { type Command, InvalidArgumentError } from "commander";
import { fencePrimary, primaryOf } from "../operations/index.ts";
import { durationFlag } from "./flags.ts";
import { serve } from "./serve.ts";
import { logOf } from "./server-flags.ts";
import { abortOnSignal } from "./signals.ts";
import { addStartFlags, banner, optionsOf, type StartFlags } from "./start.ts";

interface StandbyFlags extends StartFlags {
  readonly of: string;
  readonly ofContext?: string;
  readonly standbyLease: number;
  readonly fenceCommand?: string;
}

const leaseMsDefault = 5000;
const leaseMsMin = 2000;

export function addStandby(program: Command): void {
  const command = program
    .command("standby")
    .description("Follow a server on an embedded store, and take over when it is lost.")
    .requiredOption("--of <kubeconfig>", "of the primary: a member of system:masters")
    .option("--of-context <name>", "context in it (default: shard-base, else the current one)")
    .option(
      "--standby-lease <duration>",
      "take over when the primary has not renewed for this time (default: 5s)",
      leaseFlag,
      leaseMsDefault,
    )
    .option(
      "--fence-command <command>",
      "run until it succeeds before the standby takes over, as in `ipmitool … power off`",
    )
    .addHelpText("after", help);
  addStartFlags(command).action((flags: StandbyFlags) => run(flags));
}

const help = `
The other flags are those of kcp start, for the time when it has taken over. The root directory needs
the files of the primary's, without data/: certificate authority, keys and tokens.
`;

function leaseFlag(text: string): number {
  const ms = durationFlag("--standby-lease")(text);
  if (ms < leaseMsMin)
    throw new InvalidArgumentError("at least 2s: the primary renews each second");
  return ms;
}

async function run(flags: StandbyFlags): Promise<void> {
  const log = logOf(flags);
  const options = optionsOf(flags);
  if (options.storage.kind !== "embedded")
    throw new OptionsError(
      "a standby has an embedded store: several servers of one etcd need none",
    );
  const signal = abortOnSignal();
  const primary = await primaryOf(flags.of, flags.ofContext);
  try {
    const { server } = primary;
    const { rootDirectory } = options;
    const own = { rootDirectory, primary, server, leaseMs: flags.standbyLease, log };
    const lost = await followPrimary(own, signal);
    if (lost === undefined) return;
    const { revision, announced } = lost;
    log.warn({ server, revision, announced }, "the primary is lost: the standby takes over");
    if (flags.fenceCommand !== undefined)
      await fencePrimary(flags.fenceCommand, {
        signal,
        onFailure: (reason) => log.error({ reason }, "the fence command failed: it is run again"),
      });
    const start = () => startControlPlane({ ...options, isTakeover: true }, { log });
    const address = options.externalHostname ?? resolve(rootDirectory);
    void primary.supersede(address, signal).then(
      () => log.info({ server }, "the old primary knows, and stops"),
      () => undefined,
    );
    await serve({ name: "kcp", log, start, banner: (plane) => banner(plane, options) });
  } finally {
    await primary.close();
  }
}
