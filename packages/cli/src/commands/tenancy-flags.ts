/** The flags of `kcp start` for the initial content of root and for home workspaces. */
import type { ControlPlaneOptions } from "@kcp-ts/controlplane";
import type { Command } from "commander";
import { booleanFlag, listed } from "./flags.ts";

export interface TenancyFlags {
  readonly batteriesIncluded?: readonly string[];
  readonly featureGates?: readonly string[];
  readonly shardName?: string;
  readonly enableHomeWorkspaces?: boolean;
  readonly homeWorkspacesHomeCreatorGroups?: readonly string[];
}

export function addTenancyFlags(command: Command): void {
  command
    .optionsGroup("Workspace flags:")
    .option(
      "--batteries-included <names>",
      "of workspace-types, admin, user, metrics-viewer; +x,-y changes the default (default: workspace-types,admin)",
      listed,
    )
    .option(
      "--enable-home-workspaces [bool]",
      "users have a workspace of their own, made when they first ask for it (default: true)",
      booleanFlag("--enable-home-workspaces"),
    )
    .option(
      "--home-workspaces-home-creator-groups <groups>",
      "who may have one made (default: system:authenticated)",
      listed,
    )
    .option("--shard-name <name>", "root: there is one shard")
    .option(
      "--feature-gates <gates>",
      "comma-separated Name=true or Name=false of kcp and Kubernetes; unknown names are rejected, gates without effect are logged",
      listed,
    );
}

export function tenancyOptionsOf(flags: TenancyFlags) {
  return {
    batteriesIncluded: flags.batteriesIncluded,
    featureGates: flags.featureGates,
    shardName: flags.shardName,
    homeWorkspaces: flags.enableHomeWorkspaces,
    homeCreatorGroups: flags.homeWorkspacesHomeCreatorGroups,
  } satisfies Partial<ControlPlaneOptions>;
}
