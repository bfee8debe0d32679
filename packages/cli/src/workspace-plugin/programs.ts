/** The three plugins as command lines: `kubectl ws`, `kubectl create workspace`, `kubectl kcp`. */
import { Command } from "commander";
import { endOnBrokenPipe, errorText } from "../process-output/index.ts";
import { type BindComputeOptions, bindCompute } from "./bind-compute.ts";
import { type BindOptions, bindExport } from "./bind-export.ts";
import { browseWorkspaces } from "./browse-workspaces.ts";
import { type CommandBuilder, moveCommand, schedulingCommands } from "./cluster-commands.ts";
import { type CreateOptions, createWorkspace } from "./create-workspace.ts";
import {
  type ClaimDecisionOptions,
  printPermissionClaims,
  updatePermissionClaims,
} from "./permission-claims.ts";
import { explainCommand, planCommand } from "./placement-commands.ts";
import { Session, type SessionFlags } from "./session.ts";
import { printSnapshot, type SnapshotOptions } from "./snapshot-definitions.ts";
import { type SyncOptions, syncWorkload } from "./sync-workload.ts";
import { createContext, printCurrent, type UseOptions, useWorkspace } from "./use-workspace.ts";
import { printTree, type TreeOptions } from "./workspace-tree.ts";

interface BrowseFlags {
  readonly interactive?: boolean;
}

const commandBuilder: CommandBuilder = { withFlags, inSession };
const version = "v1.36.0+kcp-v0.32.3";

export function workspaceMain(argv: readonly string[]): Promise<void> {
  return run(workspaceProgram(), argv);
}

export function createWorkspaceMain(argv: readonly string[]): Promise<void> {
  return run(createWorkspaceProgram(), argv);
}

export function kcpPluginMain(argv: readonly string[]): Promise<void> {
  return run(kcpPluginProgram(), argv);
}

export function workspaceProgram(): Command {
  return workspaceCommand("ws", "kubectl ws");
}

export function createWorkspaceProgram(): Command {
  return asCreate(new Command("kubectl create workspace"));
}

/** The common part of commands that belong to kcp and not to workspaces alone. */
export function kcpPluginProgram(): Command {
  const program = new Command("kubectl kcp")
    .description("Work with a kcp server.")
    .enablePositionalOptions()
    .version(version);
  program.addCommand(workspaceCommand("workspace", "workspace").aliases(["ws", "workspaces"]));
  program.addCommand(bindCommand());
  program.addCommand(claimsCommand());
  program.addCommand(definitionCommand());
  program.addCommand(workloadCommand());
  const placing = [
    moveCommand(commandBuilder),
    explainCommand(commandBuilder),
    planCommand(commandBuilder),
  ];
  for (const command of [...schedulingCommands(commandBuilder), ...placing])
    program.addCommand(command);
  return program;
}

function workspaceCommand(name: string, usage: string): Command {
  const command = withFlags(new Command(name === "ws" ? usage : name))
    .description("Go to a workspace, and see where you are.")
    // Arguments after a verb belong to the verb.
    .enablePositionalOptions()
    .argument("[workspace]", "a name, a path, `:root:a`, `..`, `-`, `~`, `.`")
    .option("--short", "print the path alone")
    .option("-i, --interactive", "walk through the tree of workspaces, and go to one of them")
    .action((where: string | undefined, flags: SessionFlags & UseOptions & BrowseFlags) =>
      inSession(flags, (session) => {
        if (flags.interactive !== true) return useWorkspace(session, where, flags);
        if (where !== undefined) throw new Error("interactive mode does not accept arguments");
        return browseWorkspaces(session, flags);
      }),
    );
  command.addCommand(
    withFlags(new Command("use").alias("cd").argument("[workspace]").option("--short")).action(
      (where: string | undefined, flags: SessionFlags & UseOptions) =>
        inSession(flags, (session) => useWorkspace(session, where, flags)),
    ),
  );
  command.addCommand(
    withFlags(new Command("current").option("--short")).action((flags: SessionFlags & UseOptions) =>
      inSession(flags, (session) => printCurrent(session, flags)),
    ),
  );
  command.addCommand(
    withFlags(new Command("tree").option("-f, --full", "paths").option("--wide", "phases"))
      .option("-i, --interactive", "walk through it, and go to one of them")
      .action((flags: SessionFlags & TreeOptions & BrowseFlags) =>
        inSession(flags, (session) =>
          flags.interactive === true ? browseWorkspaces(session, {}) : printTree(session, flags),
        ),
      ),
  );
  command.addCommand(
    withFlags(new Command("create-context").argument("[name]").option("--overwrite")).action(
      (contextName: string | undefined, flags: SessionFlags & { overwrite?: boolean }) =>
        inSession(flags, (session) => createContext(session, contextName, flags)),
    ),
  );
  command.addCommand(asCreate(new Command("create")));
  return command;
}

