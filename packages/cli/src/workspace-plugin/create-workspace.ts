/** `kubectl create workspace <name>`. */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { DynamicObject } from "@kcp-ts/sdk";
import { type Session, typeTextOf, workspaces } from "./session.ts";
import { createContext, useWorkspace } from "./use-workspace.ts";

export interface CreateOptions {
  readonly type?: string;
  readonly enter?: boolean;
  readonly ignoreExisting?: boolean;
  readonly locationSelector?: string;
  readonly createContext?: string;
}

const pollMs = 500;
const waitMsMax = 60_000;

export async function createWorkspace(
  session: Session,
  name: string,
  options: CreateOptions,
): Promise<void> {
  const { workspace: parent } = session.address;
  const type = options.type?.toLowerCase();
  if (options.ignoreExisting === true && type !== undefined && !type.includes(":"))
    throw new Error("--ignore-existing must not be used with non-absolute type path");
  const resource = session.clientIn(parent).resource(workspaces);
  let { workspace, isNew } = await createOrFind(session, name, { ...options, type });
  const text = describe(workspace);
  if (isNew) session.print(`Workspace ${text} created. Waiting for it to be ready...`);
  else {
    const known = typeTextOf(workspace);
    if (type !== undefined && known !== type) {
      throw new Error(
        `workspace "${name}" cannot be created with type ${type}, it already exists with different type ${known}`,
      );
    }
    session.print(`Workspace ${text} already exists.`);
  }
  const startedAt = systemClock.monotonic();
  while (phaseOf(workspace) !== "Ready") {
    if (systemClock.monotonic() - startedAt > waitMsMax)
      throw new Error(`workspace "${name}" is not ready after ${waitMsMax / 1000} seconds`);
    await sleep(systemClock, pollMs);
    workspace = await resource.get({ name });
  }
  if (isNew) session.print(`Workspace ${text} is ready to use.`);
  if (options.enter === true) await useWorkspace(session, `:${parent}:${name}`, {});
  if (options.createContext !== undefined)
    await createContext(session, options.createContext, { overwrite: false });
}

async function createOrFind(
  session: Session,
  name: string,
  options: Omit<CreateOptions, "type"> & { readonly type: string | undefined },
): Promise<{ workspace: DynamicObject; isNew: boolean }> {
  const resource = session.clientIn(session.address.workspace).resource(workspaces);
  const spec = {
    ...(options.type === undefined ? {} : { type: typeReference(options.type) }),
    ...(options.locationSelector === undefined
      ? {}
      : { location: { selector: { matchLabels: labelsOf(options.locationSelector) } } }),
  };
  try {
    const workspace = await resource.create({ metadata: { name }, spec } as never);
    return { workspace, isNew: true };
  } catch (error) {
    if (options.ignoreExisting !== true || !isStatusError(error, "AlreadyExists")) throw error;
    return { workspace: await resource.get({ name }), isNew: false };
  }
}

function typeReference(text: string): { name: string; path?: string } {
  const at = text.lastIndexOf(":");
  return at < 0
    ? { name: text }
    : { path: text.slice(0, at).replace(/^:/, ""), name: text.slice(at + 1) };
}

function labelsOf(text: string): Record<string, string> {
  const labels = new Map<string, string>();
  for (const pair of text.split(",")) {
    const at = pair.indexOf("=");
    if (at < 1) throw new Error(`invalid --location-selector ${JSON.stringify(text)}`);
    labels.set(pair.slice(0, at).trim(), pair.slice(at + 1).trim());
  }
  return Object.fromEntries(labels);
}

function describe(workspace: DynamicObject): string {
  return `"${workspace.metadata.name}" (type ${typeTextOf(workspace) ?? ""})`;
}

function phaseOf(workspace: DynamicObject): string | undefined {
  return (workspace["status"] as { phase?: string } | undefined)?.phase;
}
