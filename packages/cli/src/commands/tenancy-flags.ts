/** The flags of `kcp start` for the initial content of root and for home workspaces. */
import type { ControlPlaneOptions } from "@kcp-ts/controlplane";
import type { Command } from "commander";
import { booleanFlag, integerFlag, listed } from "./flags.ts";

export interface TenancyFlags {
  readonly batteriesIncluded?: readonly string[];
  readonly featureGates?: readonly string[];
  readonly shardName?: string;
  readonly shards?: number;
  readonly rootShardKubeconfigFile?: string;
  readonly enableHomeWorkspaces?: boolean;
  readonly homeWorkspacesHomeCreatorGroups?: readonly string[];
}

export function addTenancyFlags(command: Command): void {
  command
    .optionsGroup("Workspace flags:")
    .option(
      "--batteries-included <names>",
      "comma-separated initial content: workspace-types, admin, user, metrics-viewer; +name and -name change the default (default: workspace-types,admin)",
      listed,
    )
    .option(
      "--enable-home-workspaces [bool]",
      "give each user a home workspace, created at the first access (default: true)",
      booleanFlag("--enable-home-workspaces"),
    )
    .option(
      "--home-workspaces-home-creator-groups <groups>",
      "comma-separated groups whose members get a home workspace (default: system:authenticated)",
      listed,
    )
    .option(
      "--shards <count>",
      "run this many shards on this machine, each a process with its data below <root>, behind this port; 1 accepts shards from elsewhere",
      integerFlag("--shards", 1, 64),
    )
    .option("--shard-name <name>", "name of this shard (default: root)")
    .option(
      "--root-shard-kubeconfig-file <path>",
      "kubeconfig of the shard root, which this shard joins; <root> has a copy of its credentials",
    )
    .option(
      "--feature-gates <gates>",
      "comma-separated Name=true or Name=false pairs; unknown names are rejected, gates without effect are logged",
      listed,
    );
}

export function tenancyOptionsOf(flags: TenancyFlags) {
  return {
    batteriesIncluded: flags.batteriesIncluded,
    featureGates: flags.featureGates,
    shardName: flags.shardName,
    shards: flags.shards,
    homeWorkspaces: flags.enableHomeWorkspaces,
    homeCreatorGroups: flags.homeWorkspacesHomeCreatorGroups,
  } satisfies Partial<ControlPlaneOptions>;
}
