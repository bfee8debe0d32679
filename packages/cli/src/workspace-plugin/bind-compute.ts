/**
 * `kubectl kcp bind compute <workspace>`: the current workspace binds the clusters that another one
 * exports. An APIBinding brings the APIs, and a Placement selects clusters for namespaces, where
 * the control plane has that kind.
 */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { parseLabelSelector } from "@kcp-ts/machinery/selectors";
import { isStatusError } from "@kcp-ts/machinery/status";
import { computeExportName, hashDigits, syncTargetResource } from "@kcp-ts/multicluster";
import { type DynamicObject, defineResource, type ResourceClient } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import { apiBindings, phaseOf, reasonOf } from "./bind-export.ts";
import { durationMs } from "./durations.ts";
import type { Session } from "./session.ts";

export interface BindComputeOptions {
  /** The name of the Placement. */
  readonly name?: string;
  /** `<workspace>:<export>`. */
  readonly apiexports?: readonly string[];
  readonly namespaceSelector?: string;
  readonly locationSelectors?: readonly string[];
  readonly timeout?: string;
}

const placements = defineResource<DynamicObject>(kinds.placements);

interface Claim {
  readonly group?: string;
  readonly resource: string;
  readonly identityHash?: string;
  readonly verbs?: readonly string[];
}

interface BindingStatus {
  readonly apiExportClusterName?: string;
  readonly exportPermissionClaims?: readonly Claim[];
}

const pollMs = 300;
const timeoutDefault = "30s";
const hashLength = 8;

export async function bindCompute(
  session: Session,
  workspace: string,
  options: BindComputeOptions,
): Promise<void> {
  const path = workspace.replace(/^:/, "");
  const timeoutMs = durationMs(options.timeout ?? timeoutDefault, "--timeout");
  const until = systemClock.monotonic() + timeoutMs;
  const exports = options.apiexports ?? [`${path}:${computeExportName}`];
  let home: string | undefined;
  for (const reference of exports) {
    const at = reference.lastIndexOf(":");
    if (at < 1) throw new Error(`invalid --apiexports ${reference}: <workspace>:<export>`);
    const place = { path: reference.slice(0, at).replace(/^:/, ""), name: reference.slice(at + 1) };
    // A workspace uses its own clusters without a binding.
    if (place.path === session.address.workspace) continue;
    const bound = await bind(session, place, until);
    if (place.path === path) home = (bound["status"] as BindingStatus).apiExportClusterName;
  }
  await place(session, { workspace: home ?? "", path }, options, until);
}

/**
 * The existing binding, or a new one; resolves when it is bound, and all its permission claims are
 * accepted.
 */
async function bind(
  session: Session,
  place: { readonly path: string; readonly name: string },
  until: number,
): Promise<DynamicObject> {
  const resource = session.clientIn(session.address.workspace).resource(apiBindings);
  const known = (await resource.list()).items.find((one) => isTo(one, place));
  const name =
    known?.metadata.name ??
    `${place.name}-${hashDigits(`${place.path}:${place.name}`, hashLength)}`;
  if (known === undefined) {
    const spec = { reference: { export: { ...place } } };
    await resource.create({ metadata: { name }, spec });
    session.print(`APIBinding "${name}" created.`);
  }
  const bound = await awaited(resource, name, until, (one) => phaseOf(one) === "Bound");
  if (bound === undefined)
    throw new Error(`could not bind ${name}: ${reasonOf(await resource.get({ name }))}`);
  await agree(resource, bound);
  return bound;
}

function isTo(binding: DynamicObject, { path, name }: { path: string; name: string }): boolean {
  const { reference } = (binding["spec"] ?? {}) as {
    reference?: { export?: { path?: string; name?: string } };
  };
  return reference?.export?.path === path && reference.export.name === name;
}

/**
 * Workloads that run in other clusters need their dependencies there, so claims are accepted by
 * default. Claims that were answered before are kept.
 */