function bindCommand(): Command {
  const several = (text: string, before: readonly string[] = []) => [...before, ...text.split(",")];
  // A selector has commas of its own.
  const each = (text: string, before: readonly string[] = []) => [...before, text];
  const bind = new Command("bind").description("Bring shared APIs into the current workspace.");
  bind.addCommand(
    withFlags(new Command("apiexport").argument("<path:export>"))
      .option("--name <name>", "of the APIBinding; that of the export if left out")
      .option("--timeout <time>", "how long to wait until it is bound", "30s")
      .option("--accept-permission-claim <resource.group>", "agree to a claim", several)
      .option("--reject-permission-claim <resource.group>", "refuse a claim", several)
      .option("--accept-all-permission-claims", "agree to all that the export claims")
      .option("--reject-all-permission-claims", "refuse all that the export claims")
      .action((reference: string, flags: SessionFlags & BindOptions) =>
        inSession(flags, (session) => bindExport(session, reference, flags)),
      ),
  );
  bind.addCommand(
    withFlags(new Command("compute").argument("<workspace>", "that offers its clusters"))
      .description("Use the physical clusters of another workspace in this one.")
      .option("--name <name>", "of the Placement")
      .option("--apiexports <path:export>", "what to bind to; kubernetes of the workspace", several)
      .option("--namespace-selector <labels>", "which namespaces use them; all if left out")
      .option("--location-selectors <labels>", "which Locations, any of several", each)
      .option("--timeout <time>", "how long to wait until it can be used", "30s")
      .action((workspace: string, flags: SessionFlags & BindComputeOptions) =>
        inSession(flags, (session) => bindCompute(session, workspace, flags)),
      ),
  );
  return bind;
}

function claimsCommand(): Command {
  const claims = new Command("claims").description("See and answer what exports claim.");
  const get = new Command("get");
  get.addCommand(
    withFlags(new Command("apibinding").alias("apibindings").argument("[names...]")).action(
      (names: readonly string[], flags: SessionFlags) =>
        inSession(flags, (session) => printPermissionClaims(session, names)),
    ),
  );
  claims.addCommand(get);
  for (const [verb, state] of [
    ["accept", "Accepted"],
    ["reject", "Rejected"],
  ] as const) {
    claims.addCommand(
      withFlags(new Command(verb).argument("<bindings...>"))
        .option("--resource <resource.group>", "the claimed resource")
        .option("--identity-hash <hash>", "of the export that the resource is from")
        .action((names: readonly string[], flags: SessionFlags & ClaimDecisionOptions) =>
          inSession(flags, async (session) => {
            for (const name of names) await updatePermissionClaims(session, name, state, flags);
          }),
        ),
    );
  }
  return claims;
}

