/** `kubectl ws -i`: browse the tree of workspaces, and switch to one of them. */
import { systemClock } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { DynamicObject } from "@kcp-ts/sdk";
import { browse, processTerminal, type WorkspaceInfo } from "../workspace-browser/index.ts";
import { type Session, typeTextOf, workspaces } from "./session.ts";
import { type UseOptions, useWorkspace } from "./use-workspace.ts";

/** Children of one workspace; more than users scroll through. */
const childrenMax = 5000;
const pageItems = 500;

export async function browseWorkspaces(session: Session, options: UseOptions): Promise<void> {
  const { stdin, stdout, env } = process;
  const terminal = processTerminal({ stdin, stdout, env });
  const chosen = await browse({
    terminal,
    clock: systemClock,
    current: session.address.workspace,
    below: (path, signal) => below(session, path, signal),
  });
  if (chosen !== undefined) await useWorkspace(session, `:${chosen}`, options);
}

async function below(
  session: Session,
  path: string,
  signal: AbortSignal,
): Promise<readonly WorkspaceInfo[]> {
  const found: WorkspaceInfo[] = [];
  try {
    const resource = session.clientIn(path).resource(workspaces);
    for (let continueFrom: string | undefined; found.length < childrenMax; ) {
      const page = await resource.list({
        limit: pageItems,
        signal,
        ...(continueFrom === undefined ? {} : { continue: continueFrom }),
      });
      for (const item of page.items)
        if (item.metadata.deletionTimestamp === undefined) found.push(factsOf(item));
      continueFrom = page.metadata?.continue;
      if (continueFrom === undefined || continueFrom === "") break;
    }
  } catch (error) {
    if (isStatusError(error, "Forbidden")) throw new Error("not allowed");
    if (isStatusError(error, "NotFound")) throw new Error("not found");
    throw error;
  }
  return found;
}

function factsOf(workspace: DynamicObject): WorkspaceInfo {
  const { cluster, mount } = (workspace["spec"] ?? {}) as { cluster?: string; mount?: object };
  return {
    name: String(workspace.metadata.name),
    type: typeTextOf(workspace),
    cluster,
    isMount: mount !== undefined,
  };
}
