/**
 * Admission of SyncTargets: a kubeconfig must be valid, and is sealed before any client can read
 * it.
 *
 * The sealed text is stored and served. Written back, it stays; a kubeconfig that equals the sealed
 * one changes nothing. kubectl repeats applied objects in an annotation: the kubeconfig is replaced
 * there, too.
 */
import {
  type AdmissionPlugin,
  type AdmissionRequest,
  denied,
  type MutableObject,
} from "@kcp-ts/apiserver";
import { bounds, objectsMax } from "@kcp-ts/machinery/bounds";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  stringifyJson,
} from "@kcp-ts/machinery/json";
import { fieldError, type StatusError, statusError } from "@kcp-ts/machinery/status";
import {
  checkKubeconfig,
  isProblem,
  isSealed,
  kubeconfigInSecret,
  registeredServerAnnotation,
  type SealContext,
  type SyncTarget,
  serverIn,
  syncTargetNameCharactersMax,
  syncTargets,
} from "@kcp-ts/multicluster";
import { type Client, type KubernetesObject, stringMember } from "@kcp-ts/sdk";
import type { SealingKey } from "./sealing-key.ts";

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

export interface SyncTargetAdmissionOptions {
  readonly key: SealingKey;
  /** Whether a user may let this server connect to clusters. */
  readonly mayRegister: (user: AdmissionRequest["user"]) => Promise<boolean>;
  /** A client that may read Secrets everywhere. */
  readonly client: () => Client;
}

export function syncTargetAdmission({
  key,
  mayRegister,
  client,
}: SyncTargetAdmissionOptions): AdmissionPlugin {
  return {
    name: "SyncTargets",
    resources: [syncTargets],
    handles: ({ subresource, operation }) =>
      subresource === "" && (operation === "CREATE" || operation === "UPDATE"),
    async mutate(request, draft, old) {
      const spec = draft["spec"];
      const text = isJsonObject(spec) ? spec["kubeconfig"] : undefined;
      if (isJsonObject(spec) && typeof text === "string" && text !== "") {
        const stored = await sealed(text, request, old, key);
        draft["spec"] = { ...spec, kubeconfig: stored };
      }
      redactLastApplied(draft);
      await noteServer(request, draft, old, client());
    },
    async validate(request, object, old) {
      if (connectionOf(object) !== (old && connectionOf(old)) && !(await mayRegister(request.user)))
        throw denied(
          request,
          `User ${JSON.stringify(request.user.username)} cannot register physical clusters, or lead a registered one elsewhere: the operator grants the verb "register" on ${syncTargets.resource}.${syncTargets.group} in the workspace root`,
        );
      checkSize(request, object);
      if (request.operation !== "CREATE") return;
      await checkCount(request, client());
      const { name } = object["metadata"] as { name: string };
      if (namePattern.test(name) && name.length <= syncTargetNameCharactersMax) return;
      throw invalid(
        request,
        "metadata.name",
        name,
        `must be lower case letters, digits and dashes, and no more than ${syncTargetNameCharactersMax} characters: labels and finalizers are made of it`,
      );
    },
  };
}

function checkSize(request: AdmissionRequest, object: JsonObject): void {
  const { managedFields: _, ...metadata } = object["metadata"] as JsonObject;
  const { length } = stringifyJson([metadata, object["spec"] ?? null]);
  const { bytesMax } = bounds.syncTarget;
  if (length > bytesMax) throw denied(request, `it is longer than ${bytesMax} bytes`);
}

/** Several creates at the same time may exceed the limit by their number. */
async function checkCount(request: AdmissionRequest, client: Client): Promise<void> {
  const { cluster, signal } = request;
  const resource = client.inCluster(cluster).resource(syncTargets);
  const { items, metadata } = await resource.listMetadata({ limit: 1, signal });
  const count = items.length + (metadata.remainingItemCount ?? 0);
  if (count >= objectsMax.syncTargets)
    throw denied(
      request,
      `the limit is ${objectsMax.syncTargets} SyncTargets in a workspace: register further ones in another workspace`,
    );
}

/** The address of the cluster and the sync mode. */
function connectionOf(object: JsonObject): string {
  return stringifyJson([...connectionAddressOf(object), registeredIn(object) ?? ""]);
}

function connectionAddressOf({ spec }: JsonObject): readonly JsonValue[] {
  const {
    kubeconfig = "",
    kubeconfigSecretRef = {},
    mode = "",
  } = spec !== undefined && isJsonObject(spec) ? spec : {};
  return [kubeconfig, kubeconfigSecretRef, mode];
}

