/**
 * Webhooks and policies: admission that tenants configure, each for its own logical cluster.
 *
 * A cluster without a configuration costs one lookup in a map. As in Kubernetes, webhooks do not
 * cover the kinds that configure admission, and policies cover neither policies and their bindings
 * nor reviews of access: tenants cannot lock themselves out.
 */
import { type JsonObject, type JsonValue, setMember } from "@kcp-ts/machinery/json";
import type { AdmissionPlugin, AdmissionRequest, MutableObject } from "./admission.ts";
import {
  type ClusterConfiguration,
  type ConfiguredWebhook,
  configurationGroup,
  configurationResources,
  emptyConfiguration,
  type NamedBinding,
} from "./configuration.ts";
import { mutateByPolicies } from "./policies/mutating.ts";
import { validateByPolicies } from "./policies/validating.ts";
import { Reinvocation } from "./reinvocation.ts";
import { ReviewedRequest } from "./reviewed-request.ts";
import type { AdmissionSources } from "./sources.ts";
import { mutateByWebhooks } from "./webhooks/mutating.ts";
import { validateByWebhooks } from "./webhooks/validating.ts";

/**
 * Set on every object that a webhook receives, so that the webhook knows the logical cluster of the
 * request.
 */
const clusterAnnotation = "kcp.io/cluster";

export class DynamicAdmission implements AdmissionPlugin {
  readonly name = "DynamicAdmission";
  readonly #sources: AdmissionSources;

  constructor(sources: AdmissionSources) {
    this.#sources = sources;
  }

  /** A request to a cluster that is not in memory is handled until its configuration is loaded. */
  handles(request: AdmissionRequest): boolean {
    const { cluster, group, resource } = request;
    const { configurations, providers } = this.#sources;
    if (configurations.isEmpty(providers.ownerOf(cluster, group, resource))) return false;
    return !isExemptFromWebhooks(request) || !isExemptFromPolicies(request);
  }

  async mutate(
    request: AdmissionRequest,
    draft: MutableObject,
    old: JsonObject | undefined,
  ): Promise<void> {
    const configuration = await this.#configurationOf(request);
    const { mutatingPolicies, mutatingWebhooks } = configuration;
    if (mutatingPolicies.length + mutatingWebhooks.length === 0) return;
    complete(request, draft);
    const reviewed = new ReviewedRequest(request, draft, old ?? null, this.#sources);
    await mutateAll(configuration, reviewed);
    const { object } = reviewed;
    if (object === null || object === draft) return;
    for (const member of Object.keys(draft)) delete draft[member];
    for (const member of Object.keys(object)) setMember(draft, member, object[member] as JsonValue);
  }

  async validate(
    request: AdmissionRequest,
    object: JsonObject,
    old: JsonObject | undefined,
  ): Promise<void> {
    const configuration = await this.#configurationOf(request);
    if (configuration === emptyConfiguration) return;
    const isDelete = request.operation === "DELETE";
    const reviewed = new ReviewedRequest(
      request,
      isDelete ? null : versioned(object, old),
      old ?? null,
      this.#sources,
    );
    // Mutating webhooks and policies cannot change a deleted object, but they may deny the
    // deletion.
    if (isDelete) await mutateAll(configuration, reviewed);
    const { validatingPolicies, validatingWebhooks } = configuration;
    if (validatingPolicies.length > 0) await validateByPolicies(validatingPolicies, reviewed);
    if (validatingWebhooks.length > 0) await validateByWebhooks(validatingWebhooks, reviewed);
  }

  async #configurationOf(request: AdmissionRequest): Promise<ClusterConfiguration> {
    const { cluster, group, resource } = request;
    const { configurations, providers } = this.#sources;
    const { configuration } = await configurations.load(
      providers.ownerOf(cluster, group, resource),
    );
    if (isExemptFromWebhooks(request)) return { ...configuration, ...withoutWebhooks };
    if (isExemptFromPolicies(request)) return { ...configuration, ...withoutPolicies };
    return configuration;
  }
}

const withoutWebhooks = { mutatingWebhooks: [], validatingWebhooks: [] };
const withoutPolicies = { mutatingPolicies: [], validatingPolicies: [] };

function isExemptFromWebhooks({ group, resource }: AdmissionRequest): boolean {
  return group === configurationGroup && configuring.has(resource);
}

function isExemptFromPolicies({ group, resource }: AdmissionRequest): boolean {
  return uncoveredByPolicies.get(group)?.has(resource) === true;
}

const configuring: ReadonlySet<string> = new Set(configurationResources);

/** By group. A policy that covered reviews could deny every access to the cluster. */
const uncoveredByPolicies: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [configurationGroup, new Set(configurationResources.filter((name) => name.includes("polic")))],
  ["authentication.k8s.io", new Set(["selfsubjectreviews", "tokenreviews"])],
  [
    "authorization.k8s.io",
    new Set([
      "localsubjectaccessreviews",
      "selfsubjectaccessreviews",
      "selfsubjectrulesreviews",
      "subjectaccessreviews",
    ]),
  ],
]);

/**
 * Calls policies, then webhooks, and then reinvokes those that request it after later changes of
 * the object.
 */
async function mutateAll(
  { mutatingPolicies, mutatingWebhooks }: ClusterConfiguration,
  reviewed: ReviewedRequest,
): Promise<void> {
  const policies = new Reinvocation<NamedBinding>();
  const webhooks = new Reinvocation<ConfiguredWebhook>();
  if (mutatingPolicies.length > 0) await mutateByPolicies(mutatingPolicies, reviewed, policies);
  const before = reviewed.object;
  if (mutatingWebhooks.length > 0) await mutateByWebhooks(mutatingWebhooks, reviewed, webhooks);
  if (reviewed.object !== before) policies.noteChange();
  if (!policies.isNeeded && !webhooks.isNeeded) return;
  const first = reviewed.object;
  policies.startReinvocation();
  webhooks.startReinvocation();
  if (mutatingPolicies.length > 0) await mutateByPolicies(mutatingPolicies, reviewed, policies);
  if (reviewed.object !== first) webhooks.noteChange();
  if (mutatingWebhooks.length > 0) await mutateByWebhooks(mutatingWebhooks, reviewed, webhooks);
}

/**
 * The object of an update contains the current resourceVersion, whether or not the client sent one.
 */
function versioned(object: JsonObject, old: JsonObject | undefined): JsonObject {
  if (old === undefined) return object;
  const metadata = object["metadata"] as JsonObject;
  const { resourceVersion } = old["metadata"] as JsonObject;
  if (resourceVersion === undefined || metadata["resourceVersion"] !== undefined) return object;
  return { ...object, metadata: { ...metadata, resourceVersion } };
}

/** Sets the fields that the server already knows, and sets again when the object is stored. */
function complete(request: AdmissionRequest, draft: MutableObject): void {
  const { gvk, namespace, cluster, operation } = request;
  const { group, version, kind } = gvk;
  if (draft["kind"] === undefined) {
    draft["kind"] = kind;
    draft["apiVersion"] = group === "" ? version : `${group}/${version}`;
  }
  // Options have no metadata.
  if (operation === "CONNECT") return;
  const metadata = { ...(draft["metadata"] as JsonObject | undefined) };
  if (namespace !== "") metadata["namespace"] = namespace;
  const annotations = metadata["annotations"] as JsonObject | undefined;
  draft["metadata"] = {
    ...metadata,
    annotations: { ...annotations, [clusterAnnotation]: cluster },
  };
}
