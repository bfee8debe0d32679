/**
 * `kcp cluster-controller`: the controllers of physical clusters in a process of their own, beside
 * a control plane that runs without them.
 */
import { createLog, runPhysicalClusters } from "@kcp-ts/controlplane";
import { connectDefault, formatKey, type Kubeconfig, loadKubeconfig } from "@kcp-ts/sdk";
import type { Command } from "commander";
import { booleanFlag, integerFlag } from "./flags.ts";
import {
  addControllersFlag,
  addPhysicalClusterFlags,
  type PhysicalClusterFlags,
  physicalClusterOptionsOf,
} from "./physical-cluster-flags.ts";
import { abortOnSignal } from "./signals.ts";

interface ClusterControllerFlags extends PhysicalClusterFlags {
  readonly kubeconfig?: string;
  readonly context: string;
  readonly webhookDenyPrivateAddresses: boolean;
  readonly v: number;
}

export function addClusterController(program: Command): void {
  const command = program
    .command("cluster-controller")
    .description("Run the multi-cluster controllers in a process of their own.")
    .option("--kubeconfig <path>", "the control plane's admin kubeconfig", ".kcp/admin.kubeconfig")
    .option("--context <name>", "one that may see all logical clusters", "system:admin")
    .option(
      "--webhook-deny-private-addresses <bool>",
      "reject SyncTargets at loopback, private and link-local addresses",
      booleanFlag("--webhook-deny-private-addresses"),
      false,
    )
    .option("-v <level>", "verbosity, as for kcp start", integerFlag("-v", 0, 10), 2);
  addPhysicalClusterFlags(addControllersFlag(command)).addHelpText(
    "after",
    `
Run the control plane without them: kcp start --controllers=control-loops`,
  );
  command.action((flags: ClusterControllerFlags) => run(flags));
}

async function run(flags: ClusterControllerFlags): Promise<void> {
  const format = process.stderr.isTTY === true ? "pretty" : "json";
  const log = createLog({ format, verbosity: flags.v });
  const { kubeconfig: path, context } = flags;
  const { client, close } = await connectDefault({ path, context });
  const agentServer = serverOf(await loadKubeconfig(path === undefined ? {} : { path }), context);
  const signal = abortOnSignal();
  log.info({ controllers: physicalClusterOptionsOf(flags).controllers?.join() ?? "" }, "ready");
  try {
    await runPhysicalClusters(
      {
        ...physicalClusterOptionsOf(flags),
        denyPrivateAddresses: flags.webhookDenyPrivateAddresses,
        client,
        agentServer,
        onError: (error, { controller, key }) =>
          log.warn(
            { err: error, controller, key: key && formatKey(key) },
            "a controller tries again",
          ),
      },
      signal,
    );
  } finally {
    await close();
  }
}

/** The control plane's address for this process, which agents use, too. */
function serverOf({ contexts, clusters }: Kubeconfig, context: string) {
  const cluster = clusters.get(contexts.get(context)?.cluster ?? "");
  if (cluster === undefined) return undefined;
  const { server, certificateAuthority: authority } = cluster;
  const caPem = authority !== undefined && "data" in authority ? authority.data : undefined;
  return { url: new URL(server).origin, caPem };
}
