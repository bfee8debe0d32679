/** `kubectl kcp bind apiexport <path:export>`. */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { type DynamicObject, defineResource } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import { apisV1alpha1ApiExports } from "@kcp-ts/sdk/kinds";
import { durationMs } from "./durations.ts";
import type { Session } from "./session.ts";

export interface BindOptions {
  readonly name?: string;
  readonly timeout?: string;
  readonly acceptPermissionClaim?: readonly string[];
  readonly rejectPermissionClaim?: readonly string[];
  readonly acceptAllPermissionClaims?: boolean;
  readonly rejectAllPermissionClaims?: boolean;
}

export const apiBindings = defineResource<DynamicObject>(kinds.apiBindings);

/** Claims are read in the API version that has them without verbs. */
const apiExports = defineResource<DynamicObject>(apisV1alpha1ApiExports);

interface Claim {
  readonly group: string;
  readonly resource: string;
}

const pollMs = 500;
const timeoutDefault = "30s";

export async function bindExport(
  session: Session,
  reference: string,
  options: BindOptions,
): Promise<void> {
  checkFlags(options);
  const at = reference.lastIndexOf(":");
  if (at < 1 || at === reference.length - 1)
    throw new Error(
      `fully qualified reference to workspace where APIExport exists is required. The format is \`<logical-cluster-name>:<apiexport-name>\` or \`<full>:<path>:<to>:<apiexport-name>\``,
    );
  const [path, exportName] = [reference.slice(0, at).replace(/^:/, ""), reference.slice(at + 1)];
  const name = options.name ?? exportName;
  const resource = session.clientIn(session.address.workspace).resource(apiBindings);
  let binding = await resource.create({
    metadata: { name },
    spec: {
      reference: { export: { path, name: exportName } },
      permissionClaims: [...(await answersOf(session, path, exportName, options))],
    },
  } as never);
  session.print(`apibinding ${name} created. Waiting to successfully bind ...`);
  const startedAt = systemClock.monotonic();
  const timeoutMs = durationMs(options.timeout ?? timeoutDefault, "--timeout");
  while (phaseOf(binding) !== "Bound") {
    if (systemClock.monotonic() - startedAt > timeoutMs)
      throw new Error(`could not bind ${name}: ${reasonOf(binding)}`);
    await sleep(systemClock, pollMs);
    binding = await resource.get({ name });
  }
  session.print(`${name} created and bound.`);
}

function checkFlags(options: BindOptions): void {
  const { acceptAllPermissionClaims: all, rejectAllPermissionClaims: none } = options;
  const accepted = options.acceptPermissionClaim ?? [];
  const rejected = options.rejectPermissionClaim ?? [];
  if (all === true && none === true)
    throw new Error(
      "only one of --accept-all-permission-claims and --reject-all-permission-claims can be used",
    );
  if (all === true && accepted.length > 0)
    throw new Error("--accept-all-permission-claims cannot be used with --accept-permission-claim");
  if (none === true && rejected.length > 0)
    throw new Error("--reject-all-permission-claims cannot be used with --reject-permission-claim");
}

async function answersOf(session: Session, path: string, name: string, options: BindOptions) {
  const answers = new Map<string, { claim: Claim; state: string }>();
  const { acceptAllPermissionClaims: all, rejectAllPermissionClaims: none } = options;
  if (all === true || none === true) {
    const exported = await session.clientIn(path).resource(apiExports).get({ name });
    const { permissionClaims = [] } = exported["spec"] as { permissionClaims?: readonly Claim[] };
    for (const claim of permissionClaims)
      answers.set(nameOf(claim), { claim, state: all === true ? "Accepted" : "Rejected" });
  }
  for (const text of options.acceptPermissionClaim ?? []) {
    const claim = parseClaim(text);
    answers.set(nameOf(claim), { claim, state: "Accepted" });
  }
  for (const text of options.rejectPermissionClaim ?? []) {
    const claim = parseClaim(text);
    answers.set(nameOf(claim), { claim, state: "Rejected" });
  }
  return [...answers.values()].map(({ claim: { group, resource }, state }) => ({
    ...{ group, resource, state },
    verbs: ["*"],
    selector: { matchAll: true },
  }));
}

/** `secrets.core`, `cowboys.wildwest.dev`. */
export function parseClaim(text: string): Claim {
  const at = text.indexOf(".");
  if (at < 1 || at === text.length - 1)
    throw new Error(`invalid permission claim ${JSON.stringify(text)}`);
  const group = text.slice(at + 1);
  return { resource: text.slice(0, at), group: group === "core" ? "" : group };
}

export function nameOf({ group, resource }: Claim): string {
  return group === "" || group === undefined ? resource : `${resource}.${group}`;
}

export function phaseOf(binding: DynamicObject): string | undefined {
  return (binding["status"] as { phase?: string } | undefined)?.phase;
}

/** The message of the first condition with status False. */
export function reasonOf(object: DynamicObject): string {
  const { conditions = [] } = (object["status"] ?? {}) as {
    conditions?: readonly { status: string; message?: string }[];
  };
  const told = conditions.find(
    ({ status, message }) => status === "False" && message !== undefined,
  );
  return told?.message ?? "timed out waiting for the condition";
}