function registeredIn(object: JsonObject): string | undefined {
  const { metadata } = object as unknown as KubernetesObject;
  return stringMember(metadata.annotations, registeredServerAnnotation);
}

/**
 * Records the address in a Secret's kubeconfig at registration. A later change of the Secret does
 * not change the address.
 */
async function noteServer(
  { cluster, signal }: AdmissionRequest,
  draft: MutableObject,
  old: JsonObject | undefined,
  client: Client,
): Promise<void> {
  const object = draft as unknown as JsonObject;
  const { kubeconfigSecretRef: reference } = (draft as unknown as SyncTarget).spec ?? {};
  if (reference === undefined || registeredIn(object) !== undefined) return;
  const isSameWay =
    old !== undefined && jsonEqual(connectionAddressOf(object), connectionAddressOf(old));
  const server = isSameWay ? registeredIn(old) : await serverNow();
  if (server === undefined) return;
  const metadata = draft["metadata"] as JsonObject;
  const annotations = { ...(metadata["annotations"] as JsonObject | undefined) };
  draft["metadata"] = {
    ...metadata,
    annotations: { ...annotations, [registeredServerAnnotation]: server },
  };

  async function serverNow(): Promise<string | undefined> {
    const at = { client: client.inCluster(cluster), signal };
    const text = await kubeconfigInSecret(reference as NonNullable<typeof reference>, at);
    return typeof text === "string" ? serverIn(text) : undefined;
  }
}

const namePattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

async function sealed(
  text: string,
  request: AdmissionRequest,
  old: JsonObject | undefined,
  key: SealingKey,
): Promise<string> {
  const { cluster, name } = request;
  const oldSpec = old?.["spec"];
  const before = isJsonObject(oldSpec) ? oldSpec["kubeconfig"] : undefined;
  if (text === before) return text;
  const path = "spec.kubeconfig";
  if (name === "")
    throw invalid(
      request,
      path,
      redacted,
      "needs an object with a name; use kubeconfigSecretRef with generateName",
    );
  const place: SealContext = { cluster, name };
  if (isSealed(text)) {
    if ((await key.unseal(text, place)) !== undefined) return text;
    throw invalid(
      request,
      path,
      redacted,
      "is a redacted text from somewhere else: write the kubeconfig itself",
    );
  }
  const checked = checkKubeconfig(text);
  if (isProblem(checked)) throw invalid(request, path, redacted, checked.message);
  if (typeof before === "string" && (await key.unseal(before, place)) === text) return before;
  return await key.seal(text, place);
}

/** The replacement of a kubeconfig in messages. */
const redacted = "REDACTED";

function invalid(
  request: AdmissionRequest,
  path: string,
  value: string,
  detail: string,
): StatusError {
  const { group, kind, name } = request;
  return statusError.invalid({ group, kind }, name, [fieldError.invalid(path, value, detail)]);
}

function redactLastApplied(draft: MutableObject): void {
  const { metadata } = draft;
  const annotations = isJsonObject(metadata) ? metadata["annotations"] : undefined;
  if (!isJsonObject(metadata) || !isJsonObject(annotations)) return;
  const text = annotations[lastApplied];
  if (typeof text !== "string") return;
  const spec = draft["spec"];
  const stored = isJsonObject(spec) ? spec["kubeconfig"] : undefined;
  const { [lastApplied]: _, ...others } = annotations;
  const rewritten = withKubeconfig(text, typeof stored === "string" ? stored : redacted);
  const kept = rewritten === undefined ? {} : { [lastApplied]: rewritten };
  draft["metadata"] = { ...metadata, annotations: { ...others, ...kept } };
}

/**
 * Undefined when the annotation is not written by kubectl: it is removed then, because its content
 * is unknown.
 */
function withKubeconfig(text: string, kubeconfig: string): string | undefined {
  let applied: unknown;
  try {
    applied = JSON.parse(text);
  } catch {
    return undefined;
  }
  const object = applied as { spec?: { kubeconfig?: unknown } } | null;
  if (object?.spec?.kubeconfig === undefined) return text;
  if (typeof object !== "object" || typeof object.spec !== "object") return undefined;
  return `${JSON.stringify({ ...object, spec: { ...object.spec, kubeconfig } })}\n`;
}