function definitionCommand(): Command {
  const definitions = new Command("crd").description("Work with CustomResourceDefinitions.");
  definitions.addCommand(
    new Command("snapshot")
      .description("Print CustomResourceDefinitions as APIResourceSchemas.")
      .option("-f, --filename <file>", "the file to read, - for standard input")
      .option("--prefix <prefix>", "in front of the schemas' names")
      .option("-o, --output <format>", "yaml or json", "yaml")
      .action((flags: SnapshotOptions) => printSnapshot(flags)),
  );
  return definitions;
}

function workloadCommand(): Command {
  const workload = new Command("workload").description("Work with physical clusters.");
  const several = (text: string, before: readonly string[] = []) => [...before, ...text.split(",")];
  workload.addCommand(
    withKubeconfig(new Command("sync").argument("<name>", "of the SyncTarget"))
      .description("Register a cluster, and print what runs an agent in it.")
      .option("--syncer-image <image>", "what the agent is run from")
      .option("-o, --output <file>", "where to write it, - for standard output", "-")
      .option("--helm-values", "print the values of the chart kcp-agent instead of a manifest")
      .option("--resources <names>", "what is synced, such as deployments.apps", several)
      .option("--labels <key=value>", "on the SyncTarget", several)
      .option("--server <url>", "where the agent reaches this control plane, without a path")
      .option("--token-lifetime <time>", "how long its token is good for, at least 10m", "24h")
      .option("--no-export", "do not let other workspaces bind to what the clusters serve")
      .action((name: string, flags: SessionFlags & SyncOptions) =>
        // The agent's server address is not that of this command.
        inSession({ ...flags, server: undefined }, (session) => syncWorkload(session, name, flags)),
      ),
  );
  for (const command of schedulingCommands(commandBuilder)) workload.addCommand(command);
  return workload;
}

function asCreate(command: Command): Command {
  return withFlags(command)
    .description("Make a workspace below the current one, and wait until it is ready.")
    .argument("<name>")
    .option("--type <type>", "its type: a name, or a path and a name")
    .option("--enter", "go there")
    .option("--ignore-existing", "one that is there already is as good")
    .option("--location-selector <labels>", "labels of shards that will do")
    .option("--create-context <name>", "make a context of its own for it")
    .action((name: string, flags: SessionFlags & CreateOptions) =>
      inSession(flags, (session) => createWorkspace(session, name, flags)),
    );
}

function withKubeconfig(command: Command): Command {
  return command
    .option("--kubeconfig <path>", "the kubeconfig to read and change")
    .option("--context <name>", "a context in it, instead of the current one")
    .option("-w, --workspace <path>", "work there, without going there");
}

/** Adds kubectl's own flags that override the kubeconfig. */
function withFlags(command: Command): Command {
  return withKubeconfig(command)
    .option("--server <url>", "instead of the one in the kubeconfig")
    .option("--user <name>", "another user of the kubeconfig")
    .option("--token <token>", "instead of the credentials in the kubeconfig")
    .option("--username <name>", "the same, with a password")
    .option("--password <password>", "for --username")
    .option("--certificate-authority <file>", "what the server must be signed by")
    .option("--tls-server-name <name>", "what the server's certificate must say")
    .option(
      "--insecure-skip-tls-verify",
      "If true, the server's certificate will not be checked for validity. This will make your HTTPS connections insecure",
    )
    .option("-n, --namespace <name>", "as kubectl has it; workspaces are in none");
}

async function inSession(
  flags: SessionFlags,
  body: (session: Session) => Promise<void>,
): Promise<void> {
  const session = await Session.open(flags);
  try {
    await body(session);
  } finally {
    await session.close();
  }
}

async function run(program: Command, argv: readonly string[]): Promise<void> {
  endOnBrokenPipe();
  program.exitOverride();
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    process.exitCode = report(error);
  }
}

/** kubectl's wording. */
function report(error: unknown): number {
  if (error instanceof Error && "exitCode" in error) return error.exitCode === 0 ? 0 : 1;
  process.stderr.write(`Error: ${errorText(error)}\n`);
  return 1;
}