async function agree(
  resource: ResourceClient<DynamicObject>,
  { metadata: { name }, spec, status }: DynamicObject & { spec?: unknown; status?: unknown },
): Promise<void> {
  const { permissionClaims: answered = [] } = (spec ?? {}) as {
    permissionClaims?: readonly Claim[];
  };
  const { exportPermissionClaims: asked = [] } = (status ?? {}) as BindingStatus;
  const isSame = (one: Claim, other: Claim) =>
    one.resource === other.resource && (one.group ?? "") === (other.group ?? "");
  const open = asked.filter((claim) => !answered.some((one) => isSame(one, claim)));
  if (open.length === 0) return;
  const agreed = open.map(({ group = "", resource: of, identityHash = "", verbs = ["*"] }) => ({
    ...{ group, resource: of, identityHash, verbs: [...verbs] },
    selector: { matchAll: true },
    state: "Accepted",
  }));
  const patch = { spec: { permissionClaims: [...answered, ...agreed] } };
  await resource.patch({ name }, { type: "merge", patch: patch as never });
}

async function place(
  session: Session,
  home: { readonly workspace: string; readonly path: string },
  options: BindComputeOptions,
  until: number,
): Promise<void> {
  const resource = session.clientIn(session.address.workspace).resource(placements);
  const { namespaceSelector = "", locationSelectors = [""] } = options;
  const spec = {
    locationResource: syncTargetResource,
    locationSelectors: locationSelectors.map(selectorOf),
    namespaceSelector: selectorOf(namespaceSelector),
    ...(home.workspace === "" ? {} : { locationWorkspace: home.workspace }),
  };
  const hash = hashDigits(JSON.stringify([home.path, spec]), hashLength);
  const name = options.name ?? `placement-${hash}`;
  try {
    await resource.create({ metadata: { name }, spec } as never);
  } catch (error) {
    if (isStatusError(error, "NotFound")) {
      session.print("Bound. This control plane has no Placements: all clusters are used.");
      return;
    }
    if (!isStatusError(error, "AlreadyExists")) throw error;
  }
  const isReady = (one: DynamicObject) =>
    ["Ready", "Scheduled"].every((type) => conditionOf(one, type) === "True");
  if ((await awaited(resource, name, until, isReady)) === undefined)
    throw new Error(`Placement "${name}" is not ready: ${reasonOf(await resource.get({ name }))}`);
  session.print(`Placement "${name}" is ready.`);
}

function conditionOf({ status }: DynamicObject & { status?: unknown }, wanted: string) {
  const { conditions = [] } = (status ?? {}) as {
    conditions?: readonly { readonly type: string; readonly status: string }[];
  };
  return conditions.find(({ type }) => type === wanted)?.status;
}

/** Undefined after the timeout. */
async function awaited(
  resource: ResourceClient<DynamicObject>,
  name: string,
  until: number,
  isIt: (object: DynamicObject) => boolean,
): Promise<DynamicObject | undefined> {
  for (;;) {
    const found = await resource.get({ name });
    if (isIt(found)) return found;
    if (systemClock.monotonic() > until) return undefined;
    await sleep(systemClock, pollMs);
  }
}

const operators: Readonly<Record<string, string>> = {
  "=": "In",
  "==": "In",
  in: "In",
  "!=": "NotIn",
  notin: "NotIn",
  exists: "Exists",
  "!": "DoesNotExist",
};

/** Parses `region in (us, eu)` to a label selector object. */
function selectorOf(text: string) {
  const { requirements } = parseLabelSelector(text);
  if (requirements.length === 0) return {};
  return {
    matchExpressions: requirements.map(({ key, operator, values }) => {
      const named = operators[operator];
      if (named === undefined) throw new Error(`a selector cannot have ${operator}: ${text}`);
      return { key, operator: named, ...(values.length > 0 ? { values: [...values] } : {}) };
    }),
  };
}
